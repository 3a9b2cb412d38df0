import json
import logging
import os
import re
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.local_server import LocalServer, head
from tests.tools.sandbox.levels import FixedMeter, require
from yourtool.cli import doctor, main
from yourtool.cli.arguments import Arguments
from yourtool.cli.config import get_ui_warnings
from yourtool.cli.logfile import MAX_LOG_BYTES, PrivateLogHandler, log_to_file
from yourtool.cli.parsed_arguments import parse_arguments
from yourtool.cli.parser import COMMANDS
from yourtool.cli.sessions import parse_session_prefix
from yourtool.errors import UsageError
from yourtool.ids import new_session_id
from yourtool.paths import resolve_paths
from yourtool.run_result import ExitCode
from yourtool.settings.config import Mode, config_file, load_config, load_report
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.settings.ui_config import UiConfig
from yourtool.store.sqlite.database import Database

pytestmark = pytest.mark.usefixtures("own_logging")

SECRET = "sk-ant-0123456789abcdefghijklmnop"


@pytest.fixture
def run(capsys):
    def command(*argv: str) -> tuple[int, str, str]:
        code = main(argv)
        return (code, *capsys.readouterr())

    return command


@pytest.mark.req("R-CLI-03")
def test_every_run_option_is_parsed(tmp_path):
    arguments = parse_arguments(
        ["-p", "go", "-m", "sonnet", "--mode", "accept-edits", "--allow", "shell(ls*)", "--allow",
         "glob", "--deny", "shell(rm*)", "--cwd", str(tmp_path), "--add-dir", str(tmp_path),
         "--output-format", "json", "--max-turns", "3", "--max-cost", "0.50", "--attach", "a.png",
         "--effort", "high", "--session-dir", "here", "--no-color"]
    )  # fmt: skip
    assert arguments.prompt == "go"
    assert (arguments.model, arguments.mode) == ("sonnet", Mode.ACCEPT_EDITS)
    assert (arguments.allow, arguments.deny) == (("shell(ls*)", "glob"), ("shell(rm*)",))
    assert arguments.workspace == tmp_path.resolve()
    assert arguments.add_dirs == (tmp_path.resolve(),)
    assert (arguments.max_turns, arguments.max_cost) == (3, Decimal("0.50"))
    assert arguments.attachments == ("a.png",)
    assert (arguments.effort, arguments.session_dir, arguments.no_color) == ("high", "here", True)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--mode", "yolo"], "invalid choice"),
        (["--max-turns", "0"], "positive integer"),
        (["--max-cost", "lots"], "0.50"),
        (["--max-cost", "-1"], "0.50"),
        (["--max-cost", "nan"], "0.50"),
        (["--cwd", "/does/not/exist"], "not a directory"),
        (["-c", "-r", "x"], "cannot be combined"),
        (["--output-format", "json"], "requires `-p`"),
        (["-p", "x", "-r"], "sessions list"),
        (["--modl=x"], "unrecognized"),
        (["--mod=x"], "unrecognized"),
        (["sessoins"], "did you mean `sessions`?"),
        (["sesions"], "`yourtool -- sesions` sends it as a prompt"),
        (["Model"], "did you mean `models`?"),
        (["completion", "ksh"], "invalid choice"),
        (["fix", "the", "bug"], "quote a prompt of several words"),
        (["fix", "sessions", "list"], "`sessions` takes no prompt"),
        (["--", "fix", "-c"], "quote a prompt of several words"),
        (["-p", "fix", "the"], "there are two prompts"),
        (["sessions"], "list|show"),
        (["config", "edit"], "invalid choice"),
    ],
)
def test_usage_error_has_two_lines_and_exits_2(run, argv, words):
    code, out, err = run(*argv)
    assert (code, out) == (ExitCode.USAGE, "")
    assert words in err
    assert err.startswith("yourtool: ")
    assert err.count("\n") <= 2


@pytest.mark.parametrize(
    ("argv", "first_prompt"),
    [
        ([], ""),
        (["fix the failing test"], "fix the failing test"),
        (["-m", "sonnet", "fix it", "--mode", "plan", "-c"], "fix it"),
        (["hello", "--attach", "a.png"], "hello"),
        (["-r", "01ABC", "go on"], "go on"),
        (["--", "sessions"], "sessions"),
        (["-c", "--", "--help"], "--help"),
        (["-c", "--"], ""),
        (["what is sessions.py?"], "what is sessions.py?"),
    ],
)
@pytest.mark.req("R-CLI-01")
def test_word_that_is_no_command_is_the_first_prompt_of_the_interface(argv, first_prompt):
    arguments = parse_arguments(argv)
    assert (arguments.command, arguments.prompt) == ("", None)
    assert arguments.first_prompt == first_prompt


