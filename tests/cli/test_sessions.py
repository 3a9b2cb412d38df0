"""`yourtool sessions search|export|import|fork` (R-PER-07, R-PER-08, R-PER-09; cli.md)."""

import json
import os

import pytest

from tests.cli.command_line import CommandLine
from tests.provider_server import ProviderServer, Reply
from yourtool.ids import new_id, new_session_id
from yourtool.paths import resolve_paths
from yourtool.settings.config import config_file
from yourtool.store.sqlite.leases import FileLease

pytestmark = pytest.mark.usefixtures("own_logging")

CANARY = "canary-9471-do-not-leak"


def start_session(
    line: CommandLine, prompt: str = "why is the frobnicator slow?", reply: str = "It waits."
):
    line.script([{"say": reply}])
    return line.result("-p", prompt)["session_id"]


def run_sessions(line: CommandLine, *argv: str):
    code, out, err = line("sessions", *argv)
    assert (code, err) == (0, "")
    return out


def facts(line: CommandLine, session_id: str):
    return json.loads(run_sessions(line, "show", session_id, "--json"))


def message_texts(stored):
    return [
        block["text"]
        for fact in stored
        for block in (fact.get("message") or {}).get("content", ())
        if block["type"] == "text"
    ]


def test_shown_and_exported_facts_of_a_call_have_its_counters(line):
    session_id = start_session(line)
    exported = map(json.loads, run_sessions(line, "export", session_id, "--json").splitlines())
    for lines in (facts(line, session_id), exported):
        [call] = [each for each in lines if each["type"] == "llm.call_completed"]
        usage = call["message"]["metadata"]["usage"]
        assert usage["output_tokens"] > 0
        assert {name: call[name] for name in usage} == usage


@pytest.mark.req("R-PER-09")
def test_search_result_has_session_message_and_snippet(line):
    session_id = start_session(line)
    start_session(line, "something else")
    [hit] = json.loads(run_sessions(line, "search", "slow", "frob", "--json"))
    assert hit["session_id"] == session_id
    assert hit["snippet"] == hit["title"] == "why is the frobnicator slow?"
    assert hit["role"] == "user"
    assert hit["message_id"] in str(facts(line, session_id))
    assert session_id in run_sessions(line, "search", "slow")
    assert json.loads(run_sessions(line, "search", "nowhere", "--json")) == []
    assert "No results" in run_sessions(line, "search", "nowhere")


@pytest.mark.req("R-PER-09")
def test_search_is_limited_by_filters(line, tmp_path):
    session_id = start_session(line)
    for argv in (
        ("slow", "--model", "DEMO"),
        ("--since", "1h"),
        ("slow", "--dir", str(tmp_path), "--min-cost", "0", "--until", "2999-01-01"),
    ):
        found = json.loads(run_sessions(line, "search", *argv, "--json"))
        assert [hit["session_id"] for hit in found] == [session_id]
    for argv in (
        ("slow", "--model", "gpt"),
        ("slow", "--file", "a.py"),
        ("slow", "--tool-failed"),
        ("slow", "--min-cost", "1"),
        ("slow", "--until", "2000-01-01"),
        ("slow", "--dir", str(tmp_path / "gone")),
    ):
        assert json.loads(run_sessions(line, "search", *argv, "--json")) == []
    code, _, err = line("sessions", "search", "slow", "--until", "soon")
    assert code == 2 and "`--until soon` is no time" in err


@pytest.mark.req("R-PER-07")
def test_here_limits_list_and_search_to_one_directory(line, tmp_path):
    (tmp_path / "other").mkdir()
    elsewhere = ("--cwd", str(tmp_path / "other"))
    here = start_session(line)
    line.type(run_sessions(line, "export", here, "--json"))
    run_sessions(line, "import", "-", *elsewhere)
    assert [each["id"] for each in json.loads(run_sessions(line, "list", "--here", "--json"))] == [
        here
    ]
    hits = json.loads(run_sessions(line, "search", "slow", "--here", "--json"))
    assert [hit["session_id"] for hit in hits] == [here]
    assert len(json.loads(run_sessions(line, "list", "--json"))) == 2
    (tmp_path / "third").mkdir()
    assert "no sessions" in run_sessions(line, "list", "--here", "--cwd", str(tmp_path / "third"))
    assert "default model" in run_sessions(line, "list")


