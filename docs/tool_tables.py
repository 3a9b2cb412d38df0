"""The content of `docs/tools.md`: what a model reads about each tool, gets back, and what it costs.

The examples are measured: each call runs in a temporary workspace.
"""

import asyncio
import json
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yourtool.effects import SideEffects, ToolDefinition
from yourtool.foundation.masking import Mask
from yourtool.messages.blocks import TextBlock
from yourtool.models import EDIT_TOOLS
from yourtool.paths import Paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.estimate import estimate_tokens
from yourtool.tools.base import ToolContext
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.guidance.expansion import build_expand_message
from yourtool.tools.guidance.memory import build_remember
from yourtool.tools.guidance.skill_saving import build_save_skill
from yourtool.tools.guidance.skills import build_load_skill
from yourtool.tools.toolset import Tool, Toolbox
from yourtool.tools.workspace.workspace import Workspace

_FILES = {
    "src/app.py": "def greet(name):\n    return f'Hello {name}'\n\n\nprint(greet('you'))\n",
    "README.md": "# Greeter\n",
}
_EXAMPLES: Mapping[str, dict[str, Any]] = {
    "read_file": {"path": "src/app.py", "limit": 2},
    "write_file": {"path": "src/new.py", "content": "x = 1\n"},
    "edit_file": {"path": "src/app.py", "edits": [{"old": "return f'Hello", "new": "return f'Hi"}]},
    "apply_patch": {
        "patch": "*** Begin Patch\n*** Update File: src/app.py\n@@ def greet(name):\n"
        "-    return f'Hi {name}'\n+    return f'Hi, {name}'\n*** End Patch"
    },
    "list_dir": {"path": "."},
    "glob": {"pattern": "*.py"},
    "grep": {"pattern": "greet"},
    "shell": {"command": "cat README.md"},
    "update_plan": {"steps": [{"text": "Add a test", "status": "in_progress"}]},
}


def _accept(name: str, text: str) -> None:
    """Accept every skill."""
    del name, text


_OCCASIONAL: Sequence[tuple[Tool, str]] = (
    (build_load_skill(str), "there are skills"),
    (build_save_skill(_accept), "there are skills, or the workspace has `.agents/skills`"),
    (build_remember({}), "`USER.md` or `MEMORY.md` exists"),
    (build_expand_message(lambda name, _: name), "a message is summarised or shortened"),
)
"""Tools with the time from which on requests have them."""
_EFFECTS = {
    SideEffects.NONE: "nothing outside the conversation",
    SideEffects.READ: "reads the workspace",
    SideEffects.WRITE: "changes files; needs an approval",
    SideEffects.EXECUTE: "runs a program; needs an approval",
    SideEffects.NETWORK: "uses the network; needs an approval",
}
_BOUNDS = {
    "minimum": "At least {}.",
    "maximum": "At most {:,}.",
    "minItems": "At least {} item.",
    "maxItems": "At most {} items.",
}


def tools_page() -> str:
    """Return the tables and examples of all built-in tools."""
    toolbox = default_toolbox()
    rows = ["| tool | effect | tokens per request | time limit |", "|---|---|---|---|"]
    for tool in toolbox:
        tokens = estimate_tokens((), (tool.definition,))
        effect, limit = _EFFECTS[tool.definition.side_effects], f"{tool.timeout_seconds:,.0f} s"
        rows.append(f"| `{tool.definition.name}` | {effect} | {tokens} | {limit} |")
    for name in EDIT_TOOLS:
        others = [each for each in toolbox.definitions if each.name not in EDIT_TOOLS]
        total = estimate_tokens((), (*others, _get_definition(toolbox, name)))
        rows.append(f"| all, with `{name}` | | {total:,} | |")
    rows += ["", *_list_patching_models(), ""]
    results = _run_examples(tuple(toolbox))
    for tool in toolbox:
        rows += _describe(tool.definition, results.get(tool.definition.name))
    rows += _list_occasional_tools()
    return "\n".join(rows).rstrip() + "\n"


