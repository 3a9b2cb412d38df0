"""`/review`: findings of a model about changes."""

import json

import msgspec
import pytest

from tests.agent.harness import play
from tests.provider_server import Reply
from yourtool.agent.commands.base import StartTurn
from yourtool.errors import UsageError, YourtoolError
from yourtool.events.branches import EntryAdded
from yourtool.events.delegation import DelegateCompleted
from yourtool.extensions.asides.findings import Finding, check_place, parse_report
from yourtool.tools.workspace.workspace import Workspace


def report(*findings, summary="Careful."):
    return Reply(json.dumps({"findings": findings, "summary": summary}))


FOUND = {"file": "a.py", "line": 2, "severity": "high", "text": "It divides by zero."}


def sent(body):
    return json.dumps(body["messages"])


async def review(talk, argument=""):
    [started] = await talk.run(f"/review {argument}".rstrip())
    assert isinstance(started, StartTurn)
    return await play(started.events)


@pytest.fixture
def changed(git, open_conversation):
    """A repository with a changed and a new file."""
    work = open_conversation.work
    (work / "a.py").write_text("one = 1\n")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    (work / "a.py").write_text("one = 1\ntwo = 1 / 0\n")
    (work / "new.py").write_text("three = 3\n")
    return work


async def test_review_lists_findings_with_places_for_later_requests(changed, open_conversation):
    async with open_conversation(report(FOUND), Reply("Mended.")) as talk:
        *_, entry = await review(talk)
        assert isinstance(entry, EntryAdded)
        assert "1. high · a.py:2 · It divides by zero." in entry.text.splitlines()
        assert entry.data["findings"] == [msgspec.to_builtins(Finding(**FOUND))]
        await play(talk.session.send("correct 1"))
        asked, later = talk.bodies()
        assert "+two = 1 / 0" in sent(asked) and "+three = 3" in sent(asked)
        assert {each["name"] for each in asked["tools"]} >= {"read_file", "grep"}
        assert not {"shell", "write_file", "edit_file", "delegate"} & {
            each["name"] for each in asked["tools"]
        }
        assert "It divides by zero." in sent(later) and "+two" not in sent(later)


async def test_review_costs_are_those_of_the_session(changed, open_conversation):
    async with open_conversation(report(FOUND)) as talk:
        events = await review(talk)
        [done] = [each for each in events if isinstance(each, DelegateCompleted)]
        assert talk.session.state.cost_usd == done.total_cost_usd > 0


async def test_clean_branch_is_compared_with_the_one_it_left(git, changed, open_conversation):
    git("checkout", "-q", "-b", "topic")
    git("add", "-A")
    git("commit", "-q", "-m", "second")
    async with open_conversation(report()) as talk:
        *_, entry = await review(talk)
        assert "2 files, compared with `main`" in entry.text and "no findings" in entry.text


async def test_base_is_a_branch_a_commit_or_an_error(git, changed, open_conversation):
    git("add", "-A")
    git("commit", "-q", "-m", "second")
    async with open_conversation(report()) as talk:
        *_, entry = await review(talk, "HEAD~1")
        assert "compared with `HEAD~1`" in entry.text
        for name in ("nothing", "--output=x"):
            with pytest.raises(UsageError, match="names no commit and no branch"):
                await review(talk, name)
        with pytest.raises(UsageError, match="nothing to review"):
            await review(talk)


async def test_credentials_binary_and_long_files_are_left_out_and_named(changed, open_conversation):
    (changed / ".env").write_text("KEY=very-secret\n")
    (changed / "picture.bin").write_bytes(b"\0\1")
    (changed / "long.txt").write_text("a line of text\n" * 10_000)
    async with open_conversation(report()) as talk:
        *_, entry = await review(talk)
        [asked] = talk.bodies()
        assert "very-secret" not in sent(asked)
        last = entry.text.splitlines()[-1]
        assert last.startswith("Not reviewed: ") and ".env (credentials)" in last
        assert "picture.bin (binary)" in last and "long.txt (only the first 60,000 of " in last


