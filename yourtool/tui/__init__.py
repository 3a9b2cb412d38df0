"""The terminal interface: it shows events and answers questions."""
