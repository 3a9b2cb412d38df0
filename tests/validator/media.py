"""Rules for images and other binary content."""

import base64
import binascii
import re
from typing import Any

from tests.validator.report import Report

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(;[\w=.-]+)*;base64,(.*)\Z", re.DOTALL)


def is_base64(text: Any) -> bool:
    """Return whether this is base64 without line breaks and not empty."""
    if not isinstance(text, str) or not text:
        return False
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def check_image_url(report: Report, url: Any, path: str) -> None:
    if not isinstance(url, str):
        return
    if not url.startswith("data:"):
        if not re.match(r"(https?|gs)://", url):
            report.error("image-url", path, "neither http(s) nor data:")
        return
    parts = DATA_URL.match(url)
    if parts is None:
        report.error("image-data-url", path, "not of the form data:<type>;base64,<data>")
    elif parts[1].lower() not in IMAGE_TYPES | {"image/jpg"}:
        report.error("image-type", path, f"{parts[1]}: only png, jpeg, gif, webp")
    elif not is_base64(parts[3]):
        report.error("image-base64", path, "not base64")
