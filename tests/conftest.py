"""Every test has its own home, no keys and no network."""

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.figures import TABLES, count_case, format_figures, record_figure
from tests.loop_watchdog import WatchedPolicy, fail_if_blocked, watchdog
from tests.removable import REMOVABLE, is_removed
from tests.sandbox_here import NO_SANDBOX, get_variables

settings.register_profile("usual", deadline=None, max_examples=50)  # no assertion on time
settings.register_profile("soak", deadline=None, max_examples=1_000)
settings.load_profile("usual")
_FOREIGN = (
    "ANTHROPIC_",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_",
    "OPENAI_",
    "OPENROUTER_",
    "YOURTOOL_",
)
_KEPT = ("YOURTOOL_SHARED",)
_LONG = ("recorded", "security", "soak", "reliability")
_SIGNS = {
    "ecosystem": ("ecosystem",),
    "recorded": ("recorded", "security.corpora"),
    "reliability": ("reliability",),
    "remaining": ("remaining", "sample"),
    "security": ("security",),
}
"""Markers of few tests, and one of the words that each file with such a test contains."""
_LOCAL_NAMES = ("", "localhost", "localhost.localdomain")


class NetworkError(Exception):
    """A test tried to use the network."""


def _stay_here(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if not _is_local(host):
        raise NetworkError(f"{event} to {host!r}: tests stay on this machine")


def _is_local(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name is None or name in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


sys.addaudithook(_stay_here)
# A shell or `nohup` starts a job in the background with these signals ignored: inherited by tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
asyncio.set_event_loop_policy(WatchedPolicy())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection: they, and the modules, stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the tests of parts that are removed, and files without the requested marker.

    Collecting all tests takes longer than running those with some markers.
    """
    tests = Path(__file__).parent
    removed = (tests / part for part in REMOVABLE if is_removed(part))
    if collection_path in removed:
        return True
    signs = _SIGNS.get(config.option.markexpr.partition(" ")[0])
    if signs is None or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text("utf-8")
    return None if any(sign in text for sign in signs) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave cases of `sample` to `make test-remaining`; skip tests of parts that are removed."""
    counts: Counter[str] = Counter()
    for item in items:
        for part in (each.args[0] for each in item.iter_markers("needs")):
            if is_removed(part):
                item.add_marker(pytest.mark.skip(f"`yourtool/{part}` is removed"))
        sample = item.get_closest_marker("sample")
        if sample and not any(map(item.get_closest_marker, _LONG)):
            test = item.nodeid.partition("[")[0]
            if counts[test] % sample.args[0]:
                item.add_marker(pytest.mark.remaining)
            counts[test] += 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that blocks an event loop, unless it is marked `blocks_loop`."""
    yield
    if item.get_closest_marker("blocks_loop"):
        watchdog.take()
    else:
        fail_if_blocked()


@pytest.fixture(scope="session")
def directories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New directories. pytest lists all those of the run to find the number of the next one."""

    def new() -> Iterator[Path]:
        base = tmp_path_factory.mktemp("of")
        for number in count():
            path = base / str(number)
            path.mkdir(0o700)
            yield path

    return new()


@pytest.fixture
def tmp_path(directories: Iterator[Path]) -> Path:
    """A directory of this test."""
    return next(directories)


_DESKTOP = (
    "DISPLAY",
    "SSH_CONNECTION",
    "SSH_TTY",
    "STY",
    "TMUX",
    "WAYLAND_DISPLAY",
    "WSL_DISTRO_NAME",
    "__CF_USER_TEXT_ENCODING",
)
"""Variables with which a test would read and change the clipboard of its user."""


@pytest.fixture(autouse=True)
def home(
    monkeypatch: pytest.MonkeyPatch, directories: Iterator[Path], request: pytest.FixtureRequest
) -> Path:
    """The directories of this test's settings, sessions and logs."""
    for name in os.environ:
        if name.startswith(_FOREIGN) and name not in _KEPT:
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", *_DESKTOP):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    is_marked = request.node.get_closest_marker("no_sandbox") is not None
    for name, value in (NO_SANDBOX if is_marked else get_variables()).items():
        monkeypatch.setenv(name, value)
    path = next(directories)
    monkeypatch.setenv("YOURTOOL_HOME", str(path))
    return path


@pytest.fixture
def figures() -> Callable[..., None]:
    """Adds a value to a table of figures: `tests.figures.record_figure`."""
    return record_figure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Count the cases of the table of figures."""
    report = yield
    if (marker := item.get_closest_marker("figure")) and (call.when == "call" or report.failed):
        count_case(*marker.args, report.passed, **marker.kwargs)
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the figures of the run."""
    if (table := config.option.markexpr) in TABLES:
        terminalreporter.section("figures")
        for line in format_figures(table):
            terminalreporter.write_line(line)


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Restore the logging of the process after a test."""
    root, package = logging.getLogger(), logging.getLogger("yourtool")
    handlers, levels = list(root.handlers), (root.level, package.level)
    yield
    for handler in [each for each in root.handlers if each not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(levels[0])
    package.setLevel(levels[1])
    logging.captureWarnings(False)
    logging.raiseExceptions = True
