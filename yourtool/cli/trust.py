"""`yourtool trust`: trusted folders."""

from pathlib import Path

from yourtool.agent.session.project.project_trust import (
    FolderTrust,
    ProjectTrust,
    trust_store,
)
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.errors import UsageError
from yourtool.foundation.files import expand_home, is_directory
from yourtool.paths import Paths
from yourtool.permissions.trust import TrustAnswer
from yourtool.run_result import ExitCode

_USAGE = "`yourtool trust [DIR]`, `yourtool trust list` or `yourtool trust remove DIR`"


def run(paths: Paths, arguments: Arguments) -> int:
    """Trust a folder, list the answers, or forget one."""
    match arguments.words:
        case []:
            _trust(paths, arguments.workspace, as_json=arguments.json)
        case ["list"]:
            _print_answers(trust_store(paths).load(), as_json=arguments.json)
        case ["remove", directory]:
            _remove(paths, directory, as_json=arguments.json)
        case [directory] if directory != "remove":
            _trust(paths, _existing_directory(directory), as_json=arguments.json)
        case _:
            raise UsageError(f"write {_USAGE}")
    return ExitCode.ANSWERED


def _trust(paths: Paths, directory: Path, *, as_json: bool) -> None:
    project = ProjectTrust(directory, paths)
    shown = project.examine_all()
    folder = project.answer(shown, trusted=True)
    if as_json:
        print_json({"folder": str(folder), "trusted": True, "files": _file_rows(shown)})
        return
    print_lines(f"Trusted {folder}")
    for file in shown.all_files:
        print_lines(f"  {file.name}: {file.description}")
    if not shown.all_files:
        print_lines("  No file in it configures yourtool now. You will be asked if one appears.")


def _file_rows(shown: FolderTrust) -> list[dict[str, object]]:
    return [
        {
            "name": each.name,
            "purpose": each.kind.purpose,
            "size": len(each.content),
            "hidden_characters": each.hidden_characters,
            "sha256": each.digest,
        }
        for each in shown.all_files
    ]


def _print_answers(answers: tuple[TrustAnswer, ...], *, as_json: bool) -> None:
    rows = [
        {
            "folder": each.path,
            "trusted": each.trusted,
            "answered_at": each.answered_at,
            "files": sorted(each.files),
            "exists": is_directory(Path(each.path)),
        }
        for each in answers
    ]
    if as_json:
        print_json(rows)
    elif not rows:
        print_lines("No folder is trusted. `yourtool trust DIR` trusts one.")
    else:
        print_table(
            [
                (
                    "trusted" if each.trusted else "declined",
                    f"{each.answered_at:%Y-%m-%d}",
                    each.path,
                    ", ".join(sorted(each.files)) or "no files",
                )
                for each in answers
            ]
        )


def _remove(paths: Paths, directory: str, *, as_json: bool) -> None:
    if (folder := trust_store(paths).remove(expand_home(Path(directory)))) is None:
        raise UsageError(f"there is no answer about `{directory}`; `yourtool trust list` has all")
    if as_json:
        print_json({"folder": str(folder), "removed": True})
    else:
        print_lines(f"Forgot the answer about {folder}. You will be asked again.")


def _existing_directory(text: str) -> Path:
    directory = expand_home(Path(text))
    if not is_directory(directory):
        raise UsageError(f"`{text}` is not a directory; write {_USAGE}")
    return directory
