"""Record of file reads by the model."""


class FileReads:
    """Digests of the files that the model has read; thread-safe."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def record(self, path: str, content: str) -> None:
        """Store the digest of a file by its path from `Workspace.locate`."""
        self._digests[path] = content

    def last_digest(self, path: str) -> str | None:
        """Return the digest of the content last read; None if the file was never read."""
        return self._digests.get(path)
