"""What is taken over of each agent, what is not, and what stays as it is."""

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from tests.extensions.settings_import.conftest import names
from yourtool.agent.commands.custom import read_custom_commands
from yourtool.permissions.grants import Grants
from yourtool.settings.config import load_report
from yourtool.tools.builtin import default_toolbox

CANARY = "sk-ant-canary-0123456789abcdefghij"


def fill(world) -> None:
    """Write settings of all four agents for the user."""
    home = world.home
    world.write(home, ".claude/CLAUDE.md", "Write short sentences.\n")
    world.write(home, ".claude/commands/git/review.md", "---\ndescription: Look\n---\nReview $1.")
    world.write(home, ".claude/skills/tide/SKILL.md",
                "---\nname: tide\ndescription: The tide tables.\n---\nRead them.")  # fmt: skip
    world.write(home, ".claude/settings.json", {
        "permissions": {
            "allow": ["Bash(npm run test:*)", "WebFetch(domain:docs.python.org)",
                      "mcp__git__git_log", "Edit(src/**)"],
            "ask": ["Bash(git push:*)"],
            "deny": ["Bash(curl:*)", "Read(./.env)"],
        },
        "hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [
            {"type": "command", "command": "~/guard.py", "timeout": 5}]}]},
    })  # fmt: skip
    world.write(home, ".claude.json", {"mcpServers": {"time": {"command": "mcp-server-time"}}})
    world.write(home, ".codex/config.toml", (
        'model = "gpt-5"\n[mcp_servers.git]\ncommand = "mcp-server-git"\nargs = ["-r", "."]\n'
        '[mcp_servers.docs]\nurl = "https://example.org/mcp"\nbearer_token_env_var = "DOCS"\n'
    ))  # fmt: skip
    world.write(home, ".codex/prompts/fix.md", "Fix $ARGUMENTS.")
    world.write(home, ".codex/rules/default.rules", (
        "# what I allowed\n"
        'prefix_rule(pattern=["cargo", ["test", "check"]], decision="allow")\n'
        'prefix_rule(pattern=["git", "push"], decision="forbidden")\n'
    ))  # fmt: skip
    world.write(home, ".gemini/settings.json", (
        '{ // mine\n "mcpServers": {"web": {"httpUrl": "https://example.org/web"}},\n'
        '"hooks": {"enabled": true, "BeforeTool": [{"matcher": "run_shell_command",'
        ' "hooks": [{"type": "command", "command": "check.sh", "timeout": 5000}]}]},\n'
        '"tools": {"exclude": ["run_shell_command(shutdown)"]},\n}'
    ))  # fmt: skip
    world.write(home, ".gemini/commands/git/log.toml",
                'description = "The log"\nprompt = "Read {{args}}."\n')  # fmt: skip
    world.write(home, ".config/opencode/opencode.json", {
        "mcp": {"files": {"type": "local", "command": ["npx", "files"],
                          "environment": {"KEY_OF": "{env:FILES_KEY}"}}},
        "permission": {"bash": {"rm *": "deny", "make test *": "allow"}},
        "command": {"tests": {"template": "Run all tests."}},
    })  # fmt: skip


