"""`yourtool doctor`: check of external dependencies."""

import asyncio
import os
import platform
import shutil
import sqlite3
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from yourtool import __version__, extensions
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.cli.arguments import Arguments
from yourtool.cli.config import find_key_problems, find_sandbox_problems, find_theme_problems
from yourtool.cli.output import print_json, print_table
from yourtool.errors import AdapterError, ConfigError, StoreError
from yourtool.foundation.files import may_exist
from yourtool.paths import Paths, own_directories
from yourtool.permissions.trust import Trust
from yourtool.process.early_prompt.first_screen import output_encoding
from yourtool.providers.catalogue.local_servers import LocalServer, discover_servers
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.run_result import ExitCode
from yourtool.settings.config import Config, load_report
from yourtool.settings.credentials import Credentials
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.store.sqlite.database import Database
from yourtool.tools.sandbox.level import LevelMeter, Measurement
from yourtool.tools.sandbox.sandbox import Sandbox

MARKS = {"ok": "✓", "note": "–", "problem": "✗"}


class Check(Struct, frozen=True):
    """The result of one check."""

    area: str
    name: str
    status: Literal["ok", "note", "problem"]
    """`note`: information that prevents nothing from working."""
    detail: str


def run(paths: Paths, arguments: Arguments) -> int:
    """Run all checks; the exit code is 1 if one finds a problem."""
    checks = [*run_checks(paths, arguments.workspace)]
    healthy = all(check.status != "problem" for check in checks)
    if arguments.json:
        print_json({"ok": healthy, "checks": checks})
    else:
        print_table(
            [(MARKS[check.status], check.area, check.name, check.detail) for check in checks]
        )
    return ExitCode.ANSWERED if healthy else ExitCode.FAILED


def run_checks(paths: Paths, workspace: Path) -> Iterator[Check]:
    """Yield the results of all checks; blocks, and starts event loops."""
    yield Check("program", "yourtool", "ok", __version__)
    yield Check("program", "python", "ok", f"{platform.python_version()} on {platform.platform()}")
    examined = load_report(paths)
    problems = (
        *examined.problems,
        *find_key_problems(paths, examined),
        *find_theme_problems(paths, examined),
        *find_sandbox_problems(paths, examined),
    )
    for problem in problems:
        yield Check("config", problem.key or "file", "problem", str(problem))
    if not problems:
        yield Check("config", "config.toml", "ok", str(paths.home / "config.toml"))
    yield from _check_models(paths)
    yield from _check_providers(paths, examined.config)
    yield from _check_agents(examined.config, workspace)
    yield _check_sandbox(paths, examined.config, workspace)
    yield _check_trust(paths, workspace)
    yield from _check_terminal()
    yield from _check_store(paths)
    yield _check_private("log", paths.log_file)
    yield from _check_programs(workspace)


def _check_sandbox(paths: Paths, config: Config, workspace: Path) -> Check:
    """Make the sandbox as the first command of a session does."""
    is_used = config.sandbox.is_used
    wanted = replace(config.sandbox, enabled=True)
    measured = asyncio.run(_measure(wanted, own_directories(paths), workspace))
    reasons = "; ".join(measured.reasons)
    match measured.level:
        case SandboxLevel.FULL | SandboxLevel.PARTIAL as level:
            hosts = ", ".join(config.sandbox.hosts) or "none"
            detail = f"{level}, inspected: files, processes, network (hosts: {hosts})"
            if level is SandboxLevel.PARTIAL:
                detail += "; only known secrets are hidden, because this is the home directory"
            if services := config.sandbox.services:
                detail += f"; reached on this machine: {', '.join(services)}"
            if outside := config.sandbox.outside:
                detail += f"; outside: {', '.join(f'`{each}`' for each in outside)}"
        case SandboxLevel.LANDLOCK:
            detail = f"landlock, measured: files, no network; {reasons}"
        case _:
            detail = f"none: commands ask, or are refused; {reasons}"
    if not is_used:
        is_chosen = config.sandbox.enabled is not None
        why = "switched off by" if is_chosen else "off on this system without"
        detail = f"{why} `[sandbox] enabled`; would be {detail}"
    required = SandboxLevel(config.sandbox.require)
    if measured.level.rank < required.rank:
        detail += f"; `[sandbox] require` is {required.value}, so every command needs an approval"
    return Check(
        "sandbox",
        "level",
        "ok" if is_used and measured.level is SandboxLevel.FULL else "note",
        detail,
    )


async def _measure(config: SandboxConfig, own: Sequence[Path], workspace: Path) -> Measurement:
    sandbox = Sandbox(config, workspace, LevelMeter(config, own), own=own)
    try:
        return await sandbox.measure()
    finally:
        await sandbox.close()


