"""Settings of the interface in use."""

from typing import Any

from textual import constants
from textual.app import App
from textual.message import Message

from yourtool import extensions
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.keys.active_keys import use_keymap
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.widgets.key_mode import KeyMode


class SettingsChanged(Message):
    """Posted to the app when the user changes settings."""

    def __init__(self, settings: UiConfig) -> None:
        super().__init__()
        self.settings = settings


def use_settings(app: App[Any], chat: ChatScreen, settings: UiConfig) -> None:
    """Apply the settings that need no new start; also while the app runs."""
    app.animation_level = "none" if settings.reduced_motion else constants.TEXTUAL_ANIMATIONS
    app.set_keymap(use_keymap(settings))
    chat.status_line.items = settings.status
    chat.approval_prompt.enter_approves = settings.enter_approves
    chat.runner.enter = settings.enter
    _use_key_mode(chat, is_vim=settings.vim)
    if chat.is_mounted:
        chat.refresh_status()


def _use_key_mode(chat: ChatScreen, *, is_vim: bool) -> None:
    """Use the keys of Vim or the usual ones; those in use stay as they are."""
    if is_vim == bool(chat.prompt.key_mode.name):
        return
    chat.prompt.key_mode = KeyMode()
    if is_vim and (vim := extensions.load_key_mode()) is not None:
        chat.prompt.key_mode = vim.build_key_mode(chat.prompt)
