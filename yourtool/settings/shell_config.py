"""Settings of shell commands and their environment."""

from collections.abc import Iterable
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

NameSpec: TypeAlias = Annotated[str, Meta(pattern=r"^(?:\*|\*?[A-Za-z0-9_]+\*?)$")]
"""Names of variables: `NODE_ENV`, `AWS_*`, `*_URL`."""


class EnvironmentConfig(Struct, frozen=True):
    """The variables of the commands of models, besides those that a default passes."""

    hide: Annotated[
        tuple[NameSpec, ...],
        Meta(
            description="Variables that commands of models do not get besides keys, tokens and"
            " passwords: `NAME`, `NAME*`, `*NAME`.",
        ),
    ] = ()
    allow: Annotated[
        tuple[NameSpec, ...],
        Meta(
            description="Variables that they get although the name or the value is that of a key;"
            " `hide` comes first.",
        ),
    ] = ()
    set: Annotated[
        dict[str, str],
        Meta(description='Variables with values of yours: `{ NODE_ENV = "test" }`.'),
    ] = {}

    def passes(self, name: str, *, is_key: bool) -> bool:
        """Return whether a variable of the user reaches the commands of models."""
        if _is_named(name, self.hide):
            return False
        return not is_key or _is_named(name, self.allow)


class ShellConfig(Struct, frozen=True):
    """The commands of models."""

    environment: EnvironmentConfig = EnvironmentConfig()


def _is_named(name: str, specs: Iterable[str]) -> bool:
    return any(_matches(name, spec) for spec in specs)


def _matches(name: str, spec: str) -> bool:
    text = spec.strip("*")
    if spec.startswith("*"):
        return text in name if spec.endswith("*") else name.endswith(text)
    return name.startswith(text) if spec.endswith("*") else name == text
