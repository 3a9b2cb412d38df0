"""Side effects of tools, tool definitions, and approvals."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from yourtool.messages.blocks import ContentBlock
from yourtool.settings.sandbox_config import SandboxLevel


class SideEffects(StrEnum):
    """The strongest effect that a tool can have, not its typical one."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"

    @property
    def needs_approval(self) -> bool:
        """Whether a call needs an approval by default."""
        return self not in (SideEffects.NONE, SideEffects.READ)


ToolKind: TypeAlias = Literal["", "read", "edit", "write", "execute", "web"]


SubjectKind: TypeAlias = Literal["command", "host", "path", "opaque"]


class Subject(Struct, frozen=True):
    """What a call is about; permission rules match it."""

    kind: SubjectKind
    text: str = ""
    """A command line, a host as in `permissions.hosts`, or a path; empty if opaque."""
    directory: str = ""
    """Where a command runs: the workspace, without symbolic links."""


FindingAnswer: TypeAlias = bool | str | None
Question: TypeAlias = Literal[
    "entered", "free_of_credentials", "git_helper", "link_out", "own_file", "present",
    "private", "protected", "protected_write", "readable", "replaces_module", "runs",
    "secret_setting", "unreadable_below", "unsafe_program",
]  # fmt: skip
"""What a decision about a command depends on besides its text and the rules.

Only older versions stored `free_of_credentials`.
"""


class Finding(Struct, frozen=True, omit_defaults=True):
    """What was found about a command before the decision on it."""

    question: Question
    about: str = ""
    """The path or the module, as in the command."""
    directory: str = ""
    """Where it was looked up, relative to the workspace."""
    answer: FindingAnswer = None
    """Yes or no, or the path, program, setting or line that was found; null: nothing was found."""


