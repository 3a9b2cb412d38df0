"""Standing notices above the prompt, each for as long as what it says is true."""

from textual.widgets import Static


class Banner(Static):
    """One notice per kind; hidden when there is none."""

    DEFAULT_CSS = """
    Banner {
        display: none;
        height: auto;
        max-height: 5;
        padding: 0 1;
        background: $warning-muted;
        color: $text-warning;
        &.-shown { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._notices: dict[str, str] = {}

    def tell(self, kind: str, text: str | None) -> None:
        """Say something, in place of what was said of this kind; None takes it away."""
        if text is None:
            self._notices.pop(kind, None)
        else:
            self._notices[kind] = text
        self.update("\n".join(self._notices.values()))
        self.set_class(bool(self._notices), "-shown")
