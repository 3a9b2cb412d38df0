"""Private names of the app."""

import sys
from typing import Any

from rich.console import RenderableType
from rich.text import Text
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen


class HookedApp(App[None]):
    """An app that can skip frames, and that names its failure without a traceback."""

    failed = False
    """Whether the interface crashed, perhaps without restoring the terminal."""

    def accepts_frame(self) -> bool:
        """Whether the next frame is written; a skipped one has to be painted again."""
        return True

    def describe_failure(self, error: BaseException | None) -> str:
        """Return the text that is printed after an unhandled error."""
        return f"The program failed: {error}."

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if self.accepts_frame():
            super()._display(screen, renderable)

    def _fatal_error(self) -> None:
        self.failed = True
        self.panic(Text(self.describe_failure(sys.exception())))


async def run_binding(app: App[Any], key: str, *, priority: bool = False) -> bool:
    """Run the action of a key, and return whether it has one; `priority`: only urgent bindings."""
    return await app._check_bindings(key, priority)  # pyright: ignore[reportPrivateUsage]


def bind_key(node: DOMNode, key: str, action: str) -> None:
    """Bind a key for one instance; the focused widget does not get it."""
    node._bindings.bind(key, action, priority=True)  # pyright: ignore[reportPrivateUsage]
