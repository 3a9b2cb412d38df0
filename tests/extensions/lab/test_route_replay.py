"""`yourtool route replay`: stored turns under other rules, prices and windows."""

import asyncio
import json

import pytest

from yourtool.events.sessions import SessionCreated
from yourtool.events.turns import RouteDecided, RoutingPolicyChanged, RoutingSnapshot
from yourtool.paths import resolve_paths
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-RTE-06")]

RULES = """\
[[rules]]
name = "proofs"
when = { message_matches = "(?i)prove" }
use = "haiku"
"""


@pytest.fixture
def sessions(line, monkeypatch):
    """Two turns in one session, the second one for a rule."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdefghijklmnop")
    line.script([{"say": "Hello."}], [{"say": "Proved."}])
    first = line.result("-p", "hello")
    line.result("-p", "prove it", "--resume", first["session_id"])
    return first["session_id"]


@pytest.fixture
def rules(tmp_path):
    file = tmp_path / "other.toml"
    file.write_text(RULES)
    return file


def read(line, *options):
    code, out, _ = line("route", "replay", "--json", *options)
    assert code == 0
    return json.loads(out)


async def read_facts(session_id):
    """Return the last fact of each type."""
    store = SqliteStore(Database(resolve_paths().database))
    found = {type(fact): fact for fact in await store.read(session_id)}
    await store.close()
    return found


def test_stored_rules_change_nothing(line, sessions):
    report = read(line)
    assert (report["decisions"], report["identical"]) == (2, 2)
    assert (report["changes"], report["skipped"]) == ([], [])
    code, out, _ = line("route", "replay")
    assert code == 0
    assert out == "0 of 2 decisions would change.\n"


def test_other_rules_list_the_turn_with_models_steps_and_price(line, sessions, rules):
    [change] = read(line, "--with", str(rules))["changes"]
    assert change["session_id"] == sessions
    assert (change["old"]["model"], change["old"]["slot"]) == ("demo:file", "global_default")
    assert change["new"]["model"] == "anthropic:claude-haiku-5-5"
    assert change["new"]["rule_name"] == "proofs"
    assert float(change["old_cost_usd"]) == 0 < float(change["new_cost_usd"])
    code, out, _ = line("route", "replay", "--with", str(rules))
    assert code == 0
    first, row, total = out.splitlines()
    assert first == "1 of 2 decisions would change."
    assert "demo:file → anthropic:claude-haiku-5-5  default → rule proofs" in row
    assert total.startswith("These turns cost $0.00; the same tokens cost $0.0")


def test_other_prices_change_the_cost_and_no_decision(line, sessions, tmp_path):
    prices = tmp_path / "dear.toml"
    prices.write_text(
        'pricing_version = "2027-01-01"\n[models."demo:file"]\n'
        "input_per_mtok_usd = 100\noutput_per_mtok_usd = 100\n"
    )
    report = read(line, "--prices", str(prices))
    assert report["changes"] == []
    assert float(report["old_cost_usd"]) == 0 < float(report["new_cost_usd"])


def test_other_windows_reject_what_does_not_fit(line, sessions, tmp_path):
    models = tmp_path / "windows.toml"
    models.write_text('[models."demo:file"]\nmax_context_tokens = 10\n')
    changes = read(line, "--models", str(models))["changes"]
    assert [each["new"]["model"] for each in changes] == [None, None]
    assert "takes 10" in changes[0]["new"]["reason"]


def test_turns_before_a_time_are_left_out(line, sessions):
    assert read(line, "--since", "1h")["decisions"] == 2
    assert read(line, "--since", "2100-01-01")["decisions"] == 0


@pytest.mark.parametrize(
    ("options", "content", "problem"),
    [
        (("--with",), None, "is not a file"),
        (("--prices",), None, "is not a file"),
        (("--models",), None, "is not a file"),
        (("--with",), RULES.replace("message_matches", "mesage"), ":3: `rules.when.mesage`"),
        (("--with",), RULES.replace("haiku", "haikuu"), "did you mean `haiku`?"),
        (("--with",), "rules = [", "not TOML"),
        (("--with",), b"\xff\xfe", "is not UTF-8"),
        (("--with",), "# " + "x" * 2**20, "larger than 1 MiB"),
        (("--prices",), '[models."a:b"]\ninput_per_mtok_usd = 1\n', "is missing"),
        (("--models",), '[models."a:b"]\nmax_context = 1\n', "max_context_tokens"),
        (("--since", "soon"), "", "is no time"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_replayed(line, tmp_path, options, content, problem):
    file = tmp_path / "given.toml"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    arguments = options if len(options) > 1 else (*options, str(file))
    code, out, err = line("route", "replay", *arguments)
    assert (code, out) == (2, "")
    assert problem in err


def test_options_of_the_replay_need_it(line):
    for option in ("--with", "--prices", "--models"):
        code, _, err = line("route", "hello", option, "x.toml")
        assert code == 2
        assert f"`{option}` is an option of `yourtool route replay`" in err
    assert line("route", "hello", "--since", "7d")[0] == 2


def test_store_without_sessions_has_no_decisions(line):
    assert read(line)["decisions"] == 0


@pytest.mark.req("R-RTE-08")
def test_session_names_the_version_of_the_rules_that_it_started_with(line, sessions):
    (resolve_paths().home / "routing.toml").write_text(RULES.replace("haiku", "demo:file"))
    line.script([{"say": "Yes."}])
    found = asyncio.run(read_facts(line.result("-p", "prove it")["session_id"]))
    before = asyncio.run(read_facts(sessions))
    version = found[RoutingPolicyChanged].version
    assert found[SessionCreated].routing_policy_version == version != ""
    assert found[RoutingSnapshot].policy == version
    assert found[RouteDecided].inputs.settings == found[RoutingSnapshot].settings
    assert before[SessionCreated].routing_policy_version == before[RoutingSnapshot].policy == ""
