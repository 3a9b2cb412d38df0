"""Wire formats, one package each."""
