"""The examples of the pages, copied letter by letter into a real home with every default."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from decimal import Decimal
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from tests.e2e.conftest import make_repository
from tests.e2e.terminal import Terminal
from tests.provider_server import ProviderServer, Reply
from tests.sandbox_here import get_variables
from tests.tools.sandbox.levels import find_reason
from yourtool.settings.sandbox_config import SandboxLevel

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
GENERATED = {
    "craft.md": "python -m tests.e2e.craft_page",
    "prompt.md": "docs/prompt_page.py",
    "tools.md": "docs/tool_tables.py",
}
"""Pages whose blocks are what the program printed, with what writes them."""
PAGES = sorted((ROOT / "docs").rglob("*.md"))
NOT_RUN = {
    ("README.md", "make run"): "needs a package registry",
    ("README.md", "make test"): "runs this test",
    ("README.md", "pip install --require-hashes"): "needs a package registry",
    ("acp.md", 'pip install "CLONE[acp]"'): "needs a package registry",
    ("performance.md", "make bench"): "takes minutes",
    ("architecture.md", "tui/input/turn_runner.py"): "a picture, compared in test_docs.py",
    ("architecture.md", "providers/wire.py"): "a picture, compared in test_docs.py",
    ("architecture.md", "agent/turn/calls/tool_runner.py"): "a picture, compared in test_docs.py",
}
"""Blocks without a test here, by their first line, with the reason."""


@cache
def read_blocks(page):
    """Return the fenced blocks of a page by their first lines."""
    text = (ROOT / page if page == "README.md" else ROOT / "docs" / page).read_text("utf-8")
    blocks = [textwrap.dedent(content) for _, _, content in _FENCE.findall(text)]
    assert len(blocks) * 2 == len(re.findall(r"^ *```", text, re.MULTILINE)), page
    found = dict[str, str]()
    for first, _, rest in (each.partition("\n") for each in blocks):
        found[first] = found.get(first, f"{first}\n") + rest  # the same table of TOML
    return found


def read_block(page, start):
    """Return the only block of a page that starts with a text."""
    [block] = [each for each in read_blocks(page).values() if each.startswith(start)]
    return block


def test_every_block_of_every_page_is_run_or_has_a_reason():
    tree = ast.parse(Path(__file__).read_text("utf-8"))
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    named = [each.args for each in calls if getattr(each.func, "id", "") == "read_block"]
    run = {tuple(ast.literal_eval(each) for each in args) for args in named}
    pages = ["README.md", *(str(each.relative_to(ROOT / "docs")) for each in PAGES)]
    shown = sorted(run | NOT_RUN.keys())
    for page in pages:
        lines = [] if page in GENERATED else list(read_blocks(page))
        starts = [start for named, start in shown if named == page]
        assert not [line for line in lines if not line.startswith(tuple(starts))], page
        assert not [each for each in starts if not any(line.startswith(each) for line in lines)]


class Home:
    """A user's home with every default, and a project in it."""

    def __init__(self, path):
        self.path, self.project = path, path / "my-project"
        (self.path / ".yourtool/hooks").mkdir(parents=True)
        self.project.mkdir()
        (self.project / "README.md").write_text("# My project\n")
        programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        kept = {each: os.environ[each] for each in ("LANG", "TMPDIR") if each in os.environ}
        own = {"HOME": str(self.path), "PATH": programs, "TERM": "dumb"}
        self.environment = {**kept, **get_variables(), **own}

    def start(self, line):
        return subprocess.Popen(
            ["/bin/bash", "-c", line],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, line, code=0):
        """Run a line in the project; return its output."""
        return self.end(self.start(line), code)

    def end(self, process, code=0):
        """Wait for the end of a line; return its output."""
        out, errors = process.communicate(timeout=120)
        assert process.returncode == code, f"{process.args}\n{out}{errors}"
        return out

    def write(self, name, text):
        """Write a file of the user."""
        (self.path / ".yourtool" / name).write_text(text)

    def configure(self, *replies, more=""):
        """Write settings with a model that plays a script."""
        script = self.path / "script.json"
        script.write_text(json.dumps({"replies": replies}))
        self.write(
            "config.toml",
            f'model = "demo:file"\n[providers.demo]\nquirks = {{ script = "{script}" }}\n{more}',
        )

    def open_terminal(self, lines):
        variables = {**self.environment, "TERM": "xterm-256color"}
        return Terminal(("/bin/bash", "-c", lines), cwd=self.path, env=variables)


