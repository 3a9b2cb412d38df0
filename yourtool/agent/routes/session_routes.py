"""Routing for a session."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import compress

from msgspec.structs import replace

from yourtool.agent.history.conversation import is_rejected_for_content
from yourtool.agent.history.estimates import RequestEstimates
from yourtool.agent.history.state import State
from yourtool.agent.routes.learned_routing import LearnedRouting
from yourtool.agent.routes.route_records import RecordedRoute, build_record
from yourtool.agent.routes.routing_rules import RoutingRules, find_prompt
from yourtool.errors import AdapterError, ErrorClass, SwapRefusedError, UsageError
from yourtool.events.turns import ProviderRecovered, ProviderUnavailable, RouteDecided
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    iter_blocks,
)
from yourtool.messages.memo import has_media
from yourtool.messages.message import Message
from yourtool.messages.metadata import RoutingDecisionRecord
from yourtool.models import Model
from yourtool.providers.catalogue.discovery import fetch_models
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import Registry
from yourtool.providers.requests.attachment_limits import find_attachment_problem
from yourtool.routing.availability import Availability
from yourtool.routing.router import (
    Candidate,
    Needs,
    Rejection,
    RejectionCode,
    find_rejection,
    format_chain,
    format_swap_refusal,
    mode_of,
)
from yourtool.routing.situation import ModelStatus, Situation, decide_turn, find_obstacle


class Routes:
    """Chooses models for one workspace; all sessions of the process share the availability."""

    def __init__(
        self,
        registry: Registry,
        availability: Availability,
        estimates: RequestEstimates,
        rules: RoutingRules,
        *,
        interactive: bool = True,
        structured_output: bool = False,
    ) -> None:
        """`interactive`: whether error messages may name slash commands.

        `structured_output`: whether replies must match a JSON Schema. `rules`: those of the
        directory, with the default models.
        """
        self.catalogue = estimates.catalogue
        self._registry = registry
        self._availability = availability
        self._estimates = estimates
        self.rules = rules
        self.learned: LearnedRouting | None = None
        """The past turns of the directory; None: they choose no models."""
        self.delegated_model: str | None = None
        """The model of a worker, from its task."""
        self._interactive = interactive
        self._structured_output = structured_output
        self.fallbacks: dict[str, Candidate] = {}
        """By model: the one that answers while that model is unavailable."""
        self._undescribed: set[str] = set()  # ids of models that their servers did not describe

    def needs(self, messages: Sequence[Message]) -> Needs:
        """Return the capabilities that a model needs for these messages.

        The number of tokens depends on the model and is not included.
        """
        with_media = list(compress(messages, has_media.values(messages)))
        return Needs(
            images=any(_contains_block(ImageBlock, message) for message in with_media),
            audio=any(_contains_block(AudioBlock, message) for message in with_media),
            documents=any(_contains_block(DocumentBlock, message) for message in with_media),
            tools=self._estimates.has_tools,
            system_prompt=True,
            structured_output=self._structured_output,
        )

    def decide(
        self, override: Model | None, state: State, *, retried_model: str | None = None
    ) -> RouteDecided:
        """Choose the model of a turn whose user message is in `state` already.

        `retried_model`: the model of the turn that the user retries.
        """
        situation = self._build_situation(override, state, retried_model)
        return self._decide(situation, state, cache(self._find_status))[0]

    def decide_for_record(
        self, override: Model | None, state: State, retried_model: str | None
    ) -> RecordedRoute:
        """Decide as `decide`; the decision has all that is needed to make it again."""
        situation = self._build_situation(override, state, retried_model)
        find_status = cache(self._find_status)
        route, tokens = self._decide(situation, state, find_status)
        is_new, policy = _is_new(state), self.rules.policy
        return build_record(route, situation, policy, find_status, tokens, is_own_prompt=is_new)

    def _decide(
        self, situation: Situation, state: State, find_status: Callable[[str], ModelStatus]
    ) -> tuple[RouteDecided, Mapping[str, int]]:
        """Return the decision, and the estimates that it needed."""
        started, tokens = time.perf_counter(), dict[str, int]()

        def count_tokens(model_id: str) -> int:
            if model_id not in tokens:
                tokens[model_id] = self._estimates.total(state, model_id)
            return tokens[model_id]

        decided = decide_turn(self.rules.policy, situation, find_status, count_tokens)
        learned, chain = self.learned, decided.chain
        if learned is not None:
            chain = learned.advise(situation.pattern, decided, state, self.can_take)
        route = RouteDecided(
            chosen_model=decided.chosen,
            winner_index=decided.winner_index,
            elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
            chain=chain,
        )
        return route, tokens

    def expected_model(self, state: State) -> Model:
        """Return the preferred model of the next turn, whether or not it is usable."""
        return self.catalogue.get(
            state.model or self.delegated_model or self.rules.defaults.preferred
        )

    async def load_description(self, model: Model, *, refresh: bool = False) -> None:
        """Load the description of an unknown model from its server, if the server needs no key.

        A server that did not describe the model is queried again only with `refresh`. Errors of the
        server are ignored here: the model request will report them.
        """
        row = self._registry.spec(model.provider)
        if model.known or row is None or row.needs_key:
            return
        if model.id in self._undescribed and not refresh:
            return
        with suppress(AdapterError):
            self.catalogue.add_discovered(row.name, await fetch_models(self._registry, row.name))
            self._undescribed.add(model.id)

    def swap_target(self, name: str, state: State, *, use_placeholders: bool = False) -> Model:
        """Return the model with this name or alias, if it can continue the session.

        `use_placeholders`: send placeholders for media that the model does not support.

        Raises:
            UnknownModelError: no model, or more than one, has this name.
            SwapRefusedError: the model cannot continue the session; the message gives the reason.
        """
        model = self.catalogue.resolve(name)
        needs = self.needs(() if use_placeholders else state.conversation)
        rejection = self._find_obstacle(model, state, needs, is_explicit=True, despite_outage=True)
        if rejection is not None:
            raise _build_swap_refusal(model, rejection, state)
        return model

    def find_rejection(self, content: Sequence[ContentBlock], state: State) -> str | None:
        """Return why the model of the next turn rejects `content`, or None if it accepts it."""
        model = self.catalogue.get(state.pending_model or self.expected_model(state).id)
        return _find_content_problem(content, model)

    def find_steering_problem(self, message: Message, state: State) -> str | None:
        """Return why the model of the running turn rejects a message, or None if it accepts it."""
        chosen = state.last_route.chosen_model if state.last_route else None
        model = self.catalogue.get(chosen) if chosen else self.expected_model(state)
        tokens = state.branch.context_tokens + estimate_tokens((message,), (), model.id)
        return _find_content_problem(message.content, model, tokens)

    def check_media_limits(
        self, content: Sequence[ContentBlock], override: Model | None, state: State
    ) -> None:
        """Check that the model of the turn accepts the media in `content` in one request.

        Raises:
            UsageError: a limit is exceeded.
        """
        if (
            reason := find_attachment_problem(content, override or self.expected_model(state))
        ) is not None:
            raise UsageError(
                f"{reason}. Nothing was sent: reduce the size, remove an attachment, or choose a"
                " model with higher limits"
            )

    def missing_tools_notice(self, model: Model) -> str | None:
        """Return a notice if the model cannot call the available tools, else None."""
        if model.capabilities.supports_tools or not self._estimates.has_tools:
            return None
        return (
            f"`{model.id}` does not support tools: it can talk about files and commands, but cannot"
            " read, change or run anything."
        )

    def explain(self, state: State) -> list[str]:
        """Return lines with the active model and the result of each slot in the last turn."""
        active = self.expected_model(state).id
        pending = f"; pending: {state.pending_model}" if state.pending_model else ""
        outage = self._availability.outage_reason(active)
        lines = [f"Active model: {active}{pending}{f'; {outage}' if outage else ''}"]
        lines += [f"Refused: {state.model_refusal.reason}"] if state.model_refusal else []
        if state.last_route is None:
            return [*lines, "No turn has been routed yet."]
        return [*lines, *format_chain(state.last_route.chain)]

    def explain_failure(self, route: RouteDecided) -> list[str]:
        """Return lines with the models that were rejected for a turn, and a remedy."""
        rejected = [each for each in route.chain if each.verdict == "rejected"]
        lines = ["No available model for this message; nothing was sent."]
        lines += [f"  {each.candidate_model}: {each.reason}" for each in rejected]
        usable = [row.name for row in self._registry.providers() if self._is_usable(row)]
        if usable:
            named = ", ".join(usable)
            remedy = "/model; /retry sends this message again" if self._interactive else "`--model`"
            lines.append(f"Configured: {named}. Choose one with {remedy}.")
        elif self._interactive:
            lines.append("No provider is configured: enter an API key with /key.")
        else:
            names = [f"`{each.key_env[0]}`" for each in self._registry.providers() if each.key_env]
            lines.append(f"No provider is configured: set {', '.join(names)}.")
        if is_rejected_for_content(route):
            lines.append("The next prompt will not include this message.")
        return lines

    def record_outcome(
        self, model: Model, error_class: str | None
    ) -> Sequence[ProviderUnavailable | ProviderRecovered]:
        """Record the outcome of a request; return the changes of availability.

        `error_class`: None after a success.
        """
        if error_class is None:
            return self._availability.record_success(model.id)
        return self._availability.record_failure(model.id, ErrorClass(error_class))

    def outage_reason(self, model_id: str) -> str | None:
        """Return why a model is unavailable, or None if it is not."""
        return self._availability.outage_reason(model_id)

    def can_take(self, model_id: str, state: State) -> bool:
        """Return whether a model that the user did not name can take the turn."""
        model, needs = self.catalogue.get(model_id), self.needs(state.conversation)
        found = self._find_obstacle(model, state, needs, is_explicit=False, despite_outage=False)
        return found is None

    def is_configured(self, model: Model) -> bool:
        """Return whether requests to a model have a key, if it needs one."""
        return self._registry.find_problem(model) is None

    def sweep(self) -> Sequence[ProviderRecovered]:
        """Return the models and providers whose outage has expired."""
        return self._availability.expire()

    def _is_usable(self, row: ProviderSpec) -> bool:
        return row.needs_key and self._registry.configuration_problem(row.name) is None

    def _build_situation(
        self, override: Model | None, state: State, retried_model: str | None
    ) -> Situation:
        worker_model, learned = self.delegated_model, self.learned
        proposal = None if learned is None else learned.propose(state, worker_model)
        return Situation(
            turn=self.rules.build_input(state),
            needs=self.needs(state.conversation),
            selected_needs=self._selected_needs(state),
            override=override.id if override else None,
            selected=state.model,
            retried=retried_model,
            delegate=self.delegated_model,
            workspace_default=self.rules.configured.workspace_default,
            global_default=self.rules.configured.global_default,
            fallbacks=dict(self.fallbacks),
            pattern=proposal and proposal.candidate,
            no_pattern=proposal.reason if proposal else "",
        )

    def _selected_needs(self, state: State) -> Needs | None:
        """Return what the selected model needs, if it gets placeholders for earlier media."""
        if not state.placeholders_through:
            return None
        return self.needs([m for m in state.conversation if m.id > state.placeholders_through])

    def _find_status(self, model_id: str) -> ModelStatus:
        model = self.catalogue.get(model_id)
        why_not, outage = self._registry.find_problem(model), self.outage_reason(model.id)
        return ModelStatus(model, why_not, outage, model.describe_end())

    def _find_obstacle(
        self, model: Model, state: State, needs: Needs, *, is_explicit: bool, despite_outage: bool
    ) -> Rejection | None:
        """Return why a model cannot take the next turn, or None if it can."""
        if model.id == state.model:
            needs = self._selected_needs(state) or needs
        return find_obstacle(
            self._find_status(model.id),
            replace(needs, input_tokens=self._estimates.total(state, model.id)),
            is_explicit=is_explicit,
            despite_outage=despite_outage,
        )


def _is_new(state: State) -> bool:
    """Whether the last prompt came with the running turn, which is not a retry."""
    message, prompt = state.open_turn and state.open_turn.message, find_prompt(state)
    return message is not None and prompt is not None and message.id == prompt.id


def to_routing_record(route: RouteDecided, model_id: str) -> RoutingDecisionRecord:
    """Return the record of a decision that is stored with every message of the model."""
    winner = route.chain[route.winner_index]
    return RoutingDecisionRecord(
        mode=mode_of(winner.policy),
        chosen_model=model_id,
        reason=winner.reason,
        rule_name=winner.rule_name,
        confidence=winner.confidence,
        alternatives_considered=tuple(
            each.candidate_model
            for each in route.chain
            if each.candidate_model and each.candidate_model != model_id
        ),
    )


_UNSUPPORTED_MEDIA: Mapping[RejectionCode, tuple[str, type[MediaBlock]]] = {
    RejectionCode.NO_VISION_SUPPORT: ("image", ImageBlock),
    RejectionCode.NO_AUDIO_SUPPORT: ("audio file", AudioBlock),
    RejectionCode.NO_DOCUMENT_SUPPORT: ("document", DocumentBlock),
}


def _find_content_problem(
    content: Sequence[ContentBlock], model: Model, input_tokens: int = 0
) -> str | None:
    """Return why a model rejects content in a request of `input_tokens`, or None."""
    needs = Needs(
        input_tokens=input_tokens,
        images=any(isinstance(block, ImageBlock) for block in content),
        audio=any(isinstance(block, AudioBlock) for block in content),
        documents=any(isinstance(block, DocumentBlock) for block in content),
    )
    rejection = find_rejection(model, needs, configured=None, unavailable=None)
    return find_attachment_problem(content, model) if rejection is None else rejection.reason


def _contains_block(kind: type[MediaBlock], message: Message) -> bool:
    return any(isinstance(block, kind) for block in iter_blocks(message.content))


def _build_swap_refusal(model: Model, rejection: Rejection, state: State) -> SwapRefusedError:
    """Return the error for a refused swap, with the data that its remedies need."""
    text = format_swap_refusal(
        model, rejection, where=_describe_first(rejection.code, state.conversation)
    )
    if (unsupported := _UNSUPPORTED_MEDIA.get(rejection.code)) is None:
        return SwapRefusedError(text, model=model.id, code=rejection.code)
    what, kind = unsupported
    fork_at = ""
    for message in state.conversation:
        fork_at = message.id if message.is_prompt else fork_at
        if _contains_block(kind, message):
            break
    return SwapRefusedError(
        text, model=model.id, code=rejection.code, media=f"{what}s", fork_at=fork_at
    )


def _describe_first(failure: RejectionCode, messages: Sequence[Message]) -> str | None:
    """Return the position of the first block that the model rejects, or None."""
    if failure not in _UNSUPPORTED_MEDIA:
        return None
    what, kind = _UNSUPPORTED_MEDIA[failure]
    number = next(
        index for index, message in enumerate(messages, 1) if _contains_block(kind, message)
    )
    return f"The first {what} is in message {number} of {len(messages)}."
