import pytest

from tests.providers.recorded_exchanges import model
from yourtool.models import EFFORTS, AdapterCapabilities
from yourtool.paths import resolve_paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.requests.reasoning_effort import (
    describe_effort,
    describe_effort_change,
    effective_effort,
    supported_efforts,
)

PLAIN = model("openai", "gpt-4.1", capabilities=AdapterCapabilities())


@pytest.fixture
def catalogue(home):
    return Catalogue.load(resolve_paths())


@pytest.mark.parametrize(
    ("name", "wanted", "level"),
    [
        ("anthropic:claude-sonnet-4-6", "xhigh", "high"),
        ("anthropic:claude-sonnet-4-6", "minimal", "low"),
        ("anthropic:claude-opus-4-7", "xhigh", "xhigh"),
        ("anthropic:claude-haiku-4-5", "off", "off"),
        ("anthropic:claude-fable-5-1", "off", "low"),
        ("openai:gpt-5", "max", "high"),
        ("openai:gpt-5", "off", "minimal"),
        ("openai:gpt-5.6-terra", "max", "max"),
        ("openai:gpt-5.6-terra", "minimal", "low"),
        ("openai:gpt-4.1", "high", None),
        ("google:gemini-3.5-flash", "xhigh", "high"),
        ("google:gemini-3.1-pro-preview", "minimal", "low"),
        ("google:gemini-2.5-flash", "off", "off"),
        ("google:gemini-2.5-pro", "off", "minimal"),
    ],
)
@pytest.mark.req("R-ADP-17")
def test_unsupported_effort_becomes_the_next_supported_one(catalogue, name, wanted, level):
    assert effective_effort(catalogue.get(name), wanted) == level


@pytest.mark.req("R-ADP-17")
def test_every_effective_effort_is_supported(catalogue):
    for each in catalogue.all():
        for wanted in EFFORTS:
            level = effective_effort(each, wanted)
            assert level in supported_efforts(each) or (
                level is None and not supported_efforts(each)
            )
            assert wanted == "off" or level != "off"


def test_off_is_used_only_if_requested():
    yes_or_no = model("ollama", "qwen3", thinking_levels=("off", "high"))
    assert [effective_effort(yes_or_no, level) for level in EFFORTS] == ["off"] + ["high"] * 6


@pytest.mark.req("R-ADP-17")
def test_effort_change_names_the_supported_efforts():
    target = model("openai", "gpt-5", thinking_levels=("minimal", "high"))
    assert describe_effort_change(target, "max") == (
        "`openai:gpt-5` supports no effort `max`, only `minimal`, `high`; `high` is used."
    )
    assert (
        describe_effort_change(target, "high")
        is describe_effort_change(target, None)
        is describe_effort_change(PLAIN, "off")
        is None
    )
    assert describe_effort_change(PLAIN, "low") == "`openai:gpt-4.1` has no reasoning effort."


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (None, "Reasoning effort: model default; `/effort` takes minimal, high."),
        ("high", "Reasoning effort: high; `/effort` takes minimal, high."),
        ("max", "Reasoning effort: high instead of max; `/effort` takes minimal, high."),
    ],
)
def test_effort_description_has_one_line(wanted, line):
    assert (
        describe_effort(model("openai", "x", thinking_levels=("high", "minimal")), wanted) == line
    )
    assert describe_effort(PLAIN, wanted) == "Reasoning effort: not supported by `openai:gpt-4.1`."
