"""`yourtool -p` with real store, tools and permissions; only the model is scripted."""

import base64
import json

import pytest

from tests.provider_server import ProviderServer, Reply
from yourtool.messages.blobs import read_blob
from yourtool.paths import resolve_paths
from yourtool.settings.config import config_file

pytestmark = pytest.mark.usefixtures("own_logging")

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TOUCH = {"call": "shell", "input": {"command": "touch made"}}


@pytest.mark.req("R-CLI-01")
def test_standard_output_has_only_the_answer(line):
    line.script([{"say": "I look."}, {"call": "list_dir", "input": {}}], [{"say": "Two cats."}])
    assert line("-p", "how many cats?") == (0, "Two cats.\n", "")


@pytest.mark.req("R-CLI-01")
def test_standard_input_is_appended_to_the_prompt(line):
    line.script([{"say": "ok"}])
    line.type("from a pipe")
    [started] = [e for e in line.events("-p", "look:") if e["type"] == "turn.started"]
    assert started["message"]["content"][0]["text"] == "look:\n\nfrom a pipe"


@pytest.mark.req("D16")
def test_byte_order_mark_of_standard_input_is_removed(line):
    line.script([{"say": "ok"}])
    line.type("\ufefffrom a pipe")
    [started] = [e for e in line.events("-p", "look:") if e["type"] == "turn.started"]
    assert started["message"]["content"][0]["text"] == "look:\n\nfrom a pipe"


def test_standard_input_can_be_the_only_prompt(line):
    line.script([{"say": "ok"}])
    line.type("do it")
    assert line("-p")[0] == 0


def test_slash_command_is_sent_as_text(line):
    line.script([{"say": "ok"}])
    [started] = [e for e in line.events("-p", "/cost") if e["type"] == "turn.started"]
    assert started["message"]["content"][0]["text"] == "/cost"


def test_empty_prompt_is_rejected(line):
    line.script([{"say": "ok"}])
    code, out, err = line("-p", "  ")
    assert (code, out) == (2, "")
    assert "no prompt" in err


@pytest.mark.req("R-CLI-02")
def test_result_object_has_every_documented_field(line):
    line.script([{"say": "fine"}])
    result = line.result("-p", "hi")
    assert set(result) == {
        "type", "session_id", "turn_id", "result", "stop_reason", "model", "provider", "routing",
        "usage", "cost_usd", "pricing_version", "num_requests", "duration_ms", "is_error", "error",
        "permission_denials", "exit_code", "unpriced_requests", "reported_cost_usd", "reply",
    }  # fmt: skip
    assert result["type"] == "result"
    assert result["session_id"].startswith("sess_")
    assert (result["result"], result["stop_reason"]) == ("fine", "end_turn")
    assert (result["model"], result["provider"]) == ("demo:file", "demo")
    assert result["routing"]["mode"] == "default"
    assert set(result["usage"]) == {
        "input_tokens", "output_tokens", "cached_input_tokens", "cache_creation_input_tokens"
    }  # fmt: skip
    assert isinstance(result["cost_usd"], str)
    assert (result["num_requests"], result["is_error"], result["error"]) == (1, False, None)
    assert result["permission_denials"] == []


@pytest.mark.req("R-CLI-02")
def test_stream_has_events_in_order_and_ends_with_the_result(line):
    line.script([{"say": "hi"}, TOUCH], [{"say": "done"}])
    kinds = [event["type"] for event in line.events("-p", "go", "--mode", "auto")]
    order = [
        "turn.started", "route.decided", "llm.call_started", "message_start", "text_delta",
        "tool_use_start", "tool_use_end", "message_complete", "llm.call_completed", "tool.called",
        "tool.completed", "turn.completed", "result",
    ]  # fmt: skip
    assert sorted(order, key=kinds.index) == order
    assert kinds[-1] == "result"
    assert kinds.count("route.decided") == 1


