"""Results of test requests to a model."""

from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from yourtool.models import AdapterCapabilities
from yourtool.providers.media_types import IMAGE_TYPES


class ModelTrial(Struct, frozen=True, kw_only=True):
    """The result of the test requests to one model; None: neither shown nor refuted."""

    model: str
    """Its canonical id."""
    at: datetime
    streaming: bool | None = None
    tools: bool | None = None
    images: bool | None = None
    window: int | None = None
    """Tokens of the longest test prompt of which the model had everything."""
    is_limited: bool = False
    """Whether a longer prompt, which the description of the model allows, was truncated or
    refused."""


def apply_trial(can: AdapterCapabilities, trial: ModelTrial) -> AdapterCapabilities:
    """Return the capabilities with what the test requests showed."""
    changes: dict[str, Any] = {}
    if trial.streaming is not None:
        changes["supports_streaming"] = trial.streaming
    if trial.tools is not None:
        changes["supports_tools"] = trial.tools
    if trial.images is not None:
        changes["supports_images"] = trial.images
    if trial.images and not can.accepted_image_media_types:
        changes["accepted_image_media_types"] = IMAGE_TYPES
    if trial.is_limited and trial.window:
        changes["max_context_tokens"] = trial.window
    return replace(can, **changes)
