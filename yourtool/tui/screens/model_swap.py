"""Swaps of the model, and the choices if the new model does not support the session's media."""

from yourtool.errors import SwapRefusedError
from yourtool.tui.screens.attachments import warn_unsupported
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.picker_choices import FORK, IN_WORDS, swap_choices
from yourtool.tui.screens.sessions import DEMO, fork_before, require_session, start_session
from yourtool.tui.screens.turn_screen import TurnScreen


async def swap_model(chat: TurnScreen, name: str) -> None:
    """Switch to another model; switching from the demo to a real model starts a new session."""
    runtime, session = require_session(chat)
    if session.model.provider == DEMO and not chat.turn_running:
        target = runtime.catalogue.resolve(name)
        if target.provider != DEMO:
            await start_session(chat, target.id)
            where = runtime.options.workspace
            chat.note("info", f"Started a new session in {where}; /resume lists the demo session.")
            await warn_unsupported(chat)
            return
    try:
        await chat.show_change(session.select_model(name))
    except SwapRefusedError as refused:
        if not refused.media:
            raise
        chat.note("error", str(refused))
        await offer_swap_choices(chat, refused)
    else:
        await warn_unsupported(chat)


async def offer_swap_choices(chat: TurnScreen, refused: SwapRefusedError) -> None:
    """Offer placeholders for the media, a fork from before them, or no swap."""
    _, session = require_session(chat)
    fork_at = "" if chat.turn_running else refused.fork_at
    rows = swap_choices(refused, session.model, session.state.prompts, fork_at)
    title = f"{refused.model} does not support the {refused.media} in this session"
    picked = await chat.app.push_screen_wait(Picker(title, rows))
    if picked == IN_WORDS:
        await chat.show_change(session.select_model(refused.model, use_placeholders=True))
        await warn_unsupported(chat)
    elif picked == FORK:
        await fork_before(chat, fork_at)
        await swap_model(chat, refused.model)
