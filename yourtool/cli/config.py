"""`yourtool config`: the settings, where they come from, and what is wrong with them."""

import sys
from collections.abc import Mapping
from typing import Any

from msgspec import json, to_builtins

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.config import Problem, Setting, config_file, format_key, load_report
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.text import printable


def run(paths: Paths, arguments: Arguments) -> int:
    """Obey `config show`, `config path` or `config check`."""
    if arguments.action == "path":
        return _path(paths, as_json=arguments.json)
    examined = load_report(paths, options=_options(arguments))
    if arguments.action == "show":
        _show(examined.settings, as_json=arguments.json)
    elif arguments.json:
        print_json({"ok": not examined.problems, "problems": examined.problems})
    elif not examined.problems:
        print_lines(f"{config_file(paths)}: no problems")
    if examined.problems and not (arguments.json and arguments.action == "check"):
        _tell(examined.problems)
    return ExitCode.USAGE if examined.problems else ExitCode.ANSWERED


def _options(arguments: Arguments) -> Mapping[str, Any]:
    """Return the options of this command line that set a key, by key."""
    given = {
        "model": arguments.model,
        "mode": arguments.mode,
        "effort": arguments.effort,
        "limits.max_requests_per_turn": arguments.max_turns,
        "limits.max_cost_per_turn_usd": arguments.max_cost,
    }
    return {key: value for key, value in given.items() if value is not None}


def _path(paths: Paths, *, as_json: bool) -> int:
    places = {
        "config": config_file(paths),
        "home": paths.home,
        "database": paths.database,
        "state": paths.state,
        "cache": paths.cache,
        "log": paths.log_file,
    }
    if as_json:
        print_json({name: str(path) for name, path in places.items()})
    else:
        print_table([(name, str(path)) for name, path in places.items()])
    return ExitCode.ANSWERED


def _show(settings: tuple[Setting, ...], *, as_json: bool) -> None:
    rows = [(format_key(each.key), _shown(each), each.source) for each in settings]
    if as_json:
        print_json([dict(zip(("key", "value", "source"), row, strict=True)) for row in rows])
    else:
        print_table([(key, _written(value), source) for key, value, source in rows])


def _shown(setting: Setting) -> Any:
    if setting.key[0] == "providers" and setting.key[-1] == "headers":
        return dict.fromkeys(setting.value, "***")  # a header may well be a key
    return to_builtins(setting.value)


def _written(value: Any) -> str:
    return "–" if value is None else json.encode(value).decode()


def _tell(problems: tuple[Problem, ...]) -> None:
    sys.stderr.write("".join(f"yourtool: {printable(str(problem))}\n" for problem in problems))
