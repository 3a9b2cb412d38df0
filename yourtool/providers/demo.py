"""Scripts of the demo.

Two scripts show the program in a real directory, without a model. `demo:tour` plays one chapter per
prompt and uses the real tools; the user then swaps to `demo:guide`. Both depend on the conversation
only, so that a resumed session continues at the same chapter. The first reply of each states that
it is a script.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from yourtool.errors import InvalidRequestError
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, ReplyMessage
from yourtool.providers.base import Adapter, Request
from yourtool.providers.scripted import (
    WORDS_PER_SECOND,
    Scripted,
    ScriptedAnswer,
    ScriptLine,
    calls,
    fails,
    read_script,
    says,
)

TOUR, GUIDE, FILE = "tour", "guide", "file"
SOUVENIR = "TOUR.md"
"""The file that the tour offers to write."""

_PREFERRED = ("readme.md", "readme.rst", "readme.txt", "readme", "pyproject.toml", "package.json")
_READABLE = re.compile(
    r"\.(c|cfg|css|go|h|html|ini|java|js|json|md|py|rb|rs|rst|sh|toml|ts|txt|ya?ml)", re.IGNORECASE
)
_PLAN = (
    "Look around and read a file",
    "Write a file, after asking",
    "Run a command, after asking",
    "Swap to another model",
    "Get a real model",
)
_UNTICKED = "- [ ] swapped to another model"


def demo(name: str, *, home: Path, script: str = "", pace: str = "") -> Adapter:
    """Return the adapter of `demo:NAME`.

    `home` is the user's directory, which a relative path of `script` starts from. `pace` is in
    words a second; 0 is at once, and anything that is no number is the usual pace.

    Raises:
        ConfigError: the script cannot be used.
    """
    words_per_second = _parse_pace(pace)
    if name == FILE and script:
        return Scripted(read_script(home / script), words_per_second=words_per_second)
    answers: dict[str, ScriptedAnswer] = {
        TOUR: lambda request: tour(request, home / "config.toml"),
        GUIDE: lambda request: guide(request, home / "config.toml"),
    }
    return Scripted(answers.get(name, _unknown), words_per_second=words_per_second)


def tour(request: Request, config_file: Path) -> ScriptLine:
    """Return the reply of `demo:tour`: one chapter per prompt."""
    scene = _scene(request)
    match scene.chapter:
        case 1:
            return _look(scene)
        case 2:
            return _write(scene)
        case 3:
            return _run(scene)
        case 4:
            return says(
                "Still me, the script. `/model demo:guide` would show you a swap in the middle"
                " of a conversation: the other one reads everything said so far. If you would"
                " rather have the real thing:\n\n" + _real_model_help(config_file)
            )
        case _:
            return says(
                "The tour is over, and being a script I have nothing clever to add. `/help` lists"
                " what you can type, `/new` begins again.\n\n" + _real_model_help(config_file)
            )


def guide(request: Request, config_file: Path) -> ScriptLine:
    """Return the reply of `demo:guide`: continue the tour, then describe real models."""
    scene = _scene(request)
    if any(_is_by(message, f"demo:{GUIDE}") for message in scene.before):
        return says("There is no more to the demo than this.\n\n" + _real_model_help(config_file))
    if not scene.steps:
        return _take_over(scene, config_file)
    ending = "That was the whole tour.\n\n" + _real_model_help(config_file)
    if (edited := scene.step("edit_file")) is None:
        return says(ending)
    if edited.failed:
        return says(f"No tick, then; `{SOUVENIR}` stays as it was. {ending}")
    return says(f"Ticked off in `{SOUVENIR}`. {ending}")


class _Step(Struct, frozen=True):
    tool: str
    path: str
    text: str
    """The output of the tool."""
    failed: bool


class _Scene(Struct, frozen=True):
    chapter: int
    """Number of prompts so far."""
    before: tuple[Message, ...]
    """The conversation before the last prompt."""
    steps: tuple[_Step, ...]
    """The calls since the last prompt."""
    past: tuple[_Step, ...]
    tools: frozenset[str]

    def step(self, tool: str) -> _Step | None:
        return next((step for step in self.steps if step.tool == tool), None)

    def earlier(self, tool: str) -> _Step | None:
        return next((step for step in self.past if step.tool == tool and not step.failed), None)


def _scene(request: Request) -> _Scene:
    spoken = [number for number, said in enumerate(request.messages) if said.is_prompt]
    last = spoken[-1] if spoken else 0
    return _Scene(
        chapter=len(spoken),
        before=request.messages[:last],
        steps=_steps(request.messages[last:]),
        past=_steps(request.messages[:last]),
        tools=frozenset(tool.name for tool in request.tools),
    )


def _steps(messages: Sequence[Message]) -> tuple[_Step, ...]:
    answers = {
        result.tool_use_id: result for said in messages if (result := said.result) is not None
    }
    return tuple(
        _Step(
            call.name,
            str(call.input.get("path", "")),
            "".join(part.text for part in answer.content if isinstance(part, TextBlock)),
            answer.is_error,
        )
        for message in messages
        for call in message.tool_uses
        if (answer := answers.get(call.id)) is not None
    )


def _look(scene: _Scene) -> ScriptLine:
    if not scene.tools >= {"list_dir", "read_file"}:
        return says(_WELCOME + "I was given no tools, so there is nothing I can show you here.")
    listed, read = scene.step("list_dir"), scene.step("read_file")
    if listed is None:
        return (
            says(_WELCOME + "First I put up a plan and look around. Looking needs no permission.")
            + _plan(scene, 0)
            + calls("list_dir", path=".")
        )
    if read is None:
        if (name := None if listed.failed else _pick_file(listed.text)) is None:
            return says("There is no file here that I could read to you. " + _CONTINUE)
        return says(f"I pick `{name}`.") + calls("read_file", path=name, limit=60)
    if read.failed:
        return says(f"`{read.path}` could not be read, and the program told me why. " + _CONTINUE)
    lines = [line.partition("\t")[2] for line in read.text.splitlines() if "\t" in line]
    title = next(
        (bare for line in lines if (bare := re.sub(r"[#=`*_<>\[\]]", "", line).strip())), ""
    )
    about = f" and begins with “{title[:60]}”" if title else ""
    noun = "line" if len(lines) == 1 else "lines"
    return says(
        f"The part of `{read.path}` that I read has {len(lines)} {noun}{about}. A model would"
        " understand it; I only counted. " + _CONTINUE
    )


def _write(scene: _Scene) -> ScriptLine:
    if "write_file" not in scene.tools:
        return says("I was not given `write_file`, so this chapter stays empty. " + _CONTINUE)
    wrote = scene.step("write_file")
    if wrote is None:
        return (
            says(
                "Now something that changes a file. The program stops and shows you exactly what"
                " would be written; nothing happens until you allow it. You may also deny it."
            )
            + _plan(scene, 1)
            + calls("write_file", path=SOUVENIR, content=_souvenir(scene))
        )
    if wrote.failed:
        return says(
            f"Nothing was written, and there is no `{SOUVENIR}`. A model would get your no as an"
            " answer, with your reason if you give one, and try something else. " + _CONTINUE
        )
    return says(
        f"`{SOUVENIR}` is there. In the demo you are in a scratch copy, so your own files are as"
        " they were. " + _CONTINUE
    )


def _run(scene: _Scene) -> ScriptLine:
    if "shell" not in scene.tools:
        return says("I was not given `shell`, so no command today. " + _SWAP)
    ran = scene.step("shell")
    if ran is None:
        counted = scene.earlier("write_file") or scene.earlier("read_file")
        command = f"wc -l {shlex.quote(counted.path)}" if counted else "ls"
        return (
            says("Commands are asked about as well, and shown whole. This one only looks:")
            + _plan(scene, 2)
            + calls("shell", command=command)
        )
    if ran.failed:
        return says("It did not run, or it failed; the reason is with the call above. " + _SWAP)
    return says("That was a real process, and its output is what you see above. " + _SWAP)


def _take_over(scene: _Scene, config_file: Path) -> ScriptLine:
    hello = (
        "Hello, I am `demo:guide`: another script, no model either. "
        if scene.past
        else "Hello, I am `demo:guide`: a script, no model. `/model demo:tour` is where the demo"
        " begins. "
    )
    first = next((said.text for said in scene.before if said.is_prompt), "")
    if scene.past:
        hello += (
            f"The whole conversation came with you: you began with “{_shorten(first)}”, and"
            f" {len(scene.past)} tool calls followed. "
        )
    line = says(hello) + _plan(scene, 4)
    written = scene.earlier("write_file")
    if written and "edit_file" in scene.tools:
        tick = [{"old": _UNTICKED, "new": _UNTICKED.replace("[ ]", "[x]")}]
        return line + calls("edit_file", path=SOUVENIR, edits=tick)
    return line if "update_plan" in scene.tools else line + says(_real_model_help(config_file))


def _plan(scene: _Scene, current: int) -> ScriptLine:
    """Show the progress of the tour, if the plan tool is available."""
    if "update_plan" not in scene.tools:
        return ScriptLine()
    states = ["completed"] * current + ["in_progress"] + ["pending"] * len(_PLAN)
    steps = [{"text": text, "status": state} for text, state in zip(_PLAN, states, strict=False)]
    return calls("update_plan", steps=steps)


def _pick_file(listing: str) -> str | None:
    """Choose a file to read from the output of `list_dir`."""
    files = [
        name
        for line in listing.splitlines()
        if (name := line.partition("\t")[0]) != line and not line.endswith(("\t0", ")"))
    ]
    by_name = {name.lower(): name for name in reversed(files)}
    for name in _PREFERRED:
        if name in by_name:
            return by_name[name]
    return next((name for name in files if _READABLE.fullmatch(Path(name).suffix)), None)


def _souvenir(scene: _Scene) -> str:
    read = scene.earlier("read_file")
    looked = f"- [x] looked around and read `{read.path}`" if read else "- [x] looked around"
    return (
        "# The tour\n\nWritten by a script, after asking.\n\n"
        f"{looked}\n- [x] wrote this file\n{_UNTICKED}\n"
    )


def _real_model_help(config_file: Path) -> str:
    return f"""\
