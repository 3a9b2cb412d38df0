from datetime import timedelta

import pytest

from benchmarks import decision_replay
from tests.agent.harness import Bench, Checked, User, play
from tests.store.memory import MemoryStore
from tests.store.turns import FactBuilder, changed, tool_call
from yourtool.agent.history.stored_decisions import RuleUse, find_last_uses, replay_decisions
from yourtool.agent.turn.calls import call_judging
from yourtool.effects import Decision, SideEffects, Subject, Verdict
from yourtool.events.permissions import CallJudgement, PolicySnapshot, SnapshotRule
from yourtool.permissions.judging import CallSubjects, JudgedCall, Policy, judge, look_up
from yourtool.permissions.rules import EVERY_TOOL, Rule, RuleSet, RuleSource
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode

ALLOW = Decision(verdict=Verdict.ALLOW)


def rules(*allow, ask=(), deny=()):
    return RuleSet(*(tuple(map(Rule.parse, each)) for each in (allow, ask, deny)))


async def decide(bench: Bench, line, **options):
    """Play calls and return the facts about the decisions."""
    session = await bench.session(Checked(Scripted([line, says("done")])), **options)
    events = await play(session.send("go"))
    await session.close()
    return [e for e in events if getattr(e, "judgement", None) or isinstance(e, PolicySnapshot)]


@pytest.mark.req("R-CONF-08")
async def test_each_decision_is_stored_once_with_what_it_was_based_on(bench):
    granted = rules("shell(echo*)", deny=["shell(rm*)"])
    line = calls("shell", command="echo a") + calls("shell", command="rm a")
    line += calls("shell", command="touch a")
    snapshot, *facts = await decide(bench, line, rules=granted, confirm=User(ALLOW))
    assert snapshot.allow == (SnapshotRule("shell(echo*)", "user"),)
    assert snapshot.mode == "ask"
    found = {fact.judgement.subjects[0].text: fact for fact in facts}
    assert {text: fact.judgement.verdict for text, fact in found.items()} == {
        "echo a": "allow", "rm a": "deny", "touch a": "ask",
    }  # fmt: skip
    assert found["echo a"].judgement.rules == ("shell(echo*)",)
    assert found["rm a"].judgement.rules == ("shell(rm*)",)
    assert {fact.judgement.policy for fact in facts} == {snapshot.policy}


async def test_settings_are_stored_again_only_when_they_change(bench):
    read = calls("list_dir", path=".")
    session = await bench.session(
        Checked(Scripted([read, says("x"), read, says("x"), read, says("x")]))
    )
    found = []
    for mode in (Mode.ASK, Mode.ASK, Mode.AUTO):
        session.mode = mode
        found += [e for e in await play(session.send("go")) if isinstance(e, PolicySnapshot)]
    assert [each.mode for each in found] == ["ask", "auto"]
    await session.close()


async def test_stored_settings_are_those_of_the_decision_if_they_change_meanwhile(
    bench, monkeypatch
):
    session = await bench.session(Checked(Scripted([calls("list_dir", path="."), says("x")])))
    parse_call = call_judging.parse_call

    def parse_and_change_mode(*args):
        session.mode = Mode.AUTO
        return parse_call(*args)

    monkeypatch.setattr(call_judging, "parse_call", parse_and_change_mode)
    [snapshot] = [e for e in await play(session.send("go")) if isinstance(e, PolicySnapshot)]
    assert snapshot.mode == "ask"
    await session.close()


async def store_with(*texts, older=0):
    """Return a store with a session in which `shell(ls*)` allowed the first of the commands."""
    store, builder = MemoryStore(), FactBuilder()
    uses = [tool_call("shell", command=text) for text in (*texts, *["old"] * older)]
    started = builder.session_start(), builder.turn_start(), builder.reply(*uses)
    snapshot = changed(
        PolicySnapshot(
            policy="p",
            mode="ask",
            workspace="/work",
            allow=(SnapshotRule("shell(ls*)", "user"), SnapshotRule("shell(make)", "option")),
            ask=(SnapshotRule(EVERY_TOOL, "user"),),
        ),
        id=builder.tool_start(uses[0]).id,
        session_id=builder.session_id,
    )
    facts = []
    for text, use in zip(texts, uses, strict=False):
        allowed = text.startswith(("ls", "make"))
        judgement = CallJudgement(
            policy="p",
            verdict="allow" if allowed else "ask",
            side_effects=SideEffects.EXECUTE,
            subjects=(Subject("command", text, "/work"),) if text != "secret" else (),
            rules=("shell(ls*)",) if text.startswith("ls") else (),
        )
        facts.append(changed(builder.tool_start(use), judgement=judgement))
    facts += [builder.tool_start(use) for use in uses[len(texts) :]]
    await store.append(*started, snapshot, *facts)
    return store, facts


