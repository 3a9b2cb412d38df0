"""Facts about decisions on tool calls.

They contain everything that decides on a call, so that every decision can be made again.
"""

from typing import ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from yourtool.effects import Finding, HookAdvice, SideEffects, Subject
from yourtool.events.facts import Fact, Sensitivity


class SnapshotRule(Struct, frozen=True):
    """A rule and where it comes from."""

    rule: str
    source: str


class PolicySnapshot(Fact, frozen=True, kw_only=True, tag="policy.snapshot"):
    """The settings that decide on the calls from here on; stored when they change."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    policy: str
    """The SHA-256 of the settings; equal ones have the same."""
    mode: str
    workspace: str
    """The real path of the workspace."""
    is_trusted: bool = False
    """Whether reading commands need no approval in it."""
    allows_contained: bool | UnsetType = UNSET
    """Whether commands that stay in the full sandbox need no approval in it."""
    allow: tuple[SnapshotRule, ...] = ()
    ask: tuple[SnapshotRule, ...] = ()
    deny: tuple[SnapshotRule, ...] = ()


class CallJudgement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision on a call and what it was based on; part of the fact that it led to."""

    policy: str
    """The `policy` of a `policy.snapshot` of the session."""
    verdict: Literal["allow", "ask", "deny"]
    side_effects: SideEffects
    subjects: tuple[Subject, ...] = ()
    """Empty if a key was hidden in them."""
    credential_files: tuple[str, ...] = ()
    is_protected: bool = False
    is_contained: bool = False
    """Whether a sandbox contains it, so that it needs no approval."""
    is_fully_contained: bool = False
    """Whether the full sandbox, without a network, contains it."""
    missing_sandbox: str = ""
    """Why it would run without the sandbox, which is switched on."""
    is_attended: bool = True
    """Whether a user is present."""
    loses_work: bool = False
    """Whether it would have discarded work of the user that was not committed."""
    ends_planning: bool = False
    """Whether it proposes a plan."""
    hook: HookAdvice | None = None
    """What hooks decided about it."""
    rules: tuple[str, ...] = ()
    """The rules that decided."""
    findings: tuple[Finding, ...] = ()
    """What was found about a command; empty if a key was hidden in it."""