@pytest.fixture
def own_home():
    """A home outside of /tmp, which is empty in the sandbox of commands."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        yield Home(Path(path).resolve())


class Model:
    """A provider whose replies depend on the last prompt, so that programs can share it."""

    def __init__(self):
        self.replies = {}
        self.server = ProviderServer(answer=self._answer)

    def _answer(self, _, body):
        texts = [json.dumps(each) for each in body["messages"]]
        found = (
            (at, part) for part in self.replies for at, text in enumerate(texts) if part in text
        )
        at, part = max(found, default=(0, ""))
        done = sum(each["role"] == "assistant" for each in body["messages"][at:])
        replies = self.replies.get(part, (Reply("Done."),))
        return replies[min(done, len(replies) - 1)]


@pytest.fixture
def model(own_home):
    """The model of the home, with every key."""
    found = Model()
    with found.server:
        own_home.environment |= found.server.environment
        yield found


def shell(command, **more):
    return Reply("", [("shell", {"command": command, **more})])


def split_lines(block):
    return [each for each in block.splitlines() if each.strip()]


@pytest.mark.remaining
def test_hooks_of_the_page_guard_and_record_a_turn(own_home):
    guard = own_home.path / ".yourtool/hooks/guard.py"
    guard.write_text(read_block("hooks.md", "#!/usr/bin/env python3"))
    own_home.run("chmod +x ~/.yourtool/hooks/guard.py")
    own_home.configure(
        [{"call": "shell", "input": {"command": "rm -rf build"}}],
        [{"call": "write_file", "input": {"path": "a.txt", "content": "a\n"}}],
        [{"say": "Done."}],
        more=read_block("hooks.md", "# ~/.yourtool/config.toml"),
    )
    (own_home.project / "build").mkdir()
    done = own_home.start("yourtool -p --mode auto --output-format stream-json go")
    out, errors = done.communicate(timeout=120)
    assert done.returncode == 3, errors  # a call was denied
    assert "Delete only what you made." in out
    assert "Delete only what you made.." not in out
    assert (own_home.project / "build").is_dir()
    [edit] = (own_home.path / "edits.jsonl").read_text().splitlines()
    assert json.loads(edit)["tool_input"]["file_path"].endswith("/a.txt")
    assert "failed" not in errors


def test_answer_of_the_page_about_hooks_denies_a_call(own_home):
    answer = own_home.path / "answer.json"
    answer.write_text(read_block("hooks.md", "{"))
    own_home.configure(
        [{"call": "shell", "input": {"command": "touch made"}}],
        [{"say": "Done."}],
        more='[[hooks]]\nevent = "PreToolUse"\ncommand = "cat ~/answer.json"\n',
    )
    out = own_home.run("yourtool -p --mode auto --output-format stream-json go", code=3)
    assert "for calls: deny, ask or allow" in out
    assert "shown to you" in out
    assert not (own_home.project / "made").exists()


@pytest.mark.remaining
def test_settings_of_the_page_change_the_variables_of_commands(own_home):
    command = 'echo "<$NODE_ENV $NPM_TOKEN ${WORK_PLACE-none} $OTHER_TOKEN$DATABASE_URL>"'
    call = {"call": "shell", "input": {"command": command}}
    own_home.configure(
        [call], [{"say": "Done."}], more=read_block("security.md", "[shell.environment]")
    )
    own_home.environment |= {
        "NPM_TOKEN": "given", "WORK_PLACE": "x", "OTHER_TOKEN": "x", "DATABASE_URL": "postgres://h"
    }  # fmt: skip
    out = own_home.run("yourtool -p --mode auto --output-format stream-json go")
    assert "<test given none postgres://h>" in out


@pytest.mark.needs("tools/mcp")
@pytest.mark.remaining
def test_servers_of_the_page_are_added_shown_and_called(own_home):
    (own_home.path / "clock.py").write_text(read_block("mcp.md", "import json"))
    install, *commands = split_lines(read_block("mcp.md", "pip install"))
    assert install.startswith("pip install ")
    added, shown, called = map(own_home.run, commands)
    assert "clock" in added and "now" in shown
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.+\n", called)

    page = json.loads(
        read_block("mcp.md", "{").replace("https://example.org", "http://127.0.0.1:9")
    )
    login = read_block("mcp.md", '"oauth"')
    page["mcpServers"]["other"] = {
        "type": "http", "url": "http://127.0.0.1:9/mcp", **json.loads(f"{{{login}}}")
    }  # fmt: skip
    own_home.write("mcp.json", json.dumps(page))
    program = own_home.path / "bin/mcp-server-git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec python3 {own_home.path}/clock.py\n")
    program.chmod(0o755)
    own_home.environment["PATH"] += f":{program.parent}"
    own_home.environment |= {"DOCS_TOKEN": "t0", "DOCS_SECRET": "s0"}
    listed = json.loads(own_home.run("yourtool mcp list --json"))
    states = {each["name"]: each["state"] for each in listed["servers"]}
    assert states["git"] == "connected"
    assert set(states) == {"git", "docs", "other"}
    assert not [
        each for each in listed["problems"] if "`docs`" not in each and "`other`" not in each
    ]


def write_settings(home, server):
    """Write all settings of all pages at once."""
    own = read_block("models.md", "[providers.my-server]")
    blocks = [
        read_block("agents.md", "[agents.claude]"),
        read_block("guide.md", "[checks.format]"),
        read_block("guide.md", "[sandbox]"),
        read_block("guide.md", "[delegation]"),
        read_block("hooks.md", "# ~/.yourtool/config.toml"),
        read_block("keys.md", "[ui.keys]"),
        own.replace("http://127.0.0.1:9000", server.url),
        read_block("models.md", "[providers.my-server.quirks]"),
        read_block("routing.md", "[fallback]"),
        read_block("routing.md", "[routing]"),
        read_block("money.md", "[budget]"),
        read_block("security.md", "[shell.environment]"),
    ]
    home.write("config.toml", "\n".join(blocks))
    home.write("models.toml", read_block("models.md", '[models."my-server:qwen3-coder"]'))
    home.write("prices.toml", read_block("models.md", 'pricing_version = "2027-01-01"'))
    home.write("routing.toml", read_block("routing.md", "schema_version = 1"))
    guard = home.path / ".yourtool/hooks/guard.py"
    guard.write_text(read_block("hooks.md", "#!/usr/bin/env python3"))
    guard.chmod(0o755)


@pytest.mark.remaining
def test_settings_of_all_pages_are_accepted_together_and_have_their_effects(own_home, model):
    shipped = json.loads(own_home.run("yourtool -p --output-format json hi"))["pricing_version"]
    write_settings(own_home, model.server)
    assert own_home.run("yourtool config check")
    assert "acp:claude" in own_home.run("yourtool models")

    check_turn(own_home, model)
    check_models(own_home)
    check_reports(own_home, shipped)


def check_turn(home, model):
    """Let a model meet checks, the sandbox, hooks and workers as the settings have them."""
    make_repository(home.project)
    home.run("git init -q --bare ../origin && git remote add origin ../origin; mkdir ~/.m2")
    edit = {"path": "a.py", "content": "import os\nx  = 1\n"}
    model.replies["settings"] = [
        Reply("", [("write_file", edit)]),
        shell('echo "<$NODE_ENV>" && touch ~/.m2/jar'),
        shell("git push origin HEAD:main"),
        shell("rm -rf build"),
        Reply("", [("delegate", {"task": "Count the lines.", "tier": "fast"})]),
        Reply("Done."),
    ]
    start = "yourtool -p --mode auto --output-format stream-json"
    out = home.run(f"{start} -m my-server:qwen3-coder settings", code=3)
    assert (home.project / "a.py").read_text() == "import os\n\nx = 1\n", "it was formatted"
    assert "F401" in out, "it was checked"
    assert "<test>" in out
    assert "Delete only what you made." in out
    assert len((home.path / "edits.jsonl").read_text().splitlines()) == 1
    assert home.run("git -C ../origin rev-parse main") == home.run("git rev-parse HEAD")
    events = [json.loads(each) for each in out.splitlines()]
    called = [each for each in events if each.get("type") == "tool.called"]
    if find_reason(SandboxLevel.FULL) is None:
        assert (home.path / ".m2/jar").exists()
        assert [each["sandbox"] for each in called if "sandbox" in each] == ["full", "none"]
    assert any("haiku" in body["model"] for _, body in model.server.requests)


def check_models(home):
    """Use the alias, the prices, the rule and the budget of the settings."""
    start = "yourtool -p --output-format json"
    run = json.loads(home.run(f"{start} -m qwen hi"))
    assert run["model"] == "my-server:qwen3-coder"
    read, written = run["usage"]["input_tokens"], run["usage"]["output_tokens"]
    price = read * Decimal("0.30") + written * Decimal("1.50")
    assert Decimal(run["cost_usd"]) == price / 1_000_000
    assert re.fullmatch(r"[\d-]+\+2027-01-01@\w+", run["pricing_version"])
    assert "opus" in json.loads(home.run(f'{start} "prove it"'))["model"]
    (home.project / "large.txt").write_text("word " * 150_000)
    limited = json.loads(home.run(f"{start} -m opus go < large.txt", code=5))
    assert "ask_above" in limited["error"]["message"]


def check_reports(home, shipped):
    """Compare the stored requests with other prices, models and rules."""
    prices = read_block("models.md", 'pricing_version = "2027-01-01"')
    (home.project / "my-prices.toml").write_text(prices)
    (home.project / "routing.toml").write_text(read_block("routing.md", "schema_version = 1"))
    for line in split_lines(read_block("money.md", "yourtool cost")):
        line = line.replace("2026-11-21", shipped.partition("@")[0])
        assert "→" in home.run(line), line
    assert home.run(read_block("routing.md", "yourtool route replay"))


@pytest.mark.remaining
def test_commands_of_the_pages_for_scripts_run_at_the_same_time(own_home, model):
    make_repository(own_home.project)
    (own_home.project / "Makefile").write_text("test:\n\ttouch tested\nfix:\n\ttouch fixed\n")
    (own_home.project / "report.txt").write_text("It grew by a third.\n")
    count = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    (own_home.project / "count.json").write_text(json.dumps(count))
    model.replies |= {
        "make the tests pass": [shell("make test"), Reply("They pass.")],
        "fix the lint errors": [shell("make fix"), Reply("Fixed.")],
        "write a commit message": [Reply("Add a file")],
        "how large is it": [Reply("Small.")],
        "summarise": [Reply("Growth.")],
        "is it done": [Reply("Yes.")],
        "how many tests": [Reply('{"count": 7}')],
    }
    lines = split_lines(read_block("README.md", "git diff | yourtool -p"))
    lines += split_lines(read_block("headless.md", 'yourtool -p "summarise" < report.txt'))[:2]
    running = [own_home.start(each) for each in lines]
    results = list(map(own_home.end, running))
    assert results[0].strip() == "Add a file"
    assert "They pass." in results[1] and (own_home.project / "tested").exists()
    assert json.loads(results[2])["result"] == "Small."
    assert results[3].strip() == "Growth."
    assert "Fixed." in results[4] and (own_home.project / "fixed").exists()
    sent = json.dumps([body for _, body in model.server.requests])
    assert "It grew by a third." in sent

    usage = read_block("headless.md", 'yourtool -p "PROMPT" [options]')
    assert own_home.run(usage.replace("[options]", "--mode plan")).strip() == "Done."
    if which("jq") is None:
        pytest.skip("the last lines need jq")
    continued = split_lines(read_block("headless.md", 'yourtool -p "summarise" < report.txt'))[2]
    assert own_home.run(continued).strip() == "Yes."
    counted = read_block("headless.md", 'yourtool -p "how many tests')
    assert own_home.run(counted).strip() == "7"


@pytest.mark.remaining
def test_commands_of_the_readme_open_the_interface_and_find_the_session_again(own_home, model):
    own_home.write("config.toml", read_block("keys.md", "[ui.keys]"))
    model.replies["hello"] = [Reply("First answer.")]
    start = read_block("README.md", "cd ~/my-project")
    with own_home.open_terminal(start) as one, own_home.open_terminal(start) as two:
        for terminal in (one, two):
            terminal.wait("anthropic:")
        one.say("hello")
        one.wait("First answer.")
        two.send("?")
        two.wait("(?i)f5")
        two.send("\x1b")
        two.wait(lambda screen: "Esc closes" not in screen)
        for terminal in (one, two):
            terminal.send("\x04")
            assert terminal.end() == 0
    again, choose, listed = split_lines(read_block("README.md", "yourtool --continue"))
    for line in (again, choose):
        with own_home.open_terminal(f"cd ~/my-project\n{line}") as terminal:
            terminal.wait("First answer.")
    assert "hello" in own_home.run(listed)


@pytest.mark.remaining
def test_example_of_the_page_about_exports_shows_the_secret_and_asks(own_home, model):
    own_home.run(f'yourtool -p "the token is ghp_{"aB3" * 12}"')
    [session] = json.loads(own_home.run("yourtool sessions list --json"))
    line, *shown = split_lines(read_block("export.md", "$ yourtool sessions export 01J9 notes.md"))
    line = line.removeprefix("$ ").replace("01J9", session["id"])
    with own_home.open_terminal(f"cd ~/my-project; {line}") as terminal:
        terminal.wait(
            *(re.escape(each) for each in (shown[0], shown[1].partition("  in ")[0], shown[2][:-2]))
        )
        terminal.send("y\r")
        terminal.wait(re.escape(shown[3]))
    assert "[hidden key]" in (own_home.project / "notes.md").read_text()


@pytest.mark.needs("extensions/importers")
@pytest.mark.needs("extensions/settings_import")
@pytest.mark.remaining
def test_example_of_the_page_about_imports_imports_a_session(own_home, model):
    line, *shown = split_lines(read_block("import.md", "$ yourtool sessions import"))
    file = own_home.path / line.split("~/")[1]
    file.parent.mkdir(parents=True)
    file.write_bytes((ROOT / "tests/extensions/importers/files/codex.jsonl").read_bytes())
    printed = own_home.run(line.removeprefix("$ ")).splitlines()
    assert printed[0] == shown[0]
    assert printed[-1].startswith(shown[-1].partition("sess_")[0])
    assert shown[2] in printed and any(each.startswith("It ran in ") for each in printed)
    resume = printed[-1].rpartition(": ")[2]
    assert own_home.run(f"{resume} -p go").strip() == "Done."

    usage = read_block("import.md", "yourtool import settings")
    options = re.sub(r"\[--from (\w+)[^]]*\]", r"--from \1", usage)
    assert json.loads(own_home.run(re.sub(r"[][]", "", options)))


@pytest.mark.needs("extensions/editors")
@pytest.mark.remaining
def test_command_in_the_settings_of_an_editor_answers_it(own_home):
    [agent] = json.loads(read_block("acp.md", "{"))["agent_servers"].values()
    request = {"protocolVersion": 1, "clientCapabilities": {}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": request})
    command = " ".join((agent["command"], *agent["args"]))
    answer = json.loads(own_home.run(f"echo '{line}' | {command}").splitlines()[0])
    assert answer["result"]["protocolVersion"] == 1


@pytest.fixture
def source(tmp_path):
    """A copy of the program, to which a page adds something."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "yourtool", tmp_path / "source/yourtool", ignore=ignored)
    for name in ("config", "themes"):
        (tmp_path / "source" / name).symlink_to(ROOT / name)
    return tmp_path / "source"


