"""Edits spoilt the way models spoil them, made from files in five languages.

Python files are those of the standard library; the others are generated, from few names, so that
many lines occur several times and at several depths.
"""

import random
import re
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

_NAMES = ("count", "value", "items", "name", "result", "index", "total", "path", "state", "node")
_TYPES = ("user", "order", "cache", "parser", "session", "report", "token", "queue")
_STANDARD = (
    "argparse", "bdb", "calendar", "cmd", "configparser", "difflib", "ftplib", "gettext", "heapq",
    "imaplib", "mailbox", "optparse", "pdb", "shlex", "textwrap", "zipfile",
)  # fmt: skip
"""Modules of the standard library."""
_PROSE = (
    "The {a} isn\u2019t stored; its \u201c{b}\u201d is \u2013 see below.",
    "If a {a} has no {b}, the \u201c{c}\u201d doesn\u2019t change.",
    "- {a}: the {b} of the {c}",
    "  - a {b}\u00a0{c}, or \u2018{a}\u2019",
    "Use the {a} \u2014 never the {c}.",
)


class SpoiltEdit(Struct, frozen=True):
    """An edit as a model would write it, and what it means."""

    kind: str
    language: str
    before: str
    after: str
    old: str
    new: str
    line: int
    """The first line of the piece in the file, from 1."""


class _Piece(Struct, frozen=True):
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]


def spoilt_edits(seed: int, files: int, per_file: int) -> Iterator[SpoiltEdit]:
    """Yield edits of every kind and language that differ from the text of their file."""
    chance = random.Random(seed)
    for language, build in _LANGUAGES.items():
        for _ in range(files):
            text = build(chance)
            for kind, spoil in _KINDS.items():
                for _ in range(per_file):
                    if (found := _spoil(chance, text, kind, spoil)) is not None:
                        yield _with_line_ends(chance, found, language)


def edits_with_a_changed_word(seed: int, files: int, per_file: int) -> Iterator[SpoiltEdit]:
    """Yield edits whose old text has a word that is not in that place of the file."""
    chance = random.Random(seed)
    for language, build in _LANGUAGES.items():
        for _ in range(files):
            text = build(chance)
            for _ in range(per_file):
                lines = text.split("\n")
                piece = _choose_piece(chance, lines, 3)
                if piece is None or not (words := re.findall(r"[A-Za-z]{3,}", " ".join(piece.old))):
                    continue
                word = chance.choice(words)
                other = chance.choice([each for each in (*_NAMES, *_TYPES) if each != word])
                old = re.sub(rf"\b{word}\b", other, "\n".join(piece.old), count=1)
                if old in text or old == "\n".join(piece.old):
                    continue
                yield SpoiltEdit("word", language, text, text, old, "replaced", piece.start + 1)


def _spoil(chance: random.Random, text: str, kind: str, spoil: "_Spoil") -> SpoiltEdit | None:
    lines = text.split("\n")
    if kind == "trailing space" and chance.random() < 0.5:  # the file has it, the model does not
        lines = [line + chance.choice(("", "", "  ", "\t")) if line else line for line in lines]
        text = "\n".join(lines)
    if (piece := _choose_piece(chance, lines, 1)) is None:
        return None
    after = [*lines[: piece.start], *piece.new, *lines[piece.start + len(piece.old) :]]
    old, new = spoil(chance, piece)
    ends = "\n" if chance.random() < 0.5 else ""
    old_text, new_text = "\n".join(old) + ends, "\n".join(new) + ends
    if old_text in text:
        return None  # not spoilt
    return SpoiltEdit(kind, "", text, "\n".join(after), old_text, new_text, piece.start + 1)


def _with_line_ends(chance: random.Random, edit: SpoiltEdit, language: str) -> SpoiltEdit:
    before, after = edit.before, edit.after
    if chance.random() < 0.3:
        before, after = before.rstrip("\n"), after.rstrip("\n")
    if chance.random() < 0.3:
        before, after = before.replace("\n", "\r\n"), after.replace("\n", "\r\n")
    return SpoiltEdit(edit.kind, language, before, after, edit.old, edit.new, edit.line)


def _choose_piece(chance: random.Random, lines: list[str], least: int) -> _Piece | None:
    """Return some lines that occur once in the file, and a change of one of them."""
    joined = "\n".join(("", *lines, ""))
    for _ in range(30):
        size = chance.randint(least, 12)
        start = chance.randrange(max(1, len(lines) - size - 3))
        old = lines[start : start + size]
        if not (old and old[0].strip() and old[-1].strip()):
            continue
        if joined.count("\n".join(("", *old, ""))) != 1:
            continue
        at = chance.choice([number for number, line in enumerate(old) if line.strip()])
        new = [*old[:at], *_change(chance, old[at]), *old[at + 1 :]]
        if new != old:
            return _Piece(start, tuple(old), tuple(new))
    return None


def _change(chance: random.Random, line: str) -> list[str]:
    indent, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    match chance.randrange(4):
        case 0:
            return [line, f"{indent}{chance.choice(_NAMES)}_added(1)"]
        case 1:
            return [f"{indent}{chance.choice(_NAMES)}_before(2)", line]
        case 2:
            return [re.sub(r"\w+(?=\W*$)", "changed", line.rstrip(), count=1) + end]
        case _:
            return [re.sub(r"\b[A-Za-z]\w*", "renamed", line, count=1)]


