"""Vim's keys in the prompt.

Where a change goes:

- a key of Vim's normal mode: `extensions/vim/`, a pure function of a state and a key
"""
