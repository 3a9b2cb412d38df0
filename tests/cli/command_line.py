"""The command line, run in the test process."""

import io
import json
import os
from pathlib import Path
from typing import Any

from yourtool.cli import main
from yourtool.paths import resolve_paths
from yourtool.settings.config import config_file

_READY = os.open(os.devnull, os.O_RDONLY)


class _Typed(io.BytesIO):
    """Bytes that can be read at once."""

    def fileno(self) -> int:
        return _READY


class CommandLine:
    """The command line in a workspace with a scripted model and no terminal."""

    def __init__(self, home: Path, workspace: Path, monkeypatch, capsys) -> None:
        self.home, self.workspace = home, workspace
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.type("")

    def type(self, text: str) -> None:
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(_Typed(text.encode())))

    def script(self, *replies: list[dict[str, Any]]) -> None:
        path = self.home / "script.json"
        path.write_text(json.dumps({"replies": replies}))
        config_file(resolve_paths()).write_text(
            'model = "demo:file"\n[limits]\nmax_retries = 0\n'
            f"[providers.demo]\nquirks = {{ script = {json.dumps(str(path))} }}\n"
        )

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        return self.bare("--cwd", str(self.workspace), *argv)

    def bare(self, *argv: str) -> tuple[int, str, str]:
        """Run a command without `--cwd`."""
        code = main(argv)
        out, err = self._capsys.readouterr()
        return code, out, err

    def result(self, *argv: str) -> dict[str, Any]:
        code, out, _ = self(*argv, "--output-format", "json")
        found = json.loads(out)
        assert found["exit_code"] == code
        return found

    def events(self, *argv: str) -> list[dict[str, Any]]:
        _, out, _ = self(*argv, "--output-format", "stream-json")
        return [json.loads(line) for line in out.splitlines()]
