"""Request bodies that were read and found right, one file each in the folder of their dialect."""

import os
from pathlib import Path

from tests.providers.histories import build_full_history
from tests.providers.recorded_exchanges import READ, request
from yourtool.models import Model
from yourtool.providers.base import Request

DIALECTS = Path(__file__).parent / "dialects"


def build_full_request(model: Model) -> Request:
    """Return a request with every kind of block and every option."""
    return request(
        model,
        build_full_history(model),
        (READ,),
        stop_sequences=("END",),
        temperature=0.5,
        effort="high",
    )


def check_golden(name: str, body: bytes) -> None:
    """Compare a body with its file, such as `chat/openai_chat.json`; WRITE_GOLDEN=1 writes it."""
    dialect, file = name.split("/")
    path = DIALECTS / dialect / "golden" / file
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(body + b"\n")
    assert body + b"\n" == path.read_bytes()
