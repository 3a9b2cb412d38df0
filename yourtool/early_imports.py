"""What the processes of a start use of the standard library, without its slow modules.

Before the first paint, the supervisor imports only modules that are written in C or that every
interpreter has imported. `contextlib`, `enum`, `functools`, `signal`, `threading` and what they
import would take a third of the time until then, and stay in the memory of both parents.
"""

from _collections_abc import Callable as Callable  # `collections.abc` imports `collections`
from _collections_abc import Iterable as Iterable
from _collections_abc import Iterator as Iterator
from _collections_abc import Mapping as Mapping
from _collections_abc import Sequence as Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # `signal` only turns its numbers into enumerations

__all__ = ["Callable", "Iterable", "Iterator", "Mapping", "Sequence", "signal", "suppress"]


class suppress:  # noqa: N801 - it is `contextlib.suppress`
    """Suppress these errors in a `with` statement."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        """Return whether the error is one of these."""
        return kind is not None and issubclass(kind, self._errors)
