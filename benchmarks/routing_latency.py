"""The time of a routing decision: a hundred rules and models, and a thousand past turns.

Only the last slot accepts.

Prints one JSON object; the goal is below 5 ms at the 95th percentile.
"""

import json
import statistics
import time

from yourtool.extensions.lab.patterns import MAX_OUTCOMES, Outcome, build_fingerprint, recommend
from yourtool.models import AdapterCapabilities, Model
from yourtool.routing.availability import Availability
from yourtool.routing.policy import Policy, PolicyFile, build_policy, parse_policy
from yourtool.routing.predicates import TurnInput
from yourtool.routing.router import (
    Candidate,
    Needs,
    Preferences,
    Rejection,
    decide,
    find_rejection,
    format_chain,
)

ROUNDS = 1_000
MODELS = {
    f"p{number % 5}:m{number}": Model(
        id=f"p{number % 5}:m{number}",
        wire_name=f"m{number}",
        capabilities=AdapterCapabilities(supports_images=number == 99),
    )
    for number in range(100)
}
NEEDS = Needs(images=True, input_tokens=30_000, tools=True, system_prompt=True)
TURN = TurnInput(text="please read this file and describe what it does " * 40)
TEXT = "fix the failing test in src/area{0}/file{0}.py, word{0} and more{1} of item{2}"
OUTCOMES = tuple(
    Outcome(
        model=f"p{number % 3}:m{number % 3}",
        fingerprint=build_fingerprint(
            TEXT.format(number % 40, number % 7, number) + f" part{number % 11}" * 9,
            [f"src/area{number % 40}/file{each}.py" for each in range(5)],
            tokens=number * 100,
            has_images=number % 9 == 0,
        ),
        score=number % 10 / 10,
        cost_usd=number % 5 / 100,
    )
    for number in range(MAX_OUTCOMES)
)
RULES = "".join(
    f"""
[[rules]]
when = {{ message_matches = "(?i)word{number}|describe", any_of = [
    {{ estimated_input_tokens_gt = 1 }}, {{ file_extensions_in_context = [".py"] }}] }}
use = "p{number % 5}:m{number}"
"""
    for number in range(99)
)


def measure() -> dict[str, float]:
    """Return milliseconds of one decision with its explanation."""
    availability = Availability()

    def check(model_id: str, needs: Needs) -> Rejection | None:
        unavailable = availability.outage_reason(model_id)
        return find_rejection(MODELS[model_id], needs, configured=None, unavailable=unavailable)

    file = parse_policy(RULES, "routing.toml", str)
    policy = build_policy(file, PolicyFile(), "/work")
    decided, taken = decide(_preferences(policy), NEEDS, check), list[float]()
    used = list[float]()
    for _ in range(ROUNDS):
        started, started_cpu = time.perf_counter(), time.thread_time()
        decided = decide(_preferences(policy), NEEDS, check)
        format_chain(decided.chain)
        taken.append((time.perf_counter() - started) * 1000)
        used.append((time.thread_time() - started_cpu) * 1000)
    assert decided.chosen == "p4:m99"
    return {
        "p50_ms": round(statistics.median(taken), 4),
        "p95_ms": round(statistics.quantiles(taken, n=20)[-1], 4),
        "p95_cpu_ms": round(statistics.quantiles(used, n=20)[-1], 4),
        "goal_p95_ms": 5.0,
    }


def _preferences(policy: Policy) -> Preferences:
    """Return the candidates of a turn for which every rule holds."""
    found = policy.matching(TURN, lambda _: lambda: 30_000)
    asked = build_fingerprint(TURN.text, ["src/area3/a.py"], tokens=30_000, has_images=True)
    learned = recommend(asked, OUTCOMES, 0.05)
    assert learned is not None
    return Preferences(
        rules=tuple(Candidate(each.model, each.condition, each.name) for each in found),
        rule_count=len(policy.rules),
        pattern=Candidate(
            learned.best.model,
            learned.explain(),
            confidence=learned.confidence,
            alternatives=learned.ranked,
        ),
        global_default="p4:m99",
    )


if __name__ == "__main__":
    print(json.dumps({"routing_latency": measure()}))