async def test_other_rules_list_exactly_what_would_change():
    store, facts = await store_with("ls", "ls src", "cat x", "make", "secret", older=2)
    same = await replay_decisions(store, lambda _: rules("shell(ls*)"))
    assert (same.decisions, same.changes, same.hidden) == (4, (), 1)
    assert same.unrecorded == {facts[0].session_id: 2}
    other = await replay_decisions(store, lambda _: rules("shell(cat*)", deny=["shell(ls src)"]))
    assert [(each.subjects, each.old, each.new) for each in other.changes] == [
        (("ls",), "allow", "ask"),
        (("ls src",), "allow", "deny"),
        (("cat x",), "ask", "allow"),
    ]
    assert other.changes[1].new_rules == ("shell(ls src)",)
    assert other.changes[0].old_rules == ("shell(ls*)",)
    assert other.changes[0].tool_use_id == facts[0].tool_use_id


async def replay_in(bench, stored, other):
    """Store a decision about `cat a.txt`, delete the file, and decide again."""
    (bench.workspace / "a.txt").write_text("x")
    line = calls("shell", command="cat a.txt")
    session = await bench.session(Checked(Scripted([line, says("x")])), rules=stored)
    await play(session.send("go"))
    await session.close()
    (bench.workspace / "a.txt").unlink()
    (bench.workspace / "a.txt").symlink_to("/etc/passwd")
    return await replay_decisions(bench.store, lambda _: other)


@pytest.mark.req("R-CONF-08")
async def test_stored_decision_does_not_depend_on_files_that_changed_since(bench):
    granted = rules("shell(cat*)")
    report = await replay_in(bench, granted, granted)
    assert (report.decisions, report.changes) == (1, ())


@pytest.mark.req("R-CONF-08")
async def test_what_other_rules_need_to_know_is_looked_up(bench):
    report = await replay_in(bench, rules("shell(cat a.txt)"), rules("shell(cat*)"))
    assert [(each.old, each.new) for each in report.changes] == [("allow", "ask")]


async def test_last_use_of_a_rule_is_that_of_its_last_call():
    store, facts = await store_with("ls", "ls src", "cat x")
    uses = await find_last_uses(store)
    assert uses == {RuleUse("shell(ls*)", "/work"): facts[1].timestamp}
    assert facts[1].timestamp - facts[0].timestamp < timedelta(minutes=1)


def test_judgement_depends_on_its_arguments_only():
    subject = Subject("command", "make", "/nowhere")
    policy = Policy(Mode.ASK, rules("shell(make)"))
    call = JudgedCall("shell", SideEffects.EXECUTE, CallSubjects((subject,)))
    call = look_up(policy, call)
    assert judge(policy, call) == judge(policy, call)
    assert judge(policy, call).verdict == "allow"
    assert policy.get_digest() == Policy(Mode.ASK, rules("shell(make)")).get_digest()
    assert policy.get_digest() != Policy(Mode.PLAN, policy.rules).get_digest()
    own = Rule.parse("shell(make)", source=RuleSource.SESSION)
    assert policy.get_digest() != Policy(Mode.ASK, RuleSet((own,))).get_digest()


async def test_equal_rules_change_nothing():
    store, facts = await store_with("ls", *(f"ls src/{number}" for number in range(40)))
    report = await replay_decisions(store, lambda _: rules("shell(ls*)"))
    assert (report.decisions, report.changes) == (len(facts), ())


@pytest.mark.security
@pytest.mark.blocks_loop("seconds of decisions")
@pytest.mark.req("R-CONF-08")
def test_figures_of_decisions_made_again(figures):
    found = decision_replay.measure(100_000)
    text = f"{found['cpu_seconds']:.1f} s of CPU, {found['seconds']:.1f} s in all"
    figures("replay", f"{text}, {found['differences']} differences")
    assert found["decisions"] == 100_000
    assert (found["differences"], found["unrecorded"]) == (0, 0)
