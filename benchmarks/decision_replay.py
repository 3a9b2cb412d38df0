"""The time to decide again about stored calls, as `yourtool permissions replay` does.

The calls are the commands and paths of an ordinary week, with different arguments, judged by the
rules of a user who granted a dozen and denied three. Prints JSON; times are seconds.
"""

import argparse
import asyncio
import functools
import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from yourtool.agent.history.stored_decisions import replay_decisions
from yourtool.agent.turn.calls.judgements import build_judgement, build_snapshot
from yourtool.effects import SideEffects, Subject
from yourtool.events.catalog import AnyFact
from yourtool.events.sessions import SessionCreated
from yourtool.events.tools import ToolCalled
from yourtool.foundation.masking import Mask
from yourtool.ids import new_id, new_session_id, new_tool_use_id
from yourtool.messages.message import now
from yourtool.permissions.judging import CallSubjects, JudgedCall, Policy, judge, look_up
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.settings.config import Mode
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

_RULES = RuleSet(
    tuple(
        map(
            Rule.parse,
            (
                "shell(make test*)", "shell(pytest*)", "shell(git log*)", "shell(git diff*)",
                "shell(git status*)", "shell(ls*)", "shell(grep*)", "shell(cargo build*)",
                "shell(npm run test)", "shell(head*)", "edit_file(src/**)", "write_file(docs/**)",
            ),
        )
    ),
    deny=tuple(map(Rule.parse, ("shell(git push*)", "shell(rm -rf*)", "edit_file(ci/**)"))),
)  # fmt: skip
_COMMANDS = (
    "pytest -q tests/test_{}.py", "git log --oneline -{}", "grep -rn name_{} src | head -20",
    "ls src/part_{}", "python scripts/run_{}.py", "cd src && make test ARGS=tests/part_{}",
    "git push origin topic_{}", "sed -n '{},+20p' src/main.py",
)  # fmt: skip
_REPEATS = 5
"""How often a call occurs: tests and builds repeat with the same words."""


def measure(count: int = 100_000) -> dict[str, Any]:
    """Return the seconds for `count` decisions with the same rules, and the differences."""
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_measure(Path(directory), count))


async def _measure(directory: Path, count: int) -> dict[str, Any]:
    store = SqliteStore(Database(directory / "sessions.db"))
    facts = list(_build_facts(count, str(directory)))
    for start in range(0, len(facts), 5_000):
        await store.append(*facts[start : start + 5_000])
    began, cpu = time.perf_counter(), time.process_time()
    report = await replay_decisions(store, lambda _: _RULES)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    await store.close()
    return {
        "decisions": report.decisions,
        "differences": len(report.changes),
        "unrecorded": sum(report.unrecorded.values()),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
    }


def _build_facts(count: int, workspace: str) -> list[AnyFact]:
    policy, session_id = Policy(Mode.ASK, _RULES, workspace), new_session_id()
    digest = policy.get_digest()
    stamp: dict[str, Any] = {"session_id": session_id, "timestamp": now()}
    facts: list[AnyFact] = [
        SessionCreated(id=new_id(), workspace_path=workspace, workspace_hash="", **stamp)
    ]
    snapshot = build_snapshot(policy, digest)
    facts.append(replace(snapshot, id=new_id(), **stamp))
    calls = itertools.cycle(_build_calls(max(1, count // _REPEATS), workspace))
    looked_up = functools.cache(functools.partial(look_up, policy))
    for each in itertools.islice(calls, count):
        call = looked_up(each)
        judgement = build_judgement(call, judge(policy, call), digest, Mask(()))
        called = ToolCalled(
            id=new_id(),
            tool_use_id=new_tool_use_id(),
            tool_name=call.tool,
            input_hash="",
            input_size_bytes=0,
            side_effects=call.side_effects,
            judgement=judgement,
            **stamp,
        )
        facts.append(called)
    return facts


def _build_calls(count: int, workspace: str) -> list[JudgedCall]:
    found = list[JudgedCall]()
    for number in range(count):
        if number % 2:
            text = _COMMANDS[number // 2 % len(_COMMANDS)].format(number)
            subject = Subject("command", text, workspace)
            found.append(JudgedCall("shell", SideEffects.EXECUTE, CallSubjects((subject,))))
        else:
            subject = Subject("path", f"src/part_{number}/main.py")
            found.append(JudgedCall("edit_file", SideEffects.WRITE, CallSubjects((subject,))))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=100_000)
    print(json.dumps(measure(parser.parse_args().decisions)))
