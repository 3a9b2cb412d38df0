"""Table of all slash commands."""

from yourtool import extensions
from yourtool.agent.commands import (
    api_keys,
    context,
    instructions,
    mcp,
    memory,
    models,
    modes,
    plans,
    processes,
    replies,
    reports,
    requests,
    routing,
    skills,
)
from yourtool.agent.commands.base import SlashCommand
from yourtool.agent.commands.permissions import permissions, trust
from yourtool.agent.commands.sessions import changes, exports, sessions, tree, undo

STEER = SlashCommand(
    name="steer",
    argument="[TEXT]",
    is_multiline=True,
    summary="send a message to the running turn, or the last queued one without TEXT",
)

EXTENDED = extensions.list_slash_commands()
"""Commands that a custom command of the same name replaces."""
COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(name="help", summary="list commands and keys", needs_session=False),
    SlashCommand(
        name="keys", summary="name the keys that you press, and their actions", needs_session=False
    ),
    *models.COMMANDS,
    *routing.COMMANDS,
    STEER,
    *sessions.COMMANDS,
    *exports.COMMANDS,
    *tree.COMMANDS,
    *undo.COMMANDS,
    *reports.COMMANDS,
    *context.COMMANDS,
    *requests.COMMANDS,
    *changes.COMMANDS,
    *api_keys.COMMANDS,
    *replies.COMMANDS,
    SlashCommand(
        name="theme",
        argument="[NAME] [--save]",
        argument_kind="theme",
        summary="change the colour theme; `--save` makes it the default",
    ),
    *modes.COMMANDS,
    *plans.COMMANDS,
    *processes.COMMANDS,
    *trust.COMMANDS,
    *instructions.COMMANDS,
    *skills.COMMANDS,
    *mcp.COMMANDS,
    *memory.COMMANDS,
    *permissions.COMMANDS,
    replies.COPY,
    SlashCommand(
        name="attach",
        argument="[FILE | URL | -]",
        argument_kind="file",
        keywords=(("-", "remove all attachments"),),
        summary="attach an image, audio or document to the next prompt; `-` removes attachments",
    ),
    SlashCommand(name="paste", summary="insert the image or the text in the clipboard"),
    *EXTENDED,
    SlashCommand(name="quit", summary="quit", needs_session=False, aliases=("exit", "q")),
)
"""Commands without a handler are about the front end: its keys, display, prompt and end."""

COMMANDS_BY_NAME = {name: each for each in COMMANDS for name in (each.name, *each.aliases)}
