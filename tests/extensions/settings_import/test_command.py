"""`yourtool import settings`: its report and its errors."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.fixture
def person(tmp_path, monkeypatch) -> Path:
    """The home directory of a user of Claude Code."""
    path = tmp_path / "person"
    folder = path / ".claude"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(
        json.dumps({"permissions": {"allow": ["Bash(make test:*)", "Bash"], "deny": ["Read(x)"]}})
    )
    monkeypatch.setenv("HOME", str(path))
    return path


@pytest.mark.req("R-CLI-01")
def test_report_lists_what_is_taken_over_and_what_is_not(line, home, person):
    code, out, err = line("import", "settings", "--from", "claude")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Taken over:",
        "  Claude Code, ~/.claude/settings.json: rule deny read_file(x)",
        "  Claude Code, ~/.claude/settings.json: rule allow shell(make test*)",
        "Not taken over:",
        "  Claude Code, ~/.claude/settings.json: rule allow Bash"
        " (it would allow every call of `shell`)",
        "Changed files:",
        f"  {home / 'permissions.toml'}",
    ]
    code, out, _ = line("permissions", "check", "make test -k a")
    assert out.startswith("allow")


def test_report_with_servers_says_where_they_run(line, person):
    servers = {"mcpServers": {"clock": {"command": "clock"}}}
    (person / ".claude.json").write_text(json.dumps(servers))
    out = line("import", "settings", "--from", "claude")[1]
    assert "server clock" in out
    assert "Servers in your own `mcp.json` run outside the sandbox, with your rights" in out


def test_dry_run_writes_nothing_at_all(line, home, person):
    before = sorted(home.rglob("*"))
    code, out, _ = line("import", "settings", "--dry-run")
    assert code == 0
    assert out.startswith("Would be taken over:")
    assert not (home / "permissions.toml").exists()
    assert [each for each in sorted(home.rglob("*")) if each.suffix == ".toml"] == [
        each for each in before if each.suffix == ".toml"
    ]


def test_json_has_the_same_report(line, person):
    report = json.loads(line("import", "settings", "--json")[1])
    assert not report["dry_run"]
    assert {each["name"] for each in report["taken"]} == {
        "deny read_file(x)", "allow shell(make test*)",
    }  # fmt: skip
    assert [each["reason"] for each in report["left_out"]] == [
        "it would allow every call of `shell`"
    ]


@pytest.mark.parametrize(
    ("agent", "name"),
    [("claude", "Claude Code"), ("codex", "Codex"), ("gemini", "Gemini CLI"),
     ("opencode", "opencode")],
)  # fmt: skip
def test_agent_without_settings_is_named(line, tmp_path, monkeypatch, agent, name):
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    code, out, _ = line("import", "settings", "--from", agent)
    assert (code, out) == (0, f"There are no settings of {name} here.\n")


@pytest.mark.parametrize(
    "argv", [["import"], ["import", "x"], ["import", "settings", "--from", "x"]]
)
def test_wrong_arguments_are_usage_errors(line, argv):
    code, out, err = line.bare(*argv)
    assert (code, out) == (2, "")
    assert "yourtool import --help" in err