@pytest.mark.req("R-CLI-03")
def test_call_that_needs_approval_is_denied_listed_and_exits_3(line):
    line.script([TOUCH], [{"say": "I could not."}])
    result = line.result("-p", "touch")
    assert result["exit_code"] == 3
    [denial] = result["permission_denials"]
    assert denial["tool_name"] == "shell"
    assert denial["tool_use_id"].startswith("tu_")
    assert "touch made" in denial["input_summary"]
    assert result["result"] == "I could not."
    assert not list(line.workspace.iterdir())


def test_denied_command_is_listed_with_the_rules_that_it_needs_and_no_others(line):
    command = {"command": "mkdir made && make && touch made/x"}
    line.script([{"call": "shell", "input": command}], [{"say": "I could not."}])
    [denial] = line.result("-p", "go")["permission_denials"]
    needed = ["shell(mkdir *)", "shell(make)", "shell(touch *)"]
    assert denial["rules"] == needed
    options = " ".join(f"--allow '{each}'" for each in needed)
    assert f"allow it next time with `{options}` or another" in denial["reason"]


def test_model_reads_that_no_user_is_present_and_what_would_allow_its_call(line):
    line.script([TOUCH], [{"say": "I could not."}])
    [denial] = line.result("-p", "touch")["permission_denials"]
    assert denial["reason"] == (
        "`shell` was not run: it needs an approval in the mode `ask` (`touch` can do more than read"
        " files), and no user is present to give one. Do without it, or say in your answer what you"
        " could not do. The user can allow it next time with `--allow 'shell(touch *)'` or another"
        " `--mode`."
    )
    line.script([{"call": "shell", "input": {"command": "touch .envrc"}}], [{"say": "No."}])
    [denial] = line.result("-p", "touch", "--mode", "auto")["permission_denials"]
    assert (
        "(it writes to `.envrc`, a protected place: shells and other programs run it by"
        " its name), and no user is present" in denial["reason"]
    )
    assert "--allow" not in denial["reason"]


def test_denial_is_reported_on_standard_error(line):
    line.script([TOUCH], [{"say": "I could not."}])
    code, out, err = line("-p", "touch")
    assert (code, out) == (3, "I could not.\n")
    assert "denied `shell`" in err
    assert "--allow" in err


@pytest.mark.parametrize("form", ["text", "json"])
def test_call_that_a_hook_denies_is_reported_with_its_reason(line, form):
    line.script([TOUCH], [{"say": "I could not."}])
    hook = '[[hooks]]\nevent = "PreToolUse"\ncommand = "echo no touching >&2; exit 2"\n'
    file = config_file(resolve_paths())
    file.write_text(file.read_text() + hook)
    _, out, err = line("-p", "touch", "--mode", "auto", "--output-format", form)
    if form == "json":
        [denial] = json.loads(out)["permission_denials"]
        assert "no touching" in denial["reason"]
    last = err.splitlines()[-1]
    assert last.startswith("yourtool: denied `shell`") and "no touching" in last
    assert "--allow" not in last, "no rule beats a hook"


@pytest.mark.parametrize("options", [["--allow", "shell(touch made)"], ["--mode", "auto"]])
@pytest.mark.req("R-CLI-03")
def test_rule_or_mode_allows_the_call(line, options):
    line.script([TOUCH], [{"say": "made"}])
    events = line.events("-p", "touch", *options)
    assert events[-1]["exit_code"] == 0
    assert any(event["type"] == "tool.completed" and event["success"] for event in events)


@pytest.mark.req("R-CLI-03")
def test_deny_overrides_allow(line):
    line.script([TOUCH], [{"say": "no"}])
    events = line.events("-p", "x", "--allow", "shell", "--deny", "shell(touch*)")
    assert not any(event["type"] == "tool.called" for event in events)
    assert [each["tool_name"] for each in events[-1]["permission_denials"]] == ["shell"]
    assert events[-1]["exit_code"] == 3
    assert not list(line.workspace.iterdir())