def test_settings_of_four_agents_are_valid_settings_here(world):
    fill(world)
    report = world.run()
    config = load_report(world.paths)
    assert config.problems == ()
    hooks = [(each.event, each.matcher, each.command, each.timeout) for each in config.config.hooks]
    assert hooks == [
        ("PreToolUse", "shell|edit_file|apply_patch", "~/guard.py", 5),
        ("PreToolUse", "shell", "check.sh", 5),
    ]
    servers = json.loads((world.ours / "mcp.json").read_text())["mcpServers"]
    assert set(servers) == {"time", "git", "docs", "web", "files"}
    assert servers["docs"]["headers"] == {"Authorization": "Bearer ${DOCS}"}
    assert servers["files"]["env"] == {"KEY_OF": "${FILES_KEY}"}
    kinds = default_toolbox().subject_kinds
    grants = Grants(world.ours / "permissions.toml", world.project, kinds)
    assert grants.load().problems == ()
    rules = grants.load().rules
    assert {str(each) for each in rules.allow} == {
        "shell(npm run test*)", "fetch_url(docs.python.org)", "mcp__git__git_log",
        "edit_file(src/**)", "write_file(src/**)", "shell(cargo test*)", "shell(cargo check*)",
        "shell(make test*)",
    }  # fmt: skip
    assert {str(each) for each in rules.ask} == {"shell(git push*)"}
    assert {str(each) for each in rules.deny} == {
        "shell(curl*)", "read_file(.env)", "shell(git push*)", "shell(shutdown*)", "shell(rm*)",
    }  # fmt: skip
    assert (world.ours / "AGENTS.md").read_text() == "Write short sentences.\n"
    commands, problems = read_custom_commands(())
    assert not problems
    assert set(commands) == {"git:review", "fix", "git:log", "tests"}
    assert (world.ours / "skills/tide/SKILL.md").is_file()
    assert "model" in names(report.left_out, "setting")


def test_second_import_changes_nothing(world):
    fill(world)
    first = world.run()
    before = world.read()
    second = world.run()
    assert (second.taken, second.files) == ((), ())
    assert world.read() == before
    assert set(names(first.taken)) <= set(names(second.present))


def test_dry_run_reports_the_same_and_writes_nothing(world):
    fill(world)
    before = world.read()
    tried = world.run(dry_run=True)
    assert world.read() == before
    done = world.run()
    assert (tried.taken, tried.left_out, tried.files) == (done.taken, done.left_out, done.files)


def test_only_the_named_agent_is_read(world):
    fill(world)
    report = world.run("codex")
    assert {each.peer for each in (*report.taken, *report.left_out)} == {"codex"}


def test_settings_of_the_user_stay_as_they_are(world):
    fill(world)
    config = '# mine\n[[hooks]]\nevent = "Stop"\ncommand = "mine"\n[limits]\nmax_retries = 1\n'
    world.write(world.ours, "config.toml", config)
    world.write(world.ours, "AGENTS.md", "Mine.\n")
    world.write(world.ours, "mcp.json", {"mcpServers": {"git": {"command": "mine"}}})
    world.write(world.ours, "permissions.toml", 'deny = ["shell(dd*)"] # mine\n')
    world.write(world.ours, "commands/fix.md", "My own.")
    report = world.run()
    assert (world.ours / "AGENTS.md").read_text() == "Mine.\n"
    assert (world.ours / "commands/fix.md").read_text() == "My own."
    text = (world.ours / "config.toml").read_text()
    assert text.startswith(config)
    assert tomllib.loads(text)["hooks"][0]["command"] == "mine"
    assert json.loads((world.ours / "mcp.json").read_text())["mcpServers"]["git"] == {
        "command": "mine"
    }
    rules = tomllib.loads((world.ours / "permissions.toml").read_text())
    assert "shell(dd*)" in rules["deny"]
    assert "shell(curl*)" in rules["deny"]
    assert {"git", "fix", "AGENTS.md"} <= set(names(report.left_out))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("Bash", "every call"),
        ("Bash(*)", "every call"),
        ("Bash(python3:*)", "runs other programs"),
        ("Bash(sudo make:*)", "runs other programs"),
        ("Bash(npm:*)", "every use of `npm`"),
        ("Bash(rm -rf build:*)", "deletes or replaces"),
        ("Bash(git push https://example.org/x)", "an address or a path in place of a remote"),
        ("Bash(npm run * --fast)", "only the end"),
        ("Bash(make test && make deploy)", "plain words"),
        ("Bash(X=1 make test)", "sets variables"),
        ("Edit", "every call"),
        ("Edit(**)", "every call"),
        ("Edit(*.py)", "every directory"),
        ("Edit(//etc/**)", "relative to the workspace"),
        ("Write(../other/**)", "out of the workspace"),
        ("Edit(.ssh/config)", "credentials"),
        ("Read(**)", "needs no rule"),
        ("WebFetch", "every call"),
        ("WebFetch(domain:*.org)", "every host"),
        ("mcp__git", "all tools of a server"),
        ("mcp__git__*", "all tools of a server"),
        ("NotebookEdit", "no tool"),
        ("Task(explorer)", "no rule of others"),
        ("ExitPlanMode", "no rule of others"),
    ],
)
def test_rule_that_would_allow_more_is_left_out_and_listed(world, rule, reason):
    world.write(world.home, ".claude/settings.json", {"permissions": {"allow": [rule]}})
    before = world.read()
    report = world.run("claude")
    assert world.read() == before
    [item] = report.left_out
    assert (item.kind, item.name) == ("rule", f"allow {rule}")
    assert reason in item.reason


