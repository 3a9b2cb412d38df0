"""A clock that shows the time that a test sets."""


class SetClock:
    """`now`: the time in seconds."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
