import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from yourtool.effects import Confirmation, Verdict
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice, RetryScheduled, TextDelta
from yourtool.events.turns import TurnCancelled, TurnCompleted
from yourtool.headless import Printer, Task, deny, run, run_turn
from yourtool.messages.blocks import ContentBlock
from yourtool.messages.message import now
from yourtool.messages.metadata import StopReason
from yourtool.paths import resolve_paths
from yourtool.run_result import ExitCode
from yourtool.settings.config import RunOptions, config_file

ROOT = str(Path(__file__).parents[1])
ENVELOPE: dict[str, Any] = {"id": "e", "timestamp": now(), "session_id": "sess_1"}


def turn_end(reason: StopReason = StopReason.END_TURN) -> TurnCompleted:
    return TurnCompleted(
        **ENVELOPE,
        stop_reason=reason,
        llm_call_count=1,
        tool_call_count=0,
        total_input_tokens=0,
        total_output_tokens=0,
        total_cost_usd=Decimal(0),
        wall_time_seconds=0,
    )


def turn_stop() -> TurnCancelled:
    return TurnCancelled(
        **ENVELOPE, reason="user_cancel", partial_llm_calls=0, partial_tool_calls=0
    )


def delta(text: str) -> TextDelta:
    return TextDelta(message_id="m", content_block_index=0, text=text)


class Talk:
    """A session that yields the given events and calls the functions among them."""

    id = "sess_1"

    def __init__(self, *events: Event | Callable[[], None]) -> None:
        self.limit_reached: str | None = None
        self._events = events
        self._stopped = asyncio.Event()

    async def send(self, content: str | tuple[ContentBlock, ...]) -> AsyncGenerator[Event, None]:
        del content
        for event in self._events:
            if not callable(event):
                yield event
                continue
            event()
            await self._stopped.wait()
        yield turn_stop() if self._stopped.is_set() else turn_end()

    def cancel(self) -> bool:
        self._stopped.set()
        return True


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_the_turn_and_exits_130(number):
    printer = Printer("json", io.StringIO(), io.StringIO())
    result = await run_turn(Talk(lambda: os.kill(os.getpid(), number)), "go", printer)
    assert result.exit_code is ExitCode.INTERRUPTED
    assert result.stop_reason == "cancelled"
    assert result.error is not None and result.error.error_class == "cancelled"


async def test_a_consumer_that_stops_reading_stops_the_turn():
    printer = Printer("stream-json", Closed(), io.StringIO())
    result = await run_turn(Talk(delta("a"), lambda: None), "go", printer)
    assert printer.output_closed
    assert result.exit_code is ExitCode.INTERRUPTED
    printer.finish(result)


async def test_a_reached_limit_is_reported():
    talk = Talk(delta("a"))
    talk.limit_reached = "The limit of 3 model requests is reached."
    err = io.StringIO()
    printer = Printer("text", io.StringIO(), err)
    result = await run_turn(talk, "go", printer)
    printer.finish(result)
    assert result.exit_code is ExitCode.LIMIT
    assert err.getvalue() == "yourtool: The limit of 3 model requests is reached.\n"


async def test_no_control_sequence_reaches_a_terminal():
    out, err = Terminal(), io.StringIO()
    printer = Printer("stream-json", out, err)
    events = delta("\x9b31m\u202e"), Notice(level="warning", text="\x1b]0;x\x07")
    await run_turn(Talk(*events), "go", printer)
    assert not set("\x1b\x9b\u202e\x07") & set(out.getvalue() + err.getvalue())


async def test_a_pipe_gets_the_text_unchanged():
    out = io.StringIO()
    await run_turn(Talk(delta("\u202e")), "go", Printer("stream-json", out, io.StringIO()))
    assert json.loads(out.getvalue().splitlines()[0])["text"] == "\u202e"