Three ways to a real model:

1. **A key in the environment**: set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or
   `OPENROUTER_API_KEY` and start the program again.
2. **A key typed here**: `/key` asks for it, hides it, and keeps it in a file only you can read.
3. **A server of your own**, or any that speaks the same language, in `{config_file}`:

   ```toml
   [providers.local]
   base_url = "http://127.0.0.1:8080/v1"
   ```

   and then `/model local:NAME`. On your own machine it needs no key.
"""


_WELCOME = (
    "Welcome! I am `demo:tour`: **a script, not a model**. I understand nothing of what you type;"
    " every prompt takes us one chapter further. The tools, the questions and the session are"
    " real.\n\n"
)
_CONTINUE = "Type anything to go on."
_SWAP = (
    "One thing is left: swapping models in mid-conversation. Type `/model demo:guide`, then say"
    " something."
)


def _unknown(request: Request) -> ScriptLine:
    return fails(
        InvalidRequestError(
            f"`{request.model.id}` is no demo; there are `demo:{TOUR}`, `demo:{GUIDE}` and, with"
            " `script` among the quirks of `[providers.demo]`, `demo:file`"
        )
    )


def _is_by(message: Message, model: str) -> bool:
    return isinstance(message, ReplyMessage) and message.metadata.model == model


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}…"


def _parse_pace(pace: str) -> float | None:
    try:
        return float(pace) or None
    except ValueError:
        return WORDS_PER_SECOND
