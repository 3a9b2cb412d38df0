"""Wire formats: one package for each API, named like its `api` in the settings."""
