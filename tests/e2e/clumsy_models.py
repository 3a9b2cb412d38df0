"""The eight ways in which the scripted models are clumsy, each in five variants.

A variant belongs to a project. What a model does after a mistake depends on what it reads; the
comments name the sentences that make a difference.
"""

import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

from tests.e2e import task_projects
from tests.e2e.scripted_model import (
    MOST_ATTEMPTS,
    Habit,
    Request,
    Script,
    ScriptedModel,
    Step,
    as_edit,
    as_json,
    flatten_edits,
    is_refused,
    rename_argument,
    rename_in_edits,
    rename_tool,
    respell,
    shows,
)
from tests.e2e.task_projects import Project
from tests.provider_server import Reply

REPAIR = "`{test}` fails. Repair the code so that it passes, and do not change the test."
FIND_CODENAME = (
    "CHANGES.txt names the codename of release 7.11. Write only this codename to answer.txt."
)
FIND_OWNER = "One of the files in notes/ names an owner. Write only their name to answer.txt."
SERVE = (
    "Start the server `python3 serve.py`, ask it once with `python3 ask.py`, write what it answers"
    " to answer.txt, and end it."
)

MOST_REPEATS = 8
"""Equal calls after which a model takes another way without advice."""
SAME_CALL = r"same call|same result|in a row|repeat"
"""A remark about a repeated call."""
PARALLEL = r"(?i)(independent|several) calls in (one|a single|the same) (reply|answer)|in parallel"
"""The rule to make several calls in one reply."""
PERSIST = r"(?i)\b(keep (going|working)|until (the task|it|the work) is (done|complete|finished))"
"""The rule to end a turn only when the task is done."""


def repair(model: ScriptedModel, project: Project, *, reads: bool = True) -> Script:
    """Find both faults, repair them and run the test."""
    yield from model.use("shell", command=project.test)
    for fault in project.faults:
        if reads:
            yield from model.use("read_file", path=fault.path)
        yield from model.edit(fault, fault.old, fault.new)
    yield from model.use("shell", command=project.test)
    return "The test passes."


def build_wrong_types(project: Project) -> ScriptedModel:
    """Return a model that gives numbers as text, nulls, JSON as text, numbers beyond bounds."""

    def script(model: ScriptedModel) -> Script:
        first = project.faults[0]
        words = re.findall(r"\w{4,}", first.old)
        yield from model.use("grep", pattern=words[-1], limit=10)
        return (yield from repair(model, project))

    edits_as_text = respell("edit_file", edits=as_json)
    habits = {
        "Python": [respell("grep", limit="10"), respell("read_file", offset="1"), edits_as_text],
        "shell": [respell("grep", path=None, ignore_case=None), respell("read_file", limit=99_999)],
        "SQL": [edits_as_text, respell("shell", timeout_seconds="60")],
        "AWK": [respell("grep", ignore_case="false"), respell("read_file", offset=0)],
        "HTML": [
            respell("grep", limit=10_000),
            respell("read_file", offset=None, limit=None),
            respell("edit_file", edits=lambda edits: edits[0]),
        ],
    }
    return ScriptedModel(script, habits[project.language])


def build_wrong_names(project: Project) -> ScriptedModel:
    """Return a model that uses the names of tools and arguments of other programs."""
    path = partial(rename_argument, right="path")
    habits: dict[str, list[Habit]] = {
        "Python": [
            rename_tool("shell", "Bash"),
            rename_tool("read_file", "Read"),
            path("read_file", wrong="file_path"),
            rename_tool("edit_file", "Edit"),
            path("edit_file", wrong="file_path"),
            rename_in_edits("old_string", "new_string"),
            flatten_edits(),
        ],
        "shell": [
            rename_tool("shell", "exec_command"),
            rename_argument("shell", "command", "cmd"),
            rename_tool("edit_file", "str_replace_based_edit_tool"),
            rename_in_edits("old_str", "new_str"),
            flatten_edits(),
        ],
        "SQL": [
            rename_tool("shell", "run_shell_command"),
            rename_tool("edit_file", "replace"),
            path("edit_file", wrong="absolute_path"),
            rename_in_edits("old_text", "new_text"),
        ],
        "AWK": [
            rename_tool("read_file", "view"),
            path("read_file", wrong="filename"),
            rename_tool("edit_file", "search_replace"),
            rename_in_edits("search", "replace"),
        ],
        "HTML": [
            rename_tool("shell", "Shell"),
            rename_tool("read_file", "ReadFile"),
            path("read_file", wrong="target_file"),
            rename_tool("edit_file", "str_replace"),
            rename_in_edits("old_str", "new_str"),
            flatten_edits(),
        ],
    }
    return ScriptedModel(lambda model: repair(model, project), habits[project.language])


