"""Originals of summarised and shortened messages.

A model gets the tool only while requests have less than the session: before the first summary it
would cost tokens and have no use. A message that the user omitted stays unread.
"""

from yourtool.agent.history.overrides import find_steps
from yourtool.agent.history.state import State
from yourtool.agent.history.summary_texts import render_whole
from yourtool.errors import ToolError
from yourtool.messages.message import Message
from yourtool.tools.guidance.expansion import build_expand_message, cut_page
from yourtool.tools.toolset import Toolbox


class Originals:
    """The messages of one session, as a source of the tool that reads them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._toolbox = Toolbox((build_expand_message(self.read),))

    def current(self) -> Toolbox:
        """Return the tool if a message is summarised or shortened."""
        branch = self._state.branch
        is_useful = branch.compacted is not None or branch.overrides.has_truncated
        return self._toolbox if is_useful else Toolbox(())

    def read(self, name: str, offset: int) -> str:
        """Return a message by its number among those that are summarised, or by its id; blocks.

        Raises:
            ToolError: there is none, it was omitted, or it is shorter than `offset`.
        """
        page = cut_page(render_whole(self._find(name.strip())), offset)
        return f"Message {name.strip()} of this conversation:\n{page}"

    def _find(self, name: str) -> Message:
        branch = self._state.branch
        originals = () if branch.compacted is None else branch.compacted.originals
        if name.isdecimal() and 1 <= int(name) <= len(originals):
            message = originals[int(name) - 1]
        else:
            found = (each for each in (*originals, *branch.selected) if each.id == name)
            if (message := next(found, None)) is None:
                numbers = f"1 to {len(originals):,}" if originals else "no numbers, only ids"
                raise ToolError(f"there is no message `{name}`; the summarised ones have {numbers}")
        choices = branch.overrides
        step = find_steps((*originals, *branch.selected), frozenset({message.id}))
        if any(choices.find(each) == "omitted" for each in (message.id, min(step))):
            raise ToolError(f"the user removed the message `{name}` from the conversation")
        return message
