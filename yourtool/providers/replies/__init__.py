"""How a reply is read: bytes into events, events into a message, refusals into errors."""
