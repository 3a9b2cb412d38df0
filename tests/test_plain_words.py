"""Docstrings, comments and pages use plain words."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
BANNED = (
    r"told",
    r"tells?",
    r"said",
    r"says?",
    r"kept",
    r"wants?",
    r"hears?",
    r"heard",
    r"knows?",
    r"speaks?",
    r"spoken? to",
    r"begun",
    r"began",
    r"borne",
    r"whoever",
    r"whomever",
    r"nobody",
    r"is asked about",
    r"(?<!there )(?:is|are|was|were) (?-i:none)",
    r"lets? go",
    r"stands(?! for)",
    r"stood",
    r"anew",
    r"reckon\w*",
    r"what there is",
    r"whatever",
    r"wherever",
    r"begins",
    r"shall",
    r"heed\w*",
    r"wishes",
    r"in words",
    r"by itself",
    r"all the same",
    r"for good",
    r"of (?:its|their) own",
    r"goes on",
    r"go on",
    r"at hand",
    r"in force",
    r"beside",
    r"came of",
    r"mend(?:s|ed|ing)?",
    r"(?<!control )pictures?",
    r"makers?",
    r"the void",
    r"a good end",
    r"left out",
    r"leaves? out",
    r"given? back",
    r"gives? back",
    r"put into words",
    r"thinking levels?",
    r"once more",
    r"thereby",
    r"therein",
    r"hence",
    r"lest",
    r"amid",
)
"""Patterns of words that the terms of the field replace; see `docs/glossary.md`."""
MAX_WORDS = 8
"""In the first line of a module."""
PATTERN = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
NOT_PROSE = re.compile(r"`[^`]*`|\"[^\"\n]*\"|“[^”]*”|https?://\S+")
"""Code, quotations and addresses, which keep the words that they have."""


def texts_of_source(source: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of every docstring, attribute docstring and comment."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield statement.lineno, text
                    case _:
                        pass
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def texts_of_page(page: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of every line outside code blocks."""
    is_code = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def find_banned(texts: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield line number and word of every use of a banned word."""
    for start, text in texts:
        prose = NOT_PROSE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        for found in PATTERN.finditer(prose):
            yield start + prose.count("\n", 0, found.start()), found[0]


def find_in_file(path: Path) -> list[str]:
    """Return `file:line: word` of every use of a banned word in a file."""
    text = path.read_text("utf-8")
    if not PATTERN.search(text):
        return []
    texts = texts_of_page(text) if path.suffix == ".md" else texts_of_source(text)
    return [f"{path.relative_to(ROOT)}:{line}: {word}" for line, word in find_banned(texts)]


TESTS = pytest.param("tests", marks=pytest.mark.remaining)


@pytest.mark.parametrize("top", ["yourtool", TESTS, "benchmarks", "docs", "."])
def test_no_docstring_comment_or_page_has_a_banned_word(top):
    paths = PAGES if top == "." else sorted((ROOT / top).rglob("*.py"))
    assert not [found for path in paths for found in find_in_file(path)]


def test_banned_words_are_found_in_docstrings_comments_and_pages(tmp_path):
    source = '"""Is told.\n\nOr kept."""\n\nX = "told"  # by whoever\n"""Stands."""\n'
    assert list(find_banned(texts_of_source(source))) == [
        (1, "told"),
        (3, "kept"),
        (6, "Stands"),
        (5, "whoever"),
    ]
    page = "It stands.\n```\ntold\n```\n`kept` stands for it, but not “told”.\n"
    assert list(find_banned(texts_of_page(page))) == [(1, "stands")]


def find_long_first_lines() -> Iterator[str]:
    """Yield the modules whose first line is long, or a question in place of a noun."""
    for path in sorted((ROOT / "yourtool").rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        first = docstring.partition("\n")[0]
        is_question = re.search(r"\b(?:what|which|whether)\b", first, re.IGNORECASE)
        if is_question or len(re.findall(r"[\w'`/.-]+", first)) > MAX_WORDS:
            yield f"{path.relative_to(ROOT)}: {first}"


def test_the_first_line_of_a_module_is_a_short_noun_phrase():
    assert not list(find_long_first_lines())
