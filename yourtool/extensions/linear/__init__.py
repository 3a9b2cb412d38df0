"""The interface as plain lines, for screen readers and terminals without cursor movement."""
