"""`yourtool models --probe --ask`: which models are tested, with whose consent."""

import json

import pytest

from tests.cli.command_line import CommandLine
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.extensions.lab.test_trials import Server
from tests.provider_server import ProviderServer, Reply

PAID = "anthropic:claude-sonnet-4-6"


@pytest.fixture
def no_ollama(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")


def use_own_server(home, server: ProviderServer, more: str = "") -> None:
    server.model_names = ["small"]
    (home / "config.toml").write_text(
        f'[providers.mine]\nbase_url = "{server.compatible_url}"\n{more}'
    )


def use_paid_server(monkeypatch, server: ProviderServer) -> None:
    for name, value in server.environment.items():
        if name.startswith("ANTHROPIC"):
            monkeypatch.setenv(name, value)


def test_free_models_are_tested_and_stored(line: CommandLine, home, no_ollama):
    with ProviderServer(answer=Server(window=2_048).answer) as server:
        use_own_server(home, server)
        code, out, err = line("models", "--probe", "--ask")
        asked = len(server.requests)
    assert code == 0
    assert "mine:small: streaming yes, tools yes, images yes, context only 2,048 tokens" in out
    assert "testing mine:small" in err
    assert asked == 4
    later = {row["id"]: row for row in json.loads(line("models", "--json")[1])}["mine:small"]
    assert later["tested"]["tools"] is True
    assert later["capabilities"]["max_context_tokens"] == 2_048
    [shown] = [each for each in line("models")[1].splitlines() if "mine:small" in each]
    assert f"tested {later['tested']['at'][:10]}" in shown


def test_model_with_a_price_is_never_tested_without_consent(line, home, monkeypatch, no_ollama):
    with ProviderServer() as server:
        use_paid_server(monkeypatch, server)
        code, _, err = line("models", "--probe", "--ask", PAID)
        assert server.requests == []
    assert code == 2
    assert f"test requests to `{PAID}`" in err
    assert "for about $0.1" in err
    assert "add `--yes`" in err


def test_yes_tests_a_model_with_a_price(line, home, monkeypatch, no_ollama):
    with ProviderServer([Reply("ready")]) as server:
        use_paid_server(monkeypatch, server)
        code, out, _ = line("models", "--probe", "--ask", "--yes", PAID)
        assert len(server.requests) > 3
    assert code == 0
    assert f"{PAID}: streaming yes, tools no, images no" in out


def test_local_server_with_a_key_can_cost_money(line, home, monkeypatch, no_ollama):
    monkeypatch.setenv("MY_KEY", "sk-mine-000000000000")
    with ProviderServer() as server:
        use_own_server(home, server, 'key_env = "MY_KEY"\n')
        code, _, err = line("models", "--probe", "--ask", "mine:small")
        assert server.requests == []
    assert code == 2
    assert "at an unknown price" in err


def test_price_of_the_user_makes_a_model_of_a_free_server_need_consent(
    line, home, monkeypatch, no_ollama
):
    (home / "prices.toml").write_text(
        'pricing_version = "2026-11-01"\n[models."mine:*"]\n'
        "input_per_mtok_usd = 1\noutput_per_mtok_usd = 1\n"
    )
    with ProviderServer() as server:
        use_own_server(home, server)
        assert line("models", "--probe", "--ask", "mine:small")[0] == 2
        assert server.requests == []


def test_without_a_free_model_the_error_names_the_way_out(line, no_ollama):
    code, _, err = line("models", "--probe", "--ask")
    assert code == 2
    assert "no server without a key lists a model" in err


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (("--ask",), "`--ask` belongs to `--probe`"),
        (("--probe", "small"), "`small` belongs to `--ask`"),
        (("--probe", "--yes"), "`--yes` belongs to `--ask`"),
        (("--probe", "--ask", "demo:tour"), "is a script, not a model"),
        (("--probe", "--ask", "nothing"), "No model is called `nothing`"),
        (("--probe", "--ask", PAID), "cannot be tested: `anthropic` has no key"),
    ],
)
def test_wrong_options_and_names_are_usage_errors(line, no_ollama, argv, problem):
    code, _, err = line("models", *argv)
    assert code in (2, 4)
    assert problem in err


def test_model_that_does_not_answer_is_a_failure(line, home, no_ollama):
    def answer(path, body):
        return Reply(status=400, body=b'{"error": {"message": "it is not loaded"}}')

    with ProviderServer(answer=answer) as server:
        use_own_server(home, server)
        code, out, err = line("models", "--probe", "--ask", "--json")
    assert code == 1
    assert "mine:small: not tested: " in err
    assert "it is not loaded" in err
    assert json.loads(out)


@pytest.mark.parametrize(("typed", "code"), [("n", 2), ("y", 0)])
def test_person_at_a_terminal_is_asked(tmp_path, home, typed, code):
    with ProviderServer([Reply("ready")]) as server:
        own = {k: v for k, v in server.environment.items() if k.startswith("ANTHROPIC")}
        with Terminal(
            [*YOURTOOL, "models", "--probe", "--ask", PAID],
            cwd=tmp_path,
            env={"YOURTOOL_HOME": str(home), "OLLAMA_HOST": "127.0.0.1:9", **own},
        ) as terminal:
            terminal.wait(r"Send them\? \[y/N\]")
            assert server.requests == []
            terminal.send(f"{typed}\r")
            assert terminal.end(30) == code
        assert bool(server.requests) == (typed == "y")
