"""`yourtool auth`: no key is ever shown, and a key is sent only to the host it was saved for."""

import json
import stat

import pytest

from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.usefixtures("own_logging")

CANARY = "sk-ant-canary-0123456789abcdefghijklmnop"


@pytest.fixture
def server():
    with ProviderServer() as found:
        yield found


@pytest.fixture
def own_provider(home, server):
    """A provider of the user, which needs a key and has a model list."""

    def configure(url=None):
        (home / "config.toml").write_text(
            f'[providers.mine]\napi = "chat"\nbase_url = "{url or server.compatible_url}"\n'
        )

    configure()
    return configure


@pytest.mark.req("R-CRD-04", "R-CRD-01")
def test_key_is_read_from_standard_input_stored_and_shown_masked(line, home):
    line.type(f"{CANARY}\n")
    code, out, err = line("auth", "set", "anthropic")
    file = home / "credentials.toml"
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"Saved the key for anthropic in {file}.",
        "It is sent only to https://api.anthropic.com.",
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    _, out, _ = line("auth", "list")
    assert CANARY not in out
    assert f"✓  anthropic   sk-ant-c…mnop  file {file}  sent to https://api.anthropic.com" in out
    rows = {each["provider"]: each for each in json.loads(line("auth", "list", "--json")[1])}
    assert rows["anthropic"]["key"] == "sk-ant-c…mnop"
    assert rows["openai"]["key"] is None
    assert "demo" not in rows


@pytest.mark.req("R-CRD-04")
def test_short_key_is_hidden_completely_and_the_environment_is_the_source(line, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "short-key")
    _, out, _ = line("auth", "list", "anthropic")
    assert "***" in out and "short" not in out
    assert "environment ANTHROPIC_API_KEY" in out
    line.type(CANARY)
    assert (
        "`ANTHROPIC_API_KEY` is set in the environment and is used instead"
        in (line("auth", "set", "anthropic")[1])
    )
    assert "`ANTHROPIC_API_KEY` is still set" in line("auth", "remove", "anthropic")[1]


@pytest.mark.req("T22")
def test_key_as_an_argument_is_refused_and_not_repeated(line):
    for words in (("set", "anthropic", CANARY), ("set", CANARY), ("test", CANARY)):
        code, out, err = line("auth", *words)
        assert (code, out) == (2, "")
        assert CANARY not in err
        assert len(err.splitlines()) == 1
    assert "a key is never an argument" in line("auth", "set", "anthropic", CANARY)[2]


@pytest.mark.parametrize("key", ["", "two words", "schlüssel"])
def test_invalid_key_is_refused_and_nothing_is_stored(line, home, key):
    line.type(key)
    code, _, err = line("auth", "set", "anthropic")
    assert code == 2
    assert "nothing was saved" in err
    assert not (home / "credentials.toml").exists()


def test_removed_key_is_gone_and_removing_again_is_no_error(line):
    line.type(CANARY)
    line("auth", "set", "anthropic")
    assert line("auth", "remove", "anthropic") == (0, "Removed the key for anthropic.\n", "")
    assert line("auth", "remove", "anthropic") == (
        0,
        "There is no stored key for anthropic.\n",
        "",
    )


@pytest.mark.parametrize("action", ["set", "remove"])
def test_action_on_one_key_needs_a_provider(line, action):
    code, _, err = line("auth", action)
    assert code == 2
    assert f"`yourtool auth {action} PROVIDER`" in err


def test_keychain_that_is_missing_is_reported_and_nothing_is_stored(line, home):
    line.type(CANARY)
    code, _, err = line("auth", "set", "anthropic", "--keychain")
    assert code == 2
    assert "keychain" in err
    assert not (home / "credentials.toml").exists()


@pytest.mark.req("R-CRD-04")
def test_test_sends_one_request_with_the_key_and_reports_the_time(line, own_provider, server):
    line.type(CANARY)
    line("auth", "set", "mine")
    code, out, _ = line("auth", "test", "mine")
    assert code == 0, out
    assert out.startswith("✓  mine  works, ") and out.endswith(" ms\n")
    [headers] = server.get_headers
    assert CANARY in headers
    [row] = json.loads(line("auth", "test", "--json")[1])
    assert (row["provider"], row["ok"]) == ("mine", True)


def test_test_of_a_server_that_refuses_the_key_says_so_without_the_key(line, own_provider, server):
    line.type(CANARY)
    line("auth", "set", "mine")
    own_provider("http://127.0.0.1:9")
    code, out, err = line("auth", "test", "mine")
    assert code == 1
    assert "✗  mine" in out
    assert CANARY not in out + err


@pytest.mark.req("T13")
def test_key_is_not_sent_to_another_host_than_the_one_it_was_saved_for(
    line, own_provider, server, monkeypatch
):
    line.type(CANARY)
    line("auth", "set", "anthropic")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("NO_PROXY", "*")
    server.script.append(Reply("hello"))
    _, out, _ = line("auth", "list", "anthropic")
    assert CANARY[:8] not in out
    line("auth", "test", "anthropic")
    line("-m", "sonnet", "-p", "go")
    assert CANARY not in "".join((*server.keys, *server.get_headers))


@pytest.mark.req("T13")
def test_changed_base_url_is_reported_in_plain_words(line, own_provider):
    own_provider("https://one.example/v1")
    line.type(CANARY)
    line("auth", "set", "mine")
    own_provider("https://two.example/v1")
    _, out, _ = line("auth", "list", "mine")
    assert "was entered for `https://one.example`, not `https://two.example`" in out
    assert "sk-ant" not in out
