#!/usr/bin/env python3
"""A guard of commands in the form of Claude Code: `PreToolUse`, matcher `Bash`."""

import json
import re
import sys

RULES = [
    (r"^grep\b(?!.*\|)", "use rg, not grep"),
    (r"\brm\s+-[a-z]*r[a-z]*f", "no rm -rf"),
    (r"git\s+commit\b.*--no-verify", "commit with the checks"),
]

try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as error:
    print(f"invalid input: {error}", file=sys.stderr)
    sys.exit(1)
if data.get("tool_name") != "Bash":
    sys.exit(0)
command = data.get("tool_input", {}).get("command", "")
problems = [message for pattern, message in RULES if re.search(pattern, command)]
for problem in problems:
    print(f"• {problem}", file=sys.stderr)
sys.exit(2 if problems else 0)
