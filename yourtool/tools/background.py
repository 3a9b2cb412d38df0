"""Running commands of a session.

Every command of the model starts in the foreground, where its call waits for it. It moves to the
background for the call or for the user; then it has an id, and the model can ask for its
output, type into its terminal and stop it. All of them end with the session.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from yourtool.errors import ToolError, ToolFailure
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.processes.output import CommandOutput
from yourtool.tools.processes.process import ProcessExit
from yourtool.tools.processes.pseudo_terminal import InputKind, PseudoTerminal
from yourtool.tools.sandbox.network.refusals import Refusal

if TYPE_CHECKING:
    from yourtool.tools.sandbox.network.ports import Servers

MAX_RUNNING = 16
"""Background processes of a session at once."""
_MAX_ENDED = 32
"""Ended processes whose output the model can still ask for."""
_QUIET_SECONDS = 1.0
"""Time without output after which a program that reads its terminal waits for the user."""
_POLL_SECONDS = 0.25
_MAX_LAST_BYTES = 1_000


class Pause(Enum):
    """Why a wait for a command is over."""

    ENDED = auto()
    MOVED = auto()
    """The user moved it to the background."""
    NEEDS_INPUT = auto()
    TIME_IS_UP = auto()


class InputChoice(Enum):
    """What happens, instead of an answer, with a program that waits for input."""

    BACKGROUND = auto()
    """It keeps running, and the model can answer it."""
    STOP = auto()


AskInput: TypeAlias = Callable[["RunningCommand"], Awaitable[str | InputChoice]]
"""Asks the user what to type into a command that waits for input; cancelled when it has ended."""
ProcessObserver: TypeAlias = Callable[["RunningCommand"], Awaitable[None]]


class RunningCommand:
    """A command that was started, until its output is of no use any more."""

    def __init__(
        self, command: str, output: CommandOutput, terminal: PseudoTerminal | None = None
    ) -> None:
        """`command`: as it is shown, with keys masked."""
        self.id = ""
        """Such as `p1`; empty in the foreground."""
        self.command = command
        self.output = output
        self.terminal = terminal
        self.find_refused: Callable[[], Sequence[Refusal]] = tuple
        """Returns the hosts that it could not reach in the sandbox until now."""
        self.servers: Servers | None = None
        """What it serves in the sandbox; None: it is in no separate network."""
        self.show_server: Callable[[str], None] | None = None
        """Gets each address at which the user reaches one of its servers; set in the background."""
        self.is_for_background = False
        """Whether its call moves it to the background."""
        self.sandbox = SandboxLevel.NONE
        """The level in which it runs."""
        self.was_stopped = False
        """Whether this program ended it."""
        self.has_known_end = False
        """Whether the model has read that it has ended."""
        self.input_kind: InputKind | None = None
        """What it waited for when it was last examined."""
        self._started = time.monotonic()
        self._ended: float | None = None
        self._position = 0
        self._moved = asyncio.Event()
        self._task: asyncio.Task[ProcessExit] | None = None

    def start(self, running: Coroutine[Any, Any, ProcessExit]) -> asyncio.Task[ProcessExit]:
        """Run the command in a separate task, and return the task."""
        self._task = asyncio.create_task(running)
        self._task.add_done_callback(self._note_end)
        return self._task

    def _note_end(self, task: asyncio.Task[ProcessExit]) -> None:
        self._ended = time.monotonic()
        if not task.cancelled():
            task.exception()  # raised again by `exit_code`

    @property
    def is_enclosed(self) -> bool:
        """Whether it runs in the sandbox."""
        return self.sandbox is not SandboxLevel.NONE

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._task is not None and not self._task.done()

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        return (self._ended or time.monotonic()) - self._started

    @property
    def exit_code(self) -> int | None:
        """Its exit code; negative for a signal; None while it runs, and if it was stopped.

        Raises:
            ToolError: it could not be started.
        """
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        return self._task.result().code

    @property
    def left_processes(self) -> bool:
        """Whether it has ended and had left processes running, which were ended, too."""
        if self.exit_code is None or self._task is None:
            return False
        return self._task.result().left_processes

    @property
    def last_line(self) -> str:
        """The last line of its output that is not blank."""
        lines = self.output.last_text(_MAX_LAST_BYTES).split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")

    @property
    def has_unread(self) -> bool:
        """Whether it has output that `read` has not returned."""
        return self.output.has_text_since(self._position)

    def read(self) -> str:
        """Return its output since the last time."""
        text, self._position = self.output.text_since(self._position)
        return text

    def type(self, text: str) -> None:
        """Type a text into its terminal; a newline is the Enter key.

        Raises:
            ToolError: it has no terminal, has ended or does not read.
        """
        if self.terminal is None:
            raise ToolError(
                f"`{self.id}` has no terminal; start it with `terminal` to type into it"
            )
        self.terminal.type(text)

    def offer_servers(self) -> None:
        """Offer to the user what it serves, if it is in the background."""
        if self.show_server is not None and self.servers is not None:
            self.servers.offer(self.show_server)

    async def find_servers(self) -> str:
        """Return how what it serves now is reached; empty if it serves nothing."""
        if self.servers is not None:
            await self.servers.look()
        return self.described_servers

    @property
    def described_servers(self) -> str:
        """How what it serves was reached when it was last looked at; empty without a server."""
        return "" if self.servers is None else self.servers.describe()

    def move(self) -> None:
        """End the wait of its call, which moves it to the background."""
        self._moved.set()

    async def wait(self, seconds: float | None, *, watches_input: bool = False) -> Pause:
        """Wait until it ends or is moved, at most `seconds`.

        `watches_input`: also until it waits for input on its terminal.
        """
        assert self._task is not None, "it was started"
        deadline = None if seconds is None else time.monotonic() + seconds
        moved = asyncio.ensure_future(self._moved.wait())
        seen, quiet_since = -1, 0.0
        try:
            while True:
                rest = None if deadline is None else max(0.0, deadline - time.monotonic())
                if watches_input:
                    rest = _POLL_SECONDS if rest is None else min(rest, _POLL_SECONDS)
                done, _ = await asyncio.wait(
                    {self._task, moved}, timeout=rest, return_when=asyncio.FIRST_COMPLETED
                )
                if self._task in done:
                    return Pause.ENDED
                if moved in done:
                    return Pause.MOVED
                if deadline is not None and time.monotonic() >= deadline:
                    return Pause.TIME_IS_UP
                if seen != self.output.received_bytes:
                    seen, quiet_since = self.output.received_bytes, time.monotonic()
                elif time.monotonic() - quiet_since >= _QUIET_SECONDS and await self.find_input():
                    return Pause.NEEDS_INPUT
        finally:
            moved.cancel()

    async def wait_for_news(self, seconds: float) -> None:
        """Wait until it has new output and then is silent for a moment, or ends."""
        deadline = time.monotonic() + seconds
        while self.is_running and (rest := deadline - time.monotonic()) > 0:
            seen, had_news = self.output.received_bytes, self.has_unread
            await self.wait(min(rest, _POLL_SECONDS))
            if had_news and seen == self.output.received_bytes:
                return

    async def find_input(self) -> InputKind | None:
        """Return what it waits for on its terminal; None if it does not wait."""
        if self.terminal is None or not self.is_running:
            self.input_kind = None
        else:
            self.input_kind = await asyncio.to_thread(self.terminal.find_input)
        return self.input_kind

    async def wait_for_end(self) -> None:
        """Wait until it has ended, whether or not it was moved."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def ask(self, ask: AskInput) -> str | InputChoice | None:
        """Return what the user answers; None if it ended first."""
        assert self._task is not None, "it was started"
        asking = asyncio.ensure_future(ask(self))
        try:
            await asyncio.wait({self._task, asking}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()
            await asyncio.wait({asking})

    async def stop(self) -> None:
        """End all of its processes, and wait until they have ended."""
        if self._task is None or self._task.done():
            return
        self.was_stopped = True
        if self.servers is not None:
            self.servers.close()
        self._task.cancel()
        await asyncio.wait({self._task})


async def _ignore(_process: RunningCommand) -> None:
    """Do nothing."""


def _ignore_server(_process: RunningCommand, _text: str) -> None:
    """Do nothing."""


class ProcessTable:
    """The commands of one session that run, and its background processes."""

    def __init__(self) -> None:
        self.owner = ""
        """The session, whose id marks the processes."""
        self.on_start: ProcessObserver = _ignore
        """Called when a command moves to the background."""
        self.on_end: ProcessObserver = _ignore
        """Called when a background process has ended."""
        self.on_server: Callable[[RunningCommand, str], None] = _ignore_server
        """Called when the user can reach a server of a background process."""
        self._foreground = set[RunningCommand]()
        self._background = dict[str, RunningCommand]()
        self._unreported = list[RunningCommand]()
        self._watchers = set[asyncio.Task[None]]()
        self._count = 0
        self._is_closed = False

    @property
    def background(self) -> tuple[RunningCommand, ...]:
        """The background processes, also those that have ended."""
        return tuple(self._background.values())

    @property
    def running(self) -> tuple[RunningCommand, ...]:
        """The background processes that run."""
        return tuple(each for each in self._background.values() if each.is_running)

    def continue_after(self, count: int) -> None:
        """Use ids after the first `count` ones, which a resumed session has used."""
        self._count = max(self._count, count)

    def get(self, name: str) -> RunningCommand:
        """Return the background process with an id.

        Raises:
            ToolError: there is none.
        """
        if (found := self._background.get(name.strip())) is None:
            names = ", ".join(f"`{each}`" for each in self._background) or "none"
            raise ToolError(
                f"there is no process `{name}`; the processes are: {names}", ToolFailure.NOT_FOUND
            )
        return found

    def start(
        self, process: RunningCommand, running: Coroutine[Any, Any, ProcessExit]
    ) -> RunningCommand:
        """Run a command in the foreground, and return it."""
        if self._is_closed:
            running.close()
            raise ToolError("the session ends, so the command was not run", ToolFailure.CANCELLED)
        self._foreground.add(process)
        process.start(running).add_done_callback(lambda _: self._foreground.discard(process))
        return process

    def require_room(self, process: RunningCommand | None = None) -> None:
        """Check that another process, or this one, can move to the background.

        Raises:
            ToolError: too many run, or are about to move there.
        """
        others = self._foreground - {process}
        coming = sum(each.is_for_background for each in others)
        if len(self.running) + coming >= MAX_RUNNING:
            raise ToolError(
                f"{MAX_RUNNING} background processes run already; stop one with `process_stop`"
            )

    async def keep(self, process: RunningCommand) -> None:
        """Move a command to the background; its output so far counts as unread."""
        self._foreground.discard(process)
        self._count += 1
        process.id = f"p{self._count}"
        self._background[process.id] = process
        ended = [each for each in self._background.values() if not each.is_running]
        for each in ended[: max(0, len(ended) - _MAX_ENDED)]:
            del self._background[each.id]
        await self.on_start(process)
        process.show_server = partial(self.on_server, process)
        process.offer_servers()
        watcher = asyncio.create_task(self._watch(process))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    async def _watch(self, process: RunningCommand) -> None:
        await process.wait_for_end()
        if not process.has_known_end:
            self._unreported.append(process)
        await self.on_end(process)

    def move_to_background(self) -> int:
        """Move all commands of the foreground to the background; return how many there are."""
        room = max(0, MAX_RUNNING - len(self.running))
        moved = list(self._foreground)[:room]
        for process in moved:
            process.move()
        return len(moved)

    def forget_end(self, process: RunningCommand) -> None:
        """Note that the model has learned of the end of a process."""
        process.has_known_end = True
        if process in self._unreported:
            self._unreported.remove(process)

    def take_ended(self) -> tuple[RunningCommand, ...]:
        """Return the processes that ended since the last call, unless the model has read it."""
        ended, self._unreported = tuple(self._unreported), []
        return ended

    async def close(self) -> None:
        """End all processes; idempotent."""
        self._is_closed = True
        processes = (*self._foreground, *self.running)
        await asyncio.gather(*(each.stop() for each in processes))
        await asyncio.gather(*self._watchers, return_exceptions=True)
