"""Command `/tree`.

It shows the branches of a session, as a list to choose from and as text.
"""

from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    EditPrompt,
    EnterText,
    Report,
    Section,
    ShowTree,
    SlashCommand,
    StartTurn,
)
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message
from yourtool.tools.git.git_state import describe_path, describe_paths

if TYPE_CHECKING:
    from yourtool.agent.history.branches import TreeRow
    from yourtool.agent.history.file_history import RestorePlan
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session
    from yourtool.events.branches import Reach

_USAGE = (
    "`/tree` takes `list [all]`, the number of an entry, alone or before `summary [HINT]` or"
    " `label [TEXT]`, or `merge` and numbers."
)
_SYMBOLS = {
    "prompt": "›",
    "message": "›",
    "command": "!",
    "reply": "",
    "call": "⚙",
    "result": "↳",
    "branch": "⑂",
    "note": "✎",
}
_BOTH, _CONVERSATION = "both", "conversation"
_MAX_NAMED = 5
_REACHES: dict[str, "Reach"] = {"--next": "next_request", "--all": "requests"}


async def show_tree(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/tree`: show the branches, continue after an entry, label one, or merge some."""
    if not session.state.has_branches and not session.state.branch.leaf:
        raise UsageError("There is no message yet.")
    verb, _, rest = argument.partition(" ")
    if not verb:
        results = TreeList(session).show()
    elif verb == "list":
        results = _list_entries(session, shows_steps=_is_all(rest))
    elif verb == "merge":
        results = session.tree.merge([await _find_entry(session, each) for each in rest.split()])
    else:
        results = _act_on_entry(session, await _find_entry(session, verb), rest.strip())
    async with aclosing(results):
        async for result in results:
            yield result


def _act_on_entry(session: "Session", entry_id: str, rest: str) -> CommandResults:
    action, _, text = rest.partition(" ")
    match action:
        case "":
            return go_to_entry(session, entry_id)
        case "summary":
            return go_to_entry(session, entry_id, hint=text)
        case "label":
            return session.tree.label(entry_id, text)
        case _:
            raise UsageError(_USAGE)


def _is_all(rest: str) -> bool:
    if rest not in ("", "all"):
        raise UsageError(_USAGE)
    return bool(rest)


async def _find_entry(session: "Session", number: str) -> str:
    rows = await session.tree.build_rows(shows_steps=True)
    found = next((each.id for each in rows if str(each.number) == number), None)
    if found is None:
        raise UsageError(f"There is no entry `{number}`. {_USAGE}")
    return found


async def _list_entries(session: "Session", *, shows_steps: bool) -> CommandResults:
    rows = await session.tree.build_rows(shows_steps=shows_steps)
    lines = tuple(
        (f"{each.number}{' *' * each.is_leaf}", _describe(each, each.short_text)) for each in rows
    )
    about = "the conversation continues after *; `/tree N` continues after or before entry N"
    yield Report("Branches of this session", (Section(about, lines),))


async def go_to_entry(session: "Session", entry_id: str, hint: str | None = None) -> CommandResults:
    """Continue after an entry, or before a prompt, which is loaded for editing.

    Asks whether to restore files if some changed since. `hint`: what a summary of the branch that
    is left must have above all; None: there is no summary.
    """
    place = await session.tree.find_place(entry_id)
    plan = await session.tree.plan_files(place.leaf)
    if plan is not None:
        plan = await session.files.check(plan)
        if not plan.files:
            plan = None
    if plan is None:
        results = move_to(session, place.leaf, place.prompt, None, hint)
        async with aclosing(results):
            async for result in results:
                yield result
        return

    async def go_back(what: str) -> CommandResults:
        chosen = plan if what == _BOTH else None
        async for result in move_to(session, place.leaf, place.prompt, chosen, hint):
            yield result

    choices = (
        Choice(_BOTH, "Conversation and files", describe_plan(plan)),
        Choice(_CONVERSATION, "Conversation only", "files stay as they are"),
    )
    yield Choose("Restore what?", choices, then=go_back)


async def move_to(
    session: "Session",
    leaf: str,
    prompt: Message | None,
    plan: "RestorePlan | None",
    hint: str | None,
) -> CommandResults:
    """Continue after an entry, restore files, summarise what is left, and load a prompt."""
    left = session.state.branch.leaf
    async for event in session.tree.move(leaf):
        yield event
    if plan is not None:
        async for event in session.files.rewind(plan):
            yield event
    if prompt is not None:
        if len(prompt.content) > 1:
            text = "The attachments of the prompt are not restored; attach them again."
            yield Notice(level="info", text=text)
        texts = [block.text for block in prompt.content if isinstance(block, TextBlock)]
        yield EditPrompt(texts[0] if texts else "")
    if hint is not None:
        yield StartTurn(session.tree.summarise(left, hint))


def add_note(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/note`: add a text to the session, to the next request, or to all later ones."""
    option, _, rest = argument.partition(" ")
    reach = _REACHES.get(option)
    text = argument if reach is None else rest.strip()
    if not text:
        raise UsageError("Nothing to note; use `/note [--next | --all] TEXT`.")
    return session.tree.add_note(text, reach or "session")


async def describe_branch_of(session: "Session", message_id: str) -> str:
    """Return how to go to a message on another branch; empty if it is on the present one."""
    rows = await session.tree.build_rows(shows_steps=True)
    row = next((each for each in rows if each.id == message_id and not each.is_active), None)
    return "" if row is None else f"It is on another branch; `/tree {row.number}` goes there."


class TreeList:
    """Shows the tree to choose an entry from, and shows it again after a change."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._shows_steps = False
        self._marked: dict[str, None] = {}
        """Entries that are to be merged."""
        self._current = ""

    async def show(self) -> CommandResults:
        """Let the user choose an entry or change the list."""
        rows = await self._session.tree.build_rows(shows_steps=self._shows_steps)
        leaf = next((each.id for each in rows if each.is_leaf), "")
        steps = "Ctrl+O no steps" if self._shows_steps else "Ctrl+O steps"
        merge = f"Ctrl+G merge {len(self._marked)}" if self._marked else "Ctrl+G merge"
        yield ShowTree(
            "Branches: Enter continues after an entry, or edits a prompt",
            tuple(map(self._build_choice, rows)),
            then=partial(go_to_entry, self._session),
            current=self._current or leaf,
            columns=("",),
            actions=(
                ChoiceAction("ctrl+s", "Ctrl+S summary", self._go_with_summary),
                ChoiceAction("ctrl+r", "Ctrl+R label", self._label),
                ChoiceAction("ctrl+x", "Ctrl+X mark", self._mark),
                ChoiceAction("ctrl+g", merge, self._merge),
                ChoiceAction("ctrl+o", steps, self._toggle_steps),
            ),
            branches={each.id: each.branch for each in rows if each.branch},
            outer={each.id: each.outer for each in rows if each.id == each.branch},
        )

    def _build_choice(self, row: "TreeRow") -> Choice:
        kind = "edit and send again" if row.kind == "prompt" else "continue after it"
        place = "the conversation is here" if row.is_leaf else kind
        return Choice(
            row.id,
            _describe(row, row.text),
            f"entry {row.number} · {place} · {row.text}",
            mark="+" if row.id in self._marked else "*" if row.is_leaf else "",
            is_muted=not row.is_active,
        )

    def _show_again(self, current: str) -> CommandResults:
        self._current = current
        return self.show()

    async def _go_with_summary(self, entry_id: str) -> CommandResults:
        if entry_id:
            async for result in go_to_entry(self._session, entry_id, hint=""):
                yield result

    async def _label(self, entry_id: str) -> CommandResults:
        if entry_id:
            explanation = "A label for this entry; an empty one is removed:"
            yield EnterText("Label", explanation, then=partial(self._set_label, entry_id))

    async def _set_label(self, entry_id: str, text: str) -> CommandResults:
        async for event in self._session.tree.label(entry_id, text):
            yield event
        async for result in self._show_again(entry_id):
            yield result

    def _mark(self, entry_id: str) -> CommandResults:
        if entry_id in self._marked:
            del self._marked[entry_id]
        elif entry_id:
            self._marked[entry_id] = None
        return self._show_again(entry_id)

    def _merge(self, entry_id: str) -> CommandResults:
        return self._session.tree.merge([*self._marked] or [entry_id])

    def _toggle_steps(self, entry_id: str) -> CommandResults:
        self._shows_steps = not self._shows_steps
        return self._show_again(entry_id)


def _describe(row: "TreeRow", text: str) -> str:
    label = f"[{row.label}]" if row.label else ""
    return row.guide + " ".join(filter(None, (_SYMBOLS[row.kind], label, text)))


def describe_plan(plan: "RestorePlan") -> str:
    """Return a line about the files of a plan."""
    count = f"{len(plan.files):,} file{'s' * (len(plan.files) != 1)}"
    names = _name(describe_paths(each.path for each in plan.files))
    text = f"restore {count}: {names}" if plan.files else "no file can be restored"
    left = _name([f"{describe_path(each.path)} ({each.reason})" for each in plan.left])
    return f"{text}; left: {left}" if plan.left else text


def _name(paths: Sequence[str]) -> str:
    more = f", and {len(paths) - _MAX_NAMED:,} more" if len(paths) > _MAX_NAMED else ""
    return ", ".join(paths[:_MAX_NAMED]) + more


COMMANDS = (
    SlashCommand(
        name="tree",
        run=show_tree,
        argument="[N [summary | label] | list | merge N]",
        keywords=(
            ("list", "show the entries with their numbers; `list all` with calls and results"),
            ("merge", "add messages of other branches, by their numbers, to the conversation"),
        ),
        summary="show the branches of the session; continue after any message, edit any prompt",
        during_turn=False,
    ),
    SlashCommand(
        name="note",
        run=add_note,
        argument="[--next | --all] TEXT",
        keywords=(
            ("--next", "only the next request has it"),
            ("--all", "all later requests have it"),
        ),
        is_multiline=True,
        summary="add a note to the session that the model does not get, or without a prompt",
        during_turn=False,
    ),
)
