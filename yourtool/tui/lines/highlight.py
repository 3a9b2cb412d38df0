"""Syntax highlighting line by line, with Pygments' lexers.

Loaded after the first paint: code blocks are plain until the transcript gets `get_highlighter`.
The lexer's state is passed from line to line, so each line is lexed once. Block comments, which
many lexers match as one token, are tracked here.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.lexers import (
    get_all_lexers,
    get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
)
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, Token
from pygments.util import ClassNotFound

from yourtool.tui.lines.styled_lines import Span

_MAX_LINE_LENGTH = 1000
"""Characters; longer lines are usually data and stay plain."""

_STYLES = (
    (Comment, "syntax.comment"),
    (Keyword.Type, "syntax.type"),
    (Keyword, "syntax.keyword"),
    (Operator.Word, "syntax.keyword"),
    (Name.Function, "syntax.function"),
    (Name.Class, "syntax.type"),
    (Name.Decorator, "syntax.function"),
    (Name.Tag, "syntax.keyword"),
    (Name.Attribute, "syntax.function"),
    (String, "syntax.string"),
    (Number, "syntax.number"),
    (Generic.Inserted, "syntax.added"),
    (Generic.Deleted, "syntax.removed"),
    (Generic.Heading, "syntax.heading"),
    (Generic.Subheading, "syntax.heading"),
)
_LANGUAGE_NAMES = """
    ada apacheconf awk bash batch bibtex c clojure cmake cobol coffeescript common-lisp console
    coq cpp cr csharp css cuda cython d dart delphi diff django docker dtd elixir elm emacs-lisp
    erb erlang fish fortran fsharp gas gherkin glsl go graphql graphviz groovy handlebars
    haskell haxe hlsl html http idris ini java javascript json json5 jsonld jsx julia kotlin
    lean less llvm lua make markdown matlab mysql nasm nginx nimrod numpy objective-c ocaml
    octave perl php powershell prolog properties protobuf puppet purescript pycon python pytb
    qml racket rbcon reasonml restructuredtext ruby rust sass scala scheme scss sed smalltalk
    solidity splus sql sqlite3 swift systemverilog tcl tcsh terraform tex thrift toml tsx
    typescript vala vb.net verilog vhdl vim vue wast xml xslt yaml zig
"""
LANGUAGES = frozenset(_LANGUAGE_NAMES.split())
"""Names of the Pygments lexers in use. Each one lexes any line quickly, which the tests check;
some others never end on a line of tabs, or fail outside of Pygments' loop."""
_WITHOUT_CONTEXT = frozenset({"http", "markdown", "restructuredtext", "scheme"})
"""Lexers whose callbacks do not support `LexerContext`; each line starts in the first state."""
_ALIASES = {
    "jsonc": "json",
    "sh-session": "console",
    "shell-session": "console",
    "postgresql": "sql",
    "postgres": "sql",
    "plpgsql": "sql",
    "systemd": "ini",
}

_LANGUAGES_OF_SHARED_PATTERNS = {
    **{"*.h": "c", "*.m": "objective-c", "*.pl": "perl", "*.S": "gas", "*.v": "verilog"},
    **{"*.xsl": "xslt", "*.xslt": "xslt"},
}
"""The most common languages of patterns that several lexers have."""


def get_highlighter(language: str) -> "PygmentsHighlighter | None":
    """Return a highlighter for the language of a fence or a file name; None if it is unknown."""
    lexer = _find_lexer(language.lower().strip("{}.")) or _find_lexer_for_file(language)
    return PygmentsHighlighter(lexer) if lexer is not None else None


@cache
def _find_lexer(language: str) -> Lexer | None:
    try:
        lexer = get_lexer_by_name(_ALIASES.get(language, language), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return lexer if lexer.aliases[0] in LANGUAGES else None


@lru_cache(256)
def _find_lexer_for_file(path: str) -> Lexer | None:
    name = path.rpartition("/")[2]
    suffix = f"*.{name.rpartition('.')[2]}" if "." in name else ""
    languages = _languages_by_pattern()
    language = languages.get(name) or languages.get(suffix) or languages.get(suffix.lower())
    return _find_lexer(language) if language else None


@cache
def _languages_by_pattern() -> dict[str, str]:
    """Return languages by file name or pattern such as `*.py`."""
    return {
        pattern: aliases[0]
        for _, aliases, patterns, _ in reversed(list(get_all_lexers(plugins=False)))
        if aliases and aliases[0] in LANGUAGES
        for pattern in patterns
    } | _LANGUAGES_OF_SHARED_PATTERNS


@cache
def _style_of(kind: Any) -> str:
    return next(
        (f"code.block {style}" for parent, style in _STYLES if kind in parent), "code.block"
    )


class PygmentsHighlighter:
    """Highlights the lines of one code block in order."""

    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self._can_resume = (
            isinstance(lexer, RegexLexer)
            and not isinstance(lexer, ExtendedRegexLexer)
            and lexer.aliases[0] not in _WITHOUT_CONTEXT
        )
        self._states: tuple[str, ...] = ("root",)
        self._in_comment = False

    def fork(self) -> "PygmentsHighlighter":
        """Return a copy with the same state."""
        copy = PygmentsHighlighter(self._lexer)
        copy._states, copy._in_comment = self._states, self._in_comment
        return copy

    def highlight(self, text: str) -> list[Span]:
        """Return the spans of the next line."""
        if len(text) > _MAX_LINE_LENGTH:
            return [(text, "code.block")]
        comment = ""
        if self._in_comment:
            end = text.find("*/")
            if end < 0:
                return [(text, _style_of(Comment))] if text else []
            comment, text, self._in_comment = text[: end + 2], text[end + 2 :], False
        spans: list[Span] = [(comment, _style_of(Comment))] if comment else []
        for kind, value in self._tokens(f"{text}\n"):
            style, words = _style_of(kind), value.rstrip("\n")
            if spans and spans[-1][1] == style:
                spans[-1] = (spans[-1][0] + words, style)
            elif words:
                spans.append((words, style))
        if "".join(part for part, _ in spans) != comment + text:
            return [(comment + text, "code.block")]
        return spans

    def _tokens(self, text: str) -> Iterator[tuple[Any, str]]:
        """Lex one line in the state that the line before ended in."""
        if not self._can_resume:
            yield from (
                (kind, value) for _, kind, value in self._lexer.get_tokens_unprocessed(text)
            )
            return
        context = LexerContext(text, 0, list(self._states))
        # Only this class starts in a given state and returns the state at the end.
        tokens = ExtendedRegexLexer.get_tokens_unprocessed(self._lexer, context=context)  # pyright: ignore[reportArgumentType]  # its tables are those of every `RegexLexer`
        for at, kind, value in tokens:
            if text.startswith("/*", at) and self._opens_comment(kind, value, text[at:]):
                self._in_comment = True
                yield Comment, text[at:]
                break
            yield kind, value
        self._states = tuple(context.stack)

    def _opens_comment(self, kind: Any, value: str, rest: str) -> bool:
        """Return whether a token starts a block comment that no state of the lexer continues."""
        is_continued = value.startswith("/*") and value != rest
        if "*/" in rest[2:] or kind in String or is_continued:
            return False
        return _has_block_comments(self._lexer)


@cache
def _has_block_comments(lexer: Lexer) -> bool:
    tokens = lexer.get_tokens_unprocessed("/* a */")
    return next(iter(tokens), (0, Token.Text, ""))[1] in Comment
