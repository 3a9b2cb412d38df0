"""Caches of build tools in the sandbox: writable, private, and the same for a session."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.tools.contexts import answer, call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.home.caches import build_cache_variables

FULL = SandboxLevel.FULL


@pytest.fixture
def person(monkeypatch):
    """A home directory that commands cannot write; not in `/tmp`, which the sandbox replaces."""
    with TemporaryDirectory(dir="/var/tmp") as path:
        monkeypatch.setenv("HOME", path)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        yield Path(path)


async def test_cache_is_kept_for_the_commands_of_a_session_and_for_nothing_else(
    root, contexts, person
):
    context = contexts(sandbox=build_sandbox(root, FULL))
    for place in (".cache/pip", ".npm/_logs", ".cargo", ".cache/anything"):
        write = f"mkdir -p ~/{place} && echo poison > ~/{place}/wheel"
        assert (await call(shell, context, command=write)).success
        assert "poison" in await answer(shell, context, command=f"cat ~/{place}/wheel")
    assert not list(person.rglob("*"))
    other = contexts(sandbox=build_sandbox(root, FULL))
    assert not (await call(shell, other, command="cat ~/.cache/pip/wheel")).success
    await context.sandbox.close()
    await other.sandbox.close()


async def test_cache_on_the_list_stays_readable_and_another_is_hidden(root, contexts, person):
    for name in ("pre-commit", "browser"):
        (person / ".cache" / name).mkdir(parents=True)
        (person / ".cache" / name / "program").write_text(name)
    context = contexts(sandbox=build_sandbox(root, FULL))
    said = await answer(shell, context, command="cat ~/.cache/*/program")
    assert "pre-commit" in said and "browser" not in said
    await context.sandbox.close()


def test_cache_stays_where_the_user_set_it_or_a_command_can_write_it():
    home = {"HOME": "/home/me"}
    usual = build_cache_variables(home, "/tmp", ())
    assert usual["GOCACHE"] == "/tmp/caches/go-build"
    assert usual["npm_config_cache"] == "/tmp/caches/npm"
    set_by_user = build_cache_variables({**home, "GOCACHE": "/fast"}, "/tmp", ())
    assert set_by_user.keys() == usual.keys() - {"GOCACHE"}
    for variables, place in ((home, "/home/me/.cache/pip"), ({"XDG_CACHE_HOME": "/c"}, "/c/pip")):
        kept = build_cache_variables({**home, **variables}, "/tmp", [Path(place)])
        assert kept.keys() == usual.keys() - {"PIP_CACHE_DIR"}
