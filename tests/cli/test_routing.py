"""`yourtool route` and `config check` with a file of rules."""

import json

import pytest

from yourtool.paths import resolve_paths

pytestmark = pytest.mark.usefixtures("own_logging")

RULES = """\
[[rules]]
name = "proofs"
when = { message_matches = "(?i)prove" }
use = "opus"
[[rules]]
name = "small"
when = { message_contains_any = ["typo"] }
use = "haiku"
"""


@pytest.fixture
def rules(line, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdefghijklmnop")
    file = resolve_paths().home / "routing.toml"
    file.write_text(RULES)
    return file


@pytest.mark.req("R-RTE-01", "R-RTE-06")
def test_prompt_is_routed_by_the_first_rule_by_the_second_and_by_default(line, rules):
    for prompt, slot, name, model in (
        ("Prove it", "rule", "proofs", "opus"),
        ("fix the typo", "rule", "small", "haiku"),
        ("hello", "global_default", None, "sonnet"),
    ):
        code, out, _ = line("route", prompt, "--json")
        decided = json.loads(out)
        last = decided["chain"][-1]
        assert code == 0
        assert model in decided["chosen_model"]
        assert (last["policy"], last.get("rule_name")) == (slot, name)
        assert decided["winner_index"] == len(decided["chain"]) - 1
        assert all(step["reason"] for step in decided["chain"])
    assert decided["chain"][2]["reason"] == "none of 2 rules holds"


def test_misspelt_predicate_makes_the_check_name_file_line_and_word(line, rules):
    code, out, _ = line("config", "check")
    assert (code, str(rules) in out) == (0, True)
    rules.write_text(RULES.replace("message_matches", "mesage_matches"))
    code, _, err = line("config", "check")
    assert code == 2
    assert f"{rules}:3: `rules.when.mesage_matches`" in err
    assert "did you mean `message_matches`?" in err
    code, out, err = line("route", "Prove it")
    assert f"{rules}:3:" in err
    assert "rules" in out


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("both", "may mean `openai:x/a/both`"),
        ("nobody", "nobody"),
        ("deep", "`deep` is a tier, and `[tiers]` names no models"),
    ],
)
def test_model_that_is_unknown_or_not_unique_is_a_mistake_of_its_line(line, rules, use, message):
    (rules.parent / "models.toml").write_text(
        "".join(f'[models."openai:x/{each}"]\n' for each in ("a/both", "b/both"))
    )
    rules.write_text(RULES.replace('"haiku"', f'"{use}"'))
    code, _, err = line("config", "check")
    assert code == 2
    [found] = [each for each in err.splitlines() if f"{rules}:8: `rules.use`: " in each]
    assert message in found


def test_alias_of_two_models_is_a_mistake_that_names_both(line, rules):
    (rules.parent / "models.toml").write_text(
        "".join(f'[models."openai:{each}"]\naliases = ["twin"]\n' for each in ("a", "b"))
    )
    rules.write_text(RULES.replace('"haiku"', '"twin"'))
    code, _, err = line("config", "check")
    assert code == 2
    assert "openai:a" in err and "openai:b" in err


def test_rule_without_effect_is_a_warning_of_the_check(line, rules):
    rules.write_text(RULES + RULES.replace('"proofs"', '"a"').replace('"small"', '"b"'))
    code, _, err = line("config", "check")
    assert code == 0
    assert "`a` is tried only if the model of `proofs` is rejected" in err
    code, out, _ = line("config", "check", "--json")
    found = json.loads(out)
    assert (code, found["ok"], len(found["warnings"])) == (0, True, 2)


def test_rules_of_a_project_apply_only_in_a_trusted_folder(line, rules):
    folder = line.workspace / ".yourtool"
    folder.mkdir()
    (folder / "routing.toml").write_text('[[rules]]\nwhen = {}\nuse = "haiku"\n')

    def route():
        return json.loads(line("route", "Prove it", "--json")[1])["chosen_model"]

    assert "opus" in route()
    assert line("trust")[0] == 0
    assert "haiku" in route()
    (folder / "routing.toml").write_text('[[rules]]\nwhen = {}\nuse = "sonnet"\n')
    assert "opus" in route()
    (folder / "routing.toml").write_text("rulez = 3\n")
    code, _, err = line("config", "check")
    assert code == 2
    assert ".yourtool/routing.toml:1: `rulez`: there is no such key; did you mean `rules`?" in err


@pytest.mark.req("R-SWP-04")
def test_route_shows_what_a_swap_of_a_stored_session_would_change(line, monkeypatch):
    line.script([{"say": "Hello."}])
    session = line.result("-p", "hello")["session_id"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdefghijklmnop")
    (resolve_paths().home / "models.toml").write_text(
        '[models."openai:plain"]\nsupports_tools = false\nmax_context_tokens = 300\n'
    )
    swap = ("route", "--session", session, "--model")
    code, out, _ = line(*swap, "openai:plain")
    assert code == 4
    first, refusal, context, *_ = out.splitlines()
    assert first == "Swap from demo:file to openai:plain"
    assert refusal.startswith("Refused: Cannot swap to openai:plain: session needs about")
    assert context.startswith("! context") and context.endswith("too long")
    code, out, _ = line(*swap, "gpt-5", "--json")
    found = json.loads(out)
    assert (code, found["is_at_stake"], found["refusal"]) == (0, False, None)
    assert [each["subject"] for each in found["consequences"]] == ["context", "price"]
    _, shown, _ = line("sessions", "show", session)
    assert "openai" not in shown


def test_route_needs_a_prompt_or_a_session_with_a_model(line):
    for arguments in ((), ("--session", "sess_1"), ("--session", "sess_1", "--model", "gpt-5")):
        code, _, err = line("route", *arguments)
        assert code != 0 and err
