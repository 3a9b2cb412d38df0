"""Vim's normal mode as a function.

The text of the insert mode is typed elsewhere: `leave_insert` gets it.
"""

import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from yourtool.extensions.vim.motions import (
    Motion,
    first_nonblank,
    get_motion,
    line_end,
    line_start,
)
from yourtool.extensions.vim.state import Register, VimState
from yourtool.extensions.vim.text_objects import find_text_object

MAX_UNDO = 100
"""Changes that can be undone."""
_MAX_PUT = 1_000_000
"""Characters that `p` inserts at most, if the text is not longer."""
_MAX_COUNT = 10_000
_MOTION = r"[hjklwbe0^$G;,]|gg|[fFtT]."
_COMMAND = re.compile(
    rf"(?P<count>[1-9]\d*)?(?:(?P<operator>[dcy])(?P<more>[1-9]\d*)?"
    rf"(?:(?P<line>(?P=operator))|(?P<object>[ai][wb()\[\]{{}}B<>\"'`])|(?P<target>{_MOTION}))"
    rf"|(?P<motion>{_MOTION})|r(?P<by>.)|(?P<simple>[iaIAoOxpPuJDCY~.]|\x12))",
    re.DOTALL,
)
_PREFIX = re.compile(r"(?:[1-9]\d*)?(?:[dcy](?:[1-9]\d*)?[ai]?)?(?:g|[fFtT]|r)?")
_SAME_AS = {"D": "d$", "C": "c$", "Y": "yy", "x": "dl"}
_OPPOSITE = {"f": "F", "F": "f", "t": "T", "T": "t"}
REDO = "\x12"
"""Ctrl+R."""


def press(state: VimState, key: str) -> VimState:
    """Return the state after a key of the normal mode."""
    keys = state.pending + key
    if (found := _COMMAND.fullmatch(keys)) is not None:
        return _run(replace(state, pending=""), keys, found)
    return replace(state, pending=keys if _PREFIX.fullmatch(keys) else "")


def leave_insert(state: VimState, text: str, caret: int) -> VimState:
    """Return the normal mode after a text was typed in the insert mode."""
    before, at = state.text, state.caret
    tail = len(before) - at
    inserted = None
    if text.startswith(before[:at]) and text.endswith(before[at:]) and len(text) >= len(before):
        inserted = text[at : len(text) - tail]
    undo = state.undo
    if text != before and not (undo and undo[-1][0] == before):
        undo = (*undo, (before, at))[-MAX_UNDO:]
    if caret > line_start(text, caret):
        caret -= 1
    return _settle(
        replace(
            state,
            text=text,
            caret=caret,
            is_insert=False,
            pending="",
            inserted=inserted,
            undo=undo,
            redo=() if text != before else state.redo,
        )
    )


def _settle(state: VimState) -> VimState:
    """Return the state with the caret on a character, as the normal mode has it."""
    if state.is_insert:
        return state
    at = max(0, min(state.caret, len(state.text)))
    start, end = line_start(state.text, at), line_end(state.text, at)
    return replace(state, caret=max(start, min(at, end - 1)))


def _run(state: VimState, keys: str, found: re.Match[str]) -> VimState:
    """Run a complete command."""
    count = min(int(found["count"]), _MAX_COUNT) if found["count"] else None
    simple = found["simple"]
    if simple in ("u", REDO):
        return _undo(state, count or 1, is_redo=simple == REDO)
    if simple == ".":
        return _repeat(state, count)
    if simple in _SAME_AS:
        return _run_alias(state, simple, found["count"] or "")
    if found["motion"]:
        state, motion = _find_motion(state, found["motion"], count)
        return state if motion is None else _settle(replace(state, caret=motion.end))
    if found["operator"]:
        after = _operate(state, found, count)
    elif found["by"]:
        after = _replace_characters(state, found["by"], count or 1)
    else:
        after = _EDITS[simple](state, count or 1)
    if after.text == state.text and not after.is_insert:
        return _settle(after)
    undo = (*state.undo, (state.text, state.caret))[-MAX_UNDO:]
    return _settle(replace(after, change=keys, inserted=None, undo=undo, redo=()))


def _run_alias(state: VimState, simple: str, count: str) -> VimState:
    keys = count + _SAME_AS[simple]
    found = _COMMAND.fullmatch(keys)
    assert found is not None, "the aliases are commands"
    return _run(state, keys, found)


def _undo(state: VimState, count: int, *, is_redo: bool) -> VimState:
    here, other = (state.redo, state.undo) if is_redo else (state.undo, state.redo)
    text, caret = state.text, state.caret
    for _ in range(min(count, len(here))):
        other = (*other, (text, caret))
        *rest, (text, caret) = here
        here = tuple(rest)
    undo, redo = (other, here) if is_redo else (here, other)
    return _settle(replace(state, text=text, caret=caret, undo=undo, redo=redo))


def _repeat(state: VimState, count: int | None) -> VimState:
    """Repeat the last change with the text that it inserted."""
    keys, inserted = state.change, state.inserted
    if not keys:
        return state
    if count is not None:
        keys = f"{count}{keys.lstrip('123456789').lstrip('0') or keys}"
    for key in keys:
        state = press(state, key)
    if not state.is_insert:
        return state
    text = state.text[: state.caret] + (inserted or "") + state.text[state.caret :]
    return leave_insert(state, text, state.caret + len(inserted or ""))


def _find_motion(state: VimState, keys: str, count: int | None) -> tuple[VimState, Motion | None]:
    """Return the motion of some keys; `;` and `,` repeat the last search of a character."""
    if keys in ";,":
        if not state.find:
            return state, None
        kind = state.find[0] if keys == ";" else _OPPOSITE[state.find[0]]
        return state, get_motion(state.text, state.caret, f"{kind}{state.find[1]};", count)
    if keys[0] in "fFtT":
        state = replace(state, find=keys)
    return state, get_motion(state.text, state.caret, keys, count)


