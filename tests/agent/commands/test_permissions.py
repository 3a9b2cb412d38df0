import pytest

from tests.agent.harness import Bench, Checked
from yourtool.agent.commands.base import Choose, Report
from yourtool.agent.commands.permissions.permissions import show_permissions
from yourtool.events.deltas import Notice
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import Rule
from yourtool.providers.scripted import Scripted, says

KINDS = {"shell": "command"}


class Stores:
    """The part of the runtime that the command uses."""

    def __init__(self, store):
        self.store = store


async def run(results):
    return [each async for each in results]


async def take(session, runtime, bench):
    """Return the list that the command shows."""
    return (await run(show_permissions(session, runtime, "")))[-1]


@pytest.mark.req("R-CONF-05")
async def test_rule_is_taken_back_with_one_key_and_restored_with_another(bench: Bench):
    file = bench.root / "permissions.toml"
    text = "deny = ['shell(rm*)']\nallow = ['shell(make*)']\n"
    file.write_text(text)
    session = await bench.session(Checked(Scripted([says("x")])))
    gate, runtime = session.gate, Stores(bench.store)
    gate.grants = Grants(file, bench.workspace, KINDS)
    gate.reload()
    gate.grant(["shell(ls)"], always=False)
    shown = await take(session, runtime, bench)
    assert [each.title for each in shown.choices] == [
        "allow shell(make*)", "deny shell(rm*)", "allow shell(ls)",
    ]  # fmt: skip
    assert f"{file}:2" in shown.choices[0].detail and "never" in shown.choices[0].detail
    assert dict(await shown.preview("0"))["covers"].startswith("make\nmake a.txt\n")
    [report] = await run(shown.then("0"))
    assert isinstance(report, Report)
    [take_back] = shown.actions
    notice, shown = await run(take_back.then("0"))
    assert notice == Notice(level="info", text="Took back `allow shell(make*)`.")
    assert gate.policy.rules.allow == (Rule.parse("shell(ls)", source="session"),)
    assert "make" not in file.read_text()
    _, shown = await run(shown.actions[0].then("1"))
    assert gate.policy.rules.allow == ()
    for _ in range(2):
        *_, shown = await run(shown.actions[1].then(""))
    assert isinstance(shown, Choose) and len(shown.actions) == 1
    assert file.read_text() == text
    assert [str(rule) for rule in gate.policy.rules.allow] == ["shell(ls)", "shell(make*)"]
    await session.close()


async def test_allowed_host_is_listed_as_one_for_all_commands(bench: Bench):
    file = bench.root / "permissions.toml"
    file.write_text("allow = ['sandbox_host(a.example)']\n")
    session = await bench.session(Checked(Scripted([says("x")])))
    session.gate.grants = Grants(file, bench.workspace, KINDS)
    session.gate.reload()
    shown = await take(session, Stores(bench.store), bench)
    facts = dict(await shown.preview("0"))
    assert facts["applies to"] == "all commands in the sandbox, whichever asked for it"
    await session.close()


async def test_rules_of_the_project_and_the_command_line_are_not_taken_back(bench: Bench):
    (bench.workspace / ".yourtool").mkdir()
    project = bench.workspace / ".yourtool" / "permissions.toml"
    project.write_text("ask = ['shell(make*)']\n")
    session = await bench.session(Checked(Scripted([says("x")])))
    session.gate.grants = Grants(bench.root / "permissions.toml", bench.workspace, KINDS)
    shown = await take(session, Stores(bench.store), bench)
    notice, shown = await run(shown.actions[0].then("0"))
    assert "belongs to the project" in notice.text
    assert len(shown.choices) == 1
    await session.close()


@pytest.mark.req("R-CONF-05")
async def test_answer_about_the_sandbox_is_taken_back_and_restored(bench: Bench):
    session = await bench.session(Checked(Scripted([says("x")])))
    session.gate.grants = Grants(bench.root / "permissions.toml", bench.workspace, KINDS)
    session.trust.store.allow_contained(bench.workspace)
    session.gate.allows_contained = True
    shown = await take(session, Stores(bench.store), bench)
    [row] = shown.choices
    assert row.title == "allow commands in the sandbox"
    assert row.detail.startswith(f"{bench.workspace} · ")
    notice, shown = await run(shown.actions[0].then("0"))
    assert notice.text == "Took back `allow commands in the sandbox`."
    assert not session.gate.allows_contained
    assert session.trust.store.load_contained() == ()
    notice, shown = await run(shown.actions[1].then(""))
    assert notice.text == "Restored `allow commands in the sandbox`."
    assert session.gate.allows_contained
    await session.close()
