"""State of a session."""

from decimal import Decimal

from msgspec import UNSET
from msgspec.structs import replace

from yourtool.agent.history.conversation import OF_CONVERSATION, Conversation
from yourtool.agent.history.file_history import OF_FILES, FileHistory
from yourtool.agent.history.headroom import LatestLimits
from yourtool.agent.history.overrides import Overrides
from yourtool.agent.history.process_history import OF_PROCESSES, ProcessHistory
from yourtool.agent.history.stored_prompt import OF_PROMPT, StoredPrompt
from yourtool.events.branches import BranchLabelled, BranchMerged, BranchSelected
from yourtool.events.budgets import BudgetWarned
from yourtool.events.catalog import AnyFact
from yourtool.events.context import ContextOverridden
from yourtool.events.delegation import DelegateCompleted, DelegateFailed
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed, LlmCallStarted
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import (
    SessionCreated,
    SessionEffortSelected,
    SessionEnded,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
    SessionRenamed,
    SessionResumed,
)
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.tree import FactTree
from yourtool.events.turns import (
    PatternOverrideDismissed,
    RouteDecided,
    RoutingPolicyChanged,
    RoutingSnapshot,
    TurnCancelled,
    TurnCompleted,
    TurnEvaluated,
    TurnStarted,
)
from yourtool.messages.message import Message
from yourtool.routing.router import Slot

_TYPES_OF_CONVERSATION = frozenset(OF_CONVERSATION)


