"""Processes of commands, their output and their terminals.

Where a change goes:

- the variables of commands, hooks and servers: `tools/processes/environments.py`; its settings:
  `settings/shell_config.py`
- what stays of lines that a command draws again: `tools/processes/terminal_text.py`
- how a program that waits is noticed: `tools/processes/pseudo_terminal.py`
- what a process that exchanges lines can send: `tools/processes/line_peer.py` (limits, end),
  `tools/processes/json_rpc.py` (messages)
"""
