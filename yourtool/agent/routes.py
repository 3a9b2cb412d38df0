"""Routing for a session: what the pure router needs, gathered; what it says, put in words."""

import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.state import State, is_too_much
from yourtool.effects import ToolDefinition
from yourtool.errors import AdapterError, ErrorClass, SwapRefusedError, UsageError
from yourtool.events import ProviderRecovered, ProviderUnavailable, RouteDecided
from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Message,
    RoutingDecisionRecord,
    iter_blocks,
)
from yourtool.models import Model
from yourtool.providers.catalogue.model_listing import fetch_models
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.estimate import calibrate_estimate, estimate_tokens
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import Registry
from yourtool.providers.requests.attachment_limits import find_attachment_problem
from yourtool.providers.requests.placeholders import replace_unsupported_media
from yourtool.routing.availability import Availability
from yourtool.routing.router import (
    Needs,
    Preferences,
    Rejection,
    RejectionCode,
    decide,
    find_rejection,
    format_chain,
    format_swap_refusal,
    mode_of,
)


class Defaults(Struct, frozen=True):
    """Which model answers where nobody chose one: canonical ids."""

    workspace: str | None
    everywhere: str


class Routes:
    """Decides for one workspace; availability is shared by all sessions of the process."""

    def __init__(
        self,
        catalogue: Catalogue,
        registry: Registry,
        availability: Availability,
        tools: Sequence[ToolDefinition],
        system: Sequence[Message],
        defaults: Defaults,
    ) -> None:
        """`tools` and `system` are what every request of the workspace carries."""
        self.catalogue = catalogue
        self._registry = registry
        self._availability = availability
        self._tools = tools
        self._system = system
        self._defaults = defaults
        self.structured_output = False
        """Whether replies are to be held to a schema."""
        self.interactive = True
        """Whether errors may name commands of the interface."""
        self._in_vain: set[str] = set()  # models that their servers were asked for and told not

    def estimate(self, state: State, model_id: str, said: Sequence[Message] = ()) -> int:
        """Guess how many tokens the next request is to a model, with what is to be said in it.

        What the model counted in this session already is the measure.
        """
        conversation = state.conversation_for(model_id)
        guess = self._guess((*conversation, *said), model_id)
        if (counted := state.counted.get(model_id)) is None:
            return guess
        sent = [message for message in conversation if message.id < counted.message.id]
        return calibrate_estimate(guess, self._guess(sent, model_id), counted.prompt_tokens)

    def parts(self, state: State) -> list[tuple[str, int]]:
        """Return of what the next request consists; together they are its estimated tokens."""
        model_id = self.expected(state).id
        by_role: dict[str, list[Message]] = {}
        for message in state.conversation_for(model_id):
            by_role.setdefault(message.role, []).append(message)
        guesses = [
            ("system prompt", estimate_tokens(self._system, (), model_id)),
            ("tools", estimate_tokens((), self._tools, model_id)),
            *(
                (f"{role} messages", estimate_tokens(said, (), model_id))
                for role, said in by_role.items()
            ),
        ]
        whole = sum(tokens for _, tokens in guesses)
        share = self.estimate(state, model_id) / whole if whole else 1
        return [(name, round(tokens * share)) for name, tokens in guesses]

    def needs(self, messages: Sequence[Message]) -> Needs:
        """Say what any model must be able to take if these messages are to be sent to it.

        How many tokens they are differs from model to model and is not in it.
        """
        return Needs(
            images=any(_holds(ImageBlock, message) for message in messages),
            audio=any(_holds(AudioBlock, message) for message in messages),
            documents=any(_holds(DocumentBlock, message) for message in messages),
            tools=bool(self._tools),
            system_prompt=True,
            structured_output=self.structured_output,
        )

    def decide(
        self, override: Model | None, state: State, *, retried: str | None = None
    ) -> RouteDecided:
        """Choose the model of a turn whose user message is in `state` already.

        `retried`: the model whose turn the user tries again.
        """
        started = time.perf_counter()
        explicit = {override.id if override else None, state.model}
        decided = decide(
            self._preferences(override, state.model),
            self.needs(state.conversation),
            partial(self._check, state, explicit, self._availability.outage_reason),
            partial(self._check, state, explicit, _no_outage),
            requested={*explicit, retried},
        )
        return RouteDecided(
            chosen_model=decided.chosen,
            winner_index=decided.winner_index,
            elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
            chain=decided.chain,
        )

    def expected(self, state: State) -> Model:
        """Return the model the next turn would go to by preference, whether it can or not."""
        return self.catalogue.get(
            state.model or self._defaults.workspace or self._defaults.everywhere
        )

    async def learn(self, model: Model, *, again: bool = False) -> None:
        """Ask the server of a model that nobody described what it is, if that server needs no key.

        A server that did not describe it is asked for it no more, unless `again`. One that does not
        answer changes nothing here: the request to it will say so.
        """
        row = self._registry.spec(model.provider)
        if model.known or row is None or row.needs_key:
            return
        if model.id in self._in_vain and not again:
            return
        with suppress(AdapterError):
            self.catalogue.add_discovered(row.name, await fetch_models(self._registry, row.name))
            self._in_vain.add(model.id)

    def swap_target(self, name: str, state: State, *, in_words: bool = False) -> Model:
        """Return the model that `name` means, if it can take the session as it is.

        `in_words`: media that it takes none of may be sent as placeholders.

        Raises:
            UnknownModelError: no model, or several, have this name.
            SwapRefusedError: it cannot; the text says why and that the active model did not change.
        """
        model = self.catalogue.resolve(name)
        needs = self.needs(() if in_words else state.conversation)
        if (rejection := self._check(state, {model.id}, _no_outage, model.id, needs)) is not None:
            raise _refused(model, rejection, state)
        return model

    def objection(self, content: Sequence[ContentBlock], state: State) -> str | None:
        """Say what of `content` the model of the next turn does not take; None: it takes all."""
        model = self.catalogue.get(state.pending_model or self.expected(state).id)
        needs = Needs(
            images=any(isinstance(block, ImageBlock) for block in content),
            audio=any(isinstance(block, AudioBlock) for block in content),
            documents=any(isinstance(block, DocumentBlock) for block in content),
        )
        rejection = find_rejection(model, needs, configured=None, unavailable=None)
        return find_attachment_problem(content, model) if rejection is None else rejection.reason

    def demand_room(
        self, content: Sequence[ContentBlock], override: Model | None, state: State
    ) -> None:
        """Let only pass what the model of the turn takes in one request.

        Raises:
            UsageError: it is too much.
        """
        if (why := find_attachment_problem(content, override or self.expected(state))) is not None:
            raise UsageError(
                f"{why}. Nothing was sent: make it smaller, leave something out, or choose a model"
                " that takes more"
            )

    def without_tools(self, model: Model) -> str | None:
        """Say that a model is offered no tools although there are some; None: it is."""
        if model.capabilities.supports_tools or not self._tools:
            return None
        return (
            f"`{model.id}` cannot call tools, so none are offered to it: it can talk about files"
            " and commands, but neither read nor change or run anything."
        )

    def explain(self, state: State) -> list[str]:
        """Say which model is active and what every slot said on the last turn."""
        active = self.expected(state).id
        pending = f"; pending: {state.pending_model}" if state.pending_model else ""
        outage = self._availability.outage_reason(active)
        lines = [f"Active model: {active}{pending}{f'; {outage}' if outage else ''}"]
        lines += [f"Refused: {state.refusal.reason}"] if state.refusal else []
        if state.last_route is None:
            return [*lines, "No turn has been routed yet."]
        return [*lines, *format_chain(state.last_route.chain)]

    def why_none(self, route: RouteDecided) -> list[str]:
        """Say what was tried for a turn that no model could take, and what to do."""
        tried = [each for each in route.chain if each.verdict == "rejected"]
        lines = ["No model can take this turn; nothing was sent."]
        lines += [f"  {each.candidate_model}: {each.reason}" for each in tried]
        usable = [row.name for row in self._registry.providers() if self._usable(row)]
        if usable:
            named = ", ".join(usable)
            way = "/model; /retry sends this again" if self.interactive else "`--model`"
            lines.append(f"Configured: {named}. Choose one with {way}.")
        elif self.interactive:
            lines.append("No provider is configured: /key enters an API key.")
        else:
            names = [f"`{each.key_env[0]}`" for each in self._registry.providers() if each.key_env]
            lines.append(f"No provider is configured: set {', '.join(names)}.")
        if is_too_much(route):
            lines.append("The next prompt goes without this one.")
        return lines

    def outcome(
        self, model: Model, error_class: str | None
    ) -> Sequence[ProviderUnavailable | ProviderRecovered]:
        """Take the end of a request into account; return what changed for routing, if anything."""
        if error_class is None:
            return self._availability.record_success(model.id)
        return self._availability.record_failure(model.id, ErrorClass(error_class))

    def sweep(self) -> Sequence[ProviderRecovered]:
        """Return what became usable again because nobody tried it for a while."""
        return self._availability.expire()

    def _usable(self, row: ProviderSpec) -> bool:
        return row.needs_key and self._registry.configuration_problem(row.name) is None

    def _preferences(self, override: Model | None, sticky: str | None) -> Preferences:
        return Preferences(
            override=override.id if override else None,
            sticky=sticky,
            workspace_default=self._defaults.workspace,
            global_default=self._defaults.everywhere,
        )

    def _guess(self, messages: Sequence[Message], model_id: str) -> int:
        can = self.catalogue.get(model_id).capabilities
        sent = (replace_unsupported_media(message, can) for message in messages)
        return estimate_tokens((*self._system, *sent), self._tools, model_id)

    def _check(
        self,
        state: State,
        explicit: Container[str | None],
        outage: Callable[[str], str | None],
        model_id: str,
        needs: Needs,
    ) -> Rejection | None:
        """A model that the user chose does without tools if it has to; no other is taken so."""
        model = self.catalogue.get(model_id)
        if model.id == state.model and state.in_words_to:
            needs = self.needs([m for m in state.conversation if m.id > state.in_words_to])
        return find_rejection(
            model,
            replace(
                needs,
                input_tokens=self.estimate(state, model.id),
                tools=needs.tools and model.id not in explicit,
            ),
            configured=self._registry.configuration_problem(model.provider),
            unavailable=outage(model.id),
        )


