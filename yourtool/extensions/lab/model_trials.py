"""Command `yourtool models --probe --ask`.

It sends small test requests to find out the capabilities of models. Models of servers without a key
are tested at once. Any other model is tested only if the user names it and agrees.
"""

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import ask, can_ask
from yourtool.errors import AdapterError, UsageError
from yourtool.events.deltas import TokenUsage
from yourtool.extensions.lab import trial_requests
from yourtool.foundation.amounts import format_money, format_tokens
from yourtool.foundation.text import escape, printable
from yourtool.models import Model
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.prices import cost
from yourtool.providers.registry import Registry


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of `yourtool models --probe --ask`."""
    parser.add_argument(
        "--ask",
        action="store_true",
        help="with `--probe`: test with small requests what models can do; free ones, or MODEL …",
    )
    parser.add_argument(
        "--yes", action="store_true", help="with `--ask`: test models that cost money, too"
    )
    parser.add_argument("words", nargs="*", metavar="MODEL", help="with `--ask`: test only these")


def choose_models(
    arguments: Arguments, registry: Registry, catalogue: Catalogue
) -> tuple[Model, ...]:
    """Return the models to test, as they are described; ask before any that can cost money.

    Raises:
        UsageError: nothing can be tested, or the user did not agree.
        UnknownModelError: a name matches no model, or several.
    """
    if not arguments.words:
        free = [each for each in catalogue.all() if is_free(each, registry)]
        if not free:
            raise UsageError(
                "no server without a key lists a model; `yourtool models --probe --ask MODEL`"
                " tests one of another provider, which can cost money"
            )
        return tuple(catalogue.get_untried(each.id) for each in free)
    named = dict.fromkeys(catalogue.resolve(word).id for word in arguments.words)
    models = tuple(map(catalogue.get_untried, named))
    for model in models:
        if model.is_demo:
            raise UsageError(f"`{model.id}` is a script, not a model; there is nothing to test")
        if (why := registry.configuration_problem(model.provider)) is not None:
            raise UsageError(f"`{model.id}` cannot be tested: {why}")
    paid = [each for each in models if not is_free(each, registry)]
    if paid and not arguments.yes:
        _require_consent(paid)
    return models


def is_free(model: Model, registry: Registry) -> bool:
    """Return whether requests to a model cost nothing: no key, and no price above zero."""
    if model.is_demo or registry.spec(model.provider) is None or registry.has_key(model.provider):
        return False
    if registry.configuration_problem(model.provider) is not None:
        return False
    price = model.price
    return price is None or not (price.input_per_mtok_usd or price.output_per_mtok_usd)


def test_models(
    file: Path, arguments: Arguments, registry: Registry, catalogue: Catalogue
) -> tuple[list[str], bool]:
    """Test the models that the user chose, and store each result in `file`.

    Returns messages for the user, and whether every model answered.

    Raises:
        UsageError: nothing can be tested, or the user did not agree.
    """
    models = choose_models(arguments, registry, catalogue)
    return asyncio.run(run_trials(file, models, registry, catalogue))


async def run_trials(
    file: Path, models: Sequence[Model], registry: Registry, catalogue: Catalogue
) -> tuple[list[str], bool]:
    """Test models one after the other and store each result in `file`.

    Returns messages for the user, and whether every model answered.
    """
    notes, have_answered = list[str](), True
    for model in models:
        sys.stderr.write(f"yourtool: testing {printable(model.id)}…\n")
        sys.stderr.flush()
        try:
            result = await trial_requests.run_trial(registry.adapter(model), model)
        except AdapterError as error:
            notes.append(f"{model.id}: not tested: {escape(str(error))}")
            have_answered = False
            continue
        catalogue.add_trials((result.trial,))
        notes.append(_describe(result))
        notes += [f"  {escape(each)}" for each in result.problems]
        row = registry.spec(model.provider)
        assert row is not None, "it has an adapter"
        try:
            discovery_cache.save_trial(file, row, result.trial)
        except OSError as error:
            reason = error.strerror or "unknown error"
            notes.append(f"The result was not saved: cannot write `{file}`: {reason}.")
    await registry.close()
    return notes, have_answered


def _require_consent(models: Sequence[Model]) -> None:
    """Ask on the terminal whether to test models that cost money.

    Raises:
        UsageError: there is no terminal, or the answer is not yes.
    """
    prices = "; ".join(f"`{model.id}` {_estimate_price(model)}" for model in models)
    if not can_ask():
        raise UsageError(
            f"test requests to {prices}: they are sent only if you agree; run this in a terminal,"
            " or add `--yes`"
        )
    if not ask(f"Test requests: {prices}. Send them?"):
        raise UsageError("nothing was sent")


def _estimate_price(model: Model) -> str:
    tokens = trial_requests.estimate_trial_tokens(model)
    amount = cost(TokenUsage(input_tokens=tokens, output_tokens=0), model.price)
    price = "at an unknown price" if amount is None else f"for about {format_money(amount)}"
    return f"({format_tokens(tokens)} tokens, {price})"


def _describe(result: "trial_requests.TrialResult") -> str:
    trial = result.trial
    words = {True: "yes", False: "no", None: "not shown"}
    window = "not shown" if trial.window is None else f"{trial.window:,} tokens"
    limit = "only " if trial.is_limited else "at least "
    spent = "" if not result.cost_usd else f", {format_money(result.cost_usd)}"
    return (
        f"{trial.model}: streaming {words[trial.streaming]}, tools {words[trial.tools]},"
        f" images {words[trial.images]}, context {limit if trial.window else ''}{window}"
        f" ({result.requests} requests, {format_tokens(result.tokens)} tokens{spent})"
    )
