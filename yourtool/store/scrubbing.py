"""Replacement of secrets in exports.

Forms are patterns of RE2, whose time is linear (https://github.com/google/re2/wiki/Syntax). They
are those that the vendors document, as collected by
https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from yourtool.events.catalog import AnyFact, message_of
from yourtool.foundation.masking import MASK, Mask
from yourtool.foundation.text import printable
from yourtool.store.texts import get_attachments, mask_texts, read_shared

_OWN_KEY = "key that yourtool uses"
_SHOWN = 4
"""Characters of a secret that are shown."""
_MIN_SHOWN = 20
"""Minimum length of a secret of which any are shown."""
_MIN_DIGITS = 2
"""Digits that a value of a vague form has; names in code have fewer."""


class SecretHit(Struct, frozen=True, kw_only=True):
    """A secret that an export does not contain."""

    kind: str
    message_id: str
    """The message that has it, or else the event."""
    sample: str
    """Its first characters and its length."""


class _Form(NamedTuple):
    kind: str
    pattern: str
    """If it has a group, the secret is in the group."""
    is_vague: bool = False
    """Whether ordinary text has this form too, so that the secret must have letters and digits."""


_FORMS = (  # each takes what follows in the same word, so that a replacement uncovers nothing
    _Form(
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
        r"(?:[A-Za-z0-9+/=\s\\,:.]|-[A-Za-z0-9])*"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----)?",
    ),
    _Form(  # its end, as a tool that reads a file in parts returns it
        "private key",
        r"[A-Za-z0-9+/=]{40,}(?:[\s\\,:.]|[A-Za-z0-9+/=])*"
        r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----",
    ),
    _Form("AWS access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _Form("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    _Form("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _Form("API key", r"\bsk-[A-Za-z0-9_-]{20,}"),
    _Form("Google API key", r"\bAIza[A-Za-z0-9_-]{35,}"),
    _Form("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    _Form("Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _Form("npm token", r"\bnpm_[A-Za-z0-9]{36,}"),
    _Form("PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    _Form("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
    _Form(
        "JSON Web Token",
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    _Form("password in an address", r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,99}:([^\s/@]{3,200})@"),
    _Form("authorization", r"(?i)\b(?:bearer|basic) {1,3}([A-Za-z0-9+/._~=-]{16,})", True),
    _Form(
        "assigned secret",
        r"(?i)(?:api_?key|secret|access_?key|token|passw(?:or)?d|credential)\\?[\"']?\s{0,3}[=:]"
        r"\s{0,3}\\?[\"']?([A-Za-z0-9+/_~=-]{16,})",
        True,
    ),
)


class Scrubber:
    """Replaces secrets in texts."""

    def __init__(self, mask: Mask) -> None:
        engine: Any = import_module("re2")  # only exports need it
        options = engine.Options()
        options.encoding = engine.Options.Encoding.LATIN1  # patterns of ASCII, texts of any bytes
        options.log_errors = False
        self._mask = mask
        self._forms = [(form, engine.compile(form.pattern.encode(), options)) for form in _FORMS]

    def text(self, text: str) -> str:
        """Return `text` with every secret replaced; what is returned has none."""
        data = text.encode("utf-8", "surrogatepass")
        scrubbed = self._mask.data(data)
        for start, end, _ in self._find_forms(scrubbed):
            scrubbed = b"".join((scrubbed[:start], MASK.encode(), scrubbed[end:]))
        return scrubbed.decode("utf-8", "surrogatepass") if scrubbed != data else text

    def find(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the kind and a sample of every secret in `text`."""
        data = text.encode("utf-8", "surrogatepass")
        for secret in self._mask.find(data):
            yield _OWN_KEY, _sample(secret)
        masked = self._mask.data(data)
        for start, end, kind in reversed(self._find_forms(masked)):
            yield kind, _sample(masked[start:end])

    def _find_forms(self, data: bytes) -> Sequence[tuple[int, int, str]]:
        """Return where secrets are that a form describes, the last one first, without overlaps."""
        found = list[tuple[int, int, str]]()
        for form, pattern in self._forms:
            for match in pattern.finditer(data):
                start, end = match.span(pattern.groups)
                if not form.is_vague or _is_random(data[start:end]):
                    found.append((start, end, form.kind))
        kept = list[tuple[int, int, str]]()
        for start, end, kind in sorted(found, key=lambda each: each[:2]):
            if kept and start < kept[-1][1]:
                first, last, kind = kept.pop()
                start, end = first, max(last, end)
            kept.append((start, end, kind))
        return kept[::-1]


def find_secrets(
    facts: Iterable[AnyFact], scrubber: Scrubber, blobs: Path
) -> tuple[SecretHit, ...]:
    """Return the secrets in a session and its attachments; blocks on the file system."""
    hits, read = list[SecretHit](), set[str]()

    for fact in facts:
        message = message_of(fact)
        place = fact.id if message is None else message.id

        def search(text: str, place: str = place) -> str:
            hits.extend(
                SecretHit(kind=kind, message_id=place, sample=sample)
                for kind, sample in scrubber.find(text)
            )
            return text

        mask_texts(fact, search)
        for reference in get_attachments(fact):
            if reference not in read:
                read.add(reference)
                search(read_shared(blobs, reference, str).decode("latin-1"))
    return tuple(dict.fromkeys(hits))


def _is_random(secret: bytes) -> bool:
    """Return whether a value has letters and digits as passwords have, unlike a name in code."""
    digits = sum(48 <= byte < 58 for byte in secret)
    return digits >= _MIN_DIGITS and digits < len(secret)


def _sample(secret: bytes) -> str:
    text = printable(secret.decode("utf-8", "replace"))
    shown = text[:_SHOWN] if len(text) >= _MIN_SHOWN else ""
    return f"{shown}… ({len(text)} characters)"
