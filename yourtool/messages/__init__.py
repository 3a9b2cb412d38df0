"""Canonical message format.

It has the blocks, metadata, the stored form and the invariants.
"""
