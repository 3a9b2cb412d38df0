"""Private names of Textual; docs/adr/0090-private-names-of-textual.md lists them."""
