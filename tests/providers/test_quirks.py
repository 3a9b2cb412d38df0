import pytest

from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.quirks import HOSTS, find_quirks

WELL_KNOWN = (
    "https://api.deepseek.com/v1",
    "https://api.groq.com/openai/v1",
    "https://api.x.ai/v1",
    "https://api.together.xyz/v1",
    "https://api.fireworks.ai/inference/v1",
    "https://api.perplexity.ai",
    "https://api.cerebras.ai/v1",
    "https://api.moonshot.ai/v1",
    "https://api.z.ai/api/paas/v4",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "https://api.minimax.io/v1",
    "https://integrate.api.nvidia.com/v1",
    "https://ai-gateway.vercel.sh/v1",
    "https://acme-prod.snowflakecomputing.com/api/v2/cortex/v1",
    "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
    "https://acme.openai.azure.com/openai/v1",
    "https://models.github.ai/inference",
    "https://router.huggingface.co/v1",
    "https://api.sambanova.ai/v1",
    "https://api.tokenfactory.nebius.com/v1",
)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.label)
def test_every_host_has_valid_quirks(host):
    ChatDialect(host.quirks)
    for address in host.addresses:
        assert address == address.lower()


def test_host_addresses_are_unique():
    for host in HOSTS:
        for address in host.addresses:
            name = f"x{address}" if address.startswith(".") else address
            assert [each.label for each in HOSTS if each.matches(name)] == [host.label]
            assert find_quirks(f"https://{name}/v1") is host.quirks


@pytest.mark.parametrize("url", WELL_KNOWN)
def test_every_well_known_host_has_a_row(url):
    name = url.removeprefix("https://").partition("/")[0]
    assert any(
        name.endswith(address) if address.startswith(".") else name == address
        for host in HOSTS
        for address in host.addresses
    )


@pytest.mark.parametrize("url", ["", "nonsense", "http://[::1]:8080/v1", "http://[", "https://x.y"])
def test_unknown_address_has_no_quirks(url):
    assert find_quirks(url) == {}
