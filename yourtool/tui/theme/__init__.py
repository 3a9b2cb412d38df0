"""Colours, styles and the last filters before the terminal."""
