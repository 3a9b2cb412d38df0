"""`yourtool doctor`: everything around the program that can keep it from working."""

import asyncio
import os
import platform
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from yourtool import __version__
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_table
from yourtool.config import Config, load_report
from yourtool.credentials import Credentials
from yourtool.errors import ConfigError, StoreError
from yourtool.paths import Paths
from yourtool.providers.catalogue.local_servers import LocalServer, discover_servers
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.run_result import ExitCode
from yourtool.store.database import Database
from yourtool.tools.ripgrep import find_ripgrep


class Check(Struct, frozen=True):
    """One thing that was looked at."""

    area: str
    name: str
    status: Literal["ok", "note", "problem"]
    """`note`: worth knowing, and no obstacle."""
    detail: str


def run(paths: Paths, arguments: Arguments) -> int:
    """Look at everything; the exit code is 1 if something is broken."""
    checks = [*_checks(paths)]
    healthy = all(check.status != "problem" for check in checks)
    if arguments.json:
        print_json({"ok": healthy, "checks": checks})
    else:
        marks = {"ok": "✓", "note": "–", "problem": "✗"}
        print_table(
            [(marks[check.status], check.area, check.name, check.detail) for check in checks]
        )
    return ExitCode.ANSWERED if healthy else ExitCode.FAILED


def _checks(paths: Paths) -> Iterator[Check]:
    yield Check("program", "yourtool", "ok", __version__)
    yield Check("program", "python", "ok", f"{platform.python_version()} on {platform.platform()}")
    examined = load_report(paths)
    for problem in examined.problems:
        yield Check("config", problem.key or "file", "problem", str(problem))
    if not examined.problems:
        yield Check("config", "config.toml", "ok", str(paths.home / "config.toml"))
    yield from _models(paths)
    yield from _providers(paths, examined.config)
    yield Check("sandbox", "level", "note", "none: what you allow runs with all your rights")
    yield from _terminal()
    yield from _store(paths)
    yield _private("log", paths.log_file)
    yield from _programs()


def _models(paths: Paths) -> Iterator[Check]:
    try:
        catalogue = Catalogue.load(paths)
    except ConfigError as error:
        yield Check("config", "models", "problem", str(error))
        return
    detail = f"{len(catalogue.all())} models, prices as of {catalogue.pricing_version}"
    yield Check("config", "models", "ok", detail)


def _providers(paths: Paths, config: Config) -> Iterator[Check]:
    credentials = Credentials(paths)
    if credentials.path.exists():
        yield _private("keys", credentials.path)
    registry = Registry(config, credentials, interactive=False)
    rows = {row.name: row for row in registry.providers()}
    found = {
        server.spec.name: server
        for server in asyncio.run(discover_servers(rows["ollama"].base_url))
    }
    for row in rows.values():
        if (why := registry.configuration_problem(row.name)) is not None:
            yield Check("provider", row.name, "note", why)
        elif (key := credentials.find(row.name, row.key_env)) is not None:
            yield Check("provider", row.name, "ok", f"key {key.secret} from {key.source}")
        elif row.start_command and row.is_local and row.name not in found:
            detail = f"needs no key, and does not answer; `{row.start_command}` starts it"
            yield Check("provider", row.name, "note", detail)
        else:
            yield Check("provider", row.name, "ok", "needs no key")
    yield from _local_servers(found.values())


def _local_servers(found: Collection[LocalServer]) -> Iterator[Check]:
    for server in found:
        count = f"{len(server.models)} model{'' if len(server.models) == 1 else 's'}"
        yield Check("local server", server.spec.label, "ok", f"{count} at {server.spec.base_url}")
    if not found:
        yield Check("local server", "usual ports", "note", "no model server answers")


def _terminal() -> Iterator[Check]:
    interactive = os.isatty(0) and os.isatty(1)
    detail = "yes" if interactive else "no: only `-p` can be used here"
    yield Check("terminal", "interactive", "ok" if interactive else "note", detail)
    size = shutil.get_terminal_size()
    yield Check("terminal", "size", "ok", f"{size.columns}×{size.lines}")
    term, colours = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    usable = term not in ("", "dumb")
    detail = " ".join(filter(None, (term, colours, "NO_COLOR" * ("NO_COLOR" in os.environ))))
    yield Check("terminal", "TERM", "ok" if usable else "note", detail or "not set")
    encoding = (sys.stdout.encoding or "").lower()
    if encoding in ("utf-8", "utf8"):
        yield Check("terminal", "encoding", "ok", "UTF-8")
    else:
        yield Check("terminal", "encoding", "note", f"{encoding}; set `LANG` to a UTF-8 locale")


def _store(paths: Paths) -> Iterator[Check]:
    yield Check("store", "SQLite", "ok", sqlite3.sqlite_version)
    if not paths.database.exists():
        yield Check("store", "sessions", "ok", f"{paths.database}: none yet")
        return
    yield _private("store", paths.database)
    try:
        verdict, count = asyncio.run(_look_into(paths.database))
    except StoreError as error:
        yield Check("store", "sessions", "problem", str(error))
        return
    status = "ok" if verdict == "ok" else "problem"
    yield Check("store", "sessions", status, f"{count} sessions; integrity: {verdict}")


async def _look_into(path: Path) -> tuple[str, int]:
    def look(connection: sqlite3.Connection) -> tuple[str, int]:
        [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
        [count] = connection.execute("SELECT count(*) FROM sessions").fetchone()
        return verdict, count

    database = Database(path)
    try:
        return await database.read(look)
    finally:
        await database.close()


def _private(area: str, path: Path) -> Check:
    if not path.exists():
        return Check(area, path.name, "ok", f"{path}: none yet")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Check(
            area, path.name, "problem", f"mode {mode:04o}: others can read it; `chmod 600 {path}`"
        )
    return Check(area, path.name, "ok", f"{path}, mode {mode:04o}")


def _programs() -> Iterator[Check]:
    for name, use in (("git", "the branch in the status line, ignored files"), ("bash", "`shell`")):
        found = shutil.which(name)
        yield Check(
            "programs", name, "ok" if found else "note", found or f"not found; it is for {use}"
        )
    yield _search_engine()


def _search_engine() -> Check:
    if (program := find_ripgrep(Path.cwd().resolve())) is None:
        detail = (
            "built in; patterns without a fixed text are faster with ripgrep (`rg`), which was not"
            " found in a directory of `PATH` outside the project that not every user can write"
        )
        return Check("programs", "search", "note", detail)
    try:
        asked = subprocess.run(
            (program, "--no-config", "--version"),
            capture_output=True, text=True, timeout=10, check=True, env={},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return Check("programs", "search", "note", f"built in; `{program}` does not run: {error}")
    version = asked.stdout.partition("\n")[0]
    detail = f"built in, with {version} at {program} for patterns without a fixed text"
    return Check("programs", "search", "ok", detail)
