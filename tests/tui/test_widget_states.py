"""Snapshots of every state of the widgets: at three sizes, in a dark and in a light theme.

A state is a script of the model, and what the user does. One program shows all its snapshots.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from pytest_textual_snapshot import SVGImageExtension
from textual.pilot import Pilot

from tests.tui.events import EventBuilder
from tests.tui.fakes import (
    Ask,
    Script,
    approval_request,
    default_route,
    full_reply,
    text_deltas,
    turn,
    turn_start,
)
from tests.tui.pilot_helpers import press, say, settle, until
from yourtool.effects import Confirmation, Editable, Preview, SideEffects, Subject
from yourtool.events.catalog import Event
from yourtool.events.deltas import (
    MessageStart,
    Notice,
    RetryScheduled,
    ShellStarted,
    ThinkingDelta,
    ToolOutputDelta,
    ToolUseInputDelta,
    ToolUseStart,
)
from yourtool.events.model_calls import LlmCallStarted
from yourtool.messages.blocks import TextBlock, ToolUseBlock
from yourtool.messages.message import now
from yourtool.messages.usage import RateLimits, Receipt, UsageExtra
from yourtool.settings.config import Mode
from yourtool.tui.app import YourtoolApp
from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.screens.sessions import DEMO_NOTICE

SIZES = ((120, 40), (80, 24), (40, 12))
WIDE = (200, 50)
"""Wide enough for old and new lines side by side."""
THEMES = ("dark", "light")

REPLY = """\
# Done

The parser now reads **both** forms, see `parse.py`:

- `a = 1`
- `b: 2`
  1. without a sign

| form | lines |
|------|------:|
| `=`  |    12 |
| `:`  |     3 |

```python
def parse(text):
    return text.partition("=")  # head, sign, tail
```

