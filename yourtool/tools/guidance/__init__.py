"""Plans, skills, memory and workers of the model."""
