"""The simulated person at a terminal."""

import time

from tests.e2e.terminal import Terminal


def test_the_last_output_of_a_program_that_has_ended_is_read(tmp_path):
    with Terminal(["printf", "the end"], cwd=tmp_path, env={}) as terminal:
        while terminal.process.isalive():
            time.sleep(0.01)
        assert terminal.end() == 0
        assert terminal.output == b"the end"
        assert terminal.text.startswith("the end")
