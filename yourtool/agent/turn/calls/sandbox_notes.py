"""Notes on refusals of the sandbox.

A guess is called one, and its line is shown. Without a user, the note names what to set.
"""

from yourtool.tools.base import Block

_CERTAIN = "[{}. Do without it, or ask the user.]"
_GUESS = "[Perhaps {}; guessed from the line `{}`.]"
_UNATTENDED = "[{}. No user is present to answer, so it stayed in the sandbox; {}.]"
_WAY_OUT = (
    "A command did not leave the sandbox, because no user is present to answer: {}. To allow it,"
    " {}."
)
_OUTSIDE = "name the command in `[sandbox] outside` of `config.toml`"
_HOSTS = "name {} in `[sandbox] hosts` of `config.toml`, or the command in `[sandbox] outside`"


def describe_block(block: Block, *, has_user: bool) -> str:
    """Return the note in the result of a command."""
    if block.remedy:
        cause = block.cause if block.is_certain else f"perhaps {block.cause}"
        return f"[{cause[:1].upper()}{cause[1:]}. {block.remedy}]"
    if not block.is_certain:
        return _GUESS.format(block.cause, block.line) if block.line else f"[Perhaps {block.cause}.]"
    cause = block.cause[:1].upper() + block.cause[1:]
    if has_user:
        return _CERTAIN.format(cause)
    return _UNATTENDED.format(cause, f"to allow it, {_describe_setting(block)}")


def describe_second_run(*, is_outside: bool) -> str:
    """Return the note on a command that ran a second time."""
    where = "outside the sandbox" if is_outside else "with the hosts that it asked for"
    return f"[The user allowed this second run {where}.]"


def describe_way_out(block: Block) -> str:
    """Return the message for somebody who reads the output later."""
    return _WAY_OUT.format(block.cause, _describe_setting(block))


def _describe_setting(block: Block) -> str:
    named = ", ".join(f"`{each}`" for each in block.hosts if "." in each)
    return _HOSTS.format(named) if named else _OUTSIDE
