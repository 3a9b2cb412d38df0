"""Decide what may happen unasked."""