def build_lost_form(project: Project) -> ScriptedModel:
    """Return a model that copies text into edits without what looks unimportant."""
    spoil: dict[str, Callable[[str], str]] = {
        "Python": textwrap.dedent,
        "shell": lambda text: text.replace("\t", "    "),
        "SQL": lambda text: text.replace("\n", "  \n"),
        "AWK": lambda text: "".join(
            f"{number:>6}\t{line}\n" for number, line in enumerate(text.splitlines(), 3)
        ),
        "HTML": lambda text: text.translate(str.maketrans("“”’–", '""\'-')),
    }

    def script(model: ScriptedModel) -> Script:
        yield from model.use("shell", command=project.test)
        change = spoil[project.language]
        for fault in project.faults:
            yield from model.use("read_file", path=fault.path)
            yield from model.edit(fault, change(fault.old), change(fault.new))
        yield from model.use("shell", command=project.test)
        return "The test passes."

    return ScriptedModel(script)


def build_loops(project: Project) -> ScriptedModel:
    """Return a model that repeats calls until an answer advises against it."""
    first, second = project.faults
    test = ("shell", {"command": project.test})
    wrong = {"path": first.path, "edits": [{"old": "no such text", "new": first.new}]}
    calls: dict[str, Sequence[tuple[str, dict[str, Any]]]] = {
        "Python": [test],
        "shell": [("read_file", {"path": first.path}), test],
        "SQL": [("grep", {"pattern": "no_such_name"})],
        "AWK": [("edit_file", wrong)],
        "HTML": [("read_file", {"path": each.path}) for each in (first, second)],
    }

    def script(model: ScriptedModel) -> Script:
        is_stubborn = project.language == "Python"
        yield from _repeat(calls[project.language], "^$" if is_stubborn else SAME_CALL)
        return (yield from repair(model, project))

    return ScriptedModel(script)


def _repeat(calls: Sequence[tuple[str, dict[str, Any]]], advice: str) -> Step:
    """Make calls in turn, again and again, until an answer has the advice or the user writes."""
    for number in range(MOST_REPEATS * len(calls)):
        request = yield Reply(calls=[calls[number % len(calls)]])
        if request.prompt or re.search(advice, request.text):
            break
    return request


def build_endless_readers(project: Project) -> ScriptedModel:
    """Return a model that reads in small steps, and one file in each reply."""
    script: dict[str, Callable[[ScriptedModel], Script]] = {
        "Python": partial(_find_codename, lines=20),
        "shell": _find_owner,
        "SQL": partial(_find_codename, lines=50),
        "AWK": partial(_read_everything, project=project),
        "HTML": partial(_find_codename, lines=10),
    }
    return ScriptedModel(script[project.language])


def _find_codename(model: ScriptedModel, *, lines: int) -> Script:
    """Read a long file in small steps, until an answer names a larger one."""
    offset = 1
    while offset < task_projects.CHANGE_LINES:
        request = yield from model.use("read_file", path="CHANGES.txt", offset=offset, limit=lines)
        if (found := re.search(r"codename (\w+)", request.text)) is not None:
            yield from model.use("write_file", path="answer.txt", content=f"{found[1]}\n")
            return "The codename is in answer.txt."
        offset += lines
        # the size of a larger step
        if (most := re.search(r"up to ([\d,]+)(?: lines)?", request.text)) is not None:
            lines = int(most[1].replace(",", ""))
    return "There is no codename."


def _read_all(model: ScriptedModel, paths: Sequence[str]) -> Step:
    """Read files one by one, or in one reply if the prompt recommends it."""
    if re.search(PARALLEL, model.request.system):
        return (yield Reply(calls=[("read_file", {"path": each}) for each in paths]))
    results = ()
    for path in paths:
        request = yield from model.use("read_file", path=path)
        results += request.results
    return Request(request.system, request.tools, results, request.prompt)


