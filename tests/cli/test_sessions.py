"""`yourtool sessions search|export|import|fork` (R-PER-07, R-PER-08, R-PER-09; cli.md)."""

import json

import pytest

from tests.cli.line import Line
from tests.provider_server import ProviderServer, Reply
from yourtool.config import config_file
from yourtool.ids import new_id, new_session_id
from yourtool.paths import resolve_paths

pytestmark = pytest.mark.usefixtures("own_logging")

CANARY = "canary-9471-do-not-leak"


def begun(line: Line, prompt: str = "why is the frobnicator slow?", reply: str = "It waits."):
    line.script([{"say": reply}])
    return line.result("-p", prompt)["session_id"]


def printed(line: Line, *argv: str):
    code, out, err = line("sessions", *argv)
    assert (code, err) == (0, "")
    return out


def facts(line: Line, session_id: str):
    return json.loads(printed(line, "show", session_id, "--json"))


def texts(stored):
    return [
        block["text"]
        for fact in stored
        for block in (fact.get("message") or {}).get("content", ())
        if block["type"] == "text"
    ]


@pytest.mark.req("R-PER-09")
def test_words_are_found_with_session_message_and_snippet(line):
    session_id = begun(line)
    begun(line, "something else")
    [hit] = json.loads(printed(line, "search", "slow", "frob", "--json"))
    assert hit["session_id"] == session_id
    assert hit["snippet"] == hit["title"] == "why is the frobnicator slow?"
    assert hit["role"] == "user"
    assert hit["message_id"] in str(facts(line, session_id))
    assert session_id in printed(line, "search", "slow")
    assert json.loads(printed(line, "search", "nowhere", "--json")) == []
    assert "Nothing was found" in printed(line, "search", "nowhere")


@pytest.mark.req("R-PER-07")
def test_lists_and_hits_can_be_those_of_one_directory(line, tmp_path):
    line.type(printed(line, "export", begun(line), "--json"))
    here = json.loads(printed(line, "import", "-", "--json"))["session_id"]
    assert [each["id"] for each in json.loads(printed(line, "list", "--here", "--json"))] == [here]
    hits = json.loads(printed(line, "search", "slow", "--here", "--json"))
    assert [hit["session_id"] for hit in hits] == [here]
    assert len(json.loads(printed(line, "list", "--json"))) == 2
    (tmp_path / "other").mkdir()
    assert "no sessions" in printed(line, "list", "--here", "--cwd", str(tmp_path / "other"))
    assert "default model" in printed(line, "list")


@pytest.mark.req("R-PER-08")
def test_an_export_is_imported_with_equal_messages(line, tmp_path, monkeypatch):
    session_id = begun(line)
    before, file = facts(line, session_id), tmp_path / "a.jsonl"
    told = json.loads(printed(line, "export", session_id, str(file), "--json"))
    assert told == {"session_id": session_id, "file": str(file), "format": "jsonl"}
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "elsewhere"))
    assert json.loads(printed(line, "import", str(file), "--json")) == {"session_id": session_id}
    messages = [
        [fact.get("message") for fact in stored] for stored in (before, facts(line, session_id))
    ]
    assert messages[1][: len(before)] == messages[0]
    again = json.loads(printed(line, "import", str(file), "--json"))["session_id"]
    assert again != session_id
    assert texts(facts(line, again)) == texts(before)


@pytest.mark.req("R-PER-08")
def test_an_imported_session_goes_on(line, tmp_path):
    session_id = begun(line)
    line.type(printed(line, "export", session_id, "--json"))
    imported = json.loads(printed(line, "import", "-", "--json"))["session_id"]
    line.type("")
    line.script([{"say": "Still waits."}])
    assert line.result("-p", "and now?", "-r", imported)["result"] == "Still waits."
    assert len(texts(facts(line, imported))) == 4
    assert len(texts(facts(line, session_id))) == 2


@pytest.mark.req("R-PER-08")
def test_a_fork_goes_on_and_the_original_stays(line):
    session_id = begun(line)
    before = facts(line, session_id)
    forked = json.loads(printed(line, "fork", session_id, "--json"))["session_id"]
    line.script([{"say": "Because."}])
    assert line.result("-p", "why?", "-r", forked)["result"] == "Because."
    assert facts(line, session_id) == before
    prompt = next(fact["message"]["id"] for fact in before if fact.get("message"))
    empty = json.loads(printed(line, "fork", session_id, "--at", prompt, "--json"))["session_id"]
    assert texts(facts(line, empty)) == []
    assert f"--resume {forked[:4]}" in printed(line, "fork", forked)


def test_markdown_is_the_usual_form_and_no_file_is_written_over(line, tmp_path):
    session_id, file = begun(line), tmp_path / "a.md"
    text = printed(line, "export", session_id)
    assert text.startswith("# why is the frobnicator slow?\n") and "It waits." in text
    assert printed(line, "export", session_id, str(file)) == f"Written to {file}.\n"
    assert file.read_text() == text
    file.write_text("mine")
    code, out, err = line("sessions", "export", session_id, str(file))
    assert (code, out) == (2, "") and "exists" in err
    assert file.read_text() == "mine"
    printed(line, "export", session_id, str(file), "--force")
    assert file.read_text() == text


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
@pytest.mark.req("R-CRD-02")
def test_a_key_stands_in_no_export(line, monkeypatch, form):
    session_id = begun(line, f"my key is {CANARY}", f"Is it {CANARY}?")
    assert CANARY in printed(line, "export", session_id, "--format", form)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    out = printed(line, "export", session_id, "--format", form)
    assert CANARY not in out and "my key is [hidden key]" in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("export", new_session_id()), "sessions list"),
        (("fork", new_session_id()), "sessions list"),
        (("import", "no-such-file"), "cannot be read"),
        (("search",), "WORD"),
        (("export", "nonsense"), "not a session id"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_2(line, argv, words):
    code, out, err = line("sessions", *argv)
    assert (code, out) == (2, "")
    assert words in err


def test_what_is_no_export_is_refused_and_nothing_is_stored(line, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("hello\n")
    code, _, err = line("sessions", "import", str(file))
    assert code == 2 and "line 1" in err and str(file) in err
    code, _, err = line("sessions", "fork", begun(line), "--at", new_id())
    assert code == 2 and "no message" in err
    assert len(json.loads(printed(line, "list", "--json"))) == 1


@pytest.mark.req("R-CST-01")
def test_what_has_no_known_price_is_not_listed_as_free(line):
    with ProviderServer([Reply("It waits.")]) as server:
        config = f'[providers.mine]\napi = "chat"\nbase_url = "{server.url}/v1"\n'
        config_file(resolve_paths()).write_text(config)
        assert line("-p", "why?", "-m", "mine:any")[0] == 0
    assert "  unpriced  " in printed(line, "list")
    assert [each["unpriced"] for each in json.loads(printed(line, "list", "--json"))] == [True]
