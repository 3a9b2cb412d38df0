"""`yourtool sessions export`: exports of a session.

It shows the secrets in a session, and writes a file without them.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from yourtool.agent.session.known_secrets import build_mask
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import ask, can_ask, print_json, print_lines, print_table
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.foundation.masking import MASK
from yourtool.messages.blocks import canonical_json
from yourtool.paths import Paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.run_result import ExitCode
from yourtool.store.base import SessionStore
from yourtool.store.bundles import to_bundle
from yourtool.store.exports import export_format_of, export_lines, write_export
from yourtool.store.redaction import aggregate, redact
from yourtool.store.scrubbing import Scrubber, SecretHit, find_secrets

STANDARD_STREAM = Path("-")
_LISTED = 50
"""Secrets that are listed one by one."""


async def export_session(
    session_id: str, store: SessionStore, paths: Paths, arguments: Arguments
) -> ExitCode:
    """Export a session.

    Raises:
        UsageError: the file exists, or it cannot be written.
    """
    file = None if arguments.file == STANDARD_STREAM else arguments.file
    facts = redact(await store.read(session_id), arguments.redaction, arguments.salt)
    secrets: Sequence[SecretHit] = ()
    if arguments.redaction == "aggregate_only":
        file_format, lines = "json", iter([canonical_json(aggregate(facts)) + b"\n"])
    else:
        file_format = arguments.export_format or (
            export_format_of(file) if file else "jsonl" if arguments.json else "markdown"
        )
        scrubber = Scrubber(build_mask(paths, os.environ))
        secrets = find_secrets(facts, scrubber, paths.blobs)
        if secrets and not _confirm(secrets, is_confirmed=arguments.yes):
            return ExitCode.DENIED
        if file_format == "bundle":
            lines = to_bundle(facts, scrubber.text, paths.blobs, _find_prices(facts, paths))
        else:
            lines = export_lines(facts, file_format, scrubber.text, paths.blobs)
    if file is None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(lines)
        return ExitCode.ANSWERED
    write_export(file, lines, overwrite=arguments.force)
    if arguments.json:
        printed = {"session_id": session_id, "file": str(file), "format": file_format}
        print_json({**printed, "secrets": secrets} if secrets else printed)
    else:
        print_lines(f"Exported to {file}.")
    return ExitCode.ANSWERED


def _find_prices(facts: Iterable[AnyFact], paths: Paths) -> Mapping[str, Any]:
    """Return the present price of each model that replied, and the version of the prices."""
    catalogue = Catalogue.load(paths)
    models = {fact.model for fact in facts if isinstance(fact, LlmCallCompleted)}
    prices = {name: catalogue.get(name).price for name in sorted(models)}
    return {"pricing_version": catalogue.pricing_version, "models": to_builtins(prices)}


def _confirm(secrets: Sequence[SecretHit], *, is_confirmed: bool) -> bool:
    """Show the secrets on standard error, and ask in a terminal whether to export without them."""
    count = "1 place" if len(secrets) == 1 else f"{len(secrets):,} places"
    print_lines(f"The export has `{MASK}` in {count}, for secrets:", file=sys.stderr)
    print_table(
        [(hit.kind, hit.sample, f"in {hit.message_id}") for hit in secrets[:_LISTED]],
        file=sys.stderr,
    )
    if len(secrets) > _LISTED:
        print_lines(f"and {len(secrets) - _LISTED:,} more", file=sys.stderr)
    if is_confirmed or not can_ask() or ask("Other secrets are not recognised. Export?"):
        return True
    print_lines("Nothing was exported.", file=sys.stderr)
    return False