async def test_many_large_files_are_counted_and_not_all_read(changed, open_conversation):
    for number in range(90):
        (changed / f"large{number}.txt").write_text("a line of text\n" * 3_000)
    async with open_conversation(report()) as talk:
        *_, entry = await review(talk)
        assert entry.text.splitlines()[-1].endswith(" more") and "(no room)" in entry.text
        assert len(sent(talk.bodies()[0])) < 500_000


async def test_keys_in_changes_are_replaced(changed, open_conversation):
    (changed / "notes.txt").write_text("sk-ant-test-0000000000000000\n")
    async with open_conversation(report()) as talk:
        await review(talk)
        [asked] = talk.bodies()
        assert "notes.txt" in sent(asked) and "sk-ant-test" not in sent(asked)


async def test_folder_without_a_repository_is_an_error(open_conversation):
    async with open_conversation() as talk:
        with pytest.raises(UsageError, match="in no git repository"):
            await review(talk)


async def test_files_of_a_repository_without_commits_are_reviewed(git, open_conversation):
    (open_conversation.work / "a.py").write_text("one = 1\n")
    async with open_conversation(report()) as talk:
        *_, entry = await review(talk)
        assert "1 file, compared with an empty folder" in entry.text


async def test_failed_review_names_the_reason_and_adds_nothing(changed, open_conversation):
    failed = Reply(status=400, body=b'{"error": {"type": "invalid_request_error", "message": "x"}}')
    async with open_conversation(failed) as talk:
        with pytest.raises(YourtoolError, match="There is no review"):
            await review(talk)
        assert not talk.session.busy
        assert not any(isinstance(each, EntryAdded) for each in talk.session.state.facts)


async def test_escape_stops_a_review(changed, open_conversation):
    async with open_conversation(Reply("one two three " * 200, pause=0.01)) as talk:
        [started] = await talk.run("/review")
        with pytest.raises(YourtoolError, match="stopped"):
            async for _ in started.events:
                talk.session.cancel()
        assert not talk.session.busy


def test_place_that_does_not_exist_becomes_a_general_finding(tmp_path):
    (tmp_path / "a.py").write_text("1\n2\n")
    workspace = Workspace(tmp_path)
    places = [("a.py", 2), ("./a.py", 9), ("b/a.py", 1), ("gone.py", 3), ("no.py", 4), ("../x", 1)]
    found = [check_place(Finding("x", file=f, line=n), workspace, ["gone.py"]) for f, n in places]
    assert [each.place for each in found] == [
        "a.py:2", "a.py", "a.py:1", "gone.py", "general", "general",
    ]  # fmt: skip
    assert "`no.py:4`, which does not exist" in found[4].text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Looks good to me.", ["general"]),
        ('Here: {"findings": []} Done.', []),
        ('{"findings": [{"text": "x", "line": "3-9", "file": "a"}, "y", {"odd": 1}]}',
         ["a:3", "general", "general"]),
        ('{"findings": [{"text": "x", "line": null}, {"text": "y", "severity": "HIGH"}]}',
         ["general", "general"]),
        ('{"findings": {"a": 1}}', ["general"]),
        ("[" * 100_000, ["general"]),
    ],
)  # fmt: skip
def test_any_report_is_read(text, expected):
    findings, _ = parse_report(text)
    assert [each.place for each in findings] == expected


def test_review_on_the_command_line_prints_findings(changed, run):
    code, printed = run("-p", "/review", replies=[report(FOUND)])
    assert code == 0 and "1. high · a.py:2 · It divides by zero." in printed


def test_review_on_the_command_line_has_its_findings_in_json(changed, run):
    code, printed = run("-p", "/review", "--output-format", "json", replies=[report(FOUND)])
    result = json.loads(printed)
    assert code == 0 and result["data"]["findings"][0]["file"] == "a.py"
    assert float(result["cost_usd"]) > 0


def test_review_without_changes_is_a_wrong_use(run):
    assert run("-p", "/review", replies=[])[0] == 2