def test_options_around_the_first_prompt_are_parsed():
    arguments = parse_arguments(["-m", "sonnet", "fix it", "--mode", "plan", "--attach", "a.png"])
    assert (arguments.model, arguments.mode) == ("sonnet", Mode.PLAN)
    assert arguments.attachments == ("a.png",)


def test_headless_prompt_may_stand_after_other_options():
    arguments = parse_arguments(["-p", "--model", "sonnet", "fix it"])
    assert (arguments.prompt, arguments.first_prompt) == ("fix it", "")


def test_an_empty_command_line_has_the_defaults():
    assert parse_arguments([]) == Arguments(workspace=Path.cwd().resolve())


@pytest.mark.parametrize("argv", [["sessions", "list"], ["-m", "x", "models"], ["route", "fix it"]])
def test_name_of_a_command_is_never_a_prompt(argv):
    arguments = parse_arguments(argv)
    assert arguments.command in COMMANDS
    assert arguments.first_prompt == ""


@given(st.lists(st.text(max_size=8), max_size=4))
def test_any_command_line_is_parsed_or_rejected(argv):
    try:
        parse_arguments([each for each in argv if not each.startswith(("-h", "--h", "--v"))])
    except UsageError:
        return
    except SystemExit as left:
        assert left.code == 0


def test_help_lists_every_command_and_exit_code(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0
    assert "None" not in text
    assert all(re.search(rf"^ +{command} ", text, re.MULTILINE) for command in COMMANDS)
    assert all(str(int(code)) in text for code in ExitCode)


def test_interface_without_a_terminal_suggests_headless_mode(run, monkeypatch):
    monkeypatch.setattr(os, "isatty", lambda _: False)
    code, out, err = run()
    assert (code, out) == (ExitCode.USAGE, "")
    assert "-p" in err


def test_bug_is_one_line_on_the_screen_and_a_traceback_in_the_log(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "yourtool.cli.models", object())
    code, _, err = run("models")
    log = resolve_paths().log_file
    assert code == ExitCode.FAILED
    assert err == f"yourtool: internal error; see `{log}`\n"
    assert "Traceback" in log.read_text()


@pytest.mark.req("R-CFG-01")
def test_config_show_prints_every_value_with_its_source(run, monkeypatch):
    config_file(resolve_paths()).write_text(
        f'theme = "light"\n[providers.box]\nheaders = {{ Authorization = "{SECRET}" }}\n'
    )
    monkeypatch.setenv("YOURTOOL_EFFORT", "low")
    code, out, _ = run("--mode", "plan", "config", "show", "--json")
    rows = {row["key"]: row for row in json.loads(out)}
    assert code == 0
    assert (rows["mode"]["value"], rows["mode"]["source"]) == ("plan", "option --mode")
    assert (rows["effort"]["value"], rows["effort"]["source"]) == (
        "low", "environment YOURTOOL_EFFORT"
    )  # fmt: skip
    assert rows["theme"]["source"] == str(config_file(resolve_paths()))
    assert rows["model"]["source"] == "default"
    assert rows["providers.box.headers"]["value"] == {"Authorization": "***"}
    assert SECRET not in run("config", "show")[1]


def test_config_check_lists_every_problem_with_its_position(run):
    assert run("config", "check")[0] == 0
    config_file(resolve_paths()).write_text('thme = "x"\n[limits]\nmax_retries = "2"\n')
    code, out, err = run("config", "check")
    assert (code, out) == (ExitCode.USAGE, "")
    assert ":1: `thme`" in err and "did you mean `theme`?" in err
    assert ":3: `limits.max_retries`" in err
    code, out, err = run("config", "check", "--json")
    assert (code, err) == (ExitCode.USAGE, "")
    first, second = json.loads(out)["problems"]
    assert (first["line"], first["key"], first["nearest"]) == (1, "thme", "theme")
    assert second["line"] == 3


def test_config_check_lists_commands_outside_the_sandbox_that_are_none(run):
    entries = '["git push *", "a && b", "* push", "shell(git push)"]'
    config_file(resolve_paths()).write_text(f"[sandbox]\noutside = {entries}\n")
    code, out, err = run("config", "check")
    assert (code, out) == (ExitCode.USAGE, "")
    assert err.count(":2: `sandbox.outside`: `") == 3
    for entry in ("a && b", "* push", "shell(git push)"):
        assert f"`{entry}` is not one command of plain words" in err


def test_config_check_names_the_files_that_it_read(run, home, tmp_path, monkeypatch):
    work = tmp_path / "work"
    (work / ".yourtool").mkdir(parents=True)
    monkeypatch.chdir(work)
    own = resolve_paths().home
    own.mkdir(parents=True, exist_ok=True)
    read = [own / name for name in ("config.toml", "models.toml", "routing.toml")]
    read += [work / ".yourtool" / name for name in ("config.toml", "routing.toml")]
    for each in read:
        each.write_text("\n")
    code, out, err = run("config", "check")
    assert (code, err) == (0, "")
    assert out.splitlines() == [*map(str, read), "no problems"]


@pytest.mark.req("R-TUI-23")
def test_config_check_lists_mistakes_in_keys_with_their_position(run):
    config_file(resolve_paths()).write_text(
        '[ui.keys]\nchat.retry = "ctrl+o"\n"chat.rety" = "f5"\n'
    )
    code, out, err = run("config", "check")
    assert (code, out) == (ExitCode.USAGE, "")
    assert ":2: `ui.keys.chat.retry`: `ctrl+o` is also the key of `chat.folds`" in err
    assert "free this one with `chat.folds = []`" in err
    assert ":3:" in err and "did you mean `chat.retry`?" in err
    config_file(resolve_paths()).write_text('[ui.keys]\nchat.retry = "f5"\n')
    assert run("config", "check")[0] == 0


@pytest.mark.needs("extensions/vim")
@pytest.mark.req("R-TUI-23")
@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ('keymap = "clade"', ":2: `ui.keymap`: "),
        ("keymap = 3", ":2: `ui.keymap`: "),
        ('keys = "ctrl+t"', ":2: `ui.keys`: "),
    ],
)
def test_mistake_in_the_keys_is_reported_but_prevents_nothing(run, keys, problem):
    paths = resolve_paths()
    config_file(paths).write_text(f"[ui]\n{keys}\nvim = true\n")
    code, out, err = run("config", "check")
    assert (code, out) == (ExitCode.USAGE, "")
    assert problem in err
    assert load_config(paths).ui == UiConfig(vim=True)
    assert get_ui_warnings(paths, load_report(paths)) == ()