def _list_occasional_tools() -> list[str]:
    """Return lines about the tools that a request has only when they are of use."""
    rows = ["## Occasional tools", "", "Requests have these only when a model can use them.", ""]
    rows += ["| tool | when | effect | tokens per request |", "|---|---|---|---|"]
    parts = list[str]()
    for tool, occasion in _OCCASIONAL:
        definition = tool.definition
        effect, tokens = _EFFECTS[definition.side_effects], estimate_tokens((), (definition,))
        rows.append(f"| `{definition.name}` | {occasion} | {effect} | {tokens} |")
        parts += ["", *_describe(definition, None)[:-1]]
    return [*rows, *parts]


def _get_definition(toolbox: Toolbox, name: str) -> ToolDefinition:
    return next(each for each in toolbox.definitions if each.name == name)


def _list_patching_models() -> list[str]:
    """Return lines with the models that get `apply_patch`."""
    models = _read_shipped_catalogue().all()
    names = {each.id for each in models if each.edit_tool == "apply_patch"}
    providers = sorted({name.partition(":")[0] for name in names})
    text = (
        f"`apply_patch` replaces `edit_file` for the {len(names)} models that are trained on"
        " patches: OpenAI's from GPT-4.1 on, and `gpt-oss`, at"
        f" {', '.join(f'`{each}`' for each in providers[:-1])} and `{providers[-1]}`. `edit_tool`"
        " in `models.toml` changes it."
    )
    return textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)


def _read_shipped_catalogue() -> Catalogue:
    with tempfile.TemporaryDirectory() as directory:
        empty = Path(directory)
        return Catalogue.load(Paths(empty, empty, empty, empty))


def _run_examples(tools: Sequence[Tool]) -> dict[str, str]:
    """Return the results of the examples by the name of their tool."""
    with tempfile.TemporaryDirectory() as directory:
        root, spill = Path(directory, "workspace"), Path(directory, "spill")
        spill.mkdir(mode=0o700)
        for name, content in _FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, "utf-8")
        context = ToolContext(
            workspace=Workspace(root, (spill,)),
            tool_use_id="example",
            spill=spill,
            mask=Mask(),
            emit=_ignore,
        )
        return asyncio.run(_call_tools(tools, context))


async def _call_tools(tools: Sequence[Tool], context: ToolContext) -> dict[str, str]:
    results = dict[str, str]()
    for tool in tools:
        name = tool.definition.name
        if (arguments := _EXAMPLES.get(name)) is not None:
            output = await tool.run(tool.parse(arguments), context)
            texts = [block.text for block in output.content if isinstance(block, TextBlock)]
            results[name] = "\n".join(texts)
    return results


def _ignore(_text: str) -> None:
    """Show no live output."""


def _describe(definition: ToolDefinition, result: str | None) -> list[str]:
    lines = [f"## `{definition.name}`", "", definition.description, ""]
    lines += ["| argument | type | default | meaning |", "|---|---|---|---|"]
    lines += _argument_rows(definition.input_schema)
    if result is not None:
        lines += ["", "A call and its result:", "", "```"]
        arguments = _EXAMPLES[definition.name]
        lines += [f"{definition.name} {_to_json(arguments)}", "", *result.splitlines(), "```"]
    return [*lines, ""]


def _argument_rows(schema: Mapping[str, Any], before: str = "") -> list[str]:
    rows = list[str]()
    for name, part in schema.get("properties", {}).items():
        default = "required" if name in schema.get("required", ()) else _code(part.get("default"))
        limits = [text.format(part[key]) for key, text in _BOUNDS.items() if key in part]
        if "enum" in part:
            limits.append(f"One of {', '.join(map(_code, part['enum']))}.")
        meaning = " ".join(filter(None, (part.get("description"), *limits)))
        rows.append(f"| `{before}{name}` | {part['type']} | {default} | {meaning} |")
        if "items" in part:
            rows += _argument_rows(part["items"], f"{before}{name}[].")
    return rows


def _code(value: object) -> str:
    return f"`{_to_json(value)}`"


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
