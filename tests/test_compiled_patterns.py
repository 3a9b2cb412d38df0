"""Constants that are patterns are compiled once for many starts, and match the same."""

import re
import subprocess
import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.css.tokenizer import Expect

from yourtool import compiled_patterns

PARTS = ["a", "é", r"\d", "[a-c]", "[^x]", "(c)", "(?:d|e)", ".", "ß"]
COUNTS = ["", "*", "+?", "{2,3}"]
PATTERNS = st.builds(
    lambda start, parts, name, end: start + "".join(map("".join, parts)) + name + end,
    st.sampled_from(["", "^", r"\b"]),
    st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(COUNTS)), max_size=6),
    st.sampled_from(["", "(?P<n>b)?"]),
    st.sampled_from(["", "$", r"\Z"]),
)
FLAGS = st.sets(
    st.sampled_from([re.IGNORECASE, re.DOTALL, re.MULTILINE, re.ASCII, re.VERBOSE])
).map(lambda flags: sum(flags, re.RegexFlag(0)))


@pytest.fixture(autouse=True)
def own_compiler():
    yield
    compiled_patterns._compiler.compile = compiled_patterns._original


def store(*patterns: re.Pattern) -> compiled_patterns.Stored:
    """What is stored for a module with these constants."""
    module = ModuleType("constants")
    for number, pattern in enumerate(patterns):
        setattr(module, f"C{number}", pattern)
    sys.modules["constants"] = module
    try:
        return compiled_patterns.collect({})
    finally:
        del sys.modules["constants"]


def load(stored: compiled_patterns.Stored, pattern, flags=0) -> re.Pattern | None:
    """The pattern as it is loaded, None if it was compiled."""
    compiled, original = [], compiled_patterns._original
    compiled_patterns._original = lambda *asked: compiled.append(asked) or original(*asked)
    try:
        compiled_patterns.use(stored)
        re.purge()
        loaded = re.compile(pattern, flags)
    finally:
        compiled_patterns._original = original
    return None if compiled else loaded


@given(pattern=PATTERNS, flags=FLAGS, text=st.text("abcdeéßx1 \n", max_size=12))
def test_loaded_pattern_matches_like_the_compiled_one(pattern, flags, text):
    compiled = re.compile(pattern, flags)
    loaded = load(store(compiled), pattern, flags)
    assert loaded == compiled
    assert (loaded.flags, loaded.groups, loaded.groupindex) == (
        compiled.flags,
        compiled.groups,
        compiled.groupindex,
    )
    assert [each.groupdict() for each in loaded.finditer(text)] == [
        each.groupdict() for each in compiled.finditer(text)
    ]
    assert [each.regs for each in loaded.finditer(text)] == [
        each.regs for each in compiled.finditer(text)
    ]


def test_pattern_of_bytes_is_loaded():
    assert load(store(re.compile(rb"(\x00|b)+")), rb"(\x00|b)+").match(b"b\x00").end() == 2


@pytest.mark.parametrize(
    "constant",
    [
        lambda pattern: (("a", pattern),),
        lambda pattern: pattern.match,
        lambda pattern: type("Class", (), {"__module__": "constants", "PATTERN": pattern}),
        lambda pattern: type("Class", (), {"__module__": "constants", "find": pattern.search}),
        lambda pattern: Expect("a number", number=pattern.pattern),
    ],
)
def test_constants_of_classes_in_tuples_methods_and_tokenizers_are_stored(constant):
    sys.modules["constants"] = module = ModuleType("constants")
    module.CONSTANT = constant(re.compile("unusual"))
    try:
        assert any("unusual" in str(pattern) for pattern, _ in compiled_patterns.collect({}))
    finally:
        del sys.modules["constants"]


def test_pattern_that_is_no_constant_of_a_module_is_never_stored():
    secret = re.compile("sk-0123456789")
    module = ModuleType("constants")
    module.holder = type("Holder", (), {"pattern": secret, "mask": [secret]})()
    module.foreign = type("Foreign", (), {"__module__": "elsewhere", "pattern": secret})
    module.cache = {"a": secret}
    module.seen = [secret]
    sys.modules["constants"] = module
    try:
        assert "sk-0123456789" not in str(compiled_patterns.collect({}))
    finally:
        del sys.modules["constants"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda code, groups, names: (code[:-4], groups, names),
        lambda code, groups, names: (code[:-1], groups, names),
        lambda code, groups, names: (b"\xff" * len(code), groups, names),
        lambda code, groups, names: ("text", groups, names),
        lambda code, groups, names: (code, -1, names),
        lambda _code, groups, _names: (groups,),
        lambda code, groups, _names: (code, groups, ["no names"]),
        lambda code, _groups, names: (code, 2**70, names),
    ],
)
def test_damaged_code_is_compiled_from_the_pattern(damage):
    stored = {key: damage(*values) for key, values in store(re.compile(r"(a)\d+")).items()}
    compiled_patterns.use(stored)
    re.purge()
    assert re.compile(r"(a)\d+").match("a12").groups() == ("a",)


def test_pattern_with_other_flags_is_compiled():
    stored = store(re.compile("unusual"))
    assert load(stored, "unusual", re.IGNORECASE) is None
    assert load(stored, "unusual") is not None


def test_what_is_stored_already_is_stored_again_and_the_number_is_limited(monkeypatch):
    known = {("old", 32): (b"", 0, {})}
    monkeypatch.setattr(compiled_patterns, "_MOST", 1)
    assert compiled_patterns.collect(known) == known


@pytest.mark.parametrize("module", ["dataclasses", "difflib", "http", "typing_extensions"])
def test_run_of_one_prompt_imports_no_module_that_it_rarely_needs(module, tmp_path):
    code = (
        "import sys\nfrom yourtool.optional_modules import import_libraries\nimport_libraries()\n"
        "from yourtool.cli import main\n"
        "import yourtool.headless, yourtool.providers.dialects.chat.request\n"
        "import yourtool.providers.transports.direct, yourtool.providers.wire\n"
        f"sys.exit({module!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path)
    assert done.returncode == 0


def test_constants_that_are_no_patterns_of_a_text_are_skipped():
    scanner = re.Scanner([("a", None)]).scanner
    text = type("Text", (str,), {})("of a subclass")
    assert store(scanner, re.compile(text), re.compile("plain")).keys() >= {("plain", re.UNICODE)}
    assert all(type(pattern) in (str, bytes) for pattern, _ in store(scanner, re.compile(text)))