class ToolHints(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Display hints for front ends; not sent to models."""

    label: str = ""
    """Shown instead of the name; external text if the tool is external."""
    kind: ToolKind = ""
    icon: str = ""
    """One character before the label."""


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as it is described to models."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """JSON Schema; of any content if the tool is from elsewhere."""
    side_effects: SideEffects
    subject_kind: SubjectKind = "opaque"
    """What a rule for this tool can name in parentheses."""
    requires_workspace: bool = True
    records_changes: bool = False
    """Whether a call records each change of a file before it makes it."""
    is_searchable: bool = False
    """Whether models search it with `find_tools` if such tools would fill their window."""
    ends_planning: bool = False
    """Whether a call proposes a plan, which needs an approval in the mode `plan` only."""
    hints: ToolHints = ToolHints()

    def __hash__(self) -> int:
        return hash(self.name)


class Editable(Struct, frozen=True, kw_only=True):
    """The part of a call that the user can change before it runs."""

    text: str
    """The command, or the complete new content of a file."""
    suffix: str = ""
    """Of the file's name, for an editor."""
    build_input: Callable[[str], dict[str, Any]]
    """Returns the arguments of the call with another text."""


class NetworkOffer(Struct, frozen=True, kw_only=True):
    """Programs that need a network, and what would give it to them; not escaped."""

    programs: tuple[str, ...] = ()
    """With their commands, such as `npm view`."""
    hosts: tuple[str, ...] = ()
    """What they probably ask, as in rules; empty: it is not known, or would not help."""
    outside: tuple[str, ...] = ()
    """Commands, as in `[sandbox] outside`, that would run outside the sandbox from then on."""
    is_enough: bool = False
    """True if a network in the sandbox is enough for them."""


OUTSIDE_SANDBOX = "outside the sandbox, with all your rights"
"""Where a call runs that a setting or an answer of the user excepts from the sandbox."""


class Preview(Struct, frozen=True, kw_only=True):
    """The exact effect of a call, computed before it runs and shown in full."""

    kind: Literal["command", "diff", "text"]
    body: str
    """The full command, a unified diff, or text; not escaped."""
    paths: tuple[str, ...] = ()
    """Files that would change, relative to the workspace if they are in it."""
    protected: bool = False
    """Whether the call needs an approval despite rules and modes."""
    protection: str = ""
    """Why, a noun phrase, if it is about files."""
    surroundings: str = ""
    """One line: the sandbox of a command, as measured."""
    is_contained: bool = False
    """Whether a setting allows the call because of its sandbox."""
    is_fully_contained: bool = False
    """Whether the full sandbox, without a network, contains the call."""
    private_directories: tuple[str, ...] = ()
    """Directories of which that sandbox has its own, so that paths in them do no harm."""
    is_outside: bool = False
    """Whether a setting excepts the call from the sandbox."""
    missing_sandbox: str = ""
    """Why the sandbox, which is switched on, cannot be used, so that no rule allows the call."""
    sandbox: SandboxLevel | None = None
    """The level in which a command runs; None: it is no command."""
    has_network: bool = False
    """True if this call alone reaches every public host from the sandbox."""
    leaving: str = ""
    """Why the call would leave the sandbox, which needs an approval despite rules and modes."""
    network: NetworkOffer | None = None
    """What the call needs of a network that its sandbox does not have."""
    guard: str | None = None
    """SHA-256 of the previewed content; the tool refuses to run on any other."""
    editable: Editable | None = None
    """What the user can change before the call runs; None: nothing."""


class Consequences(Struct, frozen=True):
    """What a destructive command would do now, found before its approval prompt; not escaped."""

    cautions: tuple[str, ...] = ()
    """What is hardly ever intended, or cannot be taken back."""
    lines: tuple[str, ...] = ()
    """The number of files, the first names, and what git has no copy of."""

    def join(self, other: "Consequences") -> "Consequences":
        """Return both."""
        return Consequences(self.cautions + other.cautions, self.lines + other.lines)


class RuleDescription(Struct, frozen=True, kw_only=True):
    """What a rule would allow, shown before it is stored."""

    problem: str = ""
    """Why the rule cannot be stored."""
    covered: tuple[str, ...] = ()
    """Examples of what it allows."""
    others: tuple[str, ...] = ()
    """Examples of what it does not allow."""


class TrustOffer(Struct, frozen=True, kw_only=True):
    """A folder in which a call would need no approval if the user trusted it."""

    folder: str
    files: tuple[str, ...]
    """The files that would configure the program from then on, with their size and purpose."""
    accept: Callable[[], bool]
    """Stores the trust in these contents; returns False if they have changed since.

    Blocks on the file system; raises `ConfigError`.
    """


class SandboxOffer(Struct, frozen=True, kw_only=True):
    """A folder in which commands that stay in the full sandbox could need no approval."""

    folder: str
    accept: Callable[[], None]
    """Stores the answer; blocks on the file system; raises `ConfigError`."""


class Confirmation(Struct, frozen=True, kw_only=True):
    """A request for the user's approval."""

    id: str
    kind: Literal["tool", "limit", "fallback", "plan", "input", "password", "question"]
    """`limit`: a limit was reached; allowing it continues up to the same amount again.

    `fallback`: a model is unavailable; allowing it uses another one.

    `plan`: the mode `plan` ends with an answer that allows it. `input`: a running command waits for
    what `Decision.typed` has; it moves to the background without that, and a denial stops it.
    `password`: the same, and the text is neither shown nor stored. `question`: a server or a tool
    asks for a text during a call, with `title` and `reason`, and may offer `choices`.
    """
    title: str
    """One line: the name of the tool, or the limit."""
    tool_use_id: str | None = None
    side_effects: SideEffects = SideEffects.NONE
    subject: Subject | None = None
    """The subject of the call, if it has exactly one."""
    input: dict[str, Any] | None = None
    preview: Preview | None = None
    consequences: Consequences = Consequences()
    rules: tuple[str, ...] = ()
    """The rules that `session` and `always` would add; empty: only `once` is offered."""
    wider_rules: tuple[str, ...] = ()
    """Rules that the user can add to those of `always`, because they allow more than the call."""
    exact_rules: tuple[str, ...] = ()
    """Rules for this call only, which `always` can store in place of `rules`; empty if equal."""
    no_rule_reason: str = ""
    """Why no rule is offered; empty if one is, or if no rule could make a difference."""
    reason: str = ""
    """Why the approval is needed, unless the request shows it otherwise."""
    describe_rule: Callable[[str], RuleDescription] | None = None
    """Describes a rule that the user changed; None: the rules cannot be changed."""
    trust: TrustOffer | None = None
    """The folder that can be trusted, if the call would need no approval then."""
    sandbox: SandboxOffer | None = None
    """The folder whose commands can be allowed in the sandbox, if this call is one of them."""
    network: NetworkOffer | None = None
    """What would give the call a network."""
    choices: tuple[str, ...] = ()
    """The answers of a `question`, not escaped; `Decision.typed` is one, or another text."""
    offers_edits: bool = False
    """True for an edit, which the mode `accept-edits` would allow."""
    changed_by_hook: str = ""
    """The hook that changed the arguments last; empty: none did, or the user changed them since."""
    is_edited: bool = False
    """Whether the user changed the call; the session keeps it as the model made it."""
    following: int = 0
    """The number of later calls in the same reply."""
    expires_at: datetime | None = None
    asked_by: str = ""
    """The worker whose call it is; empty: it is a call of the session."""


class Verdict(StrEnum):
    """The outcome of an approval request."""

    ALLOW = "allow"
    DENY = "deny"
    EDIT = "edit"
    """The user changed the call; another request shows the changed one."""
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    """There was no answer: the front end withdrew the request, or is gone."""


class Scope(StrEnum):
    """How long an approval applies."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"


class NetworkAnswer(StrEnum):
    """What gives a call a network from then on."""

    NETWORK = "network"
    """The program has a network in the sandbox."""
    PROGRAM = "program"
    """The program runs outside the sandbox."""
    HOSTS = "hosts"
    """Commands in the sandbox reach the hosts."""


class PlanAnswer(StrEnum):
    """How an approved plan is carried out."""

    ASK = "ask"
    ACCEPT_EDITS = "accept_edits"
    MODEL = "model"
    """By another model, which the user chooses when the turn has ended."""
    FRESH = "fresh"
    """In a new session, which has only the plan."""

    @property
    def ends_turn(self) -> bool:
        """Whether the plan is not carried out in the turn that proposed it."""
        return self in (PlanAnswer.MODEL, PlanAnswer.FRESH)


class HookAdvice(Struct, frozen=True, kw_only=True):
    """What a hook decided about a call; rules, modes and protected places come first."""

    verdict: Literal["allow", "ask", "deny"]
    hook: str
    """The start of its command."""
    reason: str = ""

    def __str__(self) -> str:
        reason = f": {self.reason.removesuffix('.')}" if self.reason else ""
        return f"the hook `{self.hook}` {_ADVICE[self.verdict]}{reason}"


_ADVICE = {"allow": "allows it", "ask": "wants you to decide", "deny": "refuses it"}


class Decision(Struct, frozen=True, kw_only=True):
    """The answer to an approval request."""

    verdict: Verdict
    scope: Scope = Scope.ONCE
    note: str | None = None
    """A note for the model, such as the reason for declining."""
    rules: tuple[str, ...] = ()
    """With a lasting scope, the rules as the user changed them; none: as they were shown."""
    edited_input: dict[str, Any] | None = None
    """With `EDIT`, the arguments that replace the model's."""
    denies_rest: bool = False
    """Whether the later calls of the same reply that need an approval are denied, too."""
    trusts_folder: bool = False
    """Whether the folder that the request offers is trusted from now on."""
    allows_contained: bool = False
    """Whether commands that stay in the full sandbox are allowed in the folder from now on."""
    accepts_edits: bool = False
    """True if the mode becomes `accept-edits`."""
    network: NetworkAnswer | None = None
    """For an allowed call that a network is offered to; None: it runs outside the sandbox once."""
    plan: PlanAnswer | None = None
    """For an allowed plan, how it is carried out; None: as with `PlanAnswer.ASK`."""
    typed: str | None = None
    """What a running command gets that waits for input; never stored."""


Confirm: TypeAlias = Callable[[Confirmation], Awaitable[Decision]]
"""Asks the user and waits; cancelled together with the turn."""
Steering: TypeAlias = Callable[[], Awaitable[tuple[ContentBlock, ...] | None]]
"""Returns the next message to the running turn, or None; a turn calls it after tool results."""

UnsavedText: TypeAlias = Callable[[Path], Awaitable[str | None]]
"""Returns the text of a file as an editor has it open; None: as it is on the disk."""


async def no_steering() -> None:
    """Return no message: the front end cannot steer."""
