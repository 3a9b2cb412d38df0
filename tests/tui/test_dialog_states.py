"""Snapshots of dialogs, of fields in approval prompts, and of what is rarely on the screen."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tests.tui.events import EventBuilder
from tests.tui.fakes import Ask, approval_request, text_deltas, turn
from tests.tui.pilot_helpers import press, say, settle, until
from tests.tui.test_approval import changeable
from tests.tui.test_changes import EDIT
from tests.tui.test_tree import BRANCHES, OUTER, ROWS, nothing
from tests.tui.test_widget_states import (
    DIFF,
    SIZES,
    WIDE,
    State,
    adder_to,
    answered,
    asked,
    draw,
    edit_request,
    ended,
    patch_request,
    plan_request,
    waiting,
)
from yourtool import extensions
from yourtool.agent.commands.base import (
    CallChanges,
    Choice,
    FileChange,
    SheetRow,
    ShowChanges,
    ShowSwap,
    ShowTree,
)
from yourtool.effects import Confirmation, SandboxOffer, TrustOffer
from yourtool.events.context import ContextCompacted
from yourtool.messages.blocks import TextBlock, ToolUseBlock
from yourtool.tui.input.drafts import Draft
from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.screens.command_results import show_result
from yourtool.tui.screens.trust import settle_trust

STATES: dict[str, State] = {}
state = adder_to(STATES)


def opened(pilot, result):
    """Show the result of a command, which waits for the user."""
    return pilot.app.chat.run_worker(show_result(pilot.app.chat, result))


async def chosen(pilot, letter):
    """Choose an answer that opens a field."""
    await asked(pilot)
    await press(pilot, letter, "enter")
    pilot.app.clock.seconds += 1
    await until(pilot, lambda: pilot.app.chat.approval_prompt.has_class("-noting"))


# ── dialogs ─────────────────────────────────────────────────────────────────────────────────────


@state()
async def sheet_before_a_swap(pilot):
    rows = (
        SheetRow("images", "2 images of 3 messages are replaced by placeholders", is_stake=True),
        SheetRow("next prompt", "$0.42 instead of $0.05, because nothing is in the cache"),
        SheetRow("tools", "all 12"),
    )
    choices = (
        Choice("switch", "Switch", "images become placeholders"),
        Choice("fork", "Fork before the first image"),
        Choice("cancel", "Keep the model"),
    )
    opened(pilot, ShowSwap("Switch to openai:gpt-5.2?", choices, nothing, rows=rows))


@state()
async def branches_of_a_session(pilot):
    choices = tuple(Choice(value, title, "1 h ago") for value, title in ROWS.items())
    places = {"branches": BRANCHES, "outer": OUTER}
    opened(pilot, ShowTree("Branches", choices, nothing, current="f", columns=("",), **places))


@state(sizes=(*SIZES, WIDE))
async def changes_of_a_session(pilot):
    pilot.app.chat.set_highlight(get_highlighter)
    calls = (
        CallChanges("$ make", (FileChange("out.bin", note="created; not text"),)),
        CallChanges("edit_file", (FileChange("src/x.py", EDIT), FileChange("parse.py", DIFF))),
    )
    opened(pilot, ShowChanges("3 changes of 3 files", calls))


@state()
async def list_without_a_match(pilot):
    await say(pilot, "/models")
    await press(pilot, *"nothing like it")


# ── approvals ───────────────────────────────────────────────────────────────────────────────────


@state(waiting(Ask(changeable())))
async def rule_that_is_edited(pilot):
    await chosen(pilot, "p")


@state(waiting(Ask(changeable())))
async def command_that_is_edited(pilot):
    await chosen(pilot, "e")
    await press(pilot, *" --dry-run")


@state(waiting(Ask(replace(approval_request(), following=2, asked_by="worker 2"))))
async def approval_for_a_worker_with_more_calls(pilot):
    await asked(pilot)


TRUST = TrustOffer(
    folder="/home/me/work", files=("AGENTS.md (2.1 KiB, instructions)",), accept=lambda: True
)


@state(waiting(Ask(replace(approval_request("git status"), trust=TRUST))))
async def approval_that_offers_trust(pilot):
    await asked(pilot)


SANDBOX = SandboxOffer(folder="/home/me/work", accept=lambda: None)


@state(waiting(Ask(replace(approval_request("make test"), sandbox=SANDBOX))))
async def approval_that_offers_the_sandbox(pilot):
    await asked(pilot)


@state(waiting(Ask(patch_request())), sizes=(WIDE,))
async def patch_side_by_side(pilot):
    pilot.app.chat.set_highlight(get_highlighter)
    await asked(pilot)


@state(waiting(Ask(edit_request())))
async def letter_that_came_too_early(pilot):
    await say(pilot, "go")
    panel = pilot.app.chat.approval_prompt
    await until(pilot, lambda: panel.confirmation is not None)
    await settle(pilot)
    await press(pilot, "a")


@state(waiting(Ask(plan_request())))
async def enlarged_plan(pilot):
    await asked(pilot)
    pilot.app.chat.approval_prompt.action_expand()


@state(waiting(Ask(plan_request())))
async def note_for_a_plan(pilot):
    await chosen(pilot, "r")
    await press(pilot, *"fewer files")


async def ask_about_folder(pilot):
    texts = {"AGENTS.md": "2.1 KiB, instructions", ".yourtool/hooks.toml": "0.2 KiB, hooks"}
    files = [SimpleNamespace(name=name) for name in texts]
    found = SimpleNamespace(
        needs_answer=True,
        files_by_importance=files,
        describe=lambda file: texts[file.name],
        folder="/home/me/work",
        is_changed=False,
    )
    trust = SimpleNamespace(asks=True, examine=lambda: found, examine_all=lambda: found)
    pilot.app.chat.runner.session = None  # it opens after the answer

    async def renew(workspace):
        return ()

    runtime = SimpleNamespace(tool_servers=SimpleNamespace(renew=renew))
    session = SimpleNamespace(trust=trust, workspace=None)
    pilot.app.chat.run_worker(settle_trust(pilot.app.chat, runtime, session))
    await until(pilot, lambda: pilot.app.chat.trust_question.is_mounted)


@state()
async def question_about_the_folder(pilot):
    await ask_about_folder(pilot)


@state()
async def message_that_waits_for_the_answer_about_the_folder(pilot):
    await ask_about_folder(pilot)
    await say(pilot, "what does this project do?")


QUESTIONS = {
    "limit": {"title": "The turn reached its limit of 50 requests."},
    "fallback": {
        "title": "Let openai:gpt-5.2 answer?",
        "reason": "anthropic is overloaded. openai:gpt-5.2 answers until it is available.",
    },
    "input": {"title": "npm init", "reason": "package name: (work)"},
    "password": {"title": "sudo apt update", "reason": "[sudo] password for me:"},
    "question": {"title": "Which account?", "reason": "The server `mail` asks."},
}


def question(kind):
    return waiting(Ask(Confirmation(id="c1", kind=kind, **QUESTIONS[kind])))


@state(question("limit"))
async def question_about_a_limit(pilot):
    await asked(pilot)


@state(question("fallback"))
async def question_about_another_model(pilot):
    await asked(pilot)


@state(question("input"))
async def input_of_a_command(pilot):
    await chosen(pilot, "a")
    await press(pilot, *"tally")


@state(question("password"))
async def password_of_a_command(pilot):
    await chosen(pilot, "a")
    await press(pilot, *"secret")


@state(question("question"))
async def question_of_a_server(pilot):
    await chosen(pilot, "a")


# ── the prompt and the lists above it ───────────────────────────────────────────────────────────


@state(waiting(*text_deltas("Working.")))
async def both_lists_of_messages_with_the_focus(pilot):
    await say(pilot, "go")
    for text in ("/steer look at the tests first", "and then this", "and that at last"):
        await say(pilot, text)
    await press(pilot, "ctrl+x", "up")


@state()
async def stashed_draft(pilot):
    await press(pilot, *"a long thought", "ctrl+s")


if (vim := extensions.load_key_mode()) is not None:

    @state()
    async def normal_mode_of_vim(pilot):
        prompt = pilot.app.chat.prompt
        prompt.key_mode = vim.build_key_mode(prompt)
        await press(pilot, *"one two", "escape")


@state()
async def prompt_with_a_mentioned_file(pilot):
    folder = Path(pilot.app.session_of_test.workspace)
    (folder / "parse.py").write_text("x = 1\n" * 100)
    pilot.app.chat.prompt.load(Draft("see @parse.py "))
    pilot.app.chat.save_draft()
    await until(pilot, lambda: "parse.py" in str(pilot.app.chat.banner.content))


# ── the conversation ────────────────────────────────────────────────────────────────────────────


def compacted(session: EventBuilder):
    sizes = {"turn_count": 3, "message_count": 14, "tokens_before": 90_000, "tokens_after": 9_000}
    summary = "The user wants both forms.\nThe parser reads `=`.\nTests pass."
    facts = {"summary": summary, "through": "m", "reason": "user", "model": "acme:small"}
    return [
        session._fact(ContextCompacted, **facts, **sizes),
        session.reply(TextBlock("On we go.")),
        session.turn_end(),
    ]


@state(ended(compacted))
async def summary_of_old_turns(pilot):
    await answered(pilot)


@state(ended(compacted))
async def opened_summary(pilot):
    await answered(pilot)
    await press(pilot, "ctrl+o")


def delegated(session: EventBuilder):
    task = ToolUseBlock("tu_d", "delegate", {"task": "Find every caller of `parse`."})
    return [session.reply(TextBlock("I ask a worker."), task), session.tool_start(task)]


@state([*ended(delegated), asyncio.Event()])
async def call_of_a_worker(pilot):
    await say(pilot, "go")


@state(turn("hello", "[one](https://example.com) 日本語 a\u0301 \u202e\u05d0\u05d1 👩\u200d💻 end"))
async def wide_and_joined_characters(pilot):
    await answered(pilot)


# ── the test ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.blocks_loop("the test draws many screenshots")
@pytest.mark.parametrize("name", STATES)
@pytest.mark.req("R-TUI-24")
@pytest.mark.sample(8)
async def test_dialog_state(app_of, snapshot, name):
    shown = STATES[name]
    different = await draw(app_of(*shown.scripts), shown, name, snapshot)
    assert not different, "look at the screens, then run `make snapshots`"