@pytest.mark.req("R-CLI-03")
def test_call_forbidden_by_the_mode_is_a_denial(line):
    line.script([TOUCH], [{"say": "The plan is to touch it."}])
    result = line.result("-p", "x", "--mode", "plan")
    assert (result["exit_code"], result["result"]) == (3, "The plan is to touch it.")
    [denial] = result["permission_denials"]
    assert "touch made" in denial["input_summary"]


def test_path_outside_the_workspace_is_not_a_denial(line):
    line.script([{"call": "read_file", "input": {"path": "/etc/hosts"}}], [{"say": "I may not."}])
    result = line.result("-p", "x")
    assert (result["exit_code"], result["permission_denials"]) == (0, [])


@pytest.mark.req("R-CLI-03")
def test_request_limit_answers_pending_calls_and_exits_5(line):
    line.script([{"call": "list_dir", "input": {}}], [{"say": "never"}])
    events = line.events("-p", "go", "--max-turns", "1")
    assert events[-1]["exit_code"] == 5
    assert events[-1]["error"]["class"] == "limit"
    assert events[-1]["num_requests"] == 1
    assert sum(event["type"] == "tool.failed" for event in events) <= 1
    uses = sum(event["type"] == "tool_use_end" for event in events)
    answers = sum(event["type"] in ("tool.completed", "tool.failed") for event in events)
    assert uses == answers


def test_loop_of_a_model_ends_the_run_with_exit_code_5(line):
    line.script(*[[{"call": "list_dir", "input": {}}]] * 9)
    events = line.events("-p", "go")
    assert (events[-1]["exit_code"], events[-1]["num_requests"]) == (5, 5)
    assert "in a loop" in events[-1]["error"]["message"]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        ("rate_limit", 75),
        ("server_error", 75),
        ("network", 75),
        ("auth", 1),
        ("invalid_request", 1),
    ],
)
def test_failed_request_reports_its_class_and_retryability(line, failure, code):
    line.script([{"fail": failure, "message": "It broke."}])
    result = line.result("-p", "go")
    assert result["exit_code"] == code
    assert result["is_error"]
    assert result["error"]["class"] == failure
    assert result["error"]["message"] == "It broke."
    assert (result["model"], result["provider"]) == ("demo:file", "demo")
    assert result["error"]["retryable"] == (code == 75)


def test_demo_script_does_not_answer_without_a_key(line):
    code, out, err = line("-p", "go")
    assert (code, out) == (4, "")
    assert "ANTHROPIC_API_KEY" in err
    assert "credentials.toml" in err and "/key" not in err


def test_chosen_model_without_a_key_exits_4(line):
    result = line.result("-p", "go", "-m", "anthropic:claude-sonnet-4-6")
    assert result["exit_code"] == 4
    assert result["error"]["class"] == "routing_failed"
    assert "anthropic" in result["error"]["message"]


def test_chosen_model_without_a_key_exits_4_in_a_resumed_session(line):
    line.script([{"say": "one"}])
    first = line.result("-p", "a")["session_id"]
    assert line.result("-p", "b", "-r", first, "-m", "sonnet")["exit_code"] == 4
    assert line.result("-p", "b", "-r", first)["exit_code"] == 0


@pytest.mark.parametrize("option", ["--allow", "--deny"])
@pytest.mark.req("R-CLI-03")
def test_invalid_rule_is_a_usage_error(line, option):
    line.script([{"say": "never"}])
    code, out, err = line("-p", "go", option, "shell(")
    assert (code, out) == (2, "")
    assert "shell(" in err
    assert json.loads(line("sessions", "list", "--json")[1]) == []


def test_unknown_model_is_a_usage_error(line):
    line.script([{"say": "ok"}])
    code, out, err = line("-p", "go", "-m", "sonet")
    assert (code, out) == (2, "")
    assert "sonet" in err
    assert err.count("\n") <= 2


def add_settings(text):
    file = config_file(resolve_paths())
    file.write_text(f"{text}\n{file.read_text()}")


