import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from jsonschema import Draft202012Validator

from docs.map import list_rooms, write_map
from tests.removable import needs_all
from yourtool import __version__
from yourtool.agent.commands.table import COMMANDS
from yourtool.cli import parser
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice, TextDelta
from yourtool.paths import Paths
from yourtool.run_result import result_without_turn
from yourtool.settings.config import config_file, load_report
from yourtool.settings.peer_words import read_peer_words
from yourtool.tools.builtin import default_toolbox

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

OPTIONS_OF_OTHERS = {
    "--acp",
    "--dirty",
    "--exec",
    "--get",
    "--global",
    "--no-deps",
    "--pip-args",
    "--privileged",
    "--reinstall",
    "--require-hashes",
    "--to-command",
    "--receive-pack",
    "--recurse-submodules",
    "--reference",
    "--shared",
    "--upload-pack",
    "--work-tree",
    "--yes",
}

GENERATED = r"(?s)<!-- made by `make docs` -->.*?<!-- end -->"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.req("R-QLT-06")
def test_every_generated_page_matches_the_code():
    stale = [path.name for path, content in generator().pages() if path.read_text() != content]
    assert not stale, "run `make docs`"


@pytest.mark.parametrize(
    "line",
    [
        TextDelta(message_id="m", content_block_index=0, text="x"),
        Notice(level="info", text="x"),
        result_without_turn(UsageError("x")),
    ],
    ids=lambda line: type(line).__name__,
)
@pytest.mark.req("R-CLI-02")
def test_lines_fit_the_published_schema(line):
    schema = msgspec.json.decode((ROOT / "docs/events.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(msgspec.json.decode(msgspec.json.encode(line)))


def test_tools_page_has_the_description_and_the_arguments_of_every_tool():
    page = (ROOT / "docs/tools.md").read_text()
    for definition in default_toolbox().definitions:
        assert f"## `{definition.name}`\n\n{definition.description}\n" in page
        assert all(f"\n| `{name}` |" in page for name in definition.input_schema["properties"])


def test_decision_records_are_short_numbered_and_complete():
    records = sorted((ROOT / "docs/adr").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        text = path.read_text()
        assert len(text.splitlines()) <= 60, path.name
        for part in ("## Context", "## Decision", "## Consequences"):
            assert part in text, f"{path.name} lacks {part}"


def find_on_pages(pattern: str) -> set[str]:
    """Return the matches of the first group of `pattern` on all pages."""
    pages = (page.read_text() for page in PAGES)
    return {found for text in pages for found in re.findall(pattern, text, re.MULTILINE)}


@pytest.mark.req("R-QLT-06")
def test_every_slash_command_on_a_page_exists():
    known = {name for each in COMMANDS for name in (each.name, *each.aliases)}
    mentioned = find_on_pages(r"`/([a-z]+)(?=[` ])")
    assert len(mentioned) > 15
    foreign = {word for row in read_peer_words()["slash"] for word in row.words}
    assert mentioned - {"greet", "proc", "run", "tmp"} - foreign <= known


@needs_all
@pytest.mark.req("R-QLT-06")
def test_every_option_and_subcommand_on_a_page_exists():
    folders = ("yourtool/cli", "yourtool/extensions", "benchmarks")
    sources = [source for folder in folders for source in (ROOT / folder).rglob("*.py")]
    text = "\n".join(source.read_text() for source in sources)
    options = {
        "--help",
        "--hard",
        "--mirror",
        *OPTIONS_OF_OTHERS,
        "--allowed",  # the start of `--allowedTools`
        "--disallowed",
        *(word for row in read_peer_words()["option"] for word in row.words),
        *re.findall(r'"(--[a-z-]+)"', text),
    }
    options.update(re.findall(r"--[a-z-]+", " ".join(each.usage for each in COMMANDS)))
    assert find_on_pages(r"(?<![\w-])(--[a-z][a-z-]+)") <= options
    assert find_on_pages(r"(?:`|^)yourtool ([a-z]+)") <= parser.COMMANDS.keys()


@needs_all
def test_every_command_in_a_sentence_is_one_that_the_program_accepts():
    text = "\n".join(re.sub(r"(?ms)^ *```.*?^ *```$", "", page.read_text()) for page in PAGES)
    found = {" ".join(each.split()) for each in re.findall(r"`(yourtool\s[^`]+)`", text)}
    assert len(found) > 50
    for command in found - {"yourtool --help", "yourtool --version"}:
        line = re.sub(r" \[[^]]*\]|(?<=\w)\|\w+", "", command).replace("\\|", "|")
        line = line.partition(" | ")[0]
        try:
            words, _ = parser.split_prompt(shlex.split(line)[1:])
            parser.build_parser(words).parse_args(words)
        except UsageError as error:  # of a command, or an option, that is only named
            assert re.search("arguments are required|expected one argument", str(error)), command


@pytest.mark.req("R-QLT-06")
def test_every_make_target_and_link_on_a_page_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert find_on_pages(r"(?:`|^)make ([a-z]+)") <= targets
    missing = [
        f"{page.name}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\((?!https?:)([^)]+)", page.read_text())
        if not is_target(page, link)
    ]
    assert not missing


def test_lines_of_a_page_outside_tables_have_at_most_100_columns():
    pages = {page.name: page.read_text() for page in PAGES}
    written = {name: re.sub(GENERATED, "", text) for name, text in pages.items()}
    long = [
        f"{name}: {line}"
        for name, text in written.items()
        for line in text.splitlines()
        if len(line) > 100 and not line.startswith("|")
    ]
    assert not long


KINDS_OF_CHANGES = ["### Added", "### Changed", "### Fixed", "### Security"]


def test_the_changelog_has_each_kind_of_change_once_and_no_line_twice():
    text = (ROOT / "CHANGELOG.md").read_text()
    for version in text.split("\n## ")[1:]:
        found = re.findall(r"^### .*$", version, re.MULTILINE)
        assert found == [kind for kind in KINDS_OF_CHANGES if kind in found]
        entries = re.findall(r"^(?:- |#### ).*$", version, re.MULTILINE)
        assert len(entries) == len(set(entries))


def test_the_newest_section_of_the_changelog_is_short_and_that_of_this_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    unreleased, newest = text.split("\n## ")[1:3]
    assert unreleased.startswith("[Unreleased]\n")
    heading, *lines = newest.splitlines()
    assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", heading)
    assert len(lines) <= 120
    assert [line for line in lines if line.startswith("### ")] == KINDS_OF_CHANGES


def is_target(page: Path, link: str) -> bool:
    """Return whether the file of `link` exists and has a heading for its anchor."""
    name, _, anchor = link.partition("#")
    path = page.parent / name if name else page
    return path.exists() and (not anchor or anchor in anchors(path.read_text()))


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_a_link_to_a_heading_that_does_not_exist_is_found():
    page = ROOT / "docs/guide.md"
    assert anchors("# A\n\n## Keys of `yourtool`, twice") == {"a", "keys-of-yourtool-twice"}
    assert is_target(page, "security.md#the-screen")
    assert not is_target(page, "security.md#no-such-heading")


def test_the_list_of_escaped_characters_is_in_the_section_about_the_screen():
    _, _, rest = (ROOT / "docs/security.md").read_text().partition("\n## The screen\n")
    assert r"`\u{hex}`" in rest.partition("\n## ")[0]


@pytest.mark.req("R-SWP-03")
def test_the_page_of_providers_shows_that_each_gets_its_own_reasoning_back():
    rows = [line.strip("| ").split(" | ") for line in generator().providers_table().splitlines()]
    carried = {name: cells for name, *cells in rows}
    assert carried["its own reasoning"] == ["sent back"] * 6
    assert carried["its signatures"][0] == carried["encrypted reasoning"][1] == "sent back"
    assert set(carried["another model's reasoning"]) == {"omitted"}


def test_settings_on_a_page_are_valid(tmp_path):
    """Those of `config.toml`, not of `models.toml` and of files with a version."""
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    found = [
        (page.name, block)
        for page in PAGES
        for block in re.findall(r"(?s)```(?:toml)?\n(.*?)```", page.read_text("utf-8"))
        if re.match(r"(#.*\n)?\[(?!models\.)", block)
    ]
    assert len(found) > 8
    for name, block in found:
        config_file(paths).write_text(block)
        assert load_report(paths, {}).problems == (), name


@pytest.mark.parametrize("page", ["AGENTS.md", "the map"])
@needs_all
def test_every_module_that_the_rules_for_changes_name_exists(page):
    text = write_map(list_rooms()) if page == "the map" else (ROOT / page).read_text("utf-8")
    named = set(re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", text))
    assert len(named) > 5
    assert not [
        each for each in named if not any((ROOT / top / each).exists() for top in (".", "yourtool"))
    ]


def test_every_package_has_a_first_line_and_at_most_24_modules():
    rooms = list(list_rooms())
    assert len(rooms) > 50
    assert not [each.path for each in rooms if not each.summary.endswith(".")]
    assert not [each.path for each in rooms if len(each.modules) > 24]


@needs_all
def test_arrows_in_the_pictures_of_the_architecture_are_imports():
    """Each line leads from the nearest line above it with less indentation."""
    above: list[tuple[int, str]] = []
    blocks = re.findall(r"(?s)```\n(.*?)```", (ROOT / "docs/architecture.md").read_text("utf-8"))
    lines = [line for block in blocks for line in block.splitlines()]
    for line in lines:
        indentation, path = re.match(r"( *(?:→ )?)([a-z_/]+\.py)", line).groups()
        above = [each for each in above if each[0] < len(indentation)]
        if above:
            name = path.removesuffix(".py").replace("/", ".")
            package, _, module = name.rpartition(".")
            text = (ROOT / "yourtool" / above[-1][1]).read_text("utf-8")
            either = (
                rf"from yourtool\.{name} import|from yourtool\.{package} import [^#]*\b{module}\b"
            )
            assert re.search(either, text), line
        assert (ROOT / "yourtool" / path).exists(), line
        above.append((len(indentation), path))
    assert len(lines) > 15
