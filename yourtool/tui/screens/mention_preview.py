"""Line with the mentioned files.

It is above the prompt and shows the files before the text is sent.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.parser import ShellLine, parse_input
from yourtool.tui.input.drafts import may_mention_files
from yourtool.tui.widgets.notices import Banner

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.commands.command_table import CommandTable
    from yourtool.agent.session.session import Session

_KIND = "mentioned"


class MentionPreview:
    """Shows which files go with the prompt, with their sizes, and which are only mentioned."""

    def __init__(self, screen: Screen[Any], banner: Banner) -> None:
        self._screen = screen
        self._banner = banner

    def update(self, session: "Session | None", text: str, commands: "CommandTable | None") -> None:
        """Look for the files in a thread, and then show them; without any, show nothing."""
        is_prompt = not isinstance(parse_input(text, commands), ShellLine | Invocation)
        if session is not None and is_prompt and may_mention_files(text):
            work = partial(self._show_files, session, text)
            self._screen.run_worker(work, group=_KIND, exclusive=True)
        else:
            self._screen.workers.cancel_group(self._screen, _KIND)
            self._banner.set_notice(_KIND, None)

    async def _show_files(self, session: "Session", text: str) -> None:
        found = await asyncio.to_thread(session.mentioned_files.find, text)
        line = " · ".join(mention.label for mention in found)
        self._banner.set_notice(_KIND, f"With the prompt: {line}" if found else None)
