import shutil
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.tools.contexts import Contexts, answer
from yourtool.masking import Mask
from yourtool.tools import matcher_script
from yourtool.tools.directory_walk import Folder
from yourtool.tools.matcher_pool import MatcherPool, SearchPattern
from yourtool.tools.process_group import Processes
from yourtool.tools.ripgrep import Ripgrep, SearchRoot, find_ripgrep
from yourtool.tools.search import grep

RIPGREP = shutil.which("rg")
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")

PIECES = st.sampled_from(
    [
        *("a", "k", "K", "S", "i", "é", "ſ", "_", "7", " ", r"\.", ".", ".*", r"\d", r"\w+", r"\s"),
        *(r"\b", r"\W", r"\S", "[a-k]", "[^a]", "[éa]", r"[\d_]", "a{2,3}", "(a|b)", "(?:ab)+"),
        *("^", "$", "(?i:k)", "(?=a)", "(?!b)", "(?<=a)", "a?", "b*?", r"(a)\1", "(?>a+)", "|"),
        *("\ufffd", "x++", r"\x1c"),
    ]
)
PATTERNS = st.lists(PIECES, min_size=1, max_size=6).map("".join)
LINES = st.lists(
    st.sampled_from(
        [
            *(
                b"a",
                b"b",
                b"k",
                b"K",
                b"S",
                b"I",
                b"_7",
                b" ",
                b".",
                b"\n",
                b"\r\n",
                b"\xff",
                b"\xc3",
            ),
            *map(str.encode, ("é", "É", "\u212a", "ſ", "ı", "²", "\x1c", "\0")),
        ]
    ),
    max_size=12,
).map(b"".join)


def searched(directory, names, pattern, *, ignore_case, ripgrep):
    start = Contexts(directory, directory).workspace
    with start.directory(".") as descriptor:
        narrower = (
            Ripgrep(Path(RIPGREP), directory, SearchRoot(descriptor), 1_000) if ripgrep else None
        )
        wanted = SearchPattern(
            pattern, ignore_case=ignore_case, max_matches=3, max_file_bytes=1_000
        )
        matching = MatcherPool(wanted, SearchRoot(descriptor), Mask(), narrower)
        try:
            matching.open()
            matching.uses_ripgrep = ripgrep
            answer = matching.search([Folder("", names)])
        finally:
            matching.processes.close()
    return answer.found, answer.skipped, answer.unread


def is_pattern(text):
    try:
        matcher_script.re.compile(text)
    except matcher_script.re.error:
        return False
    return True


def is_same_with_ripgrep(directory, pattern, texts, ignore_case):
    for at, text in enumerate(texts):
        (directory / f"{at:02}").write_bytes(text)
    (directory / "large").write_bytes(b"a" * 1_001)
    names = [*(f"{at:02}" for at in range(len(texts))), "large"]
    return searched(directory, names, pattern, ignore_case=ignore_case, ripgrep=False) == searched(
        directory, names, pattern, ignore_case=ignore_case, ripgrep=True
    )


def examples(count):
    return settings(
        deadline=None,
        max_examples=count,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@needs_ripgrep
@examples(5)
@given(PATTERNS.filter(is_pattern), st.lists(LINES, min_size=1, max_size=12), st.booleans())
@example("ski", ["ſ\u212aı".encode(), b"SKI"], True)
@example("a.$", [b"a\xff\r\n", b"a\0", b"x"], False)
@example("[ſ]", [b"s"], True)
def test_glob_results_are_the_same_with_and_without_ripgrep(tmp_path, pattern, texts, ignore_case):
    assert is_same_with_ripgrep(tmp_path, pattern, texts, ignore_case)


@needs_ripgrep
@pytest.mark.soak
@pytest.mark.timeout(1_200)
@examples(1_000)
@given(PATTERNS.filter(is_pattern), st.lists(LINES, min_size=1, max_size=12), st.booleans())
def test_generated_searches_have_the_same_results_with_ripgrep(
    tmp_path, pattern, texts, ignore_case
):
    assert is_same_with_ripgrep(tmp_path, pattern, texts, ignore_case)


@needs_ripgrep
async def test_grep_results_are_the_same_with_and_without_ripgrep(
    context, root, tmp_path, monkeypatch
):
    for at in range(300):
        (root / f"d{at % 7}").mkdir(exist_ok=True)
        (root / f"d{at % 7}" / f"-f{at}").write_text(f"x{at}\ny{at % 13}\n")
    (root / ".gitignore").write_text("d3/\n")
    (root / ".ignore").write_text("d4/\n")
    (root / ".hidden").write_text("x5")
    (root / "d0" / "binary").write_bytes(b"x5\0")
    (root / "d0" / "link").symlink_to(root / "d1")
    (tmp_path / "ripgreprc").write_text("--max-count=1\n--glob=!d1\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "ripgreprc"))
    for pattern in (r"[xy]\d*5\b", "x5", "--version", r"^\w\d$"):
        theirs = await answer(grep, context, pattern=pattern)
        with monkeypatch.context() as patched:
            patched.setenv("PATH", str(tmp_path / "none"))
            assert await answer(grep, context, pattern=pattern) == theirs


@needs_ripgrep
async def test_ripgrep_handles_a_catastrophic_pattern_immediately(context, root):
    (root / "file").write_text("a" * 60 + "!")
    assert "No line matches" in await answer(grep, context, pattern="(a+)+$")


def fake(directory, mode=0o755):
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "rg"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(mode)
    return program


def trusted(tmp_path):
    """Return whether no parent directory is world-writable, unlike most test directories."""
    return not any(each.stat().st_mode & stat.S_IWOTH for each in (tmp_path, *tmp_path.parents))


def test_ripgrep_from_a_world_writable_directory_is_not_used(tmp_path, monkeypatch):
    workspace = tmp_path / "ws"
    open_to_all = tmp_path / "open"
    fake(workspace / "bin")
    fake(open_to_all)
    open_to_all.chmod(0o777)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "rg").symlink_to(workspace / "bin" / "rg")
    for entry in (str(workspace / "bin"), str(open_to_all), str(linked), ".", "", "bin"):
        monkeypatch.setenv("PATH", entry)
        monkeypatch.chdir(workspace)
        assert find_ripgrep(workspace) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads the modes of the system's directories")
def test_ripgrep_from_a_system_directory_is_used(tmp_path, monkeypatch):
    if RIPGREP is None or not trusted(Path(RIPGREP).resolve().parent):
        pytest.skip("ripgrep is not installed where only the system writes")
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(RIPGREP).parent}")
    assert find_ripgrep(tmp_path) == Path(RIPGREP).resolve()


def test_failing_or_wrong_ripgrep_does_not_change_the_result(context, root, tmp_path):
    for at in range(3):
        (root / f"f{at}").write_text(f"x{at}")
    for script in ("exit 2", "kill -9 $$", "yes", "printf './f1\\0/etc/passwd\\0../x\\0'; exit 2"):
        program = fake(tmp_path / "bin")
        program.write_text(f"#!/bin/sh\n{script}\n")
        with context.workspace.directory(".") as start:
            narrowed = Ripgrep(program, root, SearchRoot(start), 100).find_candidates(
                [Folder("", ["f0", "f1", "f2"])], "x", processes := Processes()
            )
            processes.close()
        assert narrowed is None