_Spoil = Callable[[random.Random, _Piece], tuple[list[str], list[str]]]


def _both(change: Callable[[str], str], piece: _Piece) -> tuple[list[str], list[str]]:
    return [change(line) for line in piece.old], [change(line) for line in piece.new]


def _lose_indentation(chance: random.Random, piece: _Piece) -> tuple[list[str], list[str]]:
    spaces = [re.match(r"[ \t]*", line).group() for line in piece.old if line.strip()]
    shortest = min(spaces, key=len)
    if not shortest:
        more = chance.choice(("    ", "  ", "\t"))
        return _both(lambda line: more + line if line.strip() else line, piece)
    count = chance.choice((len(shortest), len(shortest), max(1, len(shortest) // 2)))
    return _both(lambda line: line[count:] if line.strip() else line, piece)


def _exchange_tabs(chance: random.Random, piece: _Piece) -> tuple[list[str], list[str]]:
    del chance

    def change(line: str) -> str:
        indent = line[: len(line) - len(line.lstrip())]
        other = indent.replace("\t", "    ") if "\t" in indent else indent.replace("    ", "\t")
        return other + line.lstrip() if line.strip() else line

    return _both(change, piece)


def _change_trailing_space(chance: random.Random, piece: _Piece) -> tuple[list[str], list[str]]:
    if any(line != line.rstrip() for line in piece.old):
        return _both(str.rstrip, piece)
    marked = set(chance.sample(piece.old, max(1, len(piece.old) // 2)))
    return _both(lambda line: line + "  " if line in marked else line, piece)


def _exchange_forms(chance: random.Random, piece: _Piece) -> tuple[list[str], list[str]]:
    del chance
    forms = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u00a0", "''\"\"-- ")
    if any(line.translate(forms) != line for line in piece.old):
        return _both(lambda line: line.translate(forms), piece)
    return _both(
        lambda line: re.sub(r'"([^"]*)"', "\u201c\\1\u201d", line).replace("'", "\u2019"), piece
    )


def _number_lines(chance: random.Random, piece: _Piece) -> tuple[list[str], list[str]]:
    del chance
    old, new = (
        [f"{number:>6}\t{line}" for number, line in enumerate(lines, piece.start + 1)]
        for lines in (piece.old, piece.new)
    )
    return old, new


_KINDS: dict[str, _Spoil] = {
    "indentation": _lose_indentation,
    "tabs": _exchange_tabs,
    "trailing space": _change_trailing_space,
    "typographic": _exchange_forms,
    "line numbers": _number_lines,
}
KINDS = tuple(_KINDS)


def _python(chance: random.Random) -> str:
    directory = Path(sysconfig.get_path("stdlib"))
    return (directory / f"{chance.choice(_STANDARD)}.py").read_text(encoding="utf-8")


def _go(chance: random.Random) -> str:
    return _functions(chance, "\t", "func {a}({b} int) {{", "}", ("if {a} > {n} {{", "}"))


def _javascript(chance: random.Random) -> str:
    return _functions(chance, "  ", "function {a}({b}) {{", "}", ("if ({a} === '{b}') {{", "}"))


def _c(chance: random.Random) -> str:
    return _functions(chance, "    ", "static int {a}(char *{b})\n{{", "}", ("while ({a}) {{", "}"))


def _functions(
    chance: random.Random, unit: str, head: str, end: str, block: tuple[str, str]
) -> str:
    lines = list[str]()
    for number in range(25):
        name = f"{chance.choice(_TYPES)}_{chance.choice(_NAMES)}{number % 7}"
        lines += head.format(a=name, b=chance.choice(_NAMES)).split("\n")
        lines += _statements(chance, unit, block, 1)
        lines += [end, ""]
    return "\n".join(lines)


def _statements(
    chance: random.Random, unit: str, block: tuple[str, str], depth: int
) -> Iterator[str]:
    for _ in range(chance.randint(2, 6)):
        a, b, n = chance.choice(_NAMES), chance.choice(_NAMES), chance.randrange(30)
        if depth < 4 and chance.random() < 0.3:
            yield unit * depth + block[0].format(a=a, b=b, n=n)
            yield from _statements(chance, unit, block, depth + 1)
            yield unit * depth + block[1]
        elif chance.random() < 0.1:
            yield ""
        else:
            yield unit * depth + chance.choice(
                (f"{a} = {b} + {n};", f'print("{a}: it\'s {b}", {n});', f"return {a};")
            )


def _markdown(chance: random.Random) -> str:
    lines = list[str]()
    for number in range(40):
        lines += [f"## {chance.choice(_TYPES)} {number}", ""]
        for _ in range(chance.randint(2, 6)):
            a, b, c = (chance.choice((*_NAMES, *_TYPES)) for _ in range(3))
            lines.append(chance.choice(_PROSE).format(a=a, b=b, c=c))
        lines.append("")
    return "\n".join(lines)


_LANGUAGES: dict[str, Callable[[random.Random], str]] = {
    "Python": _python,
    "Go": _go,
    "JavaScript": _javascript,
    "C": _c,
    "Markdown": _markdown,
}
