"""Taking over the settings of other agents: their files are read, never run and never changed."""
