"""Stored decisions on calls of all sessions.

They show the last use of each rule and the effect of other rules.
"""

import functools
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import UNSET, Struct

from yourtool.events.catalog import AnyFact
from yourtool.events.permissions import CallJudgement, PolicySnapshot, SnapshotRule
from yourtool.events.tools import ToolCalled, ToolConfirmationRequested, ToolFailed
from yourtool.permissions.findings import UnknownFindingError
from yourtool.permissions.judging import (
    CallSubjects,
    GateDecision,
    JudgedCall,
    Policy,
    judge,
    look_up,
)
from yourtool.permissions.rules import EVERY_TOOL, RULES_OF_SESSION, Rule, RuleSet, RuleSource
from yourtool.permissions.trust import CONTAINED_COMMANDS
from yourtool.settings.config import Mode
from yourtool.store.base import SessionStore

_KINDS = (PolicySnapshot, ToolCalled, ToolConfirmationRequested, ToolFailed)
_MAX_CACHED = 20_000


class RuleUse(Struct, frozen=True):
    """A rule in a workspace."""

    rule: str
    workspace: str


class DecidedCall(Struct, frozen=True, kw_only=True):
    """A stored decision with the settings that it was based on."""

    session_id: str
    tool_use_id: str
    tool: str
    at: datetime
    judgement: CallJudgement
    snapshot: PolicySnapshot


class ChangedDecision(Struct, frozen=True, kw_only=True):
    """A call about which other rules decide otherwise."""

    session_id: str
    tool_use_id: str
    at: datetime
    tool: str
    subjects: tuple[str, ...]
    old: str
    old_rules: tuple[str, ...]
    new: str
    new_rules: tuple[str, ...]
    reason: str = ""
    """The reason of the new decision, if it has one."""


class ReplayReport(Struct, frozen=True, kw_only=True):
    """What other rules would change."""

    decisions: int
    """Decisions that were made again."""
    changes: tuple[ChangedDecision, ...]
    hidden: int
    """Decisions about calls with a key, which is not stored."""
    unrecorded: Mapping[str, int]
    """Number of calls by session that an older version stored without a decision."""


async def find_last_uses(store: SessionStore) -> Mapping[RuleUse, datetime]:
    """Return when each rule decided last."""
    found = dict[RuleUse, datetime]()

    def add(call: DecidedCall) -> None:
        rules = call.judgement.rules or ((CONTAINED_COMMANDS,) if _is_contained(call) else ())
        for rule in rules:
            use = RuleUse(rule, call.snapshot.workspace)
            found[use] = max(found.get(use, call.at), call.at)

    await _read_decisions(store, add)
    return found


def _is_contained(call: DecidedCall) -> bool:
    """Whether the answer about the commands of the folder allowed a call."""
    judgement, snapshot = call.judgement, call.snapshot
    is_allowed = judgement.verdict == "allow" and snapshot.mode != Mode.AUTO
    return is_allowed and judgement.is_fully_contained and bool(snapshot.allows_contained)


async def replay_decisions(
    store: SessionStore, find_rules: Callable[[str], RuleSet]
) -> ReplayReport:
    """Decide again about every stored call, without running anything.

    `find_rules` returns the stored rules of a workspace. The mode of a session, its rules of the
    command line and its grants for the session stay.
    """
    changes = list[ChangedDecision]()
    counts = {"made": 0, "hidden": 0}
    policies = dict[str, Policy]()

    @functools.lru_cache(maxsize=_MAX_CACHED)
    def decide(policy: str, call: JudgedCall) -> GateDecision:
        try:
            return judge(policies[policy], call)
        except UnknownFindingError:  # these rules need other answers
            return judge(policies[policy], look_up(policies[policy], call))

    def replay(call: DecidedCall) -> None:
        judgement, snapshot = call.judgement, call.snapshot
        if not judgement.subjects:
            counts["hidden"] += 1
            return
        if snapshot.policy not in policies:
            policies[snapshot.policy] = _build_policy(snapshot, find_rules(snapshot.workspace))
        counts["made"] += 1
        decision = decide(snapshot.policy, _to_judged_call(call))
        if decision.verdict != judgement.verdict:
            changes.append(_build_change(call, decision))

    unrecorded = await _read_decisions(store, replay)
    return ReplayReport(
        decisions=counts["made"],
        changes=tuple(changes),
        hidden=counts["hidden"],
        unrecorded=unrecorded,
    )


