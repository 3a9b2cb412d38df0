"""What Enter and Up do with the prompt, without a screen."""

import pytest

from tests.tui.test_turn_runner import Stage
from yourtool.tui.drafts import Draft
from yourtool.tui.prompt_input import PromptInput


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


async def test_accepted_prompts_are_recalled_and_invalid_ones_stay(stage, tmp_path):
    warnings: list[str] = []
    prompt_input = PromptInput(stage.runner, warnings.append)
    prompt_input.open_history(tmp_path / "state", tmp_path)
    session = stage.open()
    assert prompt_input.accepts(Draft("one"))
    prompt_input.submit(Draft("one"))
    assert not prompt_input.accepts(Draft("/unknown"))
    assert not prompt_input.accepts(Draft("/new"))
    assert len(warnings) == 2 and "needs the turn to end" in warnings[1]
    await stage.finish()
    assert session.sent == ["one"]
    assert prompt_input.recall(-1, Draft("half")) == Draft("one")
    assert prompt_input.recall(1, Draft("one")) == Draft("half")
    prompt_input.close()


async def test_up_takes_the_last_queued_message_back_first(stage):
    prompt_input = PromptInput(stage.runner, lambda _: None)
    for text in ("one", "two"):
        prompt_input.submit(Draft(text))
    assert prompt_input.recall(-1, Draft()) == Draft("two")
    assert stage.queued == ["one"]
