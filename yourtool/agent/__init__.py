"""The core: sessions and turns, whose events front ends iterate over."""