def test_here_includes_demo_sessions_in_copies_of_the_directory(line, tmp_path):
    result = line("-p", "hi", "-m", "demo:tour", "--output-format", "json")[1]
    session_id = json.loads(result)["session_id"]
    listed = json.loads(run_sessions(line, "list", "--here", "--json"))
    assert [each["id"] for each in listed] == [session_id]
    hits = json.loads(run_sessions(line, "search", "hi", "--here", "--json"))
    assert {hit["session_id"] for hit in hits} == {session_id}
    (tmp_path / "other").mkdir()
    assert "no sessions" in run_sessions(line, "list", "--here", "--cwd", str(tmp_path / "other"))


@pytest.mark.req("R-PER-08")
def test_export_is_imported_with_equal_messages(line, tmp_path, monkeypatch):
    session_id = start_session(line)
    before, file = facts(line, session_id), tmp_path / "a.jsonl"
    told = json.loads(run_sessions(line, "export", session_id, str(file), "--json"))
    assert told == {"session_id": session_id, "file": str(file), "format": "jsonl"}
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "elsewhere"))
    assert json.loads(run_sessions(line, "import", str(file), "--json")) == {
        "session_id": session_id,
        "already_imported": False,
        "warnings": [],
    }
    messages = [
        [fact.get("message") for fact in stored] for stored in (before, facts(line, session_id))
    ]
    assert messages[1][: len(before)] == messages[0]


@pytest.mark.req("R-PER-08")
def test_suffix_of_the_file_selects_html(line, tmp_path):
    session_id = start_session(line, "is 1 < 2?")
    told = json.loads(run_sessions(line, "export", session_id, str(tmp_path / "a.HTML"), "--json"))
    assert told["format"] == "html"
    page = (tmp_path / "a.HTML").read_text()
    assert page == run_sessions(line, "export", session_id, "--format", "html")
    assert page.startswith("<!doctype html>") and "is 1 &lt; 2?" in page


@pytest.mark.req("R-PER-08")
def test_bundle_is_imported_elsewhere_and_a_damaged_one_is_refused(line, tmp_path, monkeypatch):
    session_id, file = start_session(line), tmp_path / "a.bundle"
    before = facts(line, session_id)
    run_sessions(line, "export", session_id, str(file), "--format", "bundle")
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "elsewhere"))
    damaged = tmp_path / "damaged.bundle"
    damaged.write_bytes(file.read_bytes()[:-30])
    code, _, err = line("sessions", "import", str(damaged))
    assert code == 2 and "the bundle is damaged" in err and str(damaged) in err
    assert json.loads(run_sessions(line, "list", "--json")) == []
    told = json.loads(run_sessions(line, "import", str(file), "--json"))
    assert told["session_id"] == session_id
    copy = facts(line, session_id)[: len(before)]
    assert [each.get("message") for each in copy] == [each.get("message") for each in before]
    assert json.loads(run_sessions(line, "import", str(file), "--json"))["already_imported"]


@pytest.mark.req("R-CRD-02")
def test_export_names_the_secrets_that_it_leaves_out(line, tmp_path):
    token = "ghp_" + "aB3dE5gH1jK7mN9pQ2sT4vW6yZ8aB3dE5gH1"
    session_id = start_session(line, f"use {token}")
    for argv in ((), ("--yes",), ("--format", "html"), ("--json",)):
        code, out, err = line("sessions", "export", session_id, *argv)
        assert code == 0
        assert token not in out + err and "[hidden key]" in out
        assert "in 1 place, for secrets" in err and "GitHub token" in err and "ghp_…" in err
    code, out, _ = line("sessions", "export", session_id, str(tmp_path / "a.md"), "--json")
    [hit] = json.loads(out)["secrets"]
    assert hit["kind"] == "GitHub token" and token not in (tmp_path / "a.md").read_text()


@pytest.mark.req("R-CRD-06")
def test_export_is_redacted_in_the_chosen_mode(line, tmp_path):
    session_id = start_session(line, "my private plan")
    options = ("export", session_id, "--format", "jsonl", "--redact")
    assert "my private plan" in run_sessions(line, *options, "passthrough")
    pseudonymous = run_sessions(line, *options, "pseudonymize")
    assert "my private plan" in pseudonymous and session_id not in pseudonymous
    assert run_sessions(line, *options, "pseudonymize", "--salt", "x") != pseudonymous
    assert "private plan" not in run_sessions(line, *options, "redact_private")
    sums = json.loads(run_sessions(line, *options, "aggregate_only"))
    assert sums["events"]["turn.started"] == 1 and "private" not in str(sums)
    file = tmp_path / "a.jsonl"
    run_sessions(line, "export", session_id, str(file), "--redact", "redact_private")
    imported = json.loads(run_sessions(line, "import", str(file), "--json"))["session_id"]
    assert "[REDACTED]" in run_sessions(line, "show", imported)


