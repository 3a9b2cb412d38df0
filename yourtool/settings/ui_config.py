"""The settings of the terminal interface."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

KeymapName: TypeAlias = Literal["default", "claude", "codex", "pi", "opencode"]
"""A preset of keys; `tui/key_presets.py` has their tables."""
StatusItem: TypeAlias = Literal["model", "mode", "context", "cost", "queued", "branch", "sandbox"]
"""A part of the status line that the user can choose."""


FileMentions: TypeAlias = Literal["attach", "mention"]
"""What happens with a file that a prompt mentions."""


EnterKey: TypeAlias = Literal["steer", "queue"]
"""What Enter does while a turn runs."""


class UiConfig(Struct, frozen=True):
    """The terminal interface."""

    ascii: Annotated[
        bool, Meta(description="Draw lines and symbols in ASCII only, as always without UTF-8.")
    ] = False
    linear: Annotated[
        bool,
        Meta(
            description="Append plain lines instead of drawing a screen, for screen readers and"
            " terminals without cursor movement."
        ),
    ] = False
    mouse: Annotated[
        bool,
        Meta(
            description="Use the mouse: the wheel scrolls and clicks open cards. Without it, the"
            " terminal selects text as in the shell."
        ),
    ] = True
    reduced_motion: Annotated[bool, Meta(description="Show no animation and no spinner.")] = False
    enter: Annotated[
        EnterKey,
        Meta(
            description="What Enter does while a turn runs: give the message to it (`steer`), or"
            " send it afterwards (`queue`)."
        ),
    ] = "steer"
    enter_approves: Annotated[
        bool,
        Meta(description="In an approval prompt, allowing the call once is marked at first."),
    ] = False
    vim: Annotated[bool, Meta(description="Vim's modes and keys in the prompt.")] = False
    status: Annotated[
        tuple[StatusItem, ...],
        Meta(
            description="The parts of the status line from left to right. The activity, the mode"
            " `auto`, a context window that is half full, another branch than at first, and a"
            " sandbox that is not full are always shown."
        ),
    ] = ("model", "mode", "cost", "queued")
    keymap: Annotated[
        KeymapName,
        Meta(description="The keys: those of `docs/keys.md`, or of another agent."),
    ] = "default"
    keys: Annotated[
        dict[str, Any],
        Meta(
            description='Other keys for actions, such as `chat.retry = "f5"`; `docs/keys.md` has'
            " the names."
        ),
    ] = {}
    file_mentions: Annotated[
        FileMentions,
        Meta(
            description="Whether the content of an `@file`, and of images whose paths are in a"
            " prompt, is sent with it (`attach`), or only the name (`mention`)."
        ),
    ] = "attach"
    scrollback_on_exit: Annotated[
        bool, Meta(description="Print the end of the conversation in the terminal on exit.")
    ] = True
