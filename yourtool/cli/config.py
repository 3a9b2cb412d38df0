"""`yourtool config`: settings, sources and problems."""

import sys
from pathlib import Path

from yourtool import extensions
from yourtool.agent.routes.routing_rules import RoutingRules, examine_rules
from yourtool.agent.session.project.project_checks import find_check_problems
from yourtool.agent.session.project.project_files import read_project_files
from yourtool.cli.arguments import Arguments, build_run_options
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.errors import ConfigError
from yourtool.foundation.files import path_exists, real_path
from yourtool.foundation.text import printable
from yourtool.paths import Paths
from yourtool.permissions.shell import specs
from yourtool.permissions.trust import CHECKS, ROUTING
from yourtool.providers.catalogue.models import Catalogue
from yourtool.routing.policy import FILE_NAME
from yourtool.run_result import ExitCode
from yourtool.settings.config import (
    AUTO_THEME,
    ConfigReport,
    Setting,
    config_file,
    find_option_settings,
    format_key,
    load_report,
)
from yourtool.settings.problems import Problem
from yourtool.settings.shown_values import format_value, redact
from yourtool.settings.toml_places import line_of
from yourtool.tui.keys.keymap import build_keymap
from yourtool.tui.theme.themes import load_named_theme

_OWN_FILES = ("models.toml", "prices.toml", FILE_NAME)
_KINDS = (ROUTING, CHECKS)


def run(paths: Paths, arguments: Arguments) -> int:
    """Run `config show`, `config path` or `config check`."""
    if arguments.action == "path":
        return _print_paths(paths, as_json=arguments.json)
    report = load_report(
        paths, options=find_option_settings(build_run_options(arguments, interactive=False))
    )
    problems = report.problems
    if arguments.action == "show":
        _print_settings(report.settings, as_json=arguments.json)
    else:
        problems = (
            *problems,
            *find_key_problems(paths, report),
            *find_theme_problems(paths, report),
            *find_sandbox_problems(paths, report),
            *find_missing_extensions(paths, report),
            *find_check_problems(report, str(config_file(paths)), arguments.workspace),
        )
        rules = _examine_rules(paths, arguments.workspace)
        if rules.has_mistakes:
            problems = (*problems, *rules.problems)
        warnings = () if rules.has_mistakes else rules.problems
        if arguments.json:
            print_json({"ok": not problems, "problems": problems, "warnings": warnings})
        else:
            _print_problems(warnings)
            if not problems:
                print_lines(*list_files(paths, arguments.workspace), "no problems")
    if problems and not (arguments.json and arguments.action == "check"):
        _print_problems(problems)
    return ExitCode.USAGE if problems else ExitCode.ANSWERED


def list_files(paths: Paths, workspace: Path) -> list[str]:
    """Return the files of the user and the project with settings, as far as they exist."""
    own = (config_file(paths), *(paths.home / name for name in _OWN_FILES))
    of_project = (each.path for each in read_project_files(workspace) if each.kind in _KINDS)
    return [printable(str(each)) for each in (*own, *of_project) if path_exists(each)]


def _examine_rules(paths: Paths, workspace: Path) -> RoutingRules:
    """Return the routing rules for a directory; a project needs no trust, as nothing is used."""
    catalogue = Catalogue.load(paths)
    files = (each for each in read_project_files(workspace) if each.kind is ROUTING)
    project = next(((each.name, each.text) for each in files), None)
    file = paths.home / FILE_NAME
    return examine_rules(
        file, real_path(workspace), lambda name: catalogue.resolve(name).id, project
    )


def find_key_problems(paths: Paths, report: ConfigReport) -> tuple[Problem, ...]:
    """Return the mistakes in `[ui.keys]`; the program starts without these entries."""
    keymap = build_keymap(report.config.ui.keymap, report.config.ui.keys)
    return tuple(
        Problem(
            where=str(config_file(paths)),
            line=line_of(report.text, each.key),
            key=format_key(each.key),
            message=each.message,
            nearest=each.nearest,
        )
        for each in keymap.problems
    )


def find_sandbox_problems(paths: Paths, report: ConfigReport) -> tuple[Problem, ...]:
    """Return the entries of `[sandbox] outside` that are no commands, which have no effect."""
    key = ("sandbox", "outside")
    return tuple(
        Problem(
            where=str(config_file(paths)),
            line=line_of(report.text, key),
            key=format_key(key),
            message=f"`{each}` is not one command of plain words, with `*` only at the end, such as"
            " `git push *`",
        )
        for each in report.config.sandbox.outside
        if specs.parse_spec(each) is None
    )


def find_missing_extensions(paths: Paths, report: ConfigReport) -> tuple[Problem, ...]:
    """Return the settings that have no effect because their extension was removed."""
    config = report.config
    used = (
        (("agents",), "agents", bool(config.agents)),
        (("routing", "patterns"), "lab", config.routing.patterns),
        (("ui", "linear"), "linear", config.ui.linear),
        (("ui", "vim"), "vim", config.ui.vim),
    )
    present = {each.folder for each in extensions.EXTENSIONS}
    return tuple(
        Problem(
            where=str(config_file(paths)),
            line=line_of(report.text, key),
            key=format_key(key),
            message=f"the extension `{folder}` is not in this installation",
        )
        for key, folder, is_used in used
        if is_used and folder not in present
    )


def find_theme_problems(paths: Paths, report: ConfigReport) -> tuple[Problem, ...]:
    """Return why the theme cannot be used; the program starts with the default one."""
    if (name := report.config.theme) == AUTO_THEME:
        return ()
    try:
        load_named_theme(name)
    except ConfigError as error:
        [place] = [each.source for each in report.settings if each.key == ("theme",)]
        line = line_of(report.text, ("theme",)) if place == str(config_file(paths)) else None
        return (Problem(where=place, line=line, key="theme", message=str(error)),)
    return ()


def get_ui_warnings(paths: Paths, report: ConfigReport) -> tuple[str, ...]:
    """Return what of the settings has no effect in the interface, besides the mistakes."""
    keys = find_key_problems(paths, report)
    return (
        *(f"The default keys are used instead of {each}" for each in keys),
        *(f"The default theme is used: {each}" for each in find_theme_problems(paths, report)),
        *(f"No effect: {each}" for each in find_missing_extensions(paths, report)),
    )


def _print_paths(paths: Paths, *, as_json: bool) -> int:
    places = {
        "config": config_file(paths),
        "home": paths.home,
        "data": paths.data,
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


def _print_settings(settings: tuple[Setting, ...], *, as_json: bool) -> None:
    if as_json:
        rows = [
            (format_key(each.key), redact(each.key, each.value), each.source) for each in settings
        ]
        print_json([dict(zip(("key", "value", "source"), row, strict=True)) for row in rows])
    else:
        print_table(
            [
                (format_key(each.key), format_value(each.key, each.value), each.source)
                for each in settings
            ]
        )


def _print_problems(problems: tuple[Problem, ...]) -> None:
    sys.stderr.write("".join(f"yourtool: {printable(str(problem))}\n" for problem in problems))