@pytest.mark.req("R-PER-08")
def test_import_reports_unknown_blocks_and_keeps_the_session(line):
    lines = run_sessions(line, "export", start_session(line), "--json").splitlines()
    changed = [json.loads(each) for each in lines]
    asked = next(each["message"] for each in changed if each.get("message"))
    asked["content"].append({"type": "hologram", "depth": 3})
    line.type("\n".join(map(json.dumps, changed)))
    imported = json.loads(run_sessions(line, "import", "-", "--json"))
    assert imported["warnings"] == ["unknown block `hologram`"]
    assert "[unknown block `hologram`]" in run_sessions(line, "show", imported["session_id"])


@pytest.mark.req("R-PER-08")
def test_repeated_import_of_a_file_makes_nothing_new(line, tmp_path):
    file = tmp_path / "a.jsonl"
    session_id = start_session(line)
    run_sessions(line, "export", session_id, str(file))
    imported = json.loads(run_sessions(line, "import", str(file), "--json"))["session_id"]
    assert imported != session_id
    assert json.loads(run_sessions(line, "import", str(file), "--json")) == {
        "session_id": imported,
        "already_imported": True,
        "warnings": [],
    }
    assert "Already imported" in run_sessions(line, "import", str(file))
    assert len(json.loads(run_sessions(line, "list", "--json"))) == 2
    run_sessions(line, "delete", imported)
    again = json.loads(run_sessions(line, "import", str(file), "--json"))
    assert again["session_id"] != imported and not again["already_imported"]


@pytest.mark.req("R-PER-08")
def test_imported_session_can_be_continued(line, tmp_path):
    session_id = start_session(line)
    line.type(run_sessions(line, "export", session_id, "--json"))
    imported = json.loads(run_sessions(line, "import", "-", "--json"))["session_id"]
    line.type("")
    line.script([{"say": "Still waits."}])
    assert line.result("-p", "and now?", "-r", imported)["result"] == "Still waits."
    assert len(message_texts(facts(line, imported))) == 4
    assert len(message_texts(facts(line, session_id))) == 2


@pytest.mark.req("R-PER-08")
def test_fork_can_be_continued_and_the_original_is_unchanged(line):
    session_id = start_session(line)
    before = facts(line, session_id)
    forked = json.loads(run_sessions(line, "fork", session_id, "--json"))["session_id"]
    line.script([{"say": "Because."}])
    assert line.result("-p", "why?", "-r", forked)["result"] == "Because."
    assert facts(line, session_id) == before
    prompt = next(fact["message"]["id"] for fact in before if fact.get("message"))
    empty = json.loads(run_sessions(line, "fork", session_id, "--at", prompt, "--json"))[
        "session_id"
    ]
    assert message_texts(facts(line, empty)) == []
    assert f"--resume {forked[:4]}" in run_sessions(line, "fork", forked)


def test_markdown_is_the_default_and_no_file_is_overwritten(line, tmp_path):
    session_id, file = start_session(line), tmp_path / "a.md"
    text = run_sessions(line, "export", session_id)
    assert text.startswith("# why is the frobnicator slow?\n") and "It waits." in text
    assert run_sessions(line, "export", session_id, str(file)) == f"Exported to {file}.\n"
    assert file.read_text() == text
    file.write_text("mine")
    code, out, err = line("sessions", "export", session_id, str(file))
    assert (code, out) == (2, "") and "exists" in err
    assert file.read_text() == "mine"
    run_sessions(line, "export", session_id, str(file), "--force")
    assert file.read_text() == text


@pytest.mark.parametrize("form", ["markdown", "jsonl", "pi"])
@pytest.mark.req("R-CRD-02")
def test_export_contains_no_key(line, monkeypatch, form):
    session_id = start_session(line, f"my key is {CANARY}", f"Is it {CANARY}?")
    assert CANARY in run_sessions(line, "export", session_id, "--format", form)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    code, out, err = line("sessions", "export", session_id, "--format", form)
    assert code == 0 and "in 2 places, for secrets" in err and CANARY not in err
    assert CANARY not in out and "my key is [hidden key]" in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("export", new_session_id()), "sessions list"),
        (("fork", new_session_id()), "sessions list"),
        (("import", "no-such-file"), "cannot read"),
        (("search",), "WORD"),
        (("export", "nonsense"), "not a session id"),
    ],
)
def test_invalid_sessions_command_exits_2(line, argv, words):
    code, out, err = line("sessions", *argv)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.needs("extensions/importers")