> Nothing else changed. [More](https://example.com)
"""
DIFF = (
    "--- a/src/parse.py\n+++ b/src/parse.py\n@@ -10,2 +10,4 @@ def parse(text):\n"
    "     head, _, tail = text.partition('=')\n-    return head, tail\n"
    "+    if not tail:\n+        head, _, tail = text.partition(':')\n"
    "+    return head.strip(), tail.strip()\n"
)
NUMBERS = "".join(f"line {number}\n" for number in range(1, 41))


class State(NamedTuple):
    """What a snapshot shows."""

    scripts: tuple[Script, ...]
    play: Callable[[Pilot[Any]], Awaitable[None]]
    sizes: tuple[tuple[int, int], ...]


STATES: dict[str, State] = {}


def adder_to(states: dict[str, State]):
    """Return a decorator that adds a state to a table: its function does what the user does."""

    def state(*scripts: Script, sizes: tuple[tuple[int, int], ...] = SIZES):
        def add(play: Callable[[Pilot[Any]], Awaitable[None]]):
            states[play.__name__] = State(scripts, play, sizes)
            return play

        return add

    return state


state = adder_to(STATES)


def waiting(*events: Event | Ask) -> Script:
    """A turn that does not end."""
    return [turn_start("fix the parser"), default_route(), *events, asyncio.Event()]


def ended(build: Callable[[EventBuilder], Sequence[Event]]) -> Script:
    """A turn with its end."""
    session = EventBuilder()
    return [session.turn_start("fix the parser"), session.route(), *build(session)]


def edit_request() -> Confirmation:
    return Confirmation(
        id="c1",
        kind="tool",
        title="edit_file",
        side_effects=SideEffects.WRITE,
        preview=Preview(kind="diff", body=DIFF, paths=("src/parse.py",)),
        rules=("edit_file(src/parse.py)",),
    )


def patch_request() -> Confirmation:
    diffs = (
        DIFF.rstrip("\n"),
        "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+limit = 10",
        "--- a/src/old.py\n+++ b/src/moved.py\n@@ -1 +1 @@\n-x = 1\n+x = 2",
        "--- a/notes.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone",
    )
    return Confirmation(
        id="c1",
        kind="tool",
        title="apply_patch",
        side_effects=SideEffects.WRITE,
        preview=Preview(
            kind="diff",
            body="\n".join(diffs),
            paths=("src/parse.py", "src/new.py", "src/moved.py", "notes.txt", "src/old.py"),
        ),
        no_rule_reason="it is about several places at once, and a rule names one",
    )


def plan_request() -> Confirmation:
    """Return the request for a plan that fits on no small screen."""
    plan = "# Count words\n\n" + "\n".join(f"{n}. Change `part_{n}.py`" for n in range(1, 10))
    editable = Editable(text=plan, suffix=".md", build_input=lambda text: {"plan": text})
    preview = Preview(kind="text", body=plan, editable=editable)
    return Confirmation(id="c1", kind="plan", title="propose_plan", preview=preview)


def web_request() -> Confirmation:
    url = "https://docs.example.com/guide?page=2"
    return Confirmation(
        id="c2",
        kind="tool",
        title="fetch_url",
        subject=Subject("host", "docs.example.com"),
        side_effects=SideEffects.NETWORK,
        input={"url": url},
        preview=Preview(kind="text", body=url),
        rules=("fetch_url(docs.example.com)",),
    )


async def asked(pilot: Pilot[Any]) -> None:
    """Send a prompt and wait for the approval prompt."""
    await say(pilot, "go")
    panel = pilot.app.chat.approval_prompt
    await until(pilot, lambda: panel.confirmation is not None)
    await settle(pilot)
    pilot.app.clock.seconds += 1
    await until(pilot, lambda: panel.answers.is_ready)


async def answered(pilot: Pilot[Any]) -> None:
    """Send a prompt and wait for the end of the turn."""
    await say(pilot, "go")
    await until(pilot, lambda: not pilot.app.chat.runner.is_running)


# ── the screen around the conversation ──────────────────────────────────────────────────────────


@state()
async def first_screen(pilot):
    await settle(pilot)


@state()
async def demo_banner(pilot):
    pilot.app.chat.banner.set_notice("demo", DEMO_NOTICE)


@state()
async def mode_auto_and_attachment(pilot):
    pilot.app.chat.session.mode, pilot.app.chat.session.sandbox_level = Mode.AUTO, "off"
    pilot.app.chat.status.refresh()
    pilot.app.chat.banner.set_notice("attached", "Attached to the next prompt: plan.png")


@state()
async def prompt_of_many_lines_with_a_paste(pilot):
    await press(pilot, *"one", "ctrl+j", *"two", "ctrl+j")
    pilot.app.chat.prompt.paste(NUMBERS)


@state()
async def prompt_with_a_shell_command(pilot):
    await press(pilot, "!", *"git status")


@state()
async def list_of_commands(pilot):
    await press(pilot, "/", "m", "o")


@state()
async def list_of_files(pilot):
    folder = Path(pilot.app.session_of_test.workspace)
    for name in ("main.py", "parse.py", "parse_test.py"):
        (folder / name).write_text("")
    await press(pilot, *"see @par")
    await until(pilot, lambda: pilot.app.chat.completer.files)


@state()
async def search_in_earlier_prompts(pilot):
    await answered(pilot)
    await press(pilot, "ctrl+r", "g")


@state()
async def list_of_all_keys(pilot):
    await press(pilot, "?")


@state()
async def description_of_a_key(pilot):
    await say(pilot, "/keys")
    await press(pilot, "ctrl+t")


@state()
async def report_of_costs(pilot):
    await answered(pilot)
    await say(pilot, "/cost")


@state()
async def confirmation_of_mode_auto(pilot):
    await say(pilot, "/mode auto")


@state()
async def entry_of_a_key(pilot):
    await say(pilot, "/key anthropic")


# ── the conversation ────────────────────────────────────────────────────────────────────────────


REQUEST = LlmCallStarted(model="m", provider="acme", estimated_input_tokens=1, request_id="r")


@state(waiting(REQUEST))
async def waiting_for_the_provider(pilot):
    await say(pilot, "go")


STARTED = MessageStart(message_id="m1", model="m")
THOUGHT = ThinkingDelta(message_id="m1", content_block_index=0, text="Let me see.\n" * 3)


@state(waiting(STARTED, THOUGHT))
async def thinking(pilot):
    await say(pilot, "go")


@state(waiting(*text_deltas(REPLY[:90])))
async def writing(pilot):
    await say(pilot, "go")


@state(ended(lambda s: [*s.reasoning_reply("First the form.\nThen the sign."), s.turn_end()]))
async def reasoning_of_a_finished_turn(pilot):
    await answered(pilot)


@state(ended(lambda s: [s.reply(TextBlock(REPLY)), s.turn_end()]))
async def finished_reply(pilot):
    pilot.app.chat.set_highlight(get_highlighter)
    await answered(pilot)


@state(ended(lambda s: [s.reply(TextBlock(REPLY)), s.turn_end()]))
async def source_of_a_reply(pilot):
    await answered(pilot)
    await press(pilot, "tab", "up", "up", "m")


@state([turn_start(NUMBERS), default_route(), asyncio.Event()])
async def folded_prompt(pilot):
    await say(pilot, "go")


IDS = {"message_id": "m1", "content_block_index": 1, "tool_use_id": "tu_1"}


@state(
    waiting(
        *text_deltas("I edit."),
        ToolUseStart(tool_name="edit_file", **IDS),
        ToolUseInputDelta(
            partial_json='{"path": "src/parse.py", "edits": [{"old": "a = 1", "new": "a =', **IDS
        ),
    )
)
async def arguments_that_stream(pilot):
    await say(pilot, "go")


def running(session: EventBuilder) -> list[Event]:
    return [session.turn_start(), session.route(), *session.running_call(NUMBERS)]


@state([*running(EventBuilder()), asyncio.Event()])
async def running_command(pilot):
    await say(pilot, "go")


def finished_calls(session: EventBuilder) -> list[Event]:
    """One call for each way in which a call ends."""
    shell = [ToolUseBlock(f"tu_{n}", "shell", {"command": f"make {n}"}) for n in range(4)]
    edit = ToolUseBlock("tu_e", "edit_file", {"path": "src/parse.py"})
    return [
        session.reply(TextBlock("I try."), edit, *shell),
        session.tool_start(edit),
        session.tool_result(edit, "done", diff=DIFF),
        *map(session.tool_start, shell),
        session.tool_result(shell[0], NUMBERS, exit_code=0),
        session.tool_result(shell[1], "no rule\n", success=False, exit_code=2),
        session.tool_failure(shell[2], "user_denied", "The user declined it."),
        session.turn_stop(),
    ]


def checked_edit(session: EventBuilder) -> list[Event]:
    """An edit with a check that is ok and one that fails."""
    edit = ToolUseBlock("tu_e", "edit_file", {"path": "src/parse.py"})
    checks = [["format", "ok, 0.1 s"], ["types", "exit code 1, 2.4 s"]]
    return [
        session.reply(TextBlock("I try."), edit),
        session.tool_start(edit),
        session.tool_result(edit, "done", diff=DIFF, checks=checks),
    ]


@state(ended(checked_edit))
async def checks_after_an_edit(pilot):
    await say(pilot, "go")


@state(ended(finished_calls), sizes=(*SIZES, WIDE))
async def finished_calls_folded(pilot):
    pilot.app.chat.set_highlight(get_highlighter)
    await answered(pilot)


@state(ended(finished_calls))
async def finished_calls_open(pilot):
    await answered(pilot)
    await press(pilot, "ctrl+o")


@state(ended(finished_calls))
async def selected_call(pilot):
    await answered(pilot)
    await press(pilot, "tab", "up", "up", "up")


@state(ended(finished_calls))
async def search_in_the_transcript(pilot):
    await answered(pilot)
    await press(pilot, "tab", "/", *"line")


@state([ShellStarted(message_id="m9", command="git status", shared=True),
        ToolOutputDelta(tool_use_id="m9", text="On branch main\n"), asyncio.Event()])  # fmt: skip
async def shell_command_of_the_user(pilot):
    await say(pilot, "go")


@state(ended(lambda s: [s.failed_request("The provider is overloaded."), s.turn_end()]))
async def failed_request(pilot):
    await answered(pilot)


def before_a_retry(session: EventBuilder) -> list[Event]:
    wait = {"attempt": 2, "max_attempts": 5, "delay_seconds": 8}
    return [
        session.failed_request("The provider is overloaded."),
        RetryScheduled(**wait, error_class="server_error", message=""),
    ]


@state([*ended(before_a_retry), asyncio.Event()])
async def countdown_to_a_retry(pilot):
    await say(pilot, "go")


@state(ended(lambda s: [s.no_route(), s.turn_end()]))
async def no_available_model(pilot):
    await answered(pilot)


@state(ended(lambda s: [*s.text_deltas("I look at the parser and"), s.turn_stop()]))
async def stopped_turn(pilot):
    await answered(pilot)


@state(
    waiting(
        *(Notice(level=level, text=f"A notice of level {level}.") for level in ("info", "warning")),
        Notice(level="error", text="A notice of level error, with a long text. " * 3),
    )
)
async def notices(pilot):
    await say(pilot, "go")


@state(waiting(*text_deltas("Working.")))
async def queued_messages(pilot):
    await say(pilot, "go")
    await say(pilot, "and then this")
    await say(pilot, "and that at last")


FAILS = asyncio.Event()


@state([*waiting()[:2], FAILS, *ended(lambda s: [s.failed_request("Overloaded."), s.turn_end()])])
async def paused_queue(pilot):
    await say(pilot, "go")
    await say(pilot, "and then this")
    FAILS.set()
    await until(pilot, lambda: not pilot.app.chat.runner.is_running)


MORE = asyncio.Event()


@state(
    [
        *waiting(*text_deltas(NUMBERS, NUMBERS))[:-1],
        MORE,
        *text_deltas(NUMBERS)[1:],
        asyncio.Event(),
    ]
)
async def scrolled_back(pilot):
    await say(pilot, "go")
    await press(pilot, "pageup")
    MORE.set()
    await until(pilot, lambda: pilot.app.chat.transcript.unseen_rows == 40)


@state(turn("hello", "Hello to you."))
async def little_left_of_a_rate_limit(pilot):
    limits = RateLimits(remaining_requests=12, limit_requests=100)
    extra = UsageExtra(receipt=Receipt(rate_limits=limits))
    reply = replace(full_reply("", extra=extra), timestamp=now())
    pilot.app.session_of_test.state.apply(reply)
    await say(pilot, "hello")


# ── approvals ───────────────────────────────────────────────────────────────────────────────────


@state(waiting(Ask(edit_request())), sizes=(*SIZES, WIDE))
async def approval_of_an_edit(pilot):
    pilot.app.chat.set_highlight(get_highlighter)
    await asked(pilot)


@state(waiting(Ask(patch_request())))
async def approval_of_a_patch(pilot):
    await asked(pilot)


@state(waiting(Ask(edit_request())))
async def enlarged_approval(pilot):
    await asked(pilot)
    pilot.app.chat.approval_prompt.action_expand()


@state(waiting(Ask(approval_request())))
async def approval_of_a_command(pilot):
    await asked(pilot)


@state(waiting(Ask(web_request())))
async def approval_of_a_web_page(pilot):
    await asked(pilot)


@state(waiting(Ask(approval_request())))
async def selected_answer(pilot):
    await asked(pilot)
    await press(pilot, "down", "down")


@state(waiting(Ask(approval_request())))
async def chosen_answer(pilot):
    await asked(pilot)
    await press(pilot, "a")


@state(waiting(Ask(plan_request())))
async def approval_of_a_plan(pilot):
    await asked(pilot)


@state(waiting(Ask(approval_request())))
async def note_for_a_denial(pilot):
    await asked(pilot)
    await press(pilot, "r", "enter")
    pilot.app.clock.seconds += 1
    await until(pilot, lambda: pilot.app.chat.approval_prompt.has_class("-noting"))
    await press(pilot, *"not now")


@state(waiting(Ask(approval_request())))
async def approval_with_text_in_the_prompt(pilot):
    await asked(pilot)
    await press(pilot, *"but first")


# ── the test ────────────────────────────────────────────────────────────────────────────────────


async def draw(app: YourtoolApp, shown: State, name: str, snapshot: Any) -> list[str]:
    """Draw a state at all sizes and in all themes; return those that differ from their snapshot."""
    different = []
    async with app.run_test(size=shown.sizes[0]) as pilot:
        await until(pilot, lambda: pilot.app.chat.session is not None)
        await settle(pilot)
        await shown.play(pilot)
        for size in shown.sizes:
            await pilot.resize_terminal(*size)
            for theme in THEMES:
                app.theme_choice.choose(theme)
                await settle(pilot)
                shot = f"{size[0]}x{size[1]}-{theme}"
                image = app.export_screenshot(title=name.replace("_", " "), simplify=True)
                if image != snapshot(name=shot, extension_class=SVGImageExtension):
                    different.append(shot)
    return different


@pytest.mark.blocks_loop("the test draws many screenshots")
@pytest.mark.parametrize("name", STATES)
@pytest.mark.req("R-TUI-24")
@pytest.mark.sample(24)
async def test_widget_state(app_of, snapshot, name):
    shown = STATES[name]
    different = await draw(app_of(*shown.scripts), shown, name, snapshot)
    assert not different, "look at the screens, then run `make snapshots`"
