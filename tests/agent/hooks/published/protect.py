#!/usr/bin/env python3
"""Protects files in the form of Claude Code: `PreToolUse`, JSON output."""

import json
import sys

data = json.load(sys.stdin)
path = data["tool_input"].get("file_path", "")
if any(name in path for name in (".env", "package-lock.json", "secrets/")):
    answer = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": f"{path} is protected",
        }
    }
    print(json.dumps(answer))
