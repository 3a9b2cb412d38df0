"""Slash commands and their results.

The handler of a command yields results in the order in which they take effect, and a front end
renders each one before it requests the next. A result that asks the user something contains the
handler of the answer.
"""

from asyncio import Future
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from yourtool.events.catalog import Event
from yourtool.settings.config import Mode

if TYPE_CHECKING:  # a front end can load the table before it opens the core
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

ArgumentKind: TypeAlias = Literal["model", "effort", "mode", "theme", "provider", "file"]
"""Kind of argument values that completion suggests."""
CommandResults: TypeAlias = "AsyncGenerator[CommandResult, None]"
CommandHandler: TypeAlias = Callable[["Session", "Runtime", str], CommandResults]
"""Runs a command with its argument, which is empty without one."""
AnswerHandler: TypeAlias = Callable[[str], CommandResults]
Previewer: TypeAlias = Callable[[str], Awaitable[tuple[tuple[str, str], ...]]]
"""Returns speakers and texts for the value of a row."""


class SlashCommand(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    summary: str
    run: CommandHandler | None = None
    """None: the command is about the front end, which has its handler."""
    argument: str = ""
    """Argument syntax shown in the help; empty if the command takes none."""
    argument_kind: ArgumentKind | None = None
    keywords: tuple[tuple[str, str], ...] = ()
    """Special arguments that are not names, with descriptions."""
    during_turn: bool = True
    """Whether the command can run during a turn; if not, it waits for the end."""
    changes_model: bool = False
    """Whether an argument other than `show` changes how later messages are answered."""
    is_multiline: bool = False
    """Whether the argument can have several lines."""
    needs_session: bool = True
    has_answer: bool = False
    """True if `-p` runs it: the last `entry.added` with data is the answer."""
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The command with its argument syntax."""
        return f"/{self.name} {self.argument}".rstrip()


class Invocation(Struct, frozen=True):
    """A slash command and its argument; as a result: run it in the session that is now open."""

    command: SlashCommand
    argument: str = ""

    @property
    def changes_later_messages(self) -> bool:
        """Whether it has to follow the messages that were entered before it."""
        return self.command.changes_model and self.argument not in ("", "show")


class Section(Struct, frozen=True):
    """A heading and rows of a name and a text."""

    title: str
    rows: tuple[tuple[str, str], ...]


class Report(Struct, frozen=True):
    """Show a report."""

    title: str
    sections: tuple[Section, ...]


class FileChange(Struct, frozen=True):
    """A change to one file."""

    path: str
    diff: str = ""
    """A unified diff; empty without one."""
    note: str = ""
    """What the diff does not show."""

    @property
    def name(self) -> str:
        """The path with the note."""
        return f"{self.path} ({self.note})" if self.note else self.path


class CallChanges(Struct, frozen=True):
    """The files that one call or command of the user changed."""

    call: str
    changes: tuple[FileChange, ...]


class ShowChanges(Struct, frozen=True):
    """Show changes to files, in their order."""

    title: str
    calls: tuple[CallChanges, ...]


class ShowAnswer(Struct, frozen=True):
    """Show a text while it grows, apart from the conversation; closing it stops it."""

    title: str
    """The question that it answers."""
    pieces: AsyncGenerator[str, None]
    """Raises a `YourtoolError` if there is no answer."""
    stop: Callable[[], object]
    """Ends the pieces soon."""


class CopyText(Struct, frozen=True):
    """Copy a text to the clipboard."""

    text: str


class SettingChanged(Struct, frozen=True):
    """Update what depends on the model of the next prompt, the mode, trust, or `config.toml`."""

    setting: Literal["model", "mode", "trust", "settings"]


class StartTurn(Struct, frozen=True):
    """Run a turn of the session."""

    events: AsyncGenerator[Event, None]


class StartSession(Struct, frozen=True):
    """Continue in a new session."""

    model: str | None = None
    """None: the model of the command line, or the default model."""
    mode: Mode | None = None
    """None: the approval mode of the settings."""


class OpenSession(Struct, frozen=True):
    """Continue in a stored session."""

    session_id: str


class ShowMessage(Struct, frozen=True):
    """Scroll to a message of the session."""

    message_id: str


class SendPrompt(Struct, frozen=True):
    """Send a text, as it is, in the session that is now open."""

    text: str


class EditPrompt(Struct, frozen=True):
    """Load a text into the prompt."""

    text: str


class Choice(Struct, frozen=True):
    """A row of two lines or, in a list with columns, of one line."""

    value: str
    title: str
    detail: str = ""
    """The second line; in a list with columns, a text about the highlighted row."""
    cells: tuple[str, ...] = ()
    """The values of the columns of the list; a row without them has its title only."""
    mark: str = ""
    """Symbols before the title."""
    group: str = ""
    """The heading above the row and its neighbours of the same group."""
    keywords: str = ""
    """A text that the filter searches besides what is shown."""
    is_muted: bool = False
    """Whether the row has a weaker colour, because it cannot be used as it is."""


class ChoiceAction(Struct, frozen=True):
    """A key of a list, other than Enter, that acts on the highlighted row."""

    key: str
    """Such as `ctrl+d`."""
    label: str
    """For the hint, such as `Ctrl+D delete`."""
    then: AnswerHandler
    """Continues with the value of the row, or an empty string if no row is highlighted."""


class Choose(Struct, frozen=True):
    """Let the user choose one of several rows; nothing happens without a choice."""

    title: str
    choices: tuple[Choice, ...]
    then: AnswerHandler
    """Continues with the value of the row."""
    hint: str = ""
    current: str = ""
    """Value of the row that is highlighted first."""
    columns: tuple[str, ...] = ()
    """Headings of the columns after the title, most important first; narrow lists omit the last."""
    actions: tuple[ChoiceAction, ...] = ()
    preview: Previewer | None = None
    """Describes the highlighted row; called again only when the last call has returned."""
    update: Future[tuple[Choice, ...]] | None = None
    """Returns better rows later; the handler cancels it."""
    refresh: Callable[[], Awaitable[tuple[Choice, ...] | None]] | None = None
    """Returns changed rows, or None; called each second while the list is shown."""
    without_choice: str = ""
    """A notice for a user who chooses nothing; what it describes was to follow the choice."""


class ShowTree(Choose, frozen=True):
    """Let the user choose an entry of a tree, whose branches a front end can fold."""

    branches: Mapping[str, str] = {}
    """By value: that of the first entry of its branch; entries of the trunk have none."""
    outer: Mapping[str, str] = {}
    """By the first entry of a branch: that of the branch which it leaves."""


class SheetRow(Struct, frozen=True):
    """One consequence of a choice."""

    name: str
    text: str
    is_stake: bool = False
    """Whether it is a reason for the question."""


class ShowSwap(Choose, frozen=True):
    """Let the user decide about a swap whose consequences are shown above the answers."""

    rows: tuple[SheetRow, ...] = ()


class EnterText(Struct, frozen=True):
    """Let the user enter a text."""

    title: str
    explanation: str
    then: AnswerHandler
    """Continues with the text, which is empty if the user cancels."""
    hidden: bool = False
    value: str = ""
    """The text at first."""


CommandResult: TypeAlias = (
    Event
    | Report
    | ShowChanges
    | ShowAnswer
    | CopyText
    | SettingChanged
    | StartTurn
    | StartSession
    | OpenSession
    | ShowMessage
    | SendPrompt
    | EditPrompt
    | Choose
    | EnterText
    | Invocation
)