def test_mistake_in_the_settings_is_reported_and_prevents_nothing(line):
    line.script([{"say": "done"}])
    add_settings('thme = "light"')
    code, out, err = line("-p", "go")
    assert (code, out) == (0, "done\n")
    assert "config.toml:1: `thme`" in err
    assert "did you mean `theme`? `theme` is" in err


def test_mistake_that_may_hide_a_restriction_denies_calls_that_nobody_approves(line):
    line.script([{"call": "list_dir", "input": {"path": "."}}], [{"say": "done"}])
    add_settings('sandbox = {hiden = ["~/secret"]}')
    code, _, err = line("-p", "go", "--mode", "auto", "--allow", "list_dir")
    assert code == 3
    assert "config.toml:1: `sandbox.hiden`" in err and "every call needs an approval" in err
    assert "denied `list_dir`" in err


@pytest.mark.parametrize("name", ["models.toml", "prices.toml"])
def test_table_of_models_with_a_mistake_is_reported_and_prevents_nothing(line, name):
    (line.home / name).write_text("x = \n")
    line.script([{"say": "done"}])
    code, out, err = line("-p", "go")
    assert (code, out) == (0, "done\n")
    assert f"{name}: not TOML" in err and "No row of this file is used." in err


def test_session_can_be_continued_and_resumed(line):
    line.script([{"say": "one"}], [{"say": "two"}])
    first = line.result("-p", "a")["session_id"]
    again = line.result("-p", "b", "-r", first[5:18])
    assert again["session_id"] == first
    code, out, _ = line("sessions", "show", first)
    assert code == 0
    assert out.index("## user") < out.index("one") < out.index("b")


def test_continue_without_a_session_is_a_usage_error(line):
    line.script([{"say": "one"}])
    code, _, err = line("-p", "a", "-c")
    assert code == 2
    assert "no session" in err


def test_image_is_attached_to_the_prompt(line, tmp_path):
    picture = tmp_path / "dot.png"
    picture.write_bytes(PIXEL)
    line.script([{"say": "a dot"}])
    events = line.events("-p", "what is it?", "--attach", str(picture))
    started = next(event for event in events if event["type"] == "turn.started")
    assert started["has_images"]
    assert started["message"]["content"][1]["media_type"] == "image/png"


def test_text_document_is_attached_with_its_name(line, tmp_path):
    (tmp_path / "notes.md").write_text("# Plan\n\nShip it.\n")
    line.script([{"say": "fine"}])
    events = line.events("-p", "what is it?", "--attach", str(tmp_path / "notes.md"))
    started = next(event for event in events if event["type"] == "turn.started")
    assert started["message"]["content"][1]["text"] == "The file notes.md:\n\n# Plan\n\nShip it.\n"


def test_unsupported_attachment_is_rejected(line, tmp_path):
    (tmp_path / "program").write_bytes(b"\x7fELF\0\xff")
    line.script([{"say": "never"}])
    code, out, err = line("-p", "x", "--attach", str(tmp_path / "program"))
    assert (code, out) == (2, "")
    assert "images (PNG, JPEG, GIF, WebP), audio" in err
    assert line("-p", "x", "--attach", "missing.png")[0] == 2


@pytest.mark.req("D14")
def test_pdf_is_attached_and_not_stored_in_the_database(line, tmp_path):
    document = b"%PDF-1.7\n" + b"a long document " * 4_000
    (tmp_path / "plan.pdf").write_bytes(document)
    (tmp_path / "said.png").write_bytes(b"OggS a recording")
    able = '[models."demo:file"]\nsupports_audio = true\nsupports_documents = true\n'
    (line.home / "models.toml").write_text(able)
    line.script([{"say": "fine"}])
    both = ("--attach", str(tmp_path / "plan.pdf"), "--attach", str(tmp_path / "said.png"))
    code, out, err = line("-p", "what is it?", *both, "--output-format", "stream-json")
    assert code == 0, err
    assert "`said.png` is really audio/ogg" in err
    started = next(
        each for each in map(json.loads, out.splitlines()) if each["type"] == "turn.started"
    )
    _, pdf, sound = started["message"]["content"]
    assert (pdf["type"], pdf["name"], sound["type"]) == ("document", "plan.pdf", "audio")
    blobs = line.home / "data" / "blobs"
    assert read_blob(blobs, pdf["source"]["data"]) == document
    stored = b"".join(path.read_bytes() for path in (line.home / "data").glob("sessions.db*"))
    assert base64.b64encode(document)[:200] not in stored


