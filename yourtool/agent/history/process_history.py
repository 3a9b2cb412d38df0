"""Background processes folded from facts."""

from yourtool.events.catalog import AnyFact
from yourtool.events.sessions import SessionForked, SessionImported
from yourtool.events.tools import ProcessEnded, ProcessesReported, ProcessStarted

OF_PROCESSES = frozenset(
    {ProcessStarted, ProcessEnded, ProcessesReported, SessionForked, SessionImported}
)
"""The facts that change the history; no others need to be applied."""


class ProcessHistory:
    """Which processes were started, and which of them have not ended; only `apply` changes it."""

    def __init__(self) -> None:
        self.count = 0
        """Number of processes that were started, after which ids are new."""
        self.running = dict[str, ProcessStarted]()
        """The processes that have not ended, by id."""
        self.left = list[ProcessEnded]()
        """Those that ended with the session or the program, until the model learns of it."""

        self.interrupted = dict[str, ProcessEnded]()
        """The latter, by id, until a process with the same command is started."""

    def describe_left(self) -> tuple[str, ...]:
        """Return notes for the model about the processes that ended with the session."""
        return tuple(
            f"[Process {each.process_id} (`{each.command}`) ended when the session was left.]"
            for each in self.left
        )

    def apply(self, fact: AnyFact) -> None:
        """Update the history with a fact."""
        match fact:
            case ProcessStarted(process_id=process_id, command=command):
                self.running[process_id] = fact
                self.count += 1
                again = [each for each in self.interrupted.values() if each.command == command]
                for each in again:
                    del self.interrupted[each.process_id]
            case ProcessEnded(process_id=process_id, reason=reason):
                self.running.pop(process_id, None)
                if reason in ("session_ended", "program_died"):
                    self.left.append(fact)
                    self.interrupted[process_id] = fact
            case ProcessesReported():
                self.left.clear()
            case SessionForked() | SessionImported():
                self.running.clear()  # they belong to another session
                self.interrupted.clear()
            case _:
                pass
