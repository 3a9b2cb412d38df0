"""Paths of tool calls, in every mode, and while another process replaces directories with links."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.security.corpora import MISSING, load_recorded, path_cases
from tests.security.path_race import CANARY, lay_out
from tests.tools.contexts import Contexts, call
from tests.tools.openers import OPENERS
from tests.tools.path_tools import TOOLS, lay_out_files
from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.gate import Gate
from yourtool.permissions.rules import RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.toolset import resolve_subjects

_MODES = (Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO)
_OPERATIONS = int(os.environ.get("YOURTOOL_RACES", "1000000"))
"""Operations of the long version, in all."""


def find_outside_files(top):
    return {each: each.read_bytes() for each in (top / "outside").rglob("*") if each.is_file()}


async def decide(tool, arguments, context, mode):
    """Return what happens to a call: `reject`, `outside`, or the verdict of the gate."""
    args = tool.parse(arguments)
    try:
        subjects = resolve_subjects(tool, args, context.workspace)
        preview = tool.preview and await tool.preview(args, context)
    except ToolError as error:
        return "outside" if error.failure is ToolFailure.PERMISSION_DENIED else "reject"
    return Gate(RuleSet(), mode).decide(tool.definition, subjects, preview).verdict


async def check_path_case(case, opener, top, monkeypatch):
    if case["op"] not in TOOLS:
        pytest.skip("no tool does this")
    monkeypatch.setenv("HOME", str(top / "home"))
    lay_out_files(top, case["base"])
    lay_out_files(top, case["fixture"])
    path = case["path"]
    for name, place in {"ws": top / "ws", "root": top, "home": top / "home"}.items():
        path = path.replace(f"{{{name}}}", str(place))
    (top / "spill").mkdir()
    context = Contexts(top / "ws", top / "spill", opener=opener)()
    tool, arguments = TOOLS[case["op"]](path)
    before, expected = find_outside_files(top), case["expect"]
    for mode in _MODES:
        verdict = await decide(tool, arguments, context, mode)
        writes = case["op"] in ("write", "edit")
        match expected:
            case "inside":
                assert verdict == ("ask" if writes and mode is Mode.ASK else "allow"), mode
            case "protected":
                assert verdict == "ask", mode
            case "outside":
                assert verdict == "outside" or case["op"] == "search", mode
    if expected == "inside":
        await call(tool, context, **arguments)
    elif expected != "protected":
        with pytest.raises(ToolError) as caught:
            await call(tool, context, **arguments)
        if expected == "outside":
            assert caught.value.failure is ToolFailure.PERMISSION_DENIED
    assert find_outside_files(top) == before


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("case", path_cases())
@pytest.mark.req("R-TOOL-06", "R-TOOL-07")
async def test_path_is_judged_as_in_the_corpus_in_every_mode(case, opener, tmp_path, monkeypatch):
    await check_path_case(case, opener, tmp_path, monkeypatch)


@pytest.mark.security
@pytest.mark.figure("paths")
@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("case", path_cases())
async def test_path_is_judged_as_in_the_corpus_and_counted(
    case, opener, tmp_path, monkeypatch, figures
):
    if not load_recorded("path_cases"):
        figures("paths", MISSING, part="larger set")
    await check_path_case(case, opener, tmp_path, monkeypatch)


def start(*arguments):
    command = [sys.executable, "-m", "tests.security.path_race", *map(str, arguments)]
    top = Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=top, stdout=subprocess.PIPE, text=True)


def race(top, opener, count, workers):
    """Return the successful and the escaped operations, and the plain opens that escaped."""
    done, escaped, plain = Counter(), Counter(), 0
    with ExitStack() as stack:
        operators = []
        for number in range(workers):
            root = top / str(number)
            root.mkdir()
            lay_out(root)
            attacker = stack.enter_context(start("attack", root))
            stack.callback(attacker.kill)
            assert attacker.stdout.readline() == "started\n"
            operators.append(start("operate", root, opener, count // workers, number))
        for each in operators:
            report = json.loads(stack.enter_context(each).communicate()[0])
            done.update(report["done"])
            escaped.update(report["escaped"])
            plain += report["plain"]
    for number in range(workers):
        found = find_outside_files(top / str(number))
        escaped["changed"] += len(found) != 5 or set(found.values()) != {CANARY}
    return done, escaped, plain


@pytest.mark.parametrize("opener", ["components", "kernel"])
@pytest.mark.req("R-TOOL-06", "R-TOOL-08", "R-UNDO-02")
@pytest.mark.sample(2)
def test_directories_replaced_with_links_lead_no_operation_outside(opener, tmp_path):
    done, escaped, plain = race(tmp_path, opener, 2_000, 1)
    assert not +escaped
    assert set(done) == {"read", "list", "search", "write", "edit", "delete", "restore"}
    assert plain, "the other process must win against a plain open"


@pytest.mark.security
@pytest.mark.parametrize("opener", ["components", "kernel"])
def test_no_operation_of_a_long_race_leaves_the_workspace(opener, figures):
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        done, escaped, plain = race(Path(directory), opener, _OPERATIONS // 2, 2)
    escapes = (+escaped).total()
    figures("races", f"{_OPERATIONS // 2:,}, {escapes} escapes", part=opener)
    assert plain
    assert done
    assert escapes == 0
