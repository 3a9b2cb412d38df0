"""Keys: one table for the bindings, the help and the hints."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Literal, TypeAlias

from msgspec import Struct
from textual.binding import Binding

from yourtool.agent.commands.base import Section

KeyPlace: TypeAlias = Literal["chat", "prompt", "transcript", "approval", "list", "report"]

PLACE_TITLES: Mapping[KeyPlace, str] = {
    "prompt": "In the prompt",
    "chat": "Anywhere",
    "transcript": "In the transcript, after Tab in an empty prompt",
    "approval": "In an approval prompt, half a second after the last key",
    "list": "In a list, where text filters the rows",
    "report": "In a report",
}
"""Headings of the help, in its order."""
_HINT_GAP = " · "


class KeyBinding(Struct, frozen=True, kw_only=True):
    """An action and its keys."""

    id: str
    """Stable name, with which a keymap can assign other keys."""
    place: KeyPlace
    """`chat` applies everywhere on the main screen, the others to the focused widget."""
    keys: str
    """Textual's key names, separated by commas."""
    label: str
    action: str
    description: str
    hint: str = ""
    """A word for the line of hints; keys without one are not listed there."""


KEYS: tuple[KeyBinding, ...] = (
    KeyBinding(
        id="prompt.send",
        place="prompt",
        keys="enter",
        label="Enter",
        action="send",
        description="send; while a turn runs, queue",
    ),
    KeyBinding(
        id="prompt.newline",
        place="prompt",
        keys="shift+enter,ctrl+j,alt+enter",
        label="Shift+Enter, Alt+Enter, Ctrl+J",
        action="newline",
        description="new line; so does `\\` before Enter",
    ),
    KeyBinding(
        id="prompt.older",
        place="prompt",
        keys="up,ctrl+p",
        label="Up, Ctrl+P",
        action="older",
        description="line up; at the top, edit the last queued message or recall an older prompt",
    ),
    KeyBinding(
        id="prompt.newer",
        place="prompt",
        keys="down,ctrl+n",
        label="Down, Ctrl+N",
        action="newer",
        description="line down; at the bottom, recall a newer prompt",
    ),
    KeyBinding(
        id="prompt.undo",
        place="prompt",
        keys="ctrl+underscore",
        label="Ctrl+_",
        action="undo",
        description="undo the last edit",
    ),
    KeyBinding(
        id="prompt.stash",
        place="prompt",
        keys="ctrl+s",
        label="Ctrl+S",
        action="stash",
        description="stash the prompt until the next message is sent; in an empty prompt, bring it"
        " back",
    ),
    KeyBinding(
        id="prompt.editor",
        place="prompt",
        keys="ctrl+g",
        label="Ctrl+G",
        action="app.edit_draft",
        description="edit the prompt in `$VISUAL` or `$EDITOR`",
    ),
    KeyBinding(
        id="prompt.paste",
        place="prompt",
        keys="ctrl+v",
        label="Ctrl+V",
        action="paste",
        description="insert the image or the text in the clipboard",
    ),
    KeyBinding(
        id="prompt.complete",
        place="prompt",
        keys="tab",
        label="Tab",
        action="complete",
        description="accept a suggestion, else go to the approval prompt or the transcript",
    ),
    KeyBinding(
        id="chat.stop",
        place="chat",
        keys="escape",
        label="Esc",
        action="stop",
        description="close a list, deny a tool call, or stop the turn; twice in an empty prompt:"
        " go back to an earlier prompt",
    ),
    KeyBinding(
        id="chat.interrupt",
        place="chat",
        keys="ctrl+c",
        label="Ctrl+C",
        action="interrupt",
        description="copy the selection, else clear the prompt, else stop the turn; twice: quit",
    ),
    KeyBinding(
        id="chat.leave",
        place="chat",
        keys="ctrl+d",
        label="Ctrl+D",
        action="app.leave",
        description="quit when the prompt is empty",
    ),
    KeyBinding(
        id="chat.suspend",
        place="chat",
        keys="ctrl+z",
        label="Ctrl+Z",
        action="app.suspend",
        description="suspend to the shell; `fg` resumes",
    ),
    KeyBinding(
        id="chat.mode",
        place="chat",
        keys="shift+tab",
        label="Shift+Tab",
        action="cycle_mode",
        description="next approval mode: ask, accept edits, plan",
    ),
    KeyBinding(
        id="chat.folds",
        place="chat",
        keys="ctrl+o",
        label="Ctrl+O",
        action="toggle_folds",
        description="open everything that is folded in the transcript, or fold it again",
    ),
    KeyBinding(
        id="chat.retry",
        place="chat",
        keys="ctrl+t",
        label="Ctrl+T",
        action="retry",
        description="retry a failed turn",
    ),
    KeyBinding(
        id="chat.history",
        place="chat",
        keys="ctrl+r",
        label="Ctrl+R",
        action="search_history",
        description="search earlier prompts",
    ),
    KeyBinding(
        id="chat.unqueue",
        place="chat",
        keys="ctrl+x",
        label="Ctrl+X",
        action="unqueue",
        description="with an empty prompt, remove the last queued message",
    ),
    KeyBinding(
        id="chat.keys",
        place="chat",
        keys="question_mark",
        label="?",
        action="show_keys",
        description="with an empty prompt, show the keys",
    ),
    KeyBinding(
        id="chat.page_up",
        place="chat",
        keys="pageup",
        label="Page Up",
        action="scroll('page_up')",
        description="scroll up",
    ),
    KeyBinding(
        id="chat.page_down",
        place="chat",
        keys="pagedown",
        label="Page Down",
        action="scroll('page_down')",
        description="scroll down",
    ),
    KeyBinding(
        id="chat.top",
        place="chat",
        keys="ctrl+home",
        label="Ctrl+Home",
        action="scroll('home')",
        description="go to the start",
    ),
    KeyBinding(
        id="chat.bottom",
        place="chat",
        keys="ctrl+end",
        label="Ctrl+End",
        action="scroll('end')",
        description="go to the end and follow new output",
    ),
    KeyBinding(
        id="transcript.previous",
        place="transcript",
        keys="up",
        label="Up",
        action="select(-1)",
        description="select the previous item",
        hint="move",
    ),
    KeyBinding(
        id="transcript.next",
        place="transcript",
        keys="down",
        label="Down",
        action="select(1)",
        description="select the next item",
        hint="move",
    ),
    KeyBinding(
        id="transcript.toggle",
        place="transcript",
        keys="enter,space",
        label="Enter",
        action="toggle_item",
        description="open or close the selected item; so does Space",
        hint="open",
    ),
    KeyBinding(
        id="transcript.leave",
        place="transcript",
        keys="tab",
        label="Tab",
        action="screen.focus_prompt",
        description="go back to the prompt; other letters are typed there",
        hint="back",
    ),
    KeyBinding(
        id="transcript.search",
        place="transcript",
        keys="slash",
        label="/",
        action="search",
        description="search the transcript; Enter ends the query, Esc the search",
        hint="search",
    ),
    KeyBinding(
        id="transcript.next_match",
        place="transcript",
        keys="n",
        label="n",
        action="step_match(1)",
        description="go to the next match of a search",
    ),
    KeyBinding(
        id="transcript.previous_match",
        place="transcript",
        keys="N",
        label="N",
        action="step_match(-1)",
        description="go to the previous match",
    ),
    KeyBinding(
        id="transcript.previous_prompt",
        place="transcript",
        keys="left_curly_bracket",
        label="{",
        action="select_prompt(-1)",
        description="go to the previous prompt",
        hint="prompts",
    ),
    KeyBinding(
        id="transcript.next_prompt",
        place="transcript",
        keys="right_curly_bracket",
        label="}",
        action="select_prompt(1)",
        description="go to the next prompt",
        hint="prompts",
    ),
    KeyBinding(
        id="transcript.copy",
        place="transcript",
        keys="c",
        label="c",
        action="copy_item",
        description="copy the selected item, else the last reply",
        hint="copy",
    ),
    KeyBinding(
        id="transcript.raw",
        place="transcript",
        keys="m",
        label="m",
        action="toggle_raw",
        description="show a reply as Markdown source or rendered",
        hint="source",
    ),
    KeyBinding(
        id="transcript.scrollback",
        place="transcript",
        keys="left_square_bracket",
        label="[",
        action="app.show_scrollback",
        description="print the conversation in the terminal's scrollback; any key returns",
        hint="scrollback",
    ),
    KeyBinding(
        id="transcript.retry",
        place="transcript",
        keys="r",
        label="r",
        action="retry",
        description="retry the turn if it failed",
    ),
    KeyBinding(
        id="approval.once",
        place="approval",
        keys="a",
        label="a",
        action="answer('a')",
        description="allow once",
    ),
    KeyBinding(
        id="approval.enter",
        place="approval",
        keys="enter,y",
        label="Enter, y",
        action="",
        description="allow once, if `[ui] enter_approves = true`",
    ),
    KeyBinding(
        id="approval.session",
        place="approval",
        keys="s",
        label="s",
        action="answer('s')",
        description="allow the shown rule in this session",
    ),
    KeyBinding(
        id="approval.always",
        place="approval",
        keys="w",
        label="w",
        action="answer('w')",
        description="allow the shown rule always, in this workspace",
    ),
    KeyBinding(
        id="approval.deny",
        place="approval",
        keys="d",
        label="d",
        action="answer('d')",
        description="deny",
    ),
    KeyBinding(
        id="approval.note",
        place="approval",
        keys="n",
        label="n",
        action="answer('n')",
        description="deny with a note to the model",
    ),
    KeyBinding(
        id="approval.choose",
        place="approval",
        keys="left,right,up,down",
        label="Tab, arrows, Enter",
        action="",
        description="focus the approval, choose an answer, confirm it",
    ),
    KeyBinding(
        id="approval.expand",
        place="approval",
        keys="ctrl+e",
        label="Ctrl+E",
        action="expand",
        description="show more of the command or change; Page Down for more",
    ),
    KeyBinding(
        id="list.choose",
        place="list",
        keys="enter",
        label="Enter",
        action="",
        description="choose the highlighted row",
    ),
    KeyBinding(
        id="list.previous",
        place="list",
        keys="up",
        label="Up",
        action="move(-1)",
        description="highlight the previous row",
    ),
    KeyBinding(
        id="list.next",
        place="list",
        keys="down",
        label="Down",
        action="move(1)",
        description="highlight the next row",
    ),
    KeyBinding(
        id="list.page_up",
        place="list",
        keys="pageup",
        label="Page Up",
        action="move(-8)",
        description="go up eight rows",
    ),
    KeyBinding(
        id="list.page_down",
        place="list",
        keys="pagedown",
        label="Page Down",
        action="move(8)",
        description="go down eight rows",
    ),
    KeyBinding(
        id="list.preview",
        place="list",
        keys="ctrl+t",
        label="Ctrl+T",
        action="toggle_preview",
        description="in the list of sessions, show only the preview, or the list again",
    ),
    KeyBinding(
        id="list.close",
        place="list",
        keys="escape,ctrl+c",
        label="Esc",
        action="dismiss(None)",
        description="close the list",
    ),
    KeyBinding(
        id="report.close",
        place="report",
        keys="escape,q,enter,ctrl+c",
        label="Esc, Enter, q",
        action="dismiss(None)",
        description="close the report; other text goes to the prompt",
    ),
)


def bindings(place: KeyPlace) -> list[Binding]:
    """Return Textual's bindings for the keys of one place.

    Bindings of the chat have priority over the focused widget; an action raises `SkipAction` to
    pass the key on to that widget.
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


def describe_keys() -> tuple[Section, ...]:
    """Return the help on keys, by place."""
    return tuple(
        Section(title, tuple((key.label, key.description) for key in KEYS if key.place == place))
        for place, title in PLACE_TITLES.items()
    )


def get_label(key_id: str) -> str:
    """Return the label of a key."""
    return next(key.label for key in KEYS if key.id == key_id)


def transcript_hints() -> tuple[str, ...]:
    """Return the keys of the transcript with a word each; keys with the same word share it."""
    listed = (key for key in KEYS if key.place == "transcript" and key.hint)
    groups = groupby(listed, lambda key: key.hint)
    return tuple(f"{'/'.join(key.label for key in keys)} {hint}" for hint, keys in groups)


def fit_hints(hints: Iterable[str], width: int) -> str:
    """Return the first hints, as many as fit into a width."""
    line = ""
    for hint in filter(None, hints):
        longer = f"{line}{_HINT_GAP}{hint}" if line else hint
        if len(longer) > width:
            break
        line = longer
    return line