def _find_owner(model: ScriptedModel) -> Script:
    listed = yield from model.use("list_dir", path="notes")
    names = re.findall(r"^\d+\.md", listed.text, re.MULTILINE)
    request = yield from _read_all(model, [f"notes/{each}" for each in names])
    found = re.search(r"owner is ([\w ]+)", "\n".join(each.text for each in request.results))
    yield from model.use("write_file", path="answer.txt", content=f"{found and found[1]}\n")
    return "The owner is in answer.txt."


def _read_everything(model: ScriptedModel, project: Project) -> Script:
    yield from model.use("list_dir", path=".")
    notes = [f"notes/{number:02}.md" for number in range(1, 13)]
    yield from _read_all(model, [*project.files, "serve.py", "ask.py", *notes])
    return (yield from repair(model, project, reads=False))


def build_servers(project: Project) -> ScriptedModel:
    """Return a model that starts a server in a command that cannot leave it running."""
    start: dict[str, dict[str, Any]] = {
        "Python": {"command": "python3 serve.py &"},
        "shell": {"command": "python3 serve.py", "timeout_seconds": 1},
        "SQL": {"command": "nohup python3 serve.py > serve.log 2>&1 &"},
        "AWK": {"command": "(setsid python3 serve.py &) ; sleep 0.05"},
        "HTML": {"command": "python3 serve.py & disown"},
    }
    return ScriptedModel(partial(_serve, start=start[project.language]))


def _serve(model: ScriptedModel, start: dict[str, Any]) -> Script:
    ask = ("shell", {"command": "python3 ask.py"})
    asked = yield from model.use("shell", **start)
    # a hint that commands end their processes, and how to leave one running
    if "`background`" not in asked.text and "`process_" not in asked.text:
        asked = yield Reply(calls=[ask])
    if asked.results[0].is_error or "`background`" in asked.text:
        asked = yield from _serve_in_background(model)
    if asked.results[0].is_error:
        again = "setsid nohup python3 serve.py > /dev/null 2>&1 < /dev/null & disown"
        yield from model.use("shell", command=again)
        asked = yield Reply(calls=[ask])
    if asked.results[0].is_error:
        together = "python3 serve.py & sleep 0.3; python3 ask.py; kill $!"
        asked = yield from model.use("shell", command=together)
    [*_, answer] = re.findall(r"\b[0-9a-f]{16}\b", asked.text) or ["no answer"]
    yield from model.use("write_file", path="answer.txt", content=f"{answer}\n")
    return "The answer is in answer.txt."


def _serve_in_background(model: ScriptedModel) -> Step:
    """Start the server as the definition of `shell` offers it, ask it and end it."""
    if "background" not in model.request.tools["shell"]:
        return model.request
    started = yield from model.use("shell", command="python3 serve.py", background=True)
    asked = yield Reply(calls=[("shell", {"command": "python3 ask.py"})])
    [process] = re.findall(r"`(\w+)`", started.text)[:1]
    [argument, *_] = model.request.tools["process_stop"]
    yield Reply(calls=[("process_stop", {argument: process})])
    return asked


def build_early_ends(project: Project) -> ScriptedModel:
    """Return a model that announces, asks or gives up in place of a call."""
    texts: dict[str, Sequence[str]] = {
        "Python": ["I will run the test first."],
        "shell": ["I will run the test.", "Now I will repair the code.", "Now I will test it."],
        "SQL": ["", "I have seen the problem. Should I repair it?"],
        "AWK": ["", "The test fails, so I cannot continue."],
        "HTML": ["", "", "I have repaired the first fault; the test should pass now."],
    }
    return ScriptedModel(
        partial(_repair_with_pauses, project=project, texts=texts[project.language])
    )


def _repair_with_pauses(model: ScriptedModel, project: Project, texts: Sequence[str]) -> Script:
    """Repair both faults; before steps with a text, end the turn, unless the prompt forbids it."""
    steps: list[tuple[str, dict[str, Any]]] = [("shell", {"command": project.test})]
    for fault in project.faults:
        steps.append(("read_file", {"path": fault.path}))
        steps.append(("edit_file", {"path": fault.path, "edits": [as_edit(fault.old, fault.new)]}))
    steps.append(steps[0])
    for text, call in zip_longest(texts, steps, fillvalue=""):
        if text and not re.search(PERSIST, model.request.system):
            yield Reply(text)
            text = ""
        yield Reply(text, [call])
    return "The test passes."


