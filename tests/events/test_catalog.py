import typing
from datetime import UTC, datetime

import msgspec
import pytest

from yourtool.events.catalog import FACT_TYPES, AnyFact, Event
from yourtool.events.facts import Actor, Fact, Sensitivity
from yourtool.events.turns import RouteDecided

CATALOG = {
    "session.created",
    "session.resumed",
    "session.forked",
    "session.imported",
    "session.extended",
    "session.model_selected",
    "session.model_refused",
    "session.effort_selected",
    "session.renamed",
    "session.ended",
    "turn.started",
    "turn.steered",
    "turn.completed",
    "turn.cancelled",
    "turn.evaluated",
    "files.changed",
    "files.change_failed",
    "files.restoring",
    "context.elided",
    "context.compacted",
    "context.overridden",
    "skill.loaded",
    "memory.updated",
    "context.handed_over",
    "branch.selected",
    "branch.labelled",
    "branch.summarised",
    "branch.merged",
    "entry.added",
    "entry.imported",
    "delegate.started",
    "delegate.completed",
    "delegate.failed",
    "files.restored",
    "llm.call_started",
    "llm.call_completed",
    "llm.call_failed",
    "llm.cost_reported",
    "tool.called",
    "tool.completed",
    "tool.failed",
    "tool.input_invalid",
    "tool.confirmation_requested",
    "tool.confirmation_resolved",
    "policy.snapshot",
    "hook.ran",
    "shell.ran",
    "process.started",
    "process.ended",
    "process.reported",
    "route.decided",
    "route.overridden",
    "pattern.override_dismissed",
    "routing.policy_changed",
    "routing.snapshot",
    "routing.policy_invalid",
    "routing.provider_unavailable",
    "routing.provider_recovered",
    "budget.warned",
    "budget.reached",
}
RESERVED = ("message.", "text.", "thinking.", "tool.use_")


def test_the_catalog_is_closed():
    assert set(FACT_TYPES) == CATALOG
    assert not any(name.startswith(RESERVED) for name in FACT_TYPES)


def test_every_fact_has_an_actor_and_a_minimum_sensitivity():
    for name, kind in FACT_TYPES.items():
        assert isinstance(kind.actor, Actor), name
        assert isinstance(kind.sensitivity, Sensitivity), name
        assert issubclass(kind, Fact), name


@pytest.mark.parametrize("name", sorted(FACT_TYPES))
@pytest.mark.req("R-EVT-01")
def test_an_invalid_fact_is_rejected(name):
    kind = FACT_TYPES[name]
    required = [field for field in msgspec.structs.fields(kind) if field.required]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"type": name, "id": 7}, kind)
    if required:
        with pytest.raises(msgspec.ValidationError, match="missing required field"):
            msgspec.convert({"type": name}, kind)


def test_every_event_has_its_own_type():
    members = typing.get_args(Event)
    tags = [member.__struct_config__.tag for member in members]
    assert len(set(tags)) == len(tags)
    assert set(tags) > CATALOG


def test_a_line_of_the_stream_names_its_type():
    fact = RouteDecided(
        id="1",
        timestamp=datetime(2026, 5, 8, tzinfo=UTC),
        session_id="s",
        chosen_model=None,
        winner_index=-1,
        elapsed_ms=0.5,
        chain=(),
    )
    line = msgspec.json.encode(fact)
    assert line.startswith(b'{"type":"route.decided"')
    assert msgspec.json.decode(line, type=AnyFact) == fact