@pytest.mark.req("R-TUI-23")
@pytest.mark.parametrize(
    ("theme", "problem"),
    [("nosuch", "there is no theme `nosuch`"), ("mine", "mine.toml` is not a usable theme")],
)
def test_unusable_theme_is_reported_but_prevents_nothing(run, home, monkeypatch, theme, problem):
    paths = resolve_paths()
    (paths.home / "themes").mkdir(parents=True)
    (paths.home / "themes" / "mine.toml").write_text("colour = 1")
    config_file(paths).write_text(f'model = "sonnet"\ntheme = "{theme}"\n')
    code, out, err = run("config", "check")
    assert (code, out) == (ExitCode.USAGE, "")
    assert ":2: `theme`: " in err and problem in err
    [warning] = get_ui_warnings(paths, load_report(paths))
    assert "The default theme is used" in warning and problem in warning
    monkeypatch.setenv("YOURTOOL_THEME", "other")
    [warning] = get_ui_warnings(paths, load_report(paths))
    assert "environment YOURTOOL_THEME: `theme`: there is no theme `other`" in warning


def test_config_path_prints_every_path(run, home):
    places = json.loads(run("config", "path", "--json")[1])
    assert all(Path(path).is_relative_to(home) for path in places.values())


def test_config_path_prints_every_directory_that_the_program_writes_to(run, monkeypatch, tmp_path):
    monkeypatch.delenv("YOURTOOL_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    for kind in ("DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    paths = resolve_paths()
    printed = {Path(path) for path in json.loads(run("config", "path", "--json")[1]).values()}
    assert {paths.home, paths.data, paths.state, paths.cache} <= printed
    assert len({paths.home, paths.data, paths.state, paths.cache}) == 4


@pytest.mark.req("R-EASE-03")
def test_models_queries_servers_only_with_probe(run, monkeypatch):
    shown = {
        "capabilities": ["completion", "tools"],
        "model_info": {"general.architecture": "q", "q.context_length": 4096},
    }
    listed = {"data": [{"id": "gpt-new"}, {"id": "gpt-5"}]}

    def answer(headers, body):
        if "x-api-key" in headers:
            return [head(404, 0)]
        ollama = shown if body else {"models": [{"model": "qwen3:8b"}]}
        text = json.dumps(listed if "authorization" in headers else ollama).encode()
        return [head(200, len(text)), text]

    with LocalServer(answer) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        plain = {row["id"]: row for row in json.loads(run("models", "--json")[1])}
        assert server.requests == []
        rows = {row["id"]: row for row in json.loads(run("models", "--probe", "--json")[1])}
        table = run("models", "--probe")[1]
        asked = len(server.requests)
        kept = {row["id"]: row for row in json.loads(run("models", "--json")[1])}
        assert len(server.requests) == asked
    assert kept["ollama:qwen3:8b"].pop("described_at") > rows["ollama:qwen3:8b"].pop("described_at")
    assert kept["ollama:qwen3:8b"] == rows["ollama:qwen3:8b"]
    assert kept["anthropic:claude-sonnet-4-6"]["described_at"] is None
    assert re.search(r"ollama:qwen3:8b .* \d+ s ago", table)
    qwen, new = rows["ollama:qwen3:8b"], rows["openai:gpt-new"]
    assert qwen["capabilities"]["max_context_tokens"] == 4096
    assert (qwen["known"], qwen["configured"]) == (True, True)
    assert Decimal(qwen["price"]["input_per_mtok_usd"]) == 0
    assert (new["known"], new["price"]) == (False, None)
    assert rows["openai:gpt-5"].pop("described_at") is not None
    assert rows["openai:gpt-5"].items() < plain["openai:gpt-5"].items()
    assert re.search("Found on the usual local ports: .*Ollama", table)
    assert "Cannot list the models of `anthropic`: " in table


@pytest.mark.req("R-EASE-03")
def test_damaged_model_cache_is_reported_and_not_changed(run, home):
    (home / "cache").mkdir()
    (home / "cache" / "models.json").write_text('[{"provider": 1}]')
    code, out, _ = run("models")
    assert code == ExitCode.ANSWERED
    assert "The cached model lists are not used" in out
    assert "`yourtool models --probe` writes a new one" in out


@pytest.mark.req("R-EASE-03")
def test_unwritable_model_cache_is_reported_and_models_are_listed(run, home, monkeypatch):
    (home / "cache").write_text("no directory")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    code, out, _ = run("models", "--probe")
    assert code == ExitCode.ANSWERED
    assert f"cannot write `{home / 'cache' / 'models.json'}`: " in out
    assert "openai:gpt-5" in out


def test_models_reports_which_are_configured_and_why_others_are_not(run, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    rows = {row["id"]: row for row in json.loads(run("models", "--json")[1])}
    sonnet, gpt = rows["anthropic:claude-sonnet-4-6"], rows["openai:gpt-5"]
    assert (sonnet["configured"], sonnet["why_not"]) == (True, None)
    assert sonnet["capabilities"]["supports_images"]
    assert Decimal(sonnet["price"]["input_per_mtok_usd"]) == 3
    assert not gpt["configured"]
    assert "OPENAI_API_KEY" in gpt["why_not"]
    table = run("models")[1]
    assert table.index("anthropic:claude-sonnet-4-6") < table.index("openai:gpt-5")
    assert "OPENAI_API_KEY" in table


@pytest.mark.needs("extensions/agents")
def test_models_marks_an_agent_without_its_program(run):
    config_file(resolve_paths()).write_text(
        f"[agents.there]\ncommand = ['{sys.executable}']\n"
        "[agents.away]\ncommand = ['no-such-agent']\n"
    )
    rows = {row["id"]: row for row in json.loads(run("models", "--json")[1])}
    assert rows["acp:there"]["configured"]
    assert not rows["acp:away"]["configured"]
    assert "There is no program `no-such-agent`" in rows["acp:away"]["why_not"]
    lines = [each.split() for each in run("models")[1].splitlines()]
    marks = {words[1]: words[0] for words in lines if len(words) > 1}
    assert (marks["acp:there"], marks["acp:away"]) == ("✓", "–")


def test_route_is_a_dry_run_with_a_reason_for_every_slot(run, home):
    code, out, _ = run("route", "--json", "hello")
    decided = json.loads(out)
    assert code == 0
    assert decided["chosen_model"] == "demo:tour"
    assert len(decided["chain"]) == 7
    assert all(step["reason"] for step in decided["chain"])
    assert not {"id", "session_id", "type"} & set(decided)
    assert "global default" in run("route", "hello")[1]


@pytest.mark.parametrize(
    "bad", [b"nonsense", b'{"prompt": "\xff"}', b'{"prompt": "a", "x": ' + b"[" * 100_000]
)
def test_route_reads_json_lines(run, monkeypatch, tmp_path, bad):
    lines = tmp_path / "lines"
    lines.write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    with lines.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert len(run("route", "-")[1].splitlines()) == 2
    lines.write_bytes(bad + b"\n")
    with lines.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        code, _, err = run("route", "-")
    assert code == ExitCode.USAGE
    assert "line 1" in err


def test_route_handles_an_alias_mention_and_a_model_without_a_key(run, monkeypatch, tmp_path):
    code, out, _ = run("route", "--json", "@sonnet hello")
    decided = json.loads(out)
    assert (code, decided["winner_index"], decided["chosen_model"]) == (ExitCode.NO_MODEL, -1, None)
    assert decided["chain"][0]["policy"] == "per_message_override"
    assert decided["chain"][0]["validation_failure"] == "not_configured"
    code, out, _ = run("-m", "sonnet", "route", "--json", "hello")
    assert (code, json.loads(out)["chain"][1]["validation_failure"]) == (4, "not_configured")
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    assert json.loads(run("route", "--json", "@sonnet hello")[1])["winner_index"] == 0
    lines = tmp_path / "lines"
    lines.write_text('{"prompt": "@sonet a"}\n{"prompt": "b"}\n')
    with lines.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        code, out, _ = run("route", "-")
    first, second = map(json.loads, out.splitlines())
    assert code == ExitCode.USAGE
    assert "sonet" in first["error"]
    assert second["chosen_model"].startswith("anthropic:")


@pytest.mark.req("R-CLI-04")
def test_doctor_finds_a_local_model_server(run, monkeypatch):
    listed = b'{"models":[{"model":"qwen3:8b"}]}'
    with LocalServer(lambda *_: [head(200, len(listed)), listed]) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        out = run("doctor")[1]
    assert re.search(rf"local server +Ollama +1 model at {server.url}", out)


@pytest.mark.needs("extensions/agents")
@pytest.mark.req("R-CLI-04")
def test_doctor_looks_for_the_programs_of_agents(run, home):
    agents = '[agents.shell]\ncommand = ["sh"]\n[agents.gone]\ncommand = ["./no-agent"]\n'
    (home / "config.toml").write_text(agents)
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    found = {each["name"]: each for each in checks if each["area"] == "agent"}
    assert found["shell"]["status"] == "ok" and found["shell"]["detail"].endswith("/sh")
    assert "There is no program `./no-agent`" in found["gone"]["detail"]


@pytest.mark.req("R-CLI-04")
def test_doctor_reports_a_local_server_that_is_not_running(run, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    [ollama] = [each for each in checks if (each["area"], each["name"]) == ("provider", "ollama")]
    assert ollama["status"] == "note"
    assert ollama["detail"] == "no key required; not running: start it with `ollama serve`"


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("full", "full, inspected: files, processes, network (hosts: example.org)"),
        (
            "landlock",
            "landlock, measured: files, no network; bubblewrap (`bwrap`) is not installed;",
        ),
        ("none", "none: commands ask, or are refused; bubblewrap (`bwrap`) is not installed;"),
    ],
)
def test_doctor_shows_the_measured_level_of_the_sandbox(run, home, monkeypatch, level, shown):
    settings = 'enabled = true\nfallback = "landlock"\nrequire = "full"\nhosts = ["example.org"]\n'
    (home / "config.toml").write_text(f"[sandbox]\n{settings}")
    found = SandboxLevel(level)
    if found is SandboxLevel.FULL:
        require(found)
    monkeypatch.setattr(doctor, "LevelMeter", lambda config, _: FixedMeter(config, found))
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    [sandbox] = [each for each in checks if each["area"] == "sandbox"]
    assert sandbox["detail"].startswith(shown)
    assert sandbox["status"] == ("ok" if level == "full" else "note")
    assert ("every command needs an approval" in sandbox["detail"]) == (level != "full")


@pytest.mark.req("R-CLI-04")
def test_doctor_masks_keys_and_finds_problems(run, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    code, out, _ = run("doctor", "--json")
    report = json.loads(out)
    assert (code, report["ok"]) == (0, True)
    assert SECRET not in out
    areas = {check["area"] for check in report["checks"]}
    assert {"config", "provider", "sandbox", "terminal", "store", "log"} <= areas
    [key] = [c for c in report["checks"] if (c["area"], c["name"]) == ("provider", "anthropic")]
    assert "ANTHROPIC_API_KEY" in key["detail"]
    paths = resolve_paths()
    paths.data.mkdir()
    paths.database.write_bytes(b"this is no database at all" * 100)
    paths.database.chmod(0o644)
    config_file(paths).write_text("x = 1")
    code, out, _ = run("doctor")
    assert code == ExitCode.FAILED
    assert out.count("✗") == 3
    assert f"chmod 600 {paths.database}" in out


def test_sessions_list_reports_an_empty_store(run):
    assert run("sessions", "list") == (0, "There are no sessions yet.\n", "")
    assert json.loads(run("sessions", "list", "--json")[1]) == []


@pytest.mark.parametrize("typed", ["sess_!", "hello world", "ZZZ", "I" * 26, "0" * 27])
def test_invalid_session_id_is_rejected(run, typed):
    code, _, err = run("sessions", "show", typed)
    assert code == ExitCode.USAGE
    assert typed in err


def test_unknown_session_id_is_reported(run):
    code, _, err = run("sessions", "show", new_session_id())
    assert code == ExitCode.USAGE
    assert "sessions list" in err


def test_every_prefix_of_an_id_is_accepted():
    session_id = new_session_id()
    for length in range(6, len(session_id) + 1):
        assert parse_session_prefix(session_id[:length]) == session_id[5:length]
    assert parse_session_prefix(session_id[5:].lower()) == session_id[5:].lower()


@pytest.mark.req("R-CRD-02", "R-CRD-05")
def test_log_is_private_and_contains_no_key(monkeypatch):
    paths = resolve_paths()
    monkeypatch.setenv("MY_BOX_SECRETS", "canary-by-config-0001")
    config_file(paths).write_text('[providers.box]\nkey_env = "MY_BOX_SECRETS"\n')
    credentials = paths.home / "credentials.toml"
    credentials.write_text('schema_version = 1\n[providers.x]\napi_key = "canary-in-file-0002"\n')
    credentials.chmod(0o600)
    log_to_file(paths, {**os.environ, "SOME_TOKEN": "canary-token-0003"})
    assert not paths.log_file.exists()
    keys = ("canary-by-config-0001", "canary-in-file-0002", "canary-token-0003")
    try:
        raise ValueError(" ".join(keys))
    except ValueError:
        logging.getLogger("yourtool.x").exception("failed with %s", keys)
    text = paths.log_file.read_text()
    assert "ValueError" in text
    assert not any(key in text for key in keys)
    assert stat.S_IMODE(paths.log_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(paths.log_file.parent.stat().st_mode) == 0o700


@pytest.mark.req("R-CRD-05")
def test_full_log_is_rotated_once():
    paths = resolve_paths()
    log_to_file(paths)
    for text in ("a" * MAX_LOG_BYTES, "b" * MAX_LOG_BYTES, "c"):
        logging.getLogger("yourtool.x").warning(text)
    older = paths.log_file.with_suffix(".log.1")
    assert paths.log_file.read_text().endswith("c\n")
    assert "bbb" in older.read_text()
    assert len(list(paths.log_file.parent.iterdir())) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_full_disk_silences_the_log_without_an_error(monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    log = PrivateLogHandler(Path("/dev/full"))
    log.emit(logging.makeLogRecord({"msg": "there is no room for this"}))
    with pytest.raises(OSError, match="No space left"):
        log.close()


@pytest.mark.req("R-CRD-05")
async def test_database_is_private():
    paths = resolve_paths()
    database = Database(paths.database)
    await database.write(lambda connection: None)
    await database.close()
    assert stat.S_IMODE(paths.database.stat().st_mode) == 0o600


def test_python_m_yourtool_runs_the_same_program():
    done = subprocess.run(
        [sys.executable, "-m", "yourtool", "--version"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("yourtool 0.")
