"""Examples of calls that a rule covers."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import Subject, SubjectKind
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict
from yourtool.permissions.shell import specs

_MAX_EXAMPLES = 3
_NOWHERE = "/dev/null/workspace"
"""A workspace without files, so that only the text of a call matters."""
_ANY_COMMAND = ("ls", "rm -r src", "curl example.org | sh")
_ANY_HOST = ("example.org", "localhost:8080", "xn--80ak6aa92e.com")
_ANY_PATH = ("README.md", "src/main.py", ".env")
_OPEN_ENDS = (
    "", " a.txt", " -v", " --help", " status", " s/a/b/ a.txt", " -E s/a/b/ a.txt", " s/b/c/ b.txt",
)  # fmt: skip
"""What may follow the first words that a rule names, for most kinds of programs."""
_Candidates: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""Texts that a rule may cover, and texts that it may not."""


class RuleExamples(Struct, frozen=True):
    """Commands, paths or hosts, at most three of each."""

    match: tuple[str, ...] = ()
    """Covered by the rule."""
    not_match: tuple[str, ...] = ()
    """Similar, and not covered."""


def build_examples(rule: Rule, kind: SubjectKind, *, denies: bool = False) -> RuleExamples:
    """Return examples for a rule about calls of this kind.

    `denies`: the rule denies or asks, and so matches more broadly than a rule that allows. Both
    are empty if the calls have no command, path or host.
    """
    match kind:
        case "command":
            covered, others = _command_candidates(rule.spec)
        case "path":
            covered, others = _path_candidates(rule.spec)
        case "host":
            covered, others = _host_candidates(rule.spec)
        case "opaque":
            return RuleExamples()
    texts = tuple(dict.fromkeys((*covered, *others)))
    return RuleExamples(
        _first(text for text in texts if covers_example(rule, kind, text, denies=denies)),
        _first(text for text in others if not covers_example(rule, kind, text, denies=denies)),
    )


def covers_example(rule: Rule, kind: SubjectKind, text: str, *, denies: bool = False) -> bool:
    """Whether a rule covers a call about `text`, in a workspace without files."""
    subject = Subject(kind, text, _NOWHERE)
    if denies:
        return RuleSet(deny=(rule,)).verdict(rule.tool, subject) is RuleVerdict.DENY
    return RuleSet(allow=(rule,)).verdict(rule.tool, subject) is RuleVerdict.ALLOW


def _first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:_MAX_EXAMPLES]


def _command_candidates(spec: str | None) -> _Candidates:
    if spec is None:
        return _ANY_COMMAND, ()
    if (parsed := specs.parse_spec(spec)) is None:
        return (), ()
    bare = shlex.join(parsed.words)
    assigned = (f"{name}={shlex.quote(value)}" for name, value in parsed.variables)
    command = " ".join((*assigned, bare))
    line = " ".join((command, *map(str, parsed.files)))
    if parsed.writes:
        return _write_candidates(command, first=parsed.words[0])
    covered = (
        tuple(f"{command}{end}" for end in _OPEN_ENDS)
        if parsed.is_open
        else (line, f"{line} 2>&1", f"CI=1 {line}")
    )
    first, *rest = parsed.words
    others = (
        *([bare, *_iter_changed_variables(parsed, bare)] if parsed.variables else ()),
        *([command, f"{command} {replace(parsed.files[0], path='other')}"] if parsed.files else ()),
        shlex.join([*parsed.words[:-1], "other"]) if rest else f"{first}x",
        f"{command} > out.txt",
        f"{command} && rm -r src",
        f"{command} a.txt",
        shlex.join(parsed.words[:-1]) if rest else f"./{first}",
        f"echo {command}",
        f"man {first}",
    )
    return covered, others


def _write_candidates(command: str, first: str) -> _Candidates:
    """Return writes to files of the workspace, and others."""
    files = ("> out.txt", "a > out.txt", ">> notes.md", "src/main.py > out.txt", "x '%s' >> a.txt")
    others = ("> ../out.txt", "> .env", "> out.txt && rm -r src", "> ~/out.txt")
    return (
        tuple(f"{command} {each}" for each in files),
        (*(f"{command} {each}" for each in others), f"sudo {first} > out.txt"),
    )


def _iter_changed_variables(spec: "specs.CommandSpec", bare: str) -> Iterator[str]:
    """Yield a command with other values of its variables, and with another variable."""
    yield " ".join((*(f"{name}=other" for name, _ in spec.variables), bare))
    yield f"{spec.variables[0][0]}X=1 {bare}"


def _path_candidates(spec: str | None) -> _Candidates:
    if spec is None:
        return _ANY_PATH, ()
    plain = spec.removeprefix("./")
    if not set("*?") & set(plain):
        folder, slash, name = plain.rpartition("/")
        return (plain,), (f"{plain}.bak", f"{folder}{slash}other-{name}", f"other/{plain}")
    return tuple(_iter_matching_paths(plain)), tuple(_iter_other_paths(plain))


def _iter_matching_paths(glob: str) -> Iterator[str]:
    for deep, name in (("a", "a"), ("b/c", "b"), ("d/e/f", "c")):
        path = glob.replace("**/", f"{deep}/").replace("**", f"{deep}.txt")
        yield path.replace("*", name).replace("?", name)


def _iter_other_paths(glob: str) -> Iterator[str]:
    fixed = glob[: min(at for at in map(glob.find, "*?") if at >= 0)]
    folder = fixed.rpartition("/")[0]
    sample = next(_iter_matching_paths(glob))
    yield f"{folder}-other/{sample.rpartition('/')[2]}" if folder else f"other/{sample}"
    yield f"{sample}.bak"
    yield f"{folder}/a/b/c.bak" if folder else "other/a.bak"
    yield "README"
    yield f"other/{sample}"


def _host_candidates(spec: str | None) -> _Candidates:
    if spec is None:
        return _ANY_HOST, ()
    base = spec.removeprefix("*.").lower()
    if "[" in base:
        return (base,), ("[::2]", "[fe80::1]", "example.org")
    name, colon, port = (
        base.rpartition(":") if base.rpartition(":")[2].isdigit() else (base, "", "")
    )
    own = f"{name}{colon}{port}"
    covered = (own, f"www.{own}", f"api.{own}", f"a.b.{own}")
    others = (f"www.{own}", f"{name}.example.net", f"not{own}", f"{name}:8443", own)
    return covered, others
