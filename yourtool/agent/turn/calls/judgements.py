"""Facts of decisions on calls."""

from msgspec import UNSET

from yourtool.events.permissions import CallJudgement, PolicySnapshot, SnapshotRule
from yourtool.foundation.masking import Mask
from yourtool.permissions.judging import GateDecision, JudgedCall, Policy
from yourtool.permissions.rules import Rule


def build_snapshot(policy: Policy, digest: str) -> PolicySnapshot:
    """Return the fact that has the settings of a session."""
    rules = policy.rules
    return PolicySnapshot(
        policy=digest,
        mode=policy.mode,
        workspace=policy.workspace,
        is_trusted=policy.is_trusted,
        allows_contained=policy.allows_contained or UNSET,
        allow=tuple(map(_to_snapshot, rules.allow)),
        ask=tuple(map(_to_snapshot, rules.ask)),
        deny=tuple(map(_to_snapshot, rules.deny)),
    )


def build_judgement(
    call: JudgedCall, decision: GateDecision, digest: str, mask: Mask
) -> CallJudgement:
    """Return the stored form of a decision, without subjects that contain a key."""
    subjects = call.subjects.items
    is_hidden = any(mask.text(each.text) != each.text for each in subjects)
    return CallJudgement(
        policy=digest,
        verdict=decision.verdict,
        side_effects=call.side_effects,
        subjects=() if is_hidden else subjects,
        credential_files=() if is_hidden else call.subjects.credential_files,
        is_protected=call.is_protected,
        is_contained=call.is_contained,
        is_fully_contained=call.is_fully_contained,
        missing_sandbox=mask.text(call.missing_sandbox),
        is_attended=call.is_attended,
        loses_work=call.loses_work,
        ends_planning=call.ends_planning,
        hook=call.hook,
        findings=() if is_hidden else call.findings,
        rules=tuple(map(str, decision.rules)),
    )


def _to_snapshot(rule: Rule) -> SnapshotRule:
    return SnapshotRule(str(rule), rule.source)
