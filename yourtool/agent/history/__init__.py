"""The history of a session: its facts, and the state folded from them."""