def record_of(route: RouteDecided) -> RoutingDecisionRecord:
    """Project a decision on what is kept on every assistant message.

    The route must have chosen a model.
    """
    assert route.chosen_model is not None, "only a routed turn has a record"
    winner = route.chain[route.winner_index]
    return RoutingDecisionRecord(
        mode=mode_of(winner.policy),
        chosen_model=route.chosen_model,
        reason=winner.reason,
        rule_name=winner.rule_name,
        confidence=winner.confidence,
        alternatives_considered=tuple(
            each.candidate_model
            for each in route.chain
            if each.candidate_model and each.candidate_model != route.chosen_model
        ),
    )


def _no_outage(_model_id: str) -> None:
    """Ignore outages."""


_IN_THE_WAY: Mapping[RejectionCode, tuple[str, type[MediaBlock]]] = {
    RejectionCode.NO_VISION_SUPPORT: ("image", ImageBlock),
    RejectionCode.NO_AUDIO_SUPPORT: ("recording", AudioBlock),
    RejectionCode.NO_DOCUMENT_SUPPORT: ("document", DocumentBlock),
}


def _holds(kind: type[MediaBlock], message: Message) -> bool:
    return any(isinstance(block, kind) for block in iter_blocks(message.content))


def _refused(model: Model, rejection: Rejection, state: State) -> SwapRefusedError:
    """Return the refusal of a swap, with what the ways out of it need."""
    text = format_swap_refusal(model, rejection, where=_first(rejection.code, state.conversation))
    if (in_the_way := _IN_THE_WAY.get(rejection.code)) is None:
        return SwapRefusedError(text, model=model.id, code=rejection.code)
    what, kind = in_the_way
    fork_at = ""
    for message in state.conversation:
        fork_at = message.id if message.is_prompt else fork_at
        if _holds(kind, message):
            break
    return SwapRefusedError(
        text, model=model.id, code=rejection.code, media=f"{what}s", fork_at=fork_at
    )


def _first(failure: RejectionCode, messages: Sequence[Message]) -> str | None:
    """Say where the first block stands that is in the way; None: none is."""
    if failure not in _IN_THE_WAY:
        return None
    what, kind = _IN_THE_WAY[failure]
    number = next(index for index, message in enumerate(messages, 1) if _holds(kind, message))
    return f"The first {what} is in message {number} of {len(messages)}."
