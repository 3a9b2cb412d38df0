#!/usr/bin/env bash
# A gate in the form of Claude Code: Stop; the tests of the project have to pass
input=$(cat)
if printf '%s' "$input" | grep -q '"stop_hook_active":true'; then exit 0; fi
cd "$CLAUDE_PROJECT_DIR" || exit 1
if ! output=$(python3 -S checks.py 2>&1); then
  printf 'The tests fail:\n%s\n' "$output" >&2
  exit 2
fi
