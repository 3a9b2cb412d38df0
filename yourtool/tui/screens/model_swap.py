"""Swaps of the model, and the ways out of a swap that media in the session stand against."""

from yourtool.errors import SwapRefusedError
from yourtool.tui.screens.attachments import tell_untaken
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.picker_rows import FORK, IN_WORDS, way_out_choices
from yourtool.tui.screens.sessions import DEMO, begin_session, fork_before, opened
from yourtool.tui.screens.turn_screen import TurnScreen


async def swap(chat: TurnScreen, name: str) -> None:
    """Take another model; a real one leaves the demo's session, and its copy of the directory."""
    runtime, session = opened(chat)
    if session.model.provider == DEMO and not chat.playing:
        target = runtime.catalogue.resolve(name)
        if target.provider != DEMO:
            await begin_session(chat, target.id)
            where = runtime.options.workspace
            chat.note("info", f"A new session in {where}; the demo's is in /resume.")
            await tell_untaken(chat)
            return
    try:
        await chat.change(session.select(name))
    except SwapRefusedError as refused:
        if not refused.media:
            raise
        chat.note("error", str(refused))
        await offer_ways_out(chat, refused)
    else:
        await tell_untaken(chat)


async def offer_ways_out(chat: TurnScreen, refused: SwapRefusedError) -> None:
    """Let the user choose: placeholders for the media, a fork from before them, or no swap."""
    _, session = opened(chat)
    fork_at = "" if chat.playing else refused.fork_at
    rows = way_out_choices(refused, session.model, session.state.prompts, fork_at)
    title = f"{refused.model} can't process the {refused.media} of this session"
    picked = await chat.app.push_screen_wait(Picker(title, rows))
    if picked == IN_WORDS:
        await chat.change(session.select(refused.model, in_words=True))
        await tell_untaken(chat)
    elif picked == FORK:
        await fork_before(chat, fork_at)
        await swap(chat, refused.model)
