"""Each kind of setting of each agent: what is taken over, and what is listed as not taken over."""

import pytest

from tests.extensions.settings_import.conftest import names

SKILL = "---\nname: tide\ndescription: The tide tables.\n---\nRead them."
HOOK = [{"matcher": "M", "hooks": [{"type": "command", "command": "guard"}]}]
HOOKS = {"hooks": {"PreToolUse": HOOK}}
MATRIX = [
    ("claude", "instructions", ".claude/CLAUDE.md", "Be brief.", "AGENTS.md", "Be brief."),
    ("claude", "command", ".claude/commands/fix.md", "Fix $1.", "commands/fix.md", "Fix $1."),
    ("claude", "skill", ".claude/skills/tide/SKILL.md", SKILL, "skills/tide/SKILL.md",
     "Read them."),
    ("claude", "hook", ".claude/settings.json", HOOKS, "config.toml", 'command = "guard"'),
    ("claude", "server", ".claude.json", {"mcpServers": {"t": {"command": "time"}}}, "mcp.json",
     '"time"'),
    ("claude", "rule", ".claude/settings.json", {"permissions": {"deny": ["Bash(dd:*)"]}},
     "permissions.toml", "shell(dd*)"),
    ("codex", "instructions", ".codex/AGENTS.md", "Be brief.", "AGENTS.md", "Be brief."),
    ("codex", "command", ".codex/prompts/fix.md", "Fix $1.", "commands/fix.md", "Fix $1."),
    ("codex", "skill", ".codex/skills/tide/SKILL.md", SKILL, "skills/tide/SKILL.md", "Read them."),
    ("codex", "hook", ".codex/hooks.json", HOOKS, "config.toml", 'command = "guard"'),
    ("codex", "hook", ".codex/config.toml",
     '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "guard"\n', "config.toml",
     'command = "guard"'),
    ("codex", "server", ".codex/config.toml", '[mcp_servers.t]\ncommand = "time"\n', "mcp.json",
     '"time"'),
    ("codex", "rule", ".codex/rules/a.rules",
     'prefix_rule(pattern=["dd"], decision="forbidden")', "permissions.toml", "shell(dd*)"),
    ("gemini", "instructions", ".gemini/GEMINI.md", "Be brief.", "AGENTS.md", "Be brief."),
    ("gemini", "command", ".gemini/commands/fix.toml", 'prompt = "Fix {{args}}."',
     "commands/fix.md", "Fix $ARGUMENTS."),
    ("gemini", "skill", ".gemini/skills/tide/SKILL.md", SKILL, "skills/tide/SKILL.md",
     "Read them."),
    ("gemini", "hook", ".gemini/settings.json", {"hooks": {"AfterAgent": HOOK}}, "config.toml",
     'event = "Stop"'),
    ("gemini", "server", ".gemini/settings.json", {"mcpServers": {"t": {"command": "time"}}},
     "mcp.json", '"time"'),
    ("gemini", "rule", ".gemini/policies/a.toml",
     '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "dd"\ndecision = "deny"\n',
     "permissions.toml", "shell(dd*)"),
    ("opencode", "instructions", ".config/opencode/AGENTS.md", "Be brief.", "AGENTS.md",
     "Be brief."),
    ("opencode", "command", ".config/opencode/command/fix.md", "Fix $1.", "commands/fix.md",
     "Fix $1."),
    ("opencode", "skill", ".config/opencode/skill/tide/SKILL.md", SKILL, "skills/tide/SKILL.md",
     "Read them."),
    ("opencode", "server", ".config/opencode/opencode.json",
     {"mcp": {"t": {"type": "local", "command": ["time"]}}}, "mcp.json", '"time"'),
    ("opencode", "rule", ".config/opencode/opencode.json",
     {"permission": {"bash": {"dd *": "deny"}}}, "permissions.toml", "shell(dd*)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("peer", "kind", "name", "content", "target", "words"),
    [pytest.param(*row, id=f"{row[0]} {row[1]} {row[2]}") for row in MATRIX],
)
def test_each_kind_of_setting_of_each_agent_is_taken_over(
    world, peer, kind, name, content, target, words
):
    world.write(world.home, name, content)
    report = world.run(peer)
    assert [(each.kind, each.place) for each in report.taken] == [(kind, f"~/{name}")]
    assert words in (world.ours / target).read_text()
    assert not report.left_out


@pytest.mark.parametrize(
    ("name", "content", "kind", "left_out", "reason"),
    [
        (".claude/settings.json", HOOKS | {"disableAllHooks": True}, "hook", "hooks", "off"),
        (".claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [
            {"command": "x", "if": "Bash(git *)"}]}]}}, "hook", "PreToolUse", "have no `if`"),
        (".claude.json", {"projects": {"/a": {"mcpServers": {"t": {"command": "x"}}}}},
         "server", "t", "it is for `/a` only"),
        (".codex/rules/a.rules", f"prefix_rule(pattern=['a', {[str(n) for n in range(60)]}],"
         " decision='forbidden')", "rule", "prefix_rule(", "over 50 commands"),
        (".gemini/settings.json", {"hooks": {"enabled": False, "BeforeTool": HOOK}}, "hook",
         "hooks", "off"),
        (".gemini/settings.json", {"hooksConfig": {"disabled": ["guard"]},
                                   "hooks": {"BeforeTool": HOOK}}, "hook", "guard", "off"),
        (".config/opencode/plugin/a.ts", "x", "hook", "a.ts", "plugins are programs"),
    ],
    ids=str,
)  # fmt: skip
def test_what_has_no_place_here_is_left_out_and_listed(
    world, name, content, kind, left_out, reason
):
    world.write(world.home, name, content)
    report = world.run()
    assert not report.taken
    [item] = [each for each in report.left_out if each.kind == kind]
    assert item.name.startswith(left_out) and reason in item.reason


@pytest.mark.parametrize(
    ("name", "content", "field"),
    [
        (".codex/config.toml", '[mcp_servers.t]\ncommand = "x"\nenabled_tools = ["a"]\n',
         "enabled_tools"),
        (".gemini/settings.json", {"mcpServers": {"t": {"command": "x", "trust": True}}}, "trust"),
        (".gemini/settings.json", {"mcpServers": {"t": {"command": "x", "includeTools": ["a"]}}},
         "includeTools"),
        (".config/opencode/opencode.json", {"mcp": {"t": {"command": ["x"], "timeout": 9}}},
         "timeout"),
    ],
)  # fmt: skip
def test_field_of_a_server_that_has_no_place_here_is_listed(world, name, content, field):
    world.write(world.home, name, content)
    report = world.run()
    assert names(report.taken) == ["t"]
    assert names(report.left_out) == [f"t: {field}"]
