"""Generator for the parts of the documentation that are made from the code.

`make docs` runs it; a test fails when a page is stale.
"""

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from docs.peer_tables import peer_tables
from docs.prompt_page import prompt_page
from docs.provider_tables import providers_table
from docs.tool_tables import tools_page
from yourtool.agent.commands.table import COMMANDS
from yourtool.events.catalog import Event
from yourtool.events.codec import STORED_TYPES
from yourtool.permissions import credential_files
from yourtool.providers.quirks import HOSTS, Quirks
from yourtool.routing.predicates import PREDICATES
from yourtool.run_result import Result
from yourtool.settings.config import ENVIRONMENT, Config
from yourtool.settings.tables import TableKey, format_key
from yourtool.settings.ui_config import KeymapName
from yourtool.store.sqlite.fulltext import stored_words
from yourtool.store.sqlite.schema import MIGRATIONS
from yourtool.tui.keys.active_keys import get_labels
from yourtool.tui.keys.key_bindings import PLACE_TITLES
from yourtool.tui.keys.keymap import build_keymap
from yourtool.tui.keys.keys import KEYS

ROOT = Path(__file__).parents[1]
LIST = "[]"
"""In a key, for each table of a list."""
BEGIN, END = "<!-- made by `make docs` -->\n", "<!-- end -->\n"


class Setting(Struct, frozen=True):
    """One key of `config.toml`, for the documentation."""

    key: TableKey
    kind: str
    default: Any
    """None: not set."""
    example: Any
    description: str


def settings(kind: type[Struct], at: TableKey = ()) -> Iterator[Setting]:
    """Yield every key below a Struct; tables by name are shown with one example name."""
    for field in msgspec.structs.fields(kind):
        bare, meta = _split(field.type)
        key = (*at, field.name)
        if _is_struct(bare):
            yield from settings(bare, key)
        elif get_origin(bare) is tuple and _is_struct(entry := get_args(bare)[0]):
            yield from settings(entry, (*key, LIST))
        elif get_origin(bare) is dict and _is_struct(get_args(bare)[1]):
            name = str(meta.examples[0]) if meta.examples else "NAME"
            yield from settings(get_args(bare)[1], (*key, name))
        else:
            factory = field.default_factory
            default = field.default if factory is NODEFAULT else factory()
            default = None if default is NODEFAULT else default
            example = meta.examples[0] if meta.examples else default
            yield Setting(key, _kind(bare), default, example, meta.description or "")


def template() -> str:
    """Return `config/config.toml`: every key, commented out, at its default."""
    lines = [
        "# The settings of yourtool with their defaults. To change one, remove the `#` before it",
        "# and before the `[table]` above it. `yourtool config check` lists mistakes, and",
        "# `yourtool config show` the active values and their sources.",
    ]
    table: TableKey = ()
    for each in sorted(settings(Config), key=lambda each: len(each.key) > 1):
        if each.key[:-1] != table:
            table = each.key[:-1]
            *outer, last = table
            lines += [
                "",
                f"#[[{format_key(tuple(outer))}]]" if last == LIST else f"#[{format_key(table)}]",
            ]
        unset = " Not set by default." if each.default is None else ""
        lines += [*([] if table else [""]), f"# {each.description}{unset}"]
        lines.append(f"#{each.key[-1]} = {_toml(each.example)}")
    return "\n".join(lines) + "\n"


