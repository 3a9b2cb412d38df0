"""Permission rules: which tool calls can run without an approval."""
