"""Choose the model of a turn, and say why."""
