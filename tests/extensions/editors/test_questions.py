"""Approval requests as permission requests."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from yourtool.effects import (
    Confirmation,
    Consequences,
    NetworkAnswer,
    NetworkOffer,
    PlanAnswer,
    Preview,
    SandboxOffer,
    Scope,
    SideEffects,
    Subject,
    Verdict,
)
from yourtool.extensions.editors.questions import build_options, build_question, to_call

WORK = Path("/work")


def question(**fields: Any) -> Confirmation:
    base = {"id": "c1", "kind": "tool", "title": "shell", "tool_use_id": "tu_1"}
    return Confirmation(**base | fields)


def texts(asked: Confirmation) -> str:
    content = to_call(asked, WORK).content or []
    return "\n".join(each.content.text for each in content if each.type == "content")


@pytest.mark.parametrize("kind", get_args(get_type_hints(Confirmation)["kind"]))
def test_every_question_has_one_denial_and_at_most_one_answer_without_a_lasting_effect(kind):
    options = build_options(question(kind=kind, rules=("shell(ls)",)))
    assert len({each.id for each in options}) == len(options)
    assert [each.kind for each in options].count("reject_once") == 1
    answers = 0 if kind == "question" else 1  # an editor has no field for a text
    assert [each.kind for each in options].count("allow_once") == answers
    for each in options:
        allows = each.decision.verdict is Verdict.ALLOW
        assert allows == each.kind.startswith("allow")
        if each.decision.scope is not Scope.ONCE:
            assert each.kind == "allow_always" and "`shell(ls)`" in each.name


def test_question_without_a_rule_offers_no_lasting_answer():
    assert [each.id for each in build_options(question())] == ["once", "deny"]


def test_all_in_the_sandbox_is_an_answer_that_lasts():
    offer = SandboxOffer(folder="/work/a\u202eb", accept=lambda: None)
    options = build_options(question(sandbox=offer, rules=("shell(ls)",)))
    assert [each.id for each in options] == ["once", "session", "always", "sandbox", "deny"]
    assert options[3].kind == "allow_always" and options[3].decision.allows_contained
    assert options[3].name == "Always allow what stays in the sandbox, in `/work/a\\u{202e}b`"
    alone = build_options(question(sandbox=offer))
    assert [each.id for each in alone] == ["once", "sandbox", "deny"]


def test_question_about_a_network_offers_what_would_give_one():
    offer = NetworkOffer(hosts=("a.example",), outside=("npm view *",))
    once, outside, hosts, _ = build_options(question(network=offer))
    assert once.decision.network is None
    assert outside.decision.network is NetworkAnswer.PROGRAM
    assert "`npm view *`" in outside.name
    assert hosts.decision.network is NetworkAnswer.HOSTS
    assert hosts.name.endswith("always allow `a.example` there to all commands")


def test_rule_is_shown_without_what_a_terminal_hides():
    options = build_options(question(rules=("shell(a\u202eb\x1b[2J)",)))
    assert not any({"\u202e", "\x1b"} & set(each.name) for each in options)


def test_plan_is_carried_out_in_the_mode_of_the_answer():
    plans = [each.decision.plan for each in build_options(question(kind="plan"))]
    assert plans == [PlanAnswer.ASK, PlanAnswer.ACCEPT_EDITS, None]


def test_command_is_shown_whole_with_its_warnings():
    command = "rm -rf a\necho ```\x1b]0;x\x07"
    asked = question(
        preview=Preview(kind="command", body=command, surroundings="the sandbox", protected=True),
        consequences=Consequences(("deletes 3 files",), ("a/b.txt",)),
        reason="a rule asks",
        side_effects=SideEffects.EXECUTE,
    )
    shown = texts(asked)
    for part in ("Warning: deletes 3 files", "a/b.txt", "the sandbox", "a rule asks", "````sh\n"):
        assert part in shown
    assert "rm -rf a" in shown and "\x1b" not in shown
    call = to_call(asked, WORK)
    assert call.kind == "execute" and call.tool_call_id == "tu_1"


def test_question_of_a_worker_names_it_and_a_limit_has_a_call_of_its_own():
    host = Subject("host", "example.org")
    assert build_question(question(title="fetch_url", subject=host, asked_by="worker 2")) == (
        "worker 2: fetch_url: example.org"
    )
    limit = question(kind="limit", title="20 requests are used.", tool_use_id=None)
    assert to_call(limit, WORK).tool_call_id == "c1"
    assert build_question(limit) == "Continue? 20 requests are used."


def test_arguments_without_a_preview_are_shown():
    asked = question(title="mcp__a__b", input={"path": "x", "n": [1]}, preview=None)
    assert 'path: "x"' in texts(asked) and "n: [1]" in texts(asked)
    assert to_call(asked, WORK).raw_input == {"path": "x", "n": [1]}
