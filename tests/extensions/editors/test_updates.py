"""Events as updates: every stored fact and delta has its translation."""

import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tests.events.examples import example
from yourtool.effects import PlanAnswer
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.codec import STORED_FACT, from_stored
from yourtool.events.deltas import Notice, TextDelta
from yourtool.events.tools import ToolConfirmationResolved
from yourtool.extensions.editors.diffs import to_diffs
from yourtool.extensions.editors.updates import Situation, to_acp, to_replayed
from yourtool.tools.edits.file_changes import FileChange

HERE = Situation(workspace=Path("/work"), context_window=1_000)
FACTS = [
    from_stored(msgspec.json.decode(msgspec.json.decode(line)["printed"], type=STORED_FACT))
    for line in (Path(__file__).parents[2] / "events/stored_facts.jsonl").read_bytes().splitlines()
]


def shown(updates: Any) -> list[dict[str, Any]]:
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in updates]


@pytest.mark.parametrize("kind", get_args(AnyFact), ids=lambda kind: kind.__name__)
def test_every_stored_fact_has_updates_that_can_be_sent(kind):
    for fact in [fact for fact in FACTS if type(fact) is kind] or [example(kind)]:
        updates = shown(to_acp(fact, HERE))
        assert updates == shown(to_acp(fact, HERE)), "the same event has the same updates"
        replayed = shown(to_replayed(fact, HERE))
        assert all(each in replayed for each in updates if each["sessionUpdate"] != "usage_update")


def test_every_delta_has_updates_that_can_be_sent():
    for kind in set(get_args(Event)) - set(get_args(AnyFact)):
        fields = {
            field.name: example(field.type)
            for field in msgspec.structs.fields(kind)
            if field.required
        }
        shown(to_acp(kind(**fields), HERE))


@pytest.mark.parametrize(
    ("answer", "mode"),
    [(PlanAnswer.ASK, "ask"), (PlanAnswer.ACCEPT_EDITS, "accept-edits"), (UNSET, None)],
)
def test_approved_plan_changes_the_mode(answer, mode):
    fact = ToolConfirmationResolved(
        tool_use_id="tu_1", confirmation_request_id="c", decision="allow", plan=answer
    )
    assert [each["currentModeId"] for each in shown(to_acp(fact, HERE))] == [mode] * bool(mode)


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(message_id="m", content_block_index=0, text="a\x1b]52;c;x\x07b\u202ec"),
        Notice(level="warning", text="a\x1b[2Jb"),
    ],
)
def test_text_has_no_control_sequences(event):
    [update] = shown(to_acp(event, HERE))
    assert not {"\x1b", "\x07", "\u202e"} & set(update["content"]["text"])


LINES = st.lists(st.sampled_from(["a", "b", "", "-- x", "++ y", "@@ -1 +1 @@", "\\ z"]), max_size=8)


@given(LINES, LINES, st.booleans())
def test_diff_of_a_new_or_small_file_has_its_whole_texts(old, new, ends):
    before, after = ("\n".join(lines) + "\n" * (ends and bool(lines)) for lines in (old, new))
    change = FileChange("f.txt", "f.txt", before.encode(), after.encode())
    diffs = list(to_diffs(change.diff(), Path("/work")))
    if before != after:
        assert "".join(each.old_text or "" for each in diffs) in before
        assert "".join(each.new_text for each in diffs) in after
        changed = before.replace("".join(each.old_text or "" for each in diffs), "", 1)
        assert len(before) - len(changed) == sum(len(each.old_text or "") for each in diffs)
    [created] = to_diffs(FileChange("f", "f", None, after.encode()).diff(), Path("/work"))
    assert (created.old_text, created.new_text, created.path) == (None, after, "/work/f")


def test_other_commands_do_not_import_the_library():
    code = (
        "import sys; from yourtool.cli.parser import build_parser; build_parser(['acp']);"
        "import yourtool.headless, yourtool.extensions.editors.command; print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"acp", "pydantic", "yourtool.extensions.editors.server"} & {*done.stdout.split()}
