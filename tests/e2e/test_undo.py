"""Files that the model changed are taken back in a terminal."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

FILES = {f"f{number}.txt": f"of the agent {number}\n" for number in range(1, 6)}
WRITES = [("write_file", {"path": name, "content": text}) for name, text in FILES.items()]
COMMANDS = ("echo more >> README.md", "mkdir -p out && echo built > out/result")
SCRIPT = [
    Reply("I write.", WRITES),
    Reply("I run.", [("shell", {"command": each}) for each in COMMANDS]),
    Reply("All of it is done."),
]


def read(work):
    return {
        str(path.relative_to(work)): path.read_text()
        for path in work.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(work).parts
    }


@pytest.mark.req("R-UNDO-01", "R-UNDO-02", "R-TOOL-15")
def test_a_turn_of_five_files_and_two_commands_is_taken_back_and_made_again(work, home):
    before = read(work)
    with ProviderServer(list(SCRIPT)) as server:
        env = {**home, **server.environment}
        with Terminal((*YOURTOOL, "--mode", "auto"), cwd=work, env=env) as terminal:
            terminal.wait("anthropic:")
            terminal.say("go")
            terminal.wait("All of it is done.")
            after = read(work)
            assert after == {
                **FILES, "README.md": "# work\nmore\n", "out/result": "built\n"
            }  # fmt: skip
            terminal.say("/undo")
            terminal.wait("Took back the changes to 7 files")
            assert read(work) == before
            assert not (work / "out").exists()
            terminal.say("/redo")
            terminal.wait("Made again the changes to 7 files")
            assert read(work) == after
            (work / "f3.txt").write_text("of the user\n")
            terminal.say("/undo")
            terminal.wait("Took back the changes to 6 files", r"f3\.txt \(was changed since\)")
            assert read(work) == {**before, "f3.txt": "of the user\n"}
            terminal.say("/quit")
            assert terminal.end() == 0


@pytest.mark.req("R-UNDO-01")
def test_undo_leaves_what_another_program_in_the_folder_changed_since(work, home):
    ours, both, file = "of one\n", "of one\nof the other\n", work / "shared.txt"
    script = [
        Reply("I write.", [("write_file", {"path": file.name, "content": ours})]),
        Reply("First turn done."),
        Reply("I read.", [("read_file", {"path": file.name})]),
        Reply("I add.", [("write_file", {"path": file.name, "content": both})]),
        Reply("Other turn done."),
        Reply("I look.", [("shell", {"command": "cat shared.txt"})]),
        Reply("Second turn done."),
    ]
    with ProviderServer(script) as server:
        start = {"cwd": work, "env": {**home, **server.environment}}
        command = (*YOURTOOL, "--mode", "auto")
        with Terminal(command, **start) as one, Terminal(command, **start) as other:
            for terminal, end in ((one, "First"), (other, "Other"), (one, "Second")):
                terminal.wait("anthropic:")
                terminal.say("go")
                terminal.wait(f"{end} turn done.")
            one.say("/undo")
            one.wait(r"shared\.txt \(was changed since\)")
            assert file.read_text() == both
            other.say("/undo")
            other.wait("Took back the changes to 1 file")
            assert file.read_text() == ours
            one.say("/undo")
            one.wait("Took back the changes to 1 file")
            assert not file.exists()