def build_patches(project: Project) -> ScriptedModel:
    """Return a model that writes patches in place of edits."""
    change: dict[str, Callable[[str], str]] = {
        "SQL": lambda text: text.replace("\n", "  \n"),
        "HTML": lambda text: text.translate(str.maketrans("“”’–", '""\'-')),
    }
    spoil = change.get(project.language, str)
    return ScriptedModel(partial(_repair_with_patch, project=project, spoil=spoil))


def _build_patch(project: Project, spoil: Callable[[str], str], is_right: bool = False) -> str:
    parts = ["*** Begin Patch"]
    for fault in project.faults:
        if project.language == "AWK" and not is_right:  # the format of other patches
            parts += [f"--- a/{fault.path}", f"+++ b/{fault.path}", "@@ -3,2 +3,2 @@"]
        else:
            parts += [f"*** Update File: {fault.path}", "@@"]
        parts += [f"-{line}" for line in spoil(fault.old).splitlines()]
        parts += [f"+{line}" for line in spoil(fault.new).splitlines()]
    return "\n".join((*parts, "*** End Patch"))


def _repair_with_patch(
    model: ScriptedModel, project: Project, spoil: Callable[[str], str]
) -> Script:
    test = ("shell", {"command": project.test})
    reads = [("read_file", {"path": fault.path}) for fault in project.faults]
    patch = _build_patch(project, spoil)
    yield Reply(calls=[test])
    if project.language == "shell":
        paths = " ".join(each.path for each in project.faults)
        yield Reply(calls=[("shell", {"command": f"cat {paths}"})])
        yield Reply(calls=[("shell", {"command": f"apply_patch <<'EOF'\n{patch}\nEOF"})])
    else:
        yield Reply(calls=reads)
    for _ in range(MOST_ATTEMPTS):
        [argument] = model.request.tools.get("apply_patch", ["input"])
        request = yield Reply(calls=[("apply_patch", {argument: patch})])
        if not is_refused(request.results[0]):
            break
        if "apply_patch" not in request.tools:
            for fault in project.faults:
                yield from model.edit(fault, spoil(fault.old), spoil(fault.new))
            break
        if not all(shows(request.text, fault.old) for fault in project.faults):
            yield Reply(calls=reads)
        # the header that an answer names, and the text as it was read again
        patch = _build_patch(project, str, is_right="*** Update File" in request.text)
    yield Reply(calls=[test])
    return "The test passes."


class Kind(NamedTuple):
    """A way to be clumsy, and what the user asks such a model for."""

    title: str
    description: str
    """For the page about these models."""
    build: Callable[[Project], ScriptedModel]
    prompt: str = REPAIR
    model_name: str = "sonnet"


KINDS = {
    "wrong_types": Kind(
        "Wrong types",
        "Numbers and lists as text, null for an optional argument, numbers beyond a bound.",
        build_wrong_types,
    ),
    "wrong_names": Kind(
        "Wrong names",
        "Names of tools and arguments that other programs have, such as `Bash` and `old_str`.",
        build_wrong_names,
    ),
    "lost_form": Kind(
        "Edits without form",
        "Edits without their indentation, with spaces for tabs, with plain quotes, with trailing"
        " spaces or with copied line numbers.",
        build_lost_form,
    ),
    "loops": Kind(
        "Loops",
        "The same call, or the same two calls in turn, until an answer advises against it. The"
        " model in the Python project repeats its call until the program stops it.",
        build_loops,
    ),
    "endless_readers": Kind(
        "Endless reading",
        "A long file in small steps, or all files of a folder, one in each request.",
        build_endless_readers,
    ),
    "servers": Kind(
        "Servers",
        "A server that is started in a command, and asked in the next one.",
        build_servers,
        SERVE,
    ),
    "early_ends": Kind(
        "Early ends",
        "A text that announces a call, asks for a permission that is not needed, or gives up; the"
        " user has to answer it. A rule of the system prompt against it is followed.",
        build_early_ends,
    ),
    "patches": Kind(
        "Patches",
        "Patches in the format that some models are trained on, in place of edits.",
        build_patches,
        model_name="gpt-5",
    ),
}


def get_prompt(kind: Kind, project: Project) -> str:
    """Return what the user asks for."""
    if kind.build is build_endless_readers:
        return {"shell": FIND_OWNER, "AWK": REPAIR}.get(project.language, FIND_CODENAME).format(
            test=project.test
        )
    return kind.prompt.format(test=project.test)
