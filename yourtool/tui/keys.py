"""Keys: one table that the bindings and the help share."""

from typing import Literal, TypeAlias

from msgspec import Struct
from textual.binding import Binding

KeyPlace: TypeAlias = Literal["chat", "prompt", "question"]


class KeyBinding(Struct, frozen=True, kw_only=True):
    """One thing a key does."""

    id: str
    """Stable name, by which a keymap can move it to other keys."""
    place: KeyPlace
    """`chat` works everywhere on the main screen, the others where the cursor is."""
    keys: str
    """As Textual names them, separated by commas."""
    shown: str
    action: str
    description: str


KEYS: tuple[KeyBinding, ...] = (
    KeyBinding(
        id="prompt.send",
        place="prompt",
        keys="enter",
        shown="Enter",
        action="send",
        description="send; while a turn runs, queue",
    ),
    KeyBinding(
        id="prompt.newline",
        place="prompt",
        keys="shift+enter,ctrl+j,alt+enter",
        shown="Shift+Enter, Ctrl+J",
        action="newline",
        description="new line; so does `\\` before Enter",
    ),
    KeyBinding(
        id="prompt.older",
        place="prompt",
        keys="up",
        shown="Up",
        action="older",
        description="line up; at the top, edit the last queued message or recall an older prompt",
    ),
    KeyBinding(
        id="prompt.newer",
        place="prompt",
        keys="down",
        shown="Down",
        action="newer",
        description="line down; at the bottom, recall a newer prompt",
    ),
    KeyBinding(
        id="prompt.undo",
        place="prompt",
        keys="ctrl+underscore",
        shown="Ctrl+_",
        action="undo",
        description="take the last change of the text back",
    ),
    KeyBinding(
        id="prompt.complete",
        place="prompt",
        keys="tab",
        shown="Tab",
        action="complete",
        description="take what is offered, or go to a question (empty prompt) or the transcript",
    ),
    KeyBinding(
        id="chat.stop",
        place="chat",
        keys="escape",
        shown="Esc",
        action="stop",
        description="close a list, deny a question, or stop the turn",
    ),
    KeyBinding(
        id="chat.interrupt",
        place="chat",
        keys="ctrl+c",
        shown="Ctrl+C",
        action="interrupt",
        description="copy the selection, else clear the prompt, else stop the turn; twice: quit",
    ),
    KeyBinding(
        id="chat.leave",
        place="chat",
        keys="ctrl+d",
        shown="Ctrl+D",
        action="leave",
        description="quit when the prompt is empty",
    ),
    KeyBinding(
        id="chat.suspend",
        place="chat",
        keys="ctrl+z",
        shown="Ctrl+Z",
        action="suspend",
        description="back to the shell; `fg` comes back here",
    ),
    KeyBinding(
        id="chat.mode",
        place="chat",
        keys="shift+tab",
        shown="Shift+Tab",
        action="cycle_mode",
        description="next mode: ask, accept edits, plan, auto",
    ),
    KeyBinding(
        id="chat.retry",
        place="chat",
        keys="ctrl+t",
        shown="Ctrl+T",
        action="retry",
        description="try a failed turn again",
    ),
    KeyBinding(
        id="chat.history",
        place="chat",
        keys="ctrl+r",
        shown="Ctrl+R",
        action="search_history",
        description="search earlier prompts",
    ),
    KeyBinding(
        id="chat.unqueue",
        place="chat",
        keys="ctrl+x",
        shown="Ctrl+X",
        action="unqueue",
        description="with an empty prompt, drop the last queued message",
    ),
    KeyBinding(
        id="chat.page_up",
        place="chat",
        keys="pageup",
        shown="Page Up",
        action="scroll('page_up')",
        description="scroll back",
    ),
    KeyBinding(
        id="chat.page_down",
        place="chat",
        keys="pagedown",
        shown="Page Down",
        action="scroll('page_down')",
        description="scroll on",
    ),
    KeyBinding(
        id="chat.top",
        place="chat",
        keys="ctrl+home",
        shown="Ctrl+Home",
        action="scroll('home')",
        description="go to the beginning",
    ),
    KeyBinding(
        id="chat.bottom",
        place="chat",
        keys="ctrl+end",
        shown="Ctrl+End",
        action="scroll('end')",
        description="go to the end and follow it",
    ),
    KeyBinding(
        id="question.once",
        place="question",
        keys="a",
        shown="a",
        action="answer('a')",
        description="allow this once",
    ),
    KeyBinding(
        id="question.session",
        place="question",
        keys="s",
        shown="s",
        action="answer('s')",
        description="allow the shown rule in this session",
    ),
    KeyBinding(
        id="question.always",
        place="question",
        keys="w",
        shown="w",
        action="answer('w')",
        description="allow the shown rule always, in this workspace",
    ),
    KeyBinding(
        id="question.deny",
        place="question",
        keys="d",
        shown="d",
        action="answer('d')",
        description="deny",
    ),
    KeyBinding(
        id="question.note",
        place="question",
        keys="n",
        shown="n",
        action="answer('n')",
        description="deny and say why",
    ),
    KeyBinding(
        id="question.choose",
        place="question",
        keys="left,right,up,down",
        shown="Tab, arrows, Enter",
        action="",
        description="go to the question, choose an answer, take it",
    ),
    KeyBinding(
        id="question.expand",
        place="question",
        keys="ctrl+e",
        shown="Ctrl+E",
        action="expand",
        description="show more of the command or change; Page Down for more",
    ),
)


def bindings(place: KeyPlace) -> list[Binding]:
    """Return Textual's bindings for the keys of one place.

    Those of the chat come before the widget that has the cursor; an action raises `SkipAction` to
    let that widget have the key.
    """
    return [
        Binding(
            key.keys,
            key.action,
            key.description,
            id=key.id,
            show=False,
            priority=key.place == "chat",
        )
        for key in KEYS
        if key.place == place and key.action
    ]
