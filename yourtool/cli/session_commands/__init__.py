"""The commands of `yourtool sessions`."""
