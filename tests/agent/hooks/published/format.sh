#!/usr/bin/env bash
# A formatter in the form of Claude Code: PostToolUse, matcher Edit|Write|MultiEdit
file=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["tool_input"]["file_path"])')
case "$file" in
  *.py) sed -i 's/[[:space:]]*$//; s/  */ /g' "$file" ;;
esac
