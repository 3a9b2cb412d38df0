"""Translation of foreign MCP servers."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from yourtool.extensions.settings_import.findings import Findings, Server, as_list
from yourtool.process.environment import is_secret, is_secret_name
from yourtool.settings.tables import is_table
from yourtool.tools.servers.settings import SettingsFile, load_settings

_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*(?::-[^}]{0,200})?\}")
_MAX_SERVERS = 100
_NO_NAME = re.compile(r"\W+")


class UnusableServerError(Exception):
    """A server that cannot be taken over; the message is a clause."""


def add_server(findings: Findings, name: str, entry: Mapping[str, Any], place: str) -> None:
    """Add a server, if it is a valid one of ours; in a project without literal keys."""
    if len(findings.servers) >= _MAX_SERVERS:
        findings.omit("server", name, place, f"there are over {_MAX_SERVERS} servers")
        return
    try:
        used, variables = dict(entry), list[str]()
        if findings.is_project:
            used, variables = _without_keys(name, entry)
    except UnusableServerError as error:
        findings.omit("server", name, place, str(error))
        return
    try:
        text = json.dumps({"mcpServers": {name: used}}, allow_nan=False)
    except (TypeError, ValueError):  # a date of TOML, a number without end
        findings.omit("server", name, place, "a field has no form in JSON")
        return
    loaded = load_settings(
        [SettingsFile(place, text, "project" if findings.is_project else "user")]
    )
    if not loaded.servers:
        reasons = "; ".join(each.message for each in loaded.problems) or "it is not valid"
        findings.omit("server", name, place, reasons)
        return
    for problem in loaded.problems:
        findings.omit("setting", f"{name}: {problem.key}", place, problem.message)
    findings.servers.append(Server(name, used, place))
    for variable in variables:
        reason = f"keys are not copied into files of a project; set the variable `{variable}`"
        findings.omit("setting", f"{name}: {variable}", place, reason)


def iter_tables(findings: Findings, value: Any, place: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the entries of an object of servers; others are omissions."""
    if value is None:
        return []
    if not is_table(value):
        findings.omit("server", "MCP servers", place, "it is no object of servers")
        return []
    found = list[tuple[str, dict[str, Any]]]()
    for name, entry in value.items():
        if is_table(entry):
            found.append((name, entry))
        else:
            findings.omit("server", name, place, "it is no object")
    return found


def pick(entry: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return the fields of an entry under our names: `ours="theirs"`."""
    return {own: entry[foreign] for own, foreign in names.items() if foreign in entry}


def omit_fields(
    findings: Findings, name: str, entry: Mapping[str, Any], taken: frozenset[str], place: str
) -> None:
    """Add the fields of a server that have no place here, such as a list of its only tools."""
    for field in sorted(entry.keys() - taken):
        findings.omit("setting", f"{name}: {field}", place, "servers here have no such field")


def _without_keys(name: str, entry: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a server whose keys are variables, and their names.

    Raises:
        UnusableServerError: its command or address has a key.
    """
    found, variables = dict(entry), list[str]()
    for field in ("env", "headers"):
        values = entry.get(field)
        if not is_table(values):
            continue
        replaced = dict[str, Any]()
        for key, value in values.items():
            if isinstance(value, str) and is_secret(key, value) and not _VARIABLE.search(value):
                variable = key if field == "env" else f"{name}_{key}"
                variable = _NO_NAME.sub("_", variable.replace("-", "_")).upper()
                variables.append(variable)
                replaced[key] = f"${{{variable}}}"
            else:
                replaced[key] = value
        found[field] = replaced
    words = [entry.get("command"), *as_list(entry.get("args"))]
    if any(isinstance(each, str) and _has_key(each) for each in words):
        raise UnusableServerError("its command has a key, which is not copied into a project")
    if isinstance(url := entry.get("url"), str) and _is_secret_address(url):
        raise UnusableServerError("its address has a key, which is not copied into a project")
    return found, variables


def _has_key(word: str) -> bool:
    name, _, value = word.lstrip("-").partition("=")
    return not _VARIABLE.search(word) and (
        is_secret("", word) or (bool(value) and is_secret(name, value))
    )


def _is_secret_address(url: str) -> bool:
    try:
        query = parse_qsl(urlsplit(url).query)
    except ValueError:
        return True
    return is_secret("", url) or any(
        is_secret_name(key) or is_secret("", value)
        for key, value in query
        if not _VARIABLE.search(value)
    )
