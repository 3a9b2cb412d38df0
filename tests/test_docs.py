import importlib.util
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from jsonschema import Draft202012Validator

from yourtool.deltas import Notice, TextDelta
from yourtool.errors import UsageError
from yourtool.outcome import failed_before

ROOT = Path(__file__).parents[1]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_generated_page_is_as_the_code_says_r_qlt_06():
    stale = [path.name for path, content in generator().pages() if path.read_text() != content]
    assert not stale, "run `make docs`"


@pytest.mark.parametrize(
    "line",
    [
        TextDelta(message_id="m", content_block_index=0, text="x"),
        Notice(level="info", text="x"),
        failed_before(UsageError("x")),
    ],
    ids=lambda line: type(line).__name__,
)
def test_lines_fit_the_published_schema_r_cli_02(line):
    schema = msgspec.json.decode((ROOT / "docs/events.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(msgspec.json.decode(msgspec.json.encode(line)))


def test_decision_records_are_short_numbered_and_complete():
    records = sorted((ROOT / "docs/adr").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        text = path.read_text()
        assert len(text.splitlines()) <= 60, path.name
        for part in ("## Context", "## Decision", "## Consequences"):
            assert part in text, f"{path.name} lacks {part}"
