"""`yourtool sessions tree`: branches of a session."""

from msgspec.structs import replace

from yourtool.agent.history.branches import Place, TreeRow, build_rows, find_place
from yourtool.agent.history.state import State
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.errors import UsageError
from yourtool.events.branches import BranchSelected
from yourtool.ids import new_id
from yourtool.messages.message import now
from yourtool.store.base import SessionStore


async def show_tree(session_id: str, store: SessionStore, arguments: Arguments) -> None:
    """Print the entries of a session, or continue it at one of them with `--at N`.

    Raises:
        UsageError: there is no such entry, or the last turn has not ended.
        SessionBusyError: the session is open, and `--at` is given.
    """
    if arguments.at is None:
        state = await _read_state(session_id, store)
        _print_rows(build_rows(state.tree, state.labels, shows_steps=arguments.steps), arguments)
        return
    lease = store.lease(session_id)
    try:
        state = await _read_state(session_id, store)
        place = _find_place(state, arguments.at)
        selected = BranchSelected(
            id=new_id(),
            timestamp=now(),
            session_id=session_id,
            leaf=place.leaf,
            left=state.branch.leaf,
        )
        if place.leaf != state.branch.leaf:
            await store.append(selected)
    finally:
        lease.release()
    _print_place(session_id, place, arguments)


async def _read_state(session_id: str, store: SessionStore) -> State:
    state = State(keep_facts=False)
    await store.replay(session_id, state.apply)
    return state


def _find_place(state: State, number: str) -> Place:
    if state.open_turn is not None:
        raise UsageError("The last turn of the session has not ended; resume the session first.")
    rows = build_rows(state.tree, {}, shows_steps=True)
    found = next((each.id for each in rows if str(each.number) == number), None)
    if found is None:
        raise UsageError(f"There is no entry `{number}`; `yourtool sessions tree ID` lists them.")
    return find_place(state.tree, found)


def _print_rows(rows: list[TreeRow], arguments: Arguments) -> None:
    if arguments.json:
        print_json([replace(each, guide="") for each in rows])
        return
    print_table([(_describe_number(each), each.kind, _describe_text(each)) for each in rows])


def _describe_number(row: TreeRow) -> str:
    return f"{row.number}{' *' * row.is_leaf}"


def _describe_text(row: TreeRow) -> str:
    return f"{row.guide}{f'[{row.label}] ' if row.label else ''}{row.short_text}"


def _print_place(session_id: str, place: Place, arguments: Arguments) -> None:
    text = place.prompt.text_without_files if place.prompt is not None else None
    if arguments.json:
        print_json({"session_id": session_id, "leaf": place.leaf, "prompt": text})
        return
    print_lines(f"Continue with: yourtool --resume {session_id}")
    if text is not None:
        print_lines("It continues before this prompt:", text)