async def test_warnings_go_to_standard_error_in_every_format():
    for output in ("text", "json", "stream-json"):
        err = io.StringIO()
        talk = Talk(Notice(level="warning", text="careful"), Notice(level="info", text="quiet"))
        await run_turn(talk, "go", Printer(output, io.StringIO(), err))
        assert err.getvalue() == "yourtool: careful\n"


def raising(fault: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise fault

    return fail


@pytest.mark.parametrize(
    "fault", [RuntimeError("x"), RecursionError("x"), KeyError("x")], ids=lambda fault: repr(fault)
)
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
async def test_a_bug_in_a_turn_prints_a_complete_result_and_logs_the_traceback(
    output, fault, caplog
):
    out, err = io.StringIO(), io.StringIO()
    printer = Printer(output, out, err)
    log_file = Path("the.log")
    result = await run_turn(Talk(delta("a"), raising(fault)), "go", printer, log_file)
    printer.finish(result)
    assert result.exit_code is ExitCode.FAILED
    assert result.session_id == "sess_1"
    assert result.error is not None and result.error.error_class == "internal"
    assert "Traceback" not in out.getvalue() + err.getvalue()
    assert "`the.log`" in err.getvalue()
    if output != "text":
        assert json.loads(out.getvalue().splitlines()[-1])["type"] == "result"
    assert any(record.exc_info and record.exc_info[1] is fault for record in caplog.records)


@pytest.mark.parametrize("fault", [SystemExit(7), KeyboardInterrupt(), RuntimeError("x")], ids=repr)
@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_a_run_that_ends_before_its_turn_prints_a_result(output, fault, capsys):
    class Broken(type(Path())):
        def read_bytes(self) -> bytes:
            raise fault

    task = Task(prompt="go", output=output, schema=Broken("schema.json"))
    code = run(resolve_paths(), RunOptions(workspace=Path("/")), task)
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["type"] == "result"
    assert result["exit_code"] == code == (130 if isinstance(fault, KeyboardInterrupt) else 1)
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
@pytest.mark.req("R-ADP-08")
async def test_a_wait_before_a_retry_is_reported_on_standard_error(output):
    err = io.StringIO()
    wait = RetryScheduled(
        attempt=2, max_attempts=3, delay_seconds=7.6, error_class="server_error", message="broken"
    )
    await run_turn(Talk(wait), "go", Printer(output, io.StringIO(), err))
    assert err.getvalue() == "yourtool: broken; retrying in 8 s (2 of 3).\n"


@pytest.mark.req("R-CLI-03")
async def test_every_approval_request_is_declined():
    decision = await deny(Confirmation(id="c", kind="tool", title="shell"))
    assert decision.verdict is Verdict.DENY


def start(tmp_path: Path, *argv: str, replies: list[Any]) -> "subprocess.Popen[str]":
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": replies}))
    config_file(resolve_paths()).write_text(
        f'model = "demo:file"\n[providers.demo]\nquirks = {{ script = "{script}" }}\n'
    )
    return subprocess.Popen(
        [sys.executable, "-m", "yourtool", "-p", "go", *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT, "YOURTOOL_DEMO_PACE": "0"},
        cwd=tmp_path,
    )


@pytest.mark.req("R-CLI-01")
def test_an_interrupted_process_prints_a_complete_result_and_exits_130(tmp_path):
    slow = [[{"say": "Wait."}, {"pause": 60}]]
    with start(tmp_path, "--output-format", "stream-json", replies=slow) as process:
        assert process.stdout is not None
        while '"text_delta"' not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        *_, last = process.stdout.read().splitlines()
        result = json.loads(last)
        assert process.wait(20) == 130
    assert (result["type"], result["stop_reason"]) == ("result", "cancelled")


@pytest.mark.parametrize("output", ["text", "stream-json"])
def test_a_pipe_that_closes_early_ends_the_program_without_a_traceback(tmp_path, output):
    replies = [[{"say": "word " * 2_000}, {"call": "list_dir", "input": {}}], [{"say": "end"}]]
    with start(tmp_path, "--output-format", output, replies=replies) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == ""
