"""Styled lines of text."""
