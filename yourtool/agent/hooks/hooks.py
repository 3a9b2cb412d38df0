"""Hooks of a session, and events for them.

They run one after the other in the order of their files, those of the user first, so that each one
gets the arguments as the one before left them. The first one that refuses is the last one to run.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from yourtool.agent.hooks import execution, reply
from yourtool.agent.hooks.hook import Hook, TrustedPrograms
from yourtool.effects import HookAdvice
from yourtool.events.branches import EntryAdded
from yourtool.events.hooks import HookRan
from yourtool.foundation.files import real_path
from yourtool.foundation.masking import Mask
from yourtool.messages.message import Message
from yourtool.settings.hook_config import HookEvent

if TYPE_CHECKING:
    from yourtool.agent.hooks.execution import HookRun, HookSurroundings
    from yourtool.agent.hooks.reply import HookReply
    from yourtool.agent.hooks.transcript import Transcript

_REFUSALS = ("deny", "block", "stop")


def rank(advice: HookAdvice) -> int:
    """Return a number that is greater for a stricter verdict."""
    return ("allow", "ask", "deny").index(advice.verdict)


class HookCall(Struct, kw_only=True):
    """An event for which hooks run, and what they decided."""

    event: HookEvent
    subjects: Sequence[str] = ()
    """What matchers are compared with."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What hooks get besides the common fields."""
    build_fields: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """Returns the fields for changed arguments, if hooks can change them."""
    tool_use_id: str | None = None

    advice: HookAdvice | None = None
    """The strictest verdict on a call."""
    refusal: str = ""
    """The verdict that ends the event: `deny`, `block` or `stop`."""
    reason: str = ""
    hook: str = ""
    """The name of the hook that refused."""
    changed_by: str = ""
    """The name of the hook that changed the arguments last."""
    contexts: list[str] = field(default_factory=list[str])
    """Texts for the model."""
    stopped: HookRan | None = None
    """The run that was stopped with the turn."""
    notices: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Levels and texts for the user."""

    def apply(self, hook: Hook, answer: "HookReply") -> None:
        """Add what a hook decided; a hook of a project allows and changes nothing."""
        verdict, reason = answer.verdict, answer.reason
        if verdict == "failed":
            self.notices.append(("warning", f"The hook `{hook.name}` failed: {reason}"))
            return
        if answer.message:
            self.notices.append(("info", f"Hook `{hook.name}`: {answer.message}"))
        if answer.context:
            self.contexts.append(f"[Context from the hook `{hook.name}`:\n{answer.context}]")
        if verdict in _REFUSALS:
            self.refusal, self.reason, self.hook = verdict, reason, hook.name
        if hook.is_limited and (verdict == "allow" or answer.updated_input is not None):
            what = "allowed" if verdict == "allow" else "changed"
            text = f"The hook `{hook.name}` of the project {what} a call, which only yours can"
            self.notices.append(("warning", text))
        match verdict:
            case "allow" | "ask" | "deny" if not (hook.is_limited and verdict == "allow"):
                advice = HookAdvice(verdict=verdict, hook=hook.name, reason=reason)
                self.advice = max(self.advice or advice, advice, key=rank)
            case _:
                pass
        if answer.updated_input is None or hook.is_limited:
            return
        if self.build_fields is None:
            text = f"The hook `{hook.name}` changed what hooks cannot change here; it has no effect"
            self.notices.append(("warning", text))
        else:
            self.fields, self.changed_by = self.build_fields(answer.updated_input), hook.name


class Hooks:
    """The hooks of one session."""

    def __init__(self, own: Sequence[Hook] = ()) -> None:
        self._own = tuple(own)
        self._project: tuple[Hook, ...] = ()
        self.programs = TrustedPrograms()
        """The files of the workspace that hooks can run."""
        self._late_warnings = list[str]()
        self.get_recorded_objections: Callable[[], Sequence[EntryAdded]] = tuple
        """In a replay, returns what hooks added that continued the turn."""

    def renew(self, project: Sequence[Hook], programs: TrustedPrograms) -> None:
        """Set the hooks of the project for a turn, and which of its files can be run."""
        self._project, self.programs = tuple(project), programs

    def __bool__(self) -> bool:
        """Whether there is a hook."""
        return bool(self._own or self._project)

    def warn_later(self, call: "HookCall") -> None:
        """Keep the warnings of an event during which nothing can be shown."""
        self._late_warnings += [text for level, text in call.notices if level == "warning"]

    def take_late_warnings(self) -> tuple[str, ...]:
        """Return the warnings that were not shown yet."""
        found = tuple(dict.fromkeys(self._late_warnings))
        self._late_warnings.clear()
        return found

    def find(self, event: HookEvent, subjects: Sequence[str] = ()) -> list[Hook]:
        """Return the hooks for an event, in the order in which they run."""
        return [hook for hook in (*self._own, *self._project) if hook.matches(event, subjects)]


class HookPlace(Struct, frozen=True, kw_only=True):
    """Where the hooks of a session run, and what they all get."""

    session_id: str
    around: "HookSurroundings"
    programs: TrustedPrograms
    transcript: "Transcript"
    mode: str
    """The approval mode."""
    mask: Mask

    async def run(self, hook: Hook, call: HookCall, messages: Sequence[Message]) -> HookRan:
        """Run a hook, apply what it decided to the event, and return the fact to record."""
        started = time.monotonic()
        try:
            payload = await asyncio.to_thread(self._build_payload, call, messages)
            root = real_path(self.around.workspace.root)
            problem = await asyncio.to_thread(self.programs.find_problem, hook, root)
            if problem:
                run = execution.HookRun(None, 0, problem=problem)
            else:
                run = await execution.run_hook(hook, payload, self.around)
        except OSError as error:
            run = execution.HookRun(None, 0, problem=f"its input cannot be written: {error}")
        except asyncio.CancelledError:
            milliseconds = round((time.monotonic() - started) * 1000)
            run = execution.HookRun(None, milliseconds, problem="it was stopped")
            call.stopped = self._build_fact(hook, call, run, reply.HookReply(verdict="failed"))
            raise
        answer = reply.parse_reply(hook.config.event, run)
        text = self.mask.text
        answer = msgspec.structs.replace(
            answer,
            reason=text(answer.reason),
            context=text(answer.context),
            message=text(answer.message),
        )
        call.apply(hook, answer)
        return self._build_fact(hook, call, run, answer)

    def _build_fact(
        self, hook: Hook, call: HookCall, run: "HookRun", answer: "HookReply"
    ) -> HookRan:
        return HookRan(
            event=call.event,
            hook=self.mask.text(hook.name),
            command_hash=hook.digest,
            source=hook.source,
            exit_code=run.exit_code,
            latency_ms=run.milliseconds,
            verdict=answer.verdict,
            reason=answer.reason,
            tool_use_id=call.tool_use_id,
        )

    def _build_payload(self, call: HookCall, messages: Sequence[Message]) -> bytes:
        self.transcript.update(messages)
        fields = {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript.file),
            "cwd": str(real_path(self.around.workspace.root)),
            "permission_mode": _MODES.get(self.mode, self.mode),
            "hook_event_name": call.event,
            **call.fields,
        }
        return msgspec.json.encode(self.mask.value(fields)) + b"\n"


_MODES = {
    "ask": "default",
    "accept-edits": "acceptEdits",
    "plan": "plan",
    "auto": "bypassPermissions",
}
"""The names that others have for approval modes."""
