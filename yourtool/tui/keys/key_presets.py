"""Keymaps of other agents.

Sources: Claude Code 2.1 (https://code.claude.com/docs/en/keybindings), Codex 0.169
(https://github.com/openai/codex/tree/main/docs), pi 0.73
(https://github.com/badlogic/pi-mono/tree/main/packages/coding-agent/docs) and opencode 1.18
(https://opencode.ai/docs/keybinds). Their answers to approval prompts that are no characters, keys
after a leader key, and actions that we do not have are not included.
"""

from collections.abc import Mapping
from types import MappingProxyType

from yourtool.settings.ui_config import KeymapName

PRESETS: Mapping[KeymapName, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "default": MappingProxyType({}),
        "claude": MappingProxyType(
            {
                "transcript.leave": ("tab", "q"),
            }
        ),
        "codex": MappingProxyType(
            {
                "chat.folds": ("ctrl+t",),
                "chat.retry": ("f5",),
                "approval.once": ("y",),
                "approval.session": ("a",),
                "approval.always": ("p",),
                "approval.rules": ("w",),
                "approval.deny": ("d",),
                "approval.note": ("n",),
            }
        ),
        "pi": MappingProxyType(
            {
                "chat.clear": (),
                "chat.model": ("ctrl+l",),
                "chat.effort": ("shift+tab",),
                "chat.mode": ("f2",),
                "prompt.newline": ("shift+enter", "ctrl+j"),
                "prompt.older": ("up", "alt+up"),
                "prompt.newer": ("down",),
                "prompt.undo": ("ctrl+minus", "ctrl+underscore"),
            }
        ),
        "opencode": MappingProxyType(
            {
                "chat.help": ("ctrl+p",),
                "chat.mode": ("shift+tab", "f2"),
                "chat.page_down": ("pagedown", "alt+ctrl+f"),
                "chat.page_up": ("pageup", "alt+ctrl+b"),
                "prompt.older": ("up",),
                "prompt.newer": ("down",),
                "prompt.undo": ("ctrl+minus", "ctrl+underscore"),
            }
        ),
    }
)