@pytest.mark.req("R-CRD-02")
def test_key_never_appears_in_output_or_log(line, monkeypatch):
    canary = "sk-canary-0123456789abcdef"
    monkeypatch.setenv("ANTHROPIC_API_KEY", canary)
    line.script([{"fail": "server_error", "message": "failed"}])
    outputs = [
        *line("-p", "go", "--output-format", "stream-json")[1:],
        *line("doctor")[1:],
        *line("models", "--json")[1:],
        *line("config", "show")[1:],
    ]
    assert not any(canary in text for text in outputs)
    for path in line.home.rglob("*"):
        assert not path.is_file() or canary.encode() not in path.read_bytes()


def test_empty_reply_is_reported_on_standard_error(line):
    line.script([{"say": " "}])
    code, out, err = line("-p", "hi")
    assert (code, out.strip()) == (0, "")
    assert "the model returned no text" in err


def test_limit_that_ends_a_run_is_reported_once(line):
    line.script([{"call": "list_dir", "input": {}}], [{"say": "never"}])
    code, _, err = line("-p", "look", "--max-turns", "1")
    assert code == 5
    assert err.count("limit of 1 model requests") == 1


def test_long_retry_delay_of_a_provider_ends_the_run(line, monkeypatch):
    headers = {"retry-after": "600"}
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":"Too many tokens."}}'
    with ProviderServer([Reply(status=429, headers=headers, body=body), Reply("never")]) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        result = line.result("-p", "go", "-m", "opus")
        assert len(server.requests) == 1
    assert result["exit_code"] == 75
    assert result["error"]["retryable"]
    assert "is rate limited for 10 min" in result["error"]["message"]


def test_denied_credential_file_names_the_rule_that_allows_it(line):
    (line.workspace / ".env").write_text("TOKEN=CANARY-4711\n")
    read = [{"call": "read_file", "input": {"path": ".env"}}]
    line.script(read, [{"say": "I may not."}])
    code, _, err = line("-p", "read it", "--mode", "auto")
    assert code == 3
    assert "`--allow 'read_file(.env)'` allows it" in err
    line.script(read, [{"say": "I may not."}])
    [denial] = line.result("-p", "read it")["permission_denials"]
    assert denial["rule"] == "read_file(.env)"
    assert denial["rules"] == ["read_file(.env)"]
    line.script(read, [{"say": "I read it."}])
    events = line.events("-p", "read it", "--allow", denial["rule"])
    assert events[-1]["exit_code"] == 0
    assert any("CANARY-4711" in str(event) for event in events if event["type"] == "tool.completed")


def test_missing_model_error_names_the_configured_server(line):
    settings = '[providers.local]\nbase_url = "http://127.0.0.1:9/v1"\n'
    config_file(resolve_paths()).write_text(settings)
    code, _, err = line("-p", "hi")
    assert code == 4
    assert "`-m local:NAME`" in err


def test_failed_hook_at_the_end_of_the_session_is_reported_on_standard_error(line):
    line.script([{"say": "hi"}])
    file = config_file(resolve_paths())
    hook = '[[hooks]]\nevent = "SessionEnd"\ncommand = "echo no such place >&2; exit 7"\n'
    file.write_text(file.read_text() + hook)
    code, out, err = line("-p", "go")
    assert (code, out) == (0, "hi\n")
    assert "failed: exit code 7: no such place" in err