def test_invalid_export_is_rejected_and_not_stored(line, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("hello\n")
    code, _, err = line("sessions", "import", str(file))
    assert code == 2 and "its format is unknown" in err and str(file) in err
    code, _, err = line("sessions", "fork", start_session(line), "--at", new_id())
    assert code == 2 and "no message" in err
    assert len(json.loads(run_sessions(line, "list", "--json"))) == 1


@pytest.mark.req("R-CST-01")
def test_session_without_a_known_price_is_listed_as_unpriced(line):
    with ProviderServer([Reply("It waits.")]) as server:
        config = f'[providers.mine]\napi = "chat"\nbase_url = "{server.url}/v1"\n'
        config_file(resolve_paths()).write_text(config)
        assert line("-p", "why?", "-m", "mine:any")[0] == 0
    assert "  unpriced  " in run_sessions(line, "list")
    assert [each["unpriced"] for each in json.loads(run_sessions(line, "list", "--json"))] == [True]


def test_renamed_session_is_listed_with_its_title(line):
    session_id = start_session(line)
    assert run_sessions(line, "rename", session_id, "The frobnicator") == f"Renamed {session_id}.\n"
    [row] = json.loads(run_sessions(line, "list", "--json"))
    assert row["title"] == "The frobnicator"
    assert facts(line, session_id)[-1]["type"] == "session.renamed"


def test_deleted_session_is_gone_with_its_files(line):
    session_id = start_session(line)
    spill = resolve_paths().spill_directory(session_id)
    assert spill.is_dir()
    out = run_sessions(line, "delete", session_id, "--json")
    assert json.loads(out) == {"session_id": session_id}
    assert json.loads(run_sessions(line, "list", "--json")) == []
    assert not spill.exists()
    assert b"frobnicator" not in resolve_paths().database.read_bytes()
    assert line("sessions", "show", session_id)[0] == 2
    assert line("sessions", "delete", session_id)[0] == 2


@pytest.mark.parametrize("action", [["delete"], ["rename"]])
def test_session_in_use_is_neither_deleted_nor_renamed(line, action):
    session_id = start_session(line)
    before = facts(line, session_id)
    title = ["new"] if action == ["rename"] else []
    with FileLease(resolve_paths().data / "locks", session_id):
        code, out, err = line("sessions", *action, session_id, *title)
    assert (code, out) == (1, "")
    assert "is open in another yourtool" in err
    assert facts(line, session_id) == before


@pytest.mark.req("R-PER-06")
def test_session_that_is_open_elsewhere_can_be_read_and_copied(line):
    session_id = start_session(line)
    before = facts(line, session_id)
    line.script([{"say": "Because."}])
    with FileLease(resolve_paths().data / "locks", session_id):
        code, _, err = line("-p", "why?", "-r", session_id)
        assert code == 1
        assert f"`yourtool sessions show {session_id}`" in err
        assert f"`yourtool sessions fork {session_id}`" in err
        assert "It waits." in run_sessions(line, "show", session_id)
        copied = json.loads(run_sessions(line, "fork", session_id, "--json"))["session_id"]
        assert line.result("-p", "why?", "-r", copied)["result"] == "Because."
        assert facts(line, session_id) == before


def test_sessions_of_workers_are_listed_only_with_their_option(line):
    line.script([{"call": "delegate", "input": {"task": "Look."}}], [{"say": "Done."}])
    session_id = line.result("-p", "Go.")["session_id"]
    assert run_sessions(line, "list").count("sess_") == 1
    listed = json.loads(run_sessions(line, "list", "--workers", "--json"))
    [worker] = [each["id"] for each in listed if each["id"] != session_id]
    assert {each["title"] for each in listed} == {"Go.", "Look."}
    assert "Look." in run_sessions(line, "show", worker)


def test_agents_prints_the_state_of_each_session(line):
    assert line("agents") == (0, "There are no sessions yet.\n", "")
    line.script([{"say": "Hello."}])
    session_id = line.result("-p", "say hello")["session_id"]
    code, out, _ = line("agents")
    assert code == 0 and session_id in out and "done" in out and "say hello" in out
    [row] = json.loads(line("agents", "--json")[1])
    assert (row["id"], row["state"], row["process"]) == (session_id, "done", "")
    with FileLease(resolve_paths().database.parent / "locks", session_id) as lease:
        lease.set_waiting(True)
        [row] = json.loads(line("agents", "--json")[1])
    assert (row["state"], row["process"]) == ("waiting", str(os.getpid()))