def insert(file, before, text):
    """Add a line before a text that is in a file once."""
    content = file.read_text("utf-8")
    assert content.count(before) == 1, (file, before)
    file.write_text(content.replace(before, f"{text}\n{before}"), "utf-8")


def run_source(home, source, line):
    """Run a line of Python's command line with the copy of the program."""
    home.environment["PYTHONPATH"] = str(source)
    return home.run(f"{sys.executable} -P {line}")


@pytest.mark.remaining
def test_a_new_tool_is_a_module_and_a_row(own_home, source):
    tools = source / "yourtool/tools"
    added = read_block("adding-a-tool.md", '"""The `roll_dice` tool."""')
    (tools / "guidance/roll_dice.py").write_text(added)
    name = "from yourtool.tools.guidance.roll_dice import roll_dice"
    insert(tools / "builtin.py", "from yourtool.tools.toolset", name)
    insert(tools / "builtin.py", "            update_plan,", "            roll_dice,")
    own_home.configure([{"call": "roll_dice", "input": {"sides": 2}}], [{"say": "Rolled."}])
    out = run_source(own_home, source, "-m yourtool -p --output-format stream-json go")
    [done] = [line for line in out.splitlines() if '"tool.completed"' in line]
    assert re.search(r'"text": ?"[12]"', done), done


@pytest.mark.remaining
def test_a_new_command_is_a_module_and_a_row(own_home, source):
    commands = source / "yourtool/agent/commands"
    added = read_block("adding-a-command.md", '"""`/greet`: a greeting."""')
    (commands / "greeting.py").write_text(added)
    insert(commands / "table.py", "    instructions,", "    greeting,")
    insert(commands / "table.py", "    *instructions.COMMANDS,", "    *greeting.COMMANDS,")
    code = "import yourtool.agent.commands.parser as p; print(p.parse_input('/greet Ann'))"
    out = run_source(own_home, source, f'-c "{code}"')
    assert "name='greet'" in out and "argument='Ann'" in out


def test_a_new_provider_is_a_row(own_home, source):
    specs = source / "yourtool/providers/provider_specs.py"
    row = textwrap.indent(read_block("adding-a-provider.md", "ProviderSpec("), "    ").rstrip()
    insert(specs, '    ProviderSpec(\n        name="demo"', f"{row},")
    own_home.environment["EXAMPLE_API_KEY"] = "key-of-example"
    assert "example" in run_source(own_home, source, "-m yourtool auth list")
