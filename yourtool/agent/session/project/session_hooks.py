"""Hooks at session events.

They run at the start and the end, before a prompt, and after a model was chosen.
"""

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec.structs import replace

from yourtool.agent.history.channel import Channel
from yourtool.agent.hooks.hook import Hook, TrustedPrograms, build_hook
from yourtool.agent.hooks.hooks import HookCall, Hooks
from yourtool.agent.session.project.project_checks import parse_project_config
from yourtool.agent.session.project.project_trust import FolderTrust
from yourtool.agent.turn.hook_events import WORKER, HookEvents
from yourtool.agent.turn.user_messages import build_prompt
from yourtool.errors import UsageError
from yourtool.events.turns import RouteDecided
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.blocks import ContentBlock
from yourtool.permissions.trust import CHECKS, Trust
from yourtool.process.environment import get_hook_depth
from yourtool.settings.hook_config import HookConfig

_log = logging.getLogger(__name__)

Content: TypeAlias = tuple[ContentBlock, ...]

MAX_DEPTH = 3
"""Hooks in which a turn can run, one started in the other."""
_TOO_DEEP = (
    f"Hooks started `yourtool` {MAX_DEPTH} times in one another, so no further turn starts with"
    " hooks. Remove `yourtool` from the hook, or let the hook do nothing if `YOURTOOL_HOOK_DEPTH`"
    " is set."
)
END_SECONDS = 3.0
"""How long the hooks for the end of a session may take together."""


class SessionHooks:
    """The events of one session besides those of its turns."""

    def __init__(self, events: HookEvents) -> None:
        """`events`: those that nothing shows."""
        self._events = events
        self._source = "resume" if events.state.turn_count else "startup"
        self._has_started = False
        self._last_model: str | None = None

    async def open_turn(
        self, content: Content | None, trust: FolderTrust, interrupt: Interrupt, channel: Channel
    ) -> None:
        """Run the hooks before a turn is stored; `content` None: its prompt is stored already.

        Raises:
            UsageError: a hook blocked the prompt, or the turn was stopped; no turn was stored.
        """
        project, problems = await asyncio.to_thread(read_project_hooks, trust)
        programs = await asyncio.to_thread(find_trusted_programs, trust)
        self._events.env.hooks.renew(project, programs)
        if self._events.env.hooks and get_hook_depth(os.environ) >= MAX_DEPTH:
            raise UsageError(_TOO_DEEP)
        await channel.emit(*self._events.env.user.new_notices(*problems))
        self._last_model = self._events.state.last_model
        events = replace(self._events, channel=channel, interrupt=interrupt)
        for call in self._build_opening(content):
            try:
                await channel.emit(*await events.run(call))
            except Interrupted:
                raise UsageError("Stopped while a hook ran; nothing was sent.") from None
            if call.refusal and call.event == "UserPromptSubmit":
                raise UsageError(f"The hook `{call.hook}` blocked the prompt: {call.reason}")
            await events.add_context(call)

    def _build_opening(self, content: Content | None) -> list[HookCall]:
        found, state, is_worker = list[HookCall](), self._events.state, self._events.env.is_worker
        if not self._has_started and is_worker:
            fields = {"agent_id": self._events.session_id, "agent_type": WORKER}
            found.append(HookCall(event="SubagentStart", subjects=(WORKER,), fields=fields))
        elif not self._has_started:
            fields = {"source": self._source, "model": state.last_model or state.model or ""}
            found.append(HookCall(event="SessionStart", subjects=(self._source,), fields=fields))
        self._has_started = True
        if content is not None and not is_worker:
            prompt = build_prompt(self._events.session_id, content).text_without_files
            found.append(HookCall(event="UserPromptSubmit", fields={"prompt": prompt}))
        return found

    async def report_route(
        self, route: RouteDecided, interrupt: Interrupt, channel: Channel
    ) -> None:
        """Run the hooks that observe which model was chosen; a stop ends them."""
        model, last = route.chosen_model or "", self._last_model
        winner = route.chain[route.winner_index] if route.winner_index >= 0 else None
        fields = {
            "model": model,
            "previous_model": last,
            "policy": winner.policy if winner else "",
            "reason": winner.reason if winner else "no model is available",
        }
        calls = [HookCall(event="RouteDecided", subjects=(model,), fields=fields)]
        if model and last and model != last:
            calls.append(HookCall(event="ModelSwap", subjects=(model,), fields=fields))
        events = replace(self._events, channel=channel, interrupt=interrupt)
        for call in calls:
            with suppress(Interrupted):  # raised again by the turn
                await channel.emit(*await events.run(call, parent=route.id))

    async def end(self) -> None:
        """Run the hooks for the end of a session in which a turn ran."""
        if not self._has_started or self._events.env.is_worker:
            return
        call = HookCall(event="SessionEnd", subjects=("other",), fields={"reason": "other"})
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._events.run(call)
        except TimeoutError:
            name = call.stopped.hook if call.stopped is not None else "SessionEnd"
            problem = f"was stopped after {END_SECONDS:g} seconds, when the session had to close"
            call.notices.append(("warning", f"The hook `{name}` failed: it {problem}"))
        self._events.env.hooks.warn_later(call)
        for _, text in call.notices:
            _log.warning("%s", text)

    def take_last_warnings(self) -> tuple[str, ...]:
        """Return what failed when the session closed, for the front end to print."""
        return self._events.env.hooks.take_late_warnings()


def build_own_hooks(configs: Sequence[HookConfig]) -> Hooks:
    """Return the hooks of the user."""
    return Hooks([build_hook(each, "user") for each in configs])


def find_trusted_programs(trust: FolderTrust) -> TrustedPrograms:
    """Return the files that hooks can run, with the contents that the user trusts."""
    digests = {
        (os.path.realpath(file.path), file.digest)
        for file in trust.used_files
        if not file.kind.is_sent
    }
    return TrustedPrograms(trust.status is Trust.TRUSTED, frozenset(digests))


def read_project_hooks(trust: FolderTrust) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Return the hooks of a trusted project, and the mistakes in its files; can block."""
    found, problems = list[Hook](), list[str]()
    for file in trust.used_files:
        if file.kind is CHECKS:
            config, mistakes = parse_project_config(file)
            found += [build_hook(each, "project") for each in config.hooks]
            problems += map(str, mistakes)
    return tuple(found), tuple(problems)
