"""What exit codes and output of a hook mean."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.agent.hooks.execution import HookRun
from yourtool.agent.hooks.reply import parse_reply


def reply(event, output="", code=0, errors=""):
    text = output if isinstance(output, str) else json.dumps(output)
    return parse_reply(event, HookRun(code, 1, text, errors))


@pytest.mark.parametrize(
    ("event", "verdict"),
    [("PreToolUse", "deny"), ("PermissionRequest", "deny"), ("PostToolUse", "block"),
     ("UserPromptSubmit", "block"), ("Stop", "block"), ("SubagentStop", "block"),
     ("PreCompact", "block"), ("SessionStart", "none"), ("Notification", "none"),
     ("RouteDecided", "none"), ("SessionEnd", "none")],
)  # fmt: skip
def test_exit_code_2_blocks_what_can_be_blocked(event, verdict):
    found = reply(event, code=2, errors="why\n")
    assert found.verdict == verdict
    assert "why" in (found.reason, found.message)


@pytest.mark.parametrize(
    ("output", "verdict", "reason"),
    [
        ({"decision": "block", "reason": "r"}, "deny", "r"),
        ({"decision": "approve"}, "allow", ""),
        ({"decision": "deny", "reason": "r"}, "deny", "r"),
        ({"continue": False, "stopReason": "s", "reason": "r"}, "stop", "s"),
        ({"hookSpecificOutput": {"permissionDecision": "defer"}}, "none", ""),
        ({"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "p"}},
         "ask", "p"),
        ({"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny"}}, "deny", ""),
        ({"unknown": 1, "systemMessage": "m"}, "none", ""),
        ({}, "none", ""),
    ],
)  # fmt: skip
def test_object_decides_on_a_call(output, verdict, reason):
    found = reply("PreToolUse", output)
    assert (found.verdict, found.reason) == (verdict, reason)


def test_permission_request_has_its_own_form():
    decision = {"behavior": "deny", "message": "no"}
    found = reply("PermissionRequest", {"hookSpecificOutput": {"decision": decision}})
    assert (found.verdict, found.reason) == ("deny", "no")


def test_text_is_context_only_at_the_start_and_before_prompts():
    assert reply("UserPromptSubmit", "today is Monday\n").context == "today is Monday"
    assert reply("SessionStart", "x").context == "x"
    assert reply("PostToolUse", "formatted 1 file").context == ""


@given(
    st.sampled_from(["PreToolUse", "Stop", "UserPromptSubmit", "SessionStart"]),
    st.text(max_size=60) | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["continue", "decision", "reason", "hookSpecificOutput",
                             "permissionDecision", "updatedInput", "x"]), inner, max_size=4),
        max_leaves=8).map(json.dumps),
    st.sampled_from([0, 0, 0, 1, 2, -9, None]),
)  # fmt: skip
def test_no_output_is_an_error_of_the_program(event, output, code):
    found = reply(event, output, code)
    assert found.verdict != "failed" or found.reason
