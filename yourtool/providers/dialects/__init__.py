"""Wire formats: one package for each API, named like its `api` in the settings.

Where a change goes:

- a dialect: a package in `providers/dialects/` with the modules of `providers/dialects/base.py`,
  its API in `config.Api`, cassettes (`tests/cassettes/README.md`), `make docs`
"""