def _check_models(paths: Paths) -> Iterator[Check]:
    try:
        catalogue = Catalogue.load(paths)
    except ConfigError as error:
        yield Check("config", "models", "problem", str(error))
        return
    detail = f"{len(catalogue.all())} models, prices as of {catalogue.pricing_version}"
    yield Check("config", "models", "ok", detail)


def _check_providers(paths: Paths, config: Config) -> Iterator[Check]:
    credentials = Credentials(paths)
    if may_exist(credentials.path):
        yield _check_private("keys", credentials.path)
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
            detail = f"no key required; not running: start it with `{row.start_command}`"
            yield Check("provider", row.name, "note", detail)
        else:
            yield Check("provider", row.name, "ok", "no key required")
    yield from _check_local_servers(found.values())


def _check_agents(config: Config, workspace: Path) -> Iterator[Check]:
    """Yield whether the program of each agent is found; none is started."""
    for name, agent in config.agents.items():
        try:
            command = extensions.build_agent_command(name, agent, workspace)
        except AdapterError as error:
            yield Check("agent", name, "problem", error.message)
        else:
            yield Check("agent", name, "ok", command.arguments[0])


def _check_local_servers(found: Collection[LocalServer]) -> Iterator[Check]:
    for server in found:
        count = f"{len(server.models)} model{'' if len(server.models) == 1 else 's'}"
        yield Check("local server", server.spec.label, "ok", f"{count} at {server.spec.base_url}")
    if not found:
        yield Check("local server", "usual ports", "note", "no model server found")


def _check_trust(paths: Paths, workspace: Path) -> Check:
    found = ProjectTrust(workspace, paths).examine()
    if found.problem:
        return Check("trust", "trust.toml", "problem", found.problem)
    files = "; ".join(f"{each.name}: {each.description}" for each in found.files)
    name = "this folder"
    match found.status:
        case Trust.TRUSTED:
            return Check("trust", name, "ok", f"{found.folder} is trusted; {files or 'no files'}")
        case Trust.CHANGED:
            detail = f"its files changed since you answered; `yourtool trust` trusts them; {files}"
        case Trust.DECLINED:
            detail = f"you did not trust {found.folder}; {files or 'no files'}"
        case Trust.UNKNOWN:
            detail = f"not trusted; `yourtool trust` trusts it; {files or 'no files'}"
    return Check("trust", name, "note", detail)


def _check_terminal() -> Iterator[Check]:
    interactive = os.isatty(0) and os.isatty(1)
    detail = "yes" if interactive else "no: only `-p` works here"
    yield Check("terminal", "interactive", "ok" if interactive else "note", detail)
    size = shutil.get_terminal_size()
    yield Check("terminal", "size", "ok", f"{size.columns}×{size.lines}")
    term, colours = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    usable = term not in ("", "dumb")
    detail = " ".join(filter(None, (term, colours, "NO_COLOR" * ("NO_COLOR" in os.environ))))
    yield Check("terminal", "TERM", "ok" if usable else "note", detail or "not set")
    encoding = output_encoding()
    if encoding in ("utf-8", "utf8"):
        yield Check("terminal", "encoding", "ok", "UTF-8")
    else:
        yield Check("terminal", "encoding", "note", f"{encoding}; set `LANG` to a UTF-8 locale")


def _check_store(paths: Paths) -> Iterator[Check]:
    yield Check("store", "SQLite", "ok", sqlite3.sqlite_version)
    if not may_exist(paths.database):
        yield Check("store", "sessions", "ok", f"{paths.database}: none yet")
        return
    yield _check_private("store", paths.database)
    try:
        verdict, count = asyncio.run(_check_database(paths.database))
    except StoreError as error:
        yield Check("store", "sessions", "problem", str(error))
        return
    status = "ok" if verdict == "ok" else "problem"
    yield Check(
        "store",
        "sessions",
        status,
        f"{count} sessions with empty ones and those of workers; integrity: {verdict}",
    )


async def _check_database(path: Path) -> tuple[str, int]:
    def query(connection: sqlite3.Connection) -> tuple[str, int]:
        [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
        [count] = connection.execute("SELECT count(*) FROM sessions").fetchone()
        return verdict, count

    database = Database(path)
    try:
        return await database.read(query)
    finally:
        await database.close()


def _check_private(area: str, path: Path) -> Check:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return Check(area, path.name, "ok", f"{path}: none yet")
    except OSError as error:
        return Check(area, path.name, "problem", f"{path}: {error.strerror}")
    if mode & 0o077:
        return Check(
            area, path.name, "problem", f"mode {mode:04o}: others can read it; `chmod 600 {path}`"
        )
    return Check(area, path.name, "ok", f"{path}, mode {mode:04o}")


def _check_programs(workspace: Path) -> Iterator[Check]:
    for name, use in (("git", "the branch in the status line, ignored files"), ("bash", "`shell`")):
        found = shutil.which(name)
        yield Check(
            "programs", name, "ok" if found else "note", found or f"not found; used for {use}"
        )
