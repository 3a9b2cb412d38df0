"""Stages of a tool call."""

from yourtool.agent.turn.calls.tool_call import (
    CallArguments,
    CallReport,
    DecidedCall,
    FinishedCall,
    ParsedCall,
    RunningCall,
    ToolCall,
)
from yourtool.messages.blocks import ToolUseBlock
from yourtool.permissions.judging import CallSubjects, GateDecision


def decide(verdict, **given):
    call = ToolCall(ToolUseBlock(id="tu", name="x", input={}), "m", following=0, parent="p")
    parsed = ParsedCall(call, None, CallArguments({}, **given), {}, None, CallSubjects(()), None)
    return DecidedCall(parsed, GateDecision(verdict))


def test_no_stage_of_a_call_changes_once_it_is_built():
    stages = ToolCall, ParsedCall, DecidedCall, RunningCall, FinishedCall
    assert all(each.__struct_config__.frozen for each in stages)


def test_a_call_that_the_user_changed_never_runs_unasked():
    assert decide("allow").runs_unasked
    assert not decide("allow", is_edited=True).runs_unasked
    assert not decide("ask").runs_unasked


def test_only_one_fact_has_the_decision_on_a_call():
    report = CallReport(judgement="decision")
    assert report.take_judgement() == "decision"
    assert not report.take_judgement()
