"""`yourtool permissions`: rules with their origin and use, and stored decisions made again."""

import json
import sys

import pytest

from yourtool.paths import resolve_paths
from yourtool.permissions.trust import TrustStore

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.fixture
def rules(line):
    file = resolve_paths().home / "permissions.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def run_shell(line, *commands, **options):
    """Run a prompt whose reply runs shell commands."""
    replies = [{"call": "shell", "input": {"command": each}} for each in commands]
    line.script(replies, [{"say": "done"}])
    return line("-p", "go", *options.get("argv", ()))


def listed(line):
    code, out, _ = line("permissions", "list", "--json")
    assert code == 0
    return json.loads(out)


@pytest.mark.req("R-CONF-05")
def test_list_shows_origin_examples_and_last_use(line, rules):
    rules.write_text(
        "deny = ['shell(rm*)']\n[[workspace]]\npath = '/elsewhere'\nask = ['shell(rm*)']\n"
        "[[allow]]\nrule = 'shell(echo*)'\nmade_at = 2026-01-02T03:04:05Z\nsession = 'sess_1'\n"
    )
    assert {each["last_used"] for each in listed(line)} == {None}
    run_shell(line, "echo a", "rm x")
    allowed, denied, other = listed(line)
    assert (denied["effect"], denied["rule"], denied["workspace"]) == ("deny", "shell(rm*)", None)
    assert (denied["origin"], allowed["origin"]) == (f"{rules}:1", f"{rules}:5")
    assert allowed["covers"][0] == "echo" and "echo > out.txt" in allowed["does_not_cover"]
    assert len(allowed["covers"]) == len(allowed["does_not_cover"]) == 3
    assert denied["last_used"] and allowed["last_used"] and other["last_used"] is None
    _, out, _ = line("permissions", "list")
    assert "allow shell(echo*)" in out and "in sess_1" in out and "ago" in out


@pytest.mark.req("R-CONF-05")
def test_list_has_the_rules_of_the_project_and_reports_mistakes(line, rules):
    rules.write_text("allow = ['shell(a; b)']")
    (line.workspace / ".yourtool").mkdir()
    project = line.workspace / ".yourtool" / "permissions.toml"
    project.write_text("ask = ['shell(make*)']\nallow = ['shell']")
    code, out, err = line("permissions", "list")
    assert code == 0
    assert out.startswith("ask shell(make*)\n") and f"{project}:1" in out
    assert f"{rules}:1: `allow`:" in err and f"{project}:2: `allow`: is ignored" in err


def test_empty_list_says_where_rules_come_from(line):
    assert line("permissions", "list") == (
        0, "There are no rules yet. An approval prompt adds one with “always”.\n", ""
    )  # fmt: skip
    assert line("permissions", "list", "--json")[1] == "[]\n"


@pytest.mark.req("R-CONF-05")
def test_rule_is_removed_by_its_text_or_its_line(line, rules):
    rules.write_text("# mine\nallow = ['list_dir']\ndeny = ['list_dir', 'shell(rm*)']\n")
    code, _, err = line("permissions", "remove", "list_dir")
    assert code == 2 and "in the lines 2, 3; name one of the lines" in err
    code, out, _ = line("permissions", "remove", "2")
    assert (code, out) == (0, "Removed `list_dir` from `allow` in every workspace.\n")
    code, out, _ = line("permissions", "remove", "shell(rm*)", "--json")
    assert json.loads(out)["rule"] == "shell(rm*)"
    assert rules.read_text() == "# mine\nallow = []\ndeny = ['list_dir', ]\n"
    code, _, err = line("permissions", "remove", "glob")
    assert code == 2 and "has no rule `glob`" in err


@pytest.mark.req("R-CONF-05")
def test_answer_about_the_sandbox_is_listed_and_removed_like_a_rule(line):
    store = TrustStore(resolve_paths().home / "trust.toml")
    remove = ("permissions", "remove", "commands in the sandbox")
    code, _, err = line(*remove)
    assert code == 2 and "has no `commands in the sandbox` for" in err
    folder = line.workspace.resolve()
    store.allow_contained(folder)
    [found] = listed(line)
    assert (found["effect"], found["rule"]) == ("allow", "commands in the sandbox")
    assert (found["workspace"], found["origin"]) == (str(folder), str(store.file))
    assert found["made_at"] and found["last_used"] is None
    _, out, _ = line("permissions", "list")
    assert out.startswith(f"allow commands in the sandbox\n    applies in  {folder}\n")
    code, out, _ = line(*remove)
    assert (code, out) == (0, f"Removed `commands in the sandbox` from `allow` in {folder}.\n")
    assert listed(line) == []
    store.allow_contained(folder)
    assert json.loads(line(*remove, "--json")[1])["workspace"] == str(folder)


def test_invalid_file_of_answers_is_named_by_the_list(line):
    (resolve_paths().home / "trust.toml").write_text("damaged")
    code, _, err = line("permissions", "list")
    assert code == 2 and "trust.toml` is not used" in err


def test_edit_opens_the_editor_and_reports_mistakes_with_their_lines(line, rules, monkeypatch):
    script = line.home / "edit.py"
    script.write_text("import sys; open(sys.argv[1], 'a').write('\\n[[allow]]\\nrule = 7\\n')")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    rules.write_text("schema_version = 1\n")
    code, _, err = line("permissions", "edit")
    assert code == 2
    assert f"{rules}:3: `allow`:" in err and "This rule grants nothing" in err
    monkeypatch.setenv("EDITOR", "true")
    rules.write_text("schema_version = 1\n")
    assert line("permissions", "edit") == (0, f"{rules}: no problems\n", "")
    monkeypatch.setenv("EDITOR", "false")
    assert "ended with status 1" in line("permissions", "edit")[2]


@pytest.mark.req("R-CONF-08")
def test_replay_lists_what_other_rules_would_change_and_runs_nothing(line, rules, tmp_path):
    run_shell(line, "echo a > ran", "echo b", argv=("--allow", "shell(echo b)"))
    code, out, _ = line("permissions", "replay")
    assert (code, out) == (0, "0 of 2 decisions would change.\n")
    other = tmp_path / "other.toml"
    other.write_text("deny = ['shell(echo b)']\nallow = ['shell']")
    code, out, _ = line("permissions", "replay", "--with", str(other), "--json")
    report = json.loads(out)
    assert [(each["subjects"], each["old"], each["new"]) for each in report["changes"]] == [
        (["echo a > ran"], "ask", "allow"), (["echo b"], "allow", "deny"),
    ]  # fmt: skip
    code, out, _ = line("permissions", "replay", "--with", str(other))
    assert out.startswith("2 of 2 decisions would change.\n")
    assert "ask → allow" in out and "shell(echo b)" in out
    assert not (line.workspace / "ran").exists()
    rules.write_text("ask = ['shell(echo b)']")
    assert "allow → ask" in line("permissions", "replay")[1]
    code, _, err = line("permissions", "replay", "--with", str(tmp_path / "no.toml"))
    assert code == 2 and "is not a file" in err
