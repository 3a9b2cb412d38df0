"""Import of sessions of other programs.

Where a change goes:

- an import format: a module in `extensions/importers/` that reads entries (`transcript.py`), a row
  of `_FORMATS` in `detection.py` for files of lines or a case in the same module for documents, a
  file in `tests/extensions/importers/files/`
"""
