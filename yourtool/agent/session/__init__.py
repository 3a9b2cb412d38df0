"""The session: its verbs, its model selection and its environment."""