def settings_table() -> str:
    """Return the table of `docs/configuration.md`."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for each in settings(Config):
        default = "–" if each.default is None else f"`{_toml(each.default)}`"
        key = ".".join(part if part.isidentifier() else "NAME" for part in each.key if part != LIST)
        key = key.replace("workspaces.NAME", 'workspaces."DIRECTORY"')
        rows.append(f"| `{key}` | {each.kind} | {default} | {each.description} |")
    variables = ", ".join(f"`{name}` (`{format_key(key)}`)" for name, key in ENVIRONMENT.items())
    return "\n".join([*rows, "", f"Environment variables: {variables}."]) + "\n"


def commands_table() -> str:
    """Return the table of `docs/commands.md`."""
    rows = ["| command | what it does |", "|---|---|"]
    for command in COMMANDS:
        aliases = "".join(f", `/{alias}`" for alias in command.aliases)
        wait = "" if command.during_turn else " (not while a turn runs)"
        usage = command.usage.replace("|", "\\|")
        rows.append(f"| `{usage}`{aliases} | {command.summary}{wait} |")
    return "\n".join(rows) + "\n"


def predicates_table() -> str:
    """Return the table of `docs/routing.md`: every condition of a rule."""
    rows = ["| condition | holds if |", "|---|---|"]
    for each in PREDICATES.values():
        example = f"{each.name} = {each.example}".replace("|", "\\|")
        rows.append(f"| `{example}` | {each.meaning} |")
    return "\n".join(rows) + "\n"


def tables_table() -> str:
    """Return the table of `docs/formats.md`: the tables of the database and their columns."""
    rows = ["| table | columns |", "|---|---|"]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("stored_words", 1, stored_words)
        for statement in (each for step in MIGRATIONS for each in step):
            connection.execute(statement)
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            " AND (name NOT LIKE 'message_words%' OR name = 'message_words') ORDER BY rowid"
        ).fetchall()
        for (table,) in tables:
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            rows.append(f"| `{table}` | {_codes(name for (name,) in columns)} |")
    return "\n".join(rows) + "\n"


def keys_table() -> str:
    """Return the tables of `docs/keys.md`."""
    keymap, parts = build_keymap(), list[str]()
    for place, title in PLACE_TITLES.items():
        rows = [
            f"| {get_labels(key, keymap) or '–'} | {key.description} |"
            f" {f'`{key.id}`' if key.action else 'fixed'} |"
            for key in KEYS
            if key.place == place
        ]
        head = [f"## {title}", "", "| key | what it does | name |", "|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts) + "\n"


def presets_table() -> str:
    """Return the tables of `docs/keymaps.md`: what each preset changes."""
    default, parts = build_keymap(), list[str]()
    for preset in get_args(KeymapName)[1:]:
        keymap = build_keymap(preset)
        rows = [
            f"| {get_labels(key, keymap) or '–'} | {get_labels(key, default) or '–'} |"
            f" {key.description} | `{key.id}` |"
            for key in KEYS
            if keymap.keys[key.id] != default.keys[key.id]
        ]
        head = [f'## `keymap = "{preset}"`', ""]
        head += ["| key | key by default | what it does | name |", "|---|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts) + "\n"


def events_schema() -> str:
    """Return `docs/events.schema.json`: every line that `stream-json` can print."""
    kinds = (STORED_TYPES.get(str(kind.__struct_config__.tag), kind) for kind in get_args(Event))
    schema = msgspec.json.schema(Union[(*kinds, Result)])  # of a computed tuple
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "A line of `yourtool -p --output-format stream-json`"
    text = msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
    return text.replace("StoredLlm", "Llm") + "\n"  # the names in `FACT_TYPES`


def quirks_table() -> str:
    """Return the tables of `docs/models.md`: quirks, and those of well-known hosts."""
    rows = ["| quirk | value | default | meaning |", "|---|---|---|---|"]
    for each in settings(Quirks):
        default = "–" if each.default is None else f"`{_toml(each.default)}`"
        rows.append(f"| `{each.key[-1]}` | {each.kind} | {default} | {each.description} |")
    hosts = ["| host | address | quirks |", "|---|---|---|"]
    for host in HOSTS:
        addresses = ", ".join(
            f"`{'*' if each.startswith('.') else ''}{each}`" for each in host.addresses
        )
        quirks = ", ".join(f"`{name} = {_toml(value)}`" for name, value in host.quirks.items())
        hosts.append(f"| {host.label} | {addresses} | {quirks or 'none'} |")
    return "\n".join([*rows, "", *hosts]) + "\n"


def credential_files_table() -> str:
    """Return the table of `docs/security.md`: the names of files with credentials."""
    parents = ("/".join(pair) for pair in credential_files.PAIRS)
    rows = {
        "directories with all their contents": sorted(credential_files.DIRECTORIES),
        "paths below any directory": sorted(parents),
        "exact names": sorted(credential_files.NAMES),
        "patterns": credential_files.PATTERNS,
    }
    table = ["| what | names |", "|---|---|"]
    table += [f"| {what} | {_codes(names)} |" for what, names in rows.items()]
    examples = [
        "A file whose name only matches a pattern is an ordinary file if a part of the name",
        f"between dots is one of {_codes(sorted(credential_files.EXAMPLES))},",
        "as in `.env.example`.",
    ]
    return "\n".join([*table, "", *examples]) + "\n"


def guide_contents() -> str:
    """Return the list of the topics of `docs/guide.md`."""
    lines: list[str] = []
    for line in (ROOT / "docs/guide.md").read_text("utf-8").splitlines():
        signs, _, title = line.partition(" ")
        if signs in ("##", "###"):
            anchor = title.lower().replace(",", "").replace(" ", "-")
            lines.append(f"{'  ' * (len(signs) - 2)}- [{title}](#{anchor})")
    return "\n".join(lines) + "\n"


FILES: dict[str, Callable[[], str]] = {
    "config/config.toml": template,
    "docs/events.schema.json": events_schema,
}
SECTIONS: dict[str, Callable[[], str]] = {
    "docs/configuration.md": settings_table,
    "docs/coming-from.md": peer_tables,
    "docs/commands.md": commands_table,
    "docs/guide.md": guide_contents,
    "docs/keymaps.md": presets_table,
    "docs/keys.md": keys_table,
    "docs/models.md": quirks_table,
    "docs/providers.md": providers_table,
    "docs/formats.md": tables_table,
    "docs/routing.md": predicates_table,
    "docs/security.md": credential_files_table,
    "docs/tools.md": tools_page,
    "docs/prompt.md": prompt_page,
}


def pages() -> Iterable[tuple[Path, str]]:
    """Yield every generated file with its expected content."""
    for name, content in FILES.items():
        yield ROOT / name, content()
    for name, content in SECTIONS.items():
        path = ROOT / name
        before, _, rest = path.read_text("utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        yield path, f"{before}{BEGIN}\n{content()}\n{END}{after}"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _split(annotation: Any) -> tuple[Any, Meta]:
    if get_origin(annotation) is Annotated:
        bare, meta = get_args(annotation)
        return bare, meta
    return annotation, Meta()


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _kind(bare: Any) -> str:
    names = {"str": "text", "int": "integer", "float": "number", "Decimal": "amount"}
    choices = () if get_origin(bare) is Literal else get_args(bare)
    parts = [part for part in (choices or (bare,)) if part is not type(None)]
    if get_origin(bare) is dict:
        return "table"
    if get_origin(parts[0]) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(parts[0]))
    return names.get(parts[0].__name__, "yes or no" if parts[0] is bool else "text")


def _toml(value: Any) -> str:
    # For strings and numbers JSON is valid TOML.
    if isinstance(value, dict):
        return "{}"
    plain = float(value) if type(value).__name__ == "Decimal" else value
    return msgspec.json.encode(plain).decode()


def main() -> None:
    """Write the files whose content is stale."""
    for path, content in pages():
        if not path.exists() or path.read_text("utf-8") != content:
            path.write_text(content, "utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
