"""Files that only the user may read, written whole or not at all."""

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Put a file with mode 0600 in the place of what is at `path`; its directory must exist.

    Blocks until the content would survive a loss of power; its name would once the directory is
    synced as well.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)  # made with mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
