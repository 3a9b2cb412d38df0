"""Base of dialogs, and a one-line field."""

from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, Static

from yourtool.foundation.text import printable
from yourtool.tui.keys.active_keys import bindings, build_hint, join_hints
from yourtool.tui.keys.keystroke_guard import SEEN_SECONDS


class Dialog(ModalScreen[ScreenResultType]):
    """A modal screen that closes once.

    Keys that were pressed at once reach the focused widget before the first of them has closed the
    screen; Textual would then call back twice and remove the screen below.
    """

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        #window {
            width: 100%;
            max-width: 100;
            height: auto;
            max-height: 90%;
            border: round $primary;
            border-title-color: $text-primary;
            border-subtitle-color: $text-muted;
            background: $background;
            padding: 0 1;
        }
    }
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the screen and return `result`, unless it is closed or covered."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


class Chooser(Dialog[str | None]):
    """Returns the value of the chosen row, or None."""

    def __init__(self) -> None:
        super().__init__()
        self.is_unexpected = False
        """Whether it opened late, and the user has not seen it yet."""

    def on_mount(self) -> None:
        """Accept Enter as soon as the user has seen the list."""
        if self.is_unexpected:
            self.set_timer(SEEN_SECONDS, self._mark_seen)

    def ignores(self, event: events.Key | events.Paste) -> bool:
        """Whether a key has no effect: Enter, while the user has not seen the list.

        It must not wait in the queue of a widget, from where it would reach the next screen.
        """
        return self.is_unexpected and isinstance(event, events.Key) and event.key == "enter"

    def _mark_seen(self) -> None:
        self.is_unexpected = False


class TextEntry(Dialog[str | None]):
    """Returns the stripped input, or None if it is empty or cancelled."""

    DEFAULT_CSS = """
    TextEntry {
        #window { max-width: 76; border: round $warning; border-title-color: $text-warning; }
        Static { height: auto; max-height: 50vh; }
        Input {
            border: none;
            height: 1;
            padding: 0;
            margin-top: 1;
            background: $panel;
            &:focus { border: none; }
        }
    }
    """
    BINDINGS = bindings("list", only="list.close")  # pyright: ignore[reportAssignmentType] - as in `Prompt`

    def __init__(self, title: str, text: str, *, hidden: bool = False, value: str = "") -> None:
        """`value`: the input at first."""
        super().__init__()
        self._title = title
        self._text = text
        self._hidden, self._value = hidden, value

    def compose(self) -> ComposeResult:
        """Lay out the text above the input."""
        with Vertical(id="window") as window:
            window.border_title = Content(printable(self._title))
            cancels = build_hint("list.close", "cancels")
            window.border_subtitle = join_hints("Enter accepts", cancels)
            yield Static(printable(self._text), markup=False)
            field = Input(self._value, password=self._hidden, select_on_focus=False)
            field.cursor_blink = False
            yield field

    @on(Input.Submitted)
    def accept(self, submitted: Input.Submitted) -> None:
        """Return the input."""
        self.dismiss(submitted.value.strip() or None)
