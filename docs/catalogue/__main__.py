"""Write `config/catalogue.json` from the packages of its sources; `make catalogue`."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from docs.catalogue import sources
from docs.catalogue.merging import merge

_FILE = Path(__file__).parents[2] / "config" / "catalogue.json"
_PIP = (
    sys.executable,
    "-m",
    "pip",
    "download",
    "--quiet",
    "--no-deps",
    "--disable-pip-version-check",
)


def main() -> int:
    """Download what can be had, merge it and write the file; return the exit code."""
    today = datetime.now(UTC).date()
    readers: dict[
        str, tuple[str, tuple[str, ...], Callable[[Path], tuple[sources.Models, str]]]
    ] = {
        sources.GENAI: (
            "genai-prices",
            (*_PIP, "genai-prices"),
            partial(sources.read_genai, today=today),
        ),
        sources.LITELLM: ("litellm", (*_PIP, "litellm"), sources.read_litellm),
        sources.PI: (
            "models.dev (pi-ai",
            ("npm", "pack", "--silent", "@earendil-works/pi-ai@latest"),
            sources.read_pi,
        ),
    }
    found, names, missing = dict[str, sources.Models](), dict[str, str](), list[str]()
    for key, (name, command, read) in readers.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
                [package] = Path(folder).iterdir()
                models, version = read(package)
                if not models:
                    raise ValueError(f"no model is known in `{package.name}`")
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                sys.stderr.write(f"make: `{name}` is left out: {error}\n")
                missing.append(name)
                continue
        found[key] = models
        names[key] = f"{name} {version}" + ")" * name.count("(")
    rows = merge(found, today)
    header = {"as_of": today, "sources": names, "missing": missing}
    _FILE.write_bytes(_encode(header, rows))
    sys.stdout.write(f"{len(rows)} models, {_FILE.stat().st_size:,} bytes\n")
    return 1 if missing else 0


def _encode(header: dict[str, Any], rows: dict[str, Any]) -> bytes:
    """Return JSON with a line for each model."""
    encoder = msgspec.json.Encoder(decimal_format="number")
    lines = [f"{_text(encoder, name)}:{_text(encoder, row)}" for name, row in rows.items()]
    start = _text(encoder, header).removesuffix("}")
    whole = ",\n".join(lines)
    return f'{start},"models":{{\n{whole}\n}}}}\n'.encode()


def _text(encoder: msgspec.json.Encoder, value: Any) -> str:
    return encoder.encode(value).decode()


if __name__ == "__main__":
    sys.exit(main())
