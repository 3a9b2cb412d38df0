"""Commands that the sandbox refuses on purpose, with the sentence that the model reads."""

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """A documented refusal."""

    command: str
    sentence: str
    projects: tuple[str, ...] = ()
    """Empty: in every project."""


REFUSALS = (
    Refusal("pull", "the sandbox hides `"),
    Refusal("push", "the sandbox hides `"),
    Refusal("beside", "Perhaps the sandbox lets no command write files outside the workspace and"),
)
"""The remote is in a hidden directory, and a work tree next to the repository is outside of it."""


def find_refusal(project: str, command: str) -> str | None:
    """Return the sentence that a command must show in a project, if it may be refused there."""
    for each in REFUSALS:
        if each.command == command and (not each.projects or project in each.projects):
            return each.sentence
    return None
