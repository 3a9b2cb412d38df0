"""Wire formats of APIs.

Where a change goes:

- a dialect: a package in `providers/dialects/` with the modules of `providers/dialects/base.py`,
  its API in `config.Api`, cassettes (`tests/cassettes/README.md`), `make docs`
"""