def _operate(state: VimState, found: re.Match[str], count: int | None) -> VimState:
    """Run an operator on a motion, a text object or lines."""
    text, at, operator = state.text, state.caret, found["operator"]
    if found["more"]:
        count = min((count or 1) * int(found["more"]), _MAX_COUNT)
    if found["object"]:
        span = find_text_object(text, at, found["object"])
        return state if span is None else _apply(state, operator, *span, linewise=False)
    if found["line"]:
        last = at
        for _ in range((count or 1) - 1):
            last = min(line_end(text, last) + 1, len(text))
        return _apply(state, operator, line_start(text, at), line_end(text, last), linewise=True)
    keys = found["target"]
    if operator == "c" and keys == "w" and at < len(text) and not text[at].isspace():
        keys = "e"
        if at + 1 >= len(text) or _ends_word(text, at):  # `e` would go to the next word
            if count is None or count == 1:
                return _apply(state, operator, at, at + 1, linewise=False)
            count -= 1
    state, motion = _find_motion(state, keys, count)
    if motion is None:
        return state
    start, end = min(at, motion.end), max(at, motion.end)
    if motion.linewise:
        return _apply(state, operator, line_start(text, start), line_end(text, end), linewise=True)
    if keys == "w":
        end = _without_line_breaks(text, at, end)
    return _apply(state, operator, start, end + motion.inclusive, linewise=False)


def _ends_word(text: str, at: int) -> bool:
    return re.match(r"\w+|[^\w\s]+", text[at : at + 2]) is not None and not re.fullmatch(
        r"\w\w|[^\w\s]{2}", text[at : at + 2]
    )


def _without_line_breaks(text: str, start: int, end: int) -> int:
    """Return the end of `dw`: the last word of a line takes no line break."""
    piece = text[start:end]
    head, line_break, blank = piece.rpartition("\n")
    return start + len(head.rstrip("\n")) if line_break and not blank.strip() else end


def _apply(state: VimState, operator: str, start: int, end: int, *, linewise: bool) -> VimState:
    """Yank, delete or change a part of the text; lines are given without the last break."""
    text = state.text
    end = min(end, len(text))
    register = Register(text[start:end] + "\n" * linewise, linewise)
    state = replace(state, register=register)
    if operator == "y":
        caret = state.caret if linewise and state.caret >= start else start
        return replace(state, caret=min(caret, end))
    if operator == "c":
        return replace(state, text=text[:start] + text[end:], caret=start, is_insert=True)
    if not linewise:
        return replace(state, text=text[:start] + text[end:], caret=start)
    if end < len(text):
        end += 1
    elif start > 0:
        start -= 1
    text = text[:start] + text[end:]
    return replace(state, text=text, caret=first_nonblank(text, start))


def _replace_characters(state: VimState, by: str, count: int) -> VimState:
    text, at = state.text, state.caret
    if at + count > line_end(text, at):
        return state
    text = text[:at] + by * count + text[at + count :]
    return replace(state, text=text, caret=at + count - 1)


def _toggle_case(state: VimState, count: int) -> VimState:
    text, at = state.text, state.caret
    end = min(at + count, line_end(text, at))
    return replace(state, text=text[:at] + text[at:end].swapcase() + text[end:], caret=end)


def _join_lines(state: VimState, count: int) -> VimState:
    text, caret = state.text, state.caret
    for _ in range(max(1, count - 1)):
        end = line_end(text, caret)
        if end == len(text):
            break
        rest = text[end + 1 :].lstrip(" \t")
        gap = "" if not rest or rest[0] in "\n)" or text[end - 1 : end].isspace() else " "
        text, caret = text[:end] + gap + rest, end
    return replace(state, text=text, caret=caret)


def _put(state: VimState, count: int, *, after: bool) -> VimState:
    once = state.register.text
    count = max(1, min(count, _MAX_PUT // max(1, len(once))))
    text, at, put = state.text, state.caret, once * count
    if not put:
        return state
    if not state.register.linewise:
        at += after and at < line_end(text, at)
        return replace(state, text=text[:at] + put + text[at:], caret=at + len(put) - 1)
    if not after:
        at = line_start(text, at)
        text = text[:at] + put + text[at:]
    elif (end := line_end(text, at)) < len(text):
        at = end + 1
        text = text[:at] + put + text[at:]
    else:
        at = len(text) + 1
        text = f"{text}\n{put.removesuffix(chr(10))}"
    return replace(state, text=text, caret=first_nonblank(text, at))


def _insert_at(place: Callable[[str, int], int]) -> Callable[[VimState, int], VimState]:
    def insert(state: VimState, _count: int) -> VimState:
        return replace(state, caret=place(state.text, state.caret), is_insert=True)

    return insert


def _open_line(state: VimState, _count: int, *, below: bool) -> VimState:
    text = state.text
    at = line_end(text, state.caret) if below else line_start(text, state.caret)
    return replace(state, text=f"{text[:at]}\n{text[at:]}", caret=at + below, is_insert=True)


_EDITS: Mapping[str, Callable[[VimState, int], VimState]] = {
    "i": _insert_at(lambda _, at: at),
    "a": _insert_at(lambda text, at: min(at + 1, line_end(text, at))),
    "I": _insert_at(first_nonblank),
    "A": _insert_at(line_end),
    "o": lambda state, count: _open_line(state, count, below=True),
    "O": lambda state, count: _open_line(state, count, below=False),
    "p": lambda state, count: _put(state, count, after=True),
    "P": lambda state, count: _put(state, count, after=False),
    "J": _join_lines,
    "~": _toggle_case,
}