async def _read_decisions(
    store: SessionStore, callback: Callable[[DecidedCall], object]
) -> Mapping[str, int]:
    """Pass on all decisions; return the number of calls without one, by session."""
    snapshots = dict[tuple[str, str], PolicySnapshot]()
    decided, called = set[str](), dict[str, str]()

    def read(fact: AnyFact) -> None:
        match fact:
            case PolicySnapshot(session_id=session_id, policy=policy):
                snapshots[session_id, policy] = fact
            case ToolCalled() | ToolConfirmationRequested() | ToolFailed():
                if not isinstance(fact, ToolFailed):
                    called[fact.tool_use_id] = fact.session_id
                if (judgement := fact.judgement) is UNSET:
                    return
                key = fact.session_id, judgement.policy
                if (snapshot := snapshots.get(key)) is None:
                    return
                decided.add(fact.tool_use_id)
                callback(
                    DecidedCall(
                        session_id=fact.session_id,
                        tool_use_id=fact.tool_use_id,
                        tool=fact.tool_name,
                        at=fact.timestamp,
                        judgement=judgement,
                        snapshot=snapshot,
                    )
                )
            case _:
                pass

    await store.read_kinds(_KINDS, read)
    unrecorded = dict[str, int]()
    for tool_use_id, session_id in called.items():
        if tool_use_id not in decided:
            unrecorded[session_id] = unrecorded.get(session_id, 0) + 1
    return unrecorded


def _build_policy(snapshot: PolicySnapshot, stored: RuleSet) -> Policy:
    own = RuleSet(
        *(
            tuple(_to_rule(each) for each in rules if each.source in RULES_OF_SESSION)
            for rules in (snapshot.allow, snapshot.ask, snapshot.deny)
        )
    )
    mode = Mode(snapshot.mode)
    return Policy(
        mode, own | stored, snapshot.workspace, snapshot.is_trusted, bool(snapshot.allows_contained)
    )


def _to_rule(stored: SnapshotRule) -> Rule:
    source = RuleSource(stored.source)
    if stored.rule == EVERY_TOOL:
        return Rule(EVERY_TOOL, None, source)
    return Rule.parse(stored.rule, source=source)


def _to_judged_call(call: DecidedCall) -> JudgedCall:
    judgement = call.judgement
    subjects = CallSubjects(judgement.subjects, judgement.credential_files)
    return JudgedCall(
        call.tool,
        judgement.side_effects,
        subjects,
        is_protected=judgement.is_protected,
        is_contained=judgement.is_contained,
        is_fully_contained=judgement.is_fully_contained,
        missing_sandbox=judgement.missing_sandbox,
        is_attended=judgement.is_attended,
        loses_work=judgement.loses_work,
        ends_planning=judgement.ends_planning,
        hook=judgement.hook,
        findings=judgement.findings,
    )


def _build_change(call: DecidedCall, decision: GateDecision) -> ChangedDecision:
    judgement = call.judgement
    return ChangedDecision(
        session_id=call.session_id,
        tool_use_id=call.tool_use_id,
        at=call.at,
        tool=call.tool,
        subjects=tuple(each.text for each in judgement.subjects),
        old=judgement.verdict,
        old_rules=judgement.rules,
        new=decision.verdict,
        new_rules=tuple(map(str, decision.rules)),
        reason=decision.reason,
    )
