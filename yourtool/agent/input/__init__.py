"""The input of a user: mentions, attachments and shell commands as messages."""
