"""A reply that streams while its process is killed."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

WORDS = " ".join(f"word{number}" for number in range(4_000))


def run(work, env, *argv):
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env}
    return subprocess.Popen(
        [*YOURTOOL, *argv], cwd=work, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def stored_partial(database):
    """Return the text of the checkpoint; empty without one."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(database)) as found:
        for (fact,) in found.execute("SELECT fact_json FROM partial_replies"):
            message = json.loads(fact)["message"]
            assert message["metadata"]["status"] == "partial"
            return message["content"][0]["text"]
    return ""


@pytest.mark.needs("extensions/repair")
@pytest.mark.req("R-PER-02")
def test_text_that_had_arrived_survives_a_kill_and_the_next_request_has_it(work, home, tmp_path):
    with ProviderServer([Reply(WORDS, pause=0.01), Reply("Yes, I stopped there.")]) as server:
        env = {**home, **server.environment}
        database = tmp_path / "home" / "data" / "sessions.db"
        asked = run(work, env, "-p", "count", "-m", "anthropic:claude-haiku-4-5")
        deadline = time.monotonic() + 30
        while not (before := stored_partial(database)) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(asked.pid, signal.SIGKILL)
        asked.communicate()
        text = stored_partial(database)
        assert text.startswith(before) and before.startswith("word0 word1")
        out, err = run(work, env, "-p", "where were you?", "--continue").communicate(timeout=30)
        assert (out.decode(), b"Traceback" in err) == ("Yes, I stopped there.\n", False)
        sent = json.dumps(server.requests[-1][1]["messages"])
        assert text.rstrip() in sent
        assert stored_partial(database) == ""
        shown, _ = run(work, env, "sessions", "list", "--json").communicate(timeout=30)
        [session] = json.loads(shown)
        shown, _ = run(work, env, "sessions", "show", session["id"]).communicate(timeout=30)
        assert shown.decode().count(text) == 1
        checked = run(work, env, "sessions", "check", session["id"])
        assert checked.communicate(timeout=30)[0] and checked.returncode == 0