def test_project_can_only_ask_and_deny_and_its_hooks_stay_with_it(world):
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "./test.sh"}]}]}
    world.write(world.project, ".claude/settings.json", {
        "permissions": {"allow": ["Bash(make test)"], "deny": ["Bash(make deploy)"]},
        "hooks": hooks,
    })  # fmt: skip
    world.write(world.project, "GEMINI.md", "The project.")
    before = {name: data for name, data in world.read().items() if name.startswith(world.ours.name)}
    report = world.run()
    after = world.read()
    assert {name: after[name] for name in before} == before, "files of the user do not change"
    own = world.project / ".yourtool"
    assert tomllib.loads((own / "permissions.toml").read_text()) == {
        "deny": [{"rule": "shell(make deploy)"}]
    }
    assert tomllib.loads((own / "config.toml").read_text())["hooks"][0]["command"] == "./test.sh"
    assert (world.project / "AGENTS.md").read_text() == "The project.\n"
    [item] = [each for each in report.left_out if each.kind == "rule"]
    assert (item.scope, item.name) == ("project", "allow Bash(make test)")


def test_keys_reach_only_files_that_others_cannot_read(world):
    fill(world)
    key = {"command": "x", "env": {"API_KEY": CANARY}}
    world.write(world.home, ".claude.json", {"mcpServers": {"keyed": key}})
    world.write(world.project, ".gemini/settings.json", {"mcpServers": {
        "keyed": key,
        "header": {"httpUrl": "https://example.org/", "headers": {"Authorization": CANARY}},
        "argument": {"command": "x", "args": [f"--api-key={CANARY}"]},
        "address": {"httpUrl": f"https://example.org/?api_key={CANARY}"},
    }})  # fmt: skip
    world.write(world.home, ".claude/settings.json", {
        "env": {"ANTHROPIC_API_KEY": CANARY},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"TOKEN={CANARY} run"}]}]},
        "permissions": {"allow": [f"Bash(curl {CANARY})"]},
    })  # fmt: skip
    os.umask(0o022)
    report = world.run()
    assert CANARY not in repr(report)
    for root in (world.ours, world.project):
        for path in root.rglob("*"):
            if path.is_file() and CANARY in path.read_text("utf-8", "replace"):
                foreign = ".gemini" in path.parts
                assert foreign or stat.S_IMODE(path.stat().st_mode) == 0o600
                assert foreign or world.ours in path.parents
    servers = json.loads((world.project / ".mcp.json").read_text())["mcpServers"]
    assert servers == {
        "keyed": {"command": "x", "env": {"API_KEY": "${API_KEY}"}},
        "header": {
            "url": "https://example.org/",
            "headers": {"Authorization": "${HEADER_AUTHORIZATION}"},
        },
    }
    assert {"argument", "address"} <= set(names(report.left_out, "server"))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (".claude/settings.json", "{broken", "not JSON"),
        (".claude/settings.json", b"\xff\xfe\x00", "not UTF-8"),
        (".claude/settings.json", "[]", "no object"),
        (".claude/settings.json", "[" * 100_000, "not JSON"),
        (".claude/settings.json", " " * 2_000_000, "larger than"),
        (".claude/settings.json", {"permissions": {"allow": "Bash"}}, "something else"),
        (".claude/settings.json", {"hooks": {"NoEvent": [{"hooks": [{}]}]}}, "no event"),
        (".claude/settings.json", {"hooks": {"Stop": [{"hooks": [{"command": ""}]}]}}, "length"),
        (".claude/settings.json",
         {"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"command": "x"}]}]}}, "missing )"),
        (".claude/settings.json",
         {"hooks": {"Stop": [{"hooks": [{"type": "prompt", "command": "x"}]}]}}, "type"),
        (".claude.json", {"mcpServers": {"x": {"command": 5}}}, "text"),
        (".codex/config.toml", "a = ", "not TOML"),
        (".codex/rules/x.rules", "import os\n", "prefix_rule"),
        (".codex/rules/x.rules", "prefix_rule(", "not a file of rules"),
        (".codex/rules/x.rules", 'prefix_rule(pattern=[f()], decision="allow")', "prefix_rule"),
        (".gemini/commands/x.toml", "prompt = 5", "no `prompt`"),
        (".config/opencode/opencode.json", {"permission": {"bash": "perhaps"}}, "effect"),
        (".config/opencode/opencode.json", {"command": {"../x": {"template": "t"}}}, "unusual"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_broken_file_is_named_and_the_others_are_taken_over(world, name, content, words):
    world.write(world.home, name, content)
    world.write(world.home, ".gemini/GEMINI.md", "Sound.")
    report = world.run()
    assert (world.ours / "AGENTS.md").read_text() == "Sound.\n"
    assert [each.place for each in report.left_out] == [f"~/{name}"]
    assert words in report.left_out[0].reason


def test_links_and_pipes_of_a_project_are_not_followed(world, tmp_path):
    secret = world.write(world.home, ".ssh/id", CANARY)
    commands = world.project / ".gemini" / "skills" / "x"
    commands.mkdir(parents=True)
    (commands / "SKILL.md").symlink_to(secret)
    (world.project / "GEMINI.md").symlink_to(secret)
    os.mkfifo(world.project / "opencode.json")
    (world.project / ".codex").symlink_to(world.home / ".ssh")
    before = world.read()
    report = world.run()
    assert {name: data for name, data in world.read().items() if name not in before} == {}
    assert "out of the project" in " ".join(each.reason for each in report.left_out)


@pytest.mark.parametrize("name", [".yourtool", ".mcp.json"])
def test_project_cannot_make_the_import_write_elsewhere(world, name):
    settings = {"hooks": {"Stop": [{"hooks": [{"command": "evil"}]}]}}
    world.write(world.project, ".claude/settings.json", settings)
    world.write(world.project, ".gemini/settings.json", {"mcpServers": {"x": {"command": "evil"}}})
    target = world.ours if name == ".yourtool" else world.ours / "mcp.json"
    (world.project / name).symlink_to(target)
    before = {path: path.read_bytes() for path in world.ours.rglob("*") if path.is_file()}
    report = world.run()
    assert {path: path.read_bytes() for path in world.ours.rglob("*") if path.is_file()} == before
    assert "leads out of the project" in " ".join(each.reason for each in report.left_out)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.toml", "broken = "),
        ("config.toml", 'hooks = [{event = "Stop", command = "mine"}]\n'),
        ("mcp.json", "{broken"),
        ("permissions.toml", 'deny = ["shell(rm *x"]\n'),
    ],
)
def test_file_of_ours_with_mistakes_is_not_changed(world, name, content):
    fill(world)
    path = world.write(world.ours, name, content)
    report = world.run()
    assert path.read_text() == content
    assert name in " ".join(each.reason for each in report.left_out)


def test_place_of_a_foreign_file_cannot_add_settings(world):
    """A comment names the foreign file, whose name can have any characters."""
    hooks = {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}
    folder = world.home / 'a\nmodel = "evil:model"\n#'
    world.write(folder, "settings.json", hooks)
    os.environ["CLAUDE_CONFIG_DIR"] = str(folder)
    try:
        world.run("claude")
    finally:
        del os.environ["CLAUDE_CONFIG_DIR"]
    assert "model" not in tomllib.loads((world.ours / "config.toml").read_text())


def test_home_directory_is_no_project(world, monkeypatch):
    fill(world)
    world.project = Path(world.home)
    assert {each.scope for each in world.run().taken} == {"user"}
