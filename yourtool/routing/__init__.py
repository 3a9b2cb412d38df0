"""Choose the model of a turn and record the reasons."""
