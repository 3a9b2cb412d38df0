"""Files of other agents that are large, damaged or hard to read."""

import json

import pytest

from tests.doubling import LINEAR, growth


def test_a_text_without_an_end_is_read_in_linear_time(world):
    def write(size):
        world.write(world.project, ".gemini/settings.json", '{"a": "' + '\\"' * size)

    assert growth(lambda _: world.run("gemini", dry_run=True), write, start=2_000) < LINEAR
    assert "it is not JSON" in world.run().left_out[0].reason


def test_a_file_of_rules_with_many_lines_is_read_in_linear_time(world):
    def write(size):
        world.write(world.home, ".codex/rules/a.rules", "a\n" * size)

    assert growth(lambda _: world.run("codex", dry_run=True), write, start=500) < LINEAR


@pytest.mark.remaining
def test_only_some_new_rules_are_added_at_a_time_and_denials_first(world):
    rules = {
        "allow": [f"Bash(make a{number})" for number in range(150)],
        "deny": [f"Bash(make t{number})" for number in range(100)],
    }
    world.write(world.home, ".claude/settings.json", {"permissions": rules})
    first = world.run()
    assert len([each for each in first.taken if each.name.startswith("deny")]) == 100
    assert len(first.taken) == 200
    assert "run the command again" in first.left_out[0].reason
    assert len(world.run().taken) == 50


def test_servers_over_a_limit_are_omissions(world):
    servers = {f"s{number}": {"command": "x"} for number in range(120)}
    world.write(world.home, ".claude.json", {"mcpServers": servers})
    report = world.run()
    assert (len(report.taken), len(report.left_out)) == (100, 20)


def test_a_template_with_half_a_character_becomes_a_mark(world):
    command = {"t": {"template": "a \ud800"}}
    world.write(world.project, "opencode.json", {"command": command})
    world.run("opencode")
    assert (world.project / ".yourtool/commands/t.md").read_text() == "a ?\n"


@pytest.mark.parametrize(
    "number",
    ["1e999", "-1e999", "NaN", "1" + "0" * 400],
    ids=["endless", "below_all", "no_number", "long"],
)
def test_a_timeout_that_is_no_usual_number_breaks_nothing(world, number):
    server = '{"mcpServers": {"a": {"command": "x", "timeout": NUMBER}}}'
    world.write(world.home, ".gemini/settings.json", server.replace("NUMBER", number))
    hook = '{"hooks": {"BeforeTool": [{"hooks": [{"command": "x", "timeout": NUMBER}]}]}}'
    world.write(world.project, ".gemini/settings.json", hook.replace("NUMBER", number))
    world.run()
    for path in (world.ours / "mcp.json", world.project / ".mcp.json"):
        if path.exists():
            json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))


def test_a_number_that_json_lacks_is_not_written(world):
    server = '{"mcpServers": {"a": {"command": "x", "env": {}, "args": [], "oauth": {"x": NaN}}}}'
    world.write(world.home, ".claude.json", server)
    world.run()
    path = world.ours / "mcp.json"
    if path.exists():
        json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))


def test_folders_that_cannot_be_read_are_omissions(world):
    skill = world.write(world.home, ".claude/skills/a/SKILL.md", "x").parent
    inner = world.write(world.home, ".codex/skills/b/x/y.md", "x").parent
    world.write(world.home, ".codex/skills/b/SKILL.md", "x")
    for each in (skill, inner):
        each.chmod(0)
    try:
        world.run()
    finally:
        for each in (skill, inner):
            each.chmod(0o700)


def test_links_in_a_circle_are_omissions(world):
    for name in (".gemini/commands", ".opencode/commands", ".claude/skills"):
        folder = world.project / name
        folder.mkdir(parents=True)
        (folder / "a.md").symlink_to("b.md")
        (folder / "b.md").symlink_to("a.md")
        (folder / "c").symlink_to("c")
    world.run()