class State:
    """The state of a session; only `apply` changes it, except for pending selections."""

    def __init__(self, *, keep_facts: bool = True, keep_tree: bool = True) -> None:
        """`keep_facts` and `keep_tree`: keep what needs most of the memory of a long session.

        Without a tree, the conversation is right only as long as `has_branches` is false.
        """
        self._keep_facts = keep_facts
        self.facts: list[AnyFact] = []
        """All facts, or only those since the last turn started."""
        self.parents: list[str] = []  # ids of the sessions that it was forked from
        self._tree = FactTree() if keep_tree else None
        self.has_branches = False
        self._overrides = Overrides()
        self._branch: Conversation | None = Conversation(self._overrides)
        """None: it is built from the tree when it is needed."""
        self.labels: dict[str, str] = {}
        """Labels of messages by id; removed ones are empty."""
        self.files, self.processes, self.system_prompt = (
            FileHistory(),
            ProcessHistory(),
            StoredPrompt(),
        )
        # `title` is that of `/rename`, `policy` that of the last `policy.snapshot`,
        # `routing_policy` the version of the last `routing.policy_changed`.
        self.workspace_path = self.title = self.policy = self.routing_policy = ""
        self.routing_settings = set[str]()
        """The `settings` of every `routing.snapshot`."""
        self.evaluation: TurnEvaluated | None = None
        """The last one of a turn."""
        self.model: str | None = None
        """Id of the selected model (`/model NAME`)."""
        self.model_refusal: SessionModelRefused | None = None  # of the last selection
        self.placeholders_through = ""
        """Id of the message up to which `model` gets placeholders for media, or empty."""
        self.effort: SessionEffortSelected | None = None
        """The selected reasoning effort (`--effort`, `/effort`)."""
        self.pending_model: str | None = None
        """Model selected during a turn for the next one; empty: the default model."""
        self.pending_placeholders = False  # for the pending model
        self.last_route: RouteDecided | None = None
        self.dismissed_patterns = set[tuple[str, str]]()
        """Chosen and recommended models of recommendations that the user hid."""
        self.addressed_model: str | None = None
        """Model that the last turn was addressed to (`@alias`), until another is selected."""
        self.cost_usd = Decimal(0)
        self.unpriced = False
        """Whether the price of a request is unknown, so that `cost_usd` is too low."""
        self.rate_limits = dict[str, LatestLimits]()
        """The rate limits of the last reply of each model that had any, by its id."""
        self.budget_warnings: list[BudgetWarned] = []
        self.turn_count = 0
        self.open_turn: TurnStarted | None = None
        """The turn without a terminal fact."""
        self.open_calls: dict[str, LlmCallCompleted] = {}
        """Calls without a result, by tool_use id, with the fact that contains them."""

    @property
    def has_tree(self) -> bool:
        """Whether the tree is in memory."""
        return self._tree is not None

    @property
    def tree(self) -> FactTree:
        """The facts of the conversation, for branches to which it returns."""
        assert self._tree is not None, "`StoredFacts` loads the tree of a long session"
        return self._tree

    @tree.setter
    def tree(self, tree: FactTree) -> None:
        self._tree = tree

    @property
    def branch(self) -> Conversation:
        """The conversation of the branch that the session is on."""
        return self.build_branch() if self._branch is None else self._branch

    def build_branch(self) -> Conversation:
        """Build the conversation of the branch from its facts; in a long session it takes long."""
        branch = Conversation(self._overrides)
        for fact in self.tree.iterate_path():
            self._apply_to(branch, fact)
        self._branch = branch  # complete, because threads read it
        return branch

    @property
    def messages(self) -> list[Message]:
        """The messages of the branch in the order of their ids."""
        return self.branch.messages

    @property
    def conversation(self) -> list[Message]:
        """The messages of the branch for requests, before tool outputs are elided."""
        return self.branch.sent

    def conversation_for(self, model_id: str) -> list[Message]:
        """Return the messages for requests to a model, with old tool outputs elided if needed."""
        return self.branch.sent_to(model_id)

    @property
    def sent_messages(self) -> list[Message]:
        """The messages for requests to the model of the last turn."""
        return self.branch.sent_to(self.last_model or "")

    @property
    def last_model(self) -> str | None:
        """Id of the model of the last turn."""
        return self.last_route.chosen_model if self.last_route else None

    @property
    def prompts(self) -> list[Message]:
        """The messages of the branch that started turns, in order."""
        return [message for message in self.messages if message.is_prompt]

    def build_end(self, seconds: float) -> SessionEnded:
        """Return the fact that the program closes the session, which was open for some seconds."""
        return SessionEnded(
            disposition="completed",
            turn_count=self.turn_count,
            total_cost_usd=self.cost_usd,
            duration_seconds=seconds,
        )

    def apply(self, fact: AnyFact) -> None:
        """Update the state with a fact; facts must be applied in the order of their recording."""
        if isinstance(fact, TurnStarted) and not self._keep_facts and not self.open_calls:
            self.facts.clear()
        self.facts.append(fact)
        self._apply_to_parts(fact)
        self._apply_to_branch(fact)
        match fact:  # the most frequent ones first
            case LlmCallCompleted() | LlmCallFailed():
                self._apply_call(fact)
            case ToolCompleted() | ToolFailed():
                self.open_calls.pop(fact.tool_use_id, None)
            case TurnStarted():
                self.open_turn = fact
                self.turn_count += 1
            case TurnCompleted() | TurnCancelled():
                self.open_turn = None
            case (
                RouteDecided()
                | PatternOverrideDismissed()
                | RoutingPolicyChanged()
                | RoutingSnapshot()
            ):
                self._apply_routing(fact)
            case SessionCreated(workspace_path=path) | SessionResumed(workspace_path=str(path)):
                self.workspace_path = path
            case SessionRenamed(title=title):
                self.title = title
            case SessionForked() | SessionImported():
                if isinstance(fact, SessionForked):
                    self.parents.append(fact.parent_session_id)
                self.cost_usd, self.unpriced = Decimal(0), False
            case SessionModelSelected():
                self._apply_selection(fact)
            case SessionModelRefused():
                self.model_refusal = fact
            case SessionEffortSelected():
                self.effort = fact
            case DelegateCompleted() | DelegateFailed():
                self.cost_usd += fact.total_cost_usd
                self.unpriced = self.unpriced or fact.unpriced
            case PolicySnapshot(policy=policy):
                self.policy = policy
            case BranchLabelled(target=target, label=label):
                self.labels[target] = label
            case ContextOverridden():
                self._overrides.apply(fact)
                if self._branch is not None:
                    self._branch.use_overrides()
            case TurnEvaluated():
                self.evaluation = fact
            case BudgetWarned():
                self.budget_warnings.append(fact)
            case _:
                pass

    def _apply_to_parts(self, fact: AnyFact) -> None:
        kind = type(fact)
        if kind in OF_FILES:
            self.files.apply(fact)
        if kind in OF_PROCESSES:
            self.processes.apply(fact)
        if kind in OF_PROMPT:
            self.system_prompt.apply(fact)

    def _apply_to_branch(self, fact: AnyFact) -> None:
        """Keep a fact of the conversation, and update the branch unless that has to be built."""
        if type(fact) not in _TYPES_OF_CONVERSATION:
            return
        if self._tree is not None:
            self._tree.add(fact if self._keep_facts else _without_details(fact))
        if isinstance(fact, BranchSelected):
            self.has_branches = True
        if isinstance(fact, BranchSelected) and self._tree is not None:
            self._branch = None
        elif self._branch is not None:
            self._apply_to(self._branch, fact)

    def _apply_to(self, branch: Conversation, fact: AnyFact) -> None:
        if isinstance(fact, BranchMerged):
            branch.merge(fact, self._tree.iterate_messages() if self._tree else ())
        else:
            branch.apply(fact)

    def _apply_call(self, fact: LlmCallEnd) -> None:
        """Apply the end of a model call; a silent one has nothing but a cost and limits."""
        self._add_cost(fact)
        receipt = fact.usage_extra.receipt if fact.usage_extra else None
        if receipt is not None and receipt.rate_limits is not None:
            self.rate_limits[fact.model] = LatestLimits(receipt.rate_limits, fact.timestamp)
        if isinstance(fact, LlmCallCompleted) and not fact.purpose:
            self.open_calls |= {block.id: fact for block in fact.message.tool_uses}

    def _apply_routing(
        self,
        fact: RouteDecided | PatternOverrideDismissed | RoutingPolicyChanged | RoutingSnapshot,
    ) -> None:
        match fact:
            case PatternOverrideDismissed(chosen_model=chosen, recommended_model=recommended):
                self.dismissed_patterns.add((chosen, recommended))
            case RouteDecided():
                self.last_route = replace(fact, inputs=UNSET)
                self.addressed_model = _find_addressed_model(fact)
            case RoutingPolicyChanged(version=version):
                self.routing_policy = version
            case RoutingSnapshot(settings=settings):
                self.routing_settings.add(settings)

    def _apply_selection(self, choice: SessionModelSelected) -> None:
        self.model, self.pending_model, self.pending_placeholders = choice.model, None, False
        self.addressed_model = self.model_refusal = None
        last = self.messages[-1].id if self.messages else ""
        self.placeholders_through = last if choice.media_in_words else ""

    def _add_cost(self, fact: LlmCallEnd) -> None:
        self.cost_usd += fact.usage.cost_usd if fact.usage is not None else 0
        extra = fact.usage_extra
        self.unpriced = self.unpriced or bool(extra and extra.unpriced)

    def add_message(self, message: Message) -> None:
        """Add a message that no fact has, for estimates."""
        self.branch.add_message(message)


def _find_addressed_model(route: RouteDecided) -> str | None:
    mentions = (each for each in route.chain if each.policy == Slot.PER_MESSAGE_OVERRIDE)
    return next((each.candidate_model for each in mentions), None)


def _without_details(fact: AnyFact) -> AnyFact:
    """Return a fact of the conversation without what only people read."""
    match fact:
        case RouteDecided(chosen_model=str()):
            return replace(fact, chain=(), inputs=UNSET)
        case LlmCallStarted():
            return replace(fact, system=UNSET, tools=UNSET)
        case _:
            return fact
