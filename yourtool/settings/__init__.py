"""User settings, their files and provider keys.

Where a change goes:

- an event for hooks: `HookEvent` in `settings/hook_config.py`, what an answer to it can do in
  `agent/hooks/reply.py`, a `HookCall` where it happens, `docs/hooks.md`
- a part of the status line: `StatusItem` in `settings/ui_config.py`, its text in
  `tui/widgets/status.py`, its value in `tui/screens/session_status.py`
- a setting: a field in the module of its section (`settings/agent_config.py`,
  `settings/ui_config.py`, `settings/sandbox_config.py`, `settings/shell_config.py`,
  `settings/hook_config.py`) or in `settings/config.py`, then `make docs`
- a setting about the files of the sandbox: `settings/sandbox_config.py`; from there
  `_build_layout` of `tools/sandbox/sandbox.py`, `layout.py`, and the mounts in `bubblewrap.py`
"""
