"""Speak to models: requests go out, replies come in, and a dialect puts both on the wire."""
