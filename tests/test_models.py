import pytest

from yourtool.errors import UnknownModelError
from yourtool.models import AdapterCapabilities, Model, ModelId


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [
        ("anthropic:claude-sonnet-4-6", "anthropic", "claude-sonnet-4-6"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("openrouter:deepseek/deepseek-v3", "openrouter", "deepseek/deepseek-v3"),
        ("a::b", "a", ":b"),
    ],
)
@pytest.mark.req("R-CAN-08")
def test_a_model_id_splits_at_its_first_colon_and_round_trips(text, provider, name):
    model_id = ModelId.parse(text)
    assert (model_id.provider, model_id.name) == (provider, name)
    assert str(model_id) == text
    assert Model(id=text, wire_name=name, capabilities=AdapterCapabilities()).provider == provider


@pytest.mark.parametrize("text", ["x", "", ":x", "x:", ":"])
@pytest.mark.req("R-CAN-08")
def test_an_invalid_model_id_is_refused_with_an_example(text):
    with pytest.raises(UnknownModelError, match=r"`<provider>:<name>`") as caught:
        ModelId.parse(text)
    assert f"`{text}` is not a model id" in str(caught.value)
