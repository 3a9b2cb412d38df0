"""The sandbox without any setting, in a terminal."""

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.tools.sandbox.levels import require
from yourtool.sandbox_config import SandboxLevel

SCRIPT = [
    Reply("I tidy.", [("shell", {"command": "sh tidy.sh"})]),
    Reply("All done."),
]


def test_sandbox_is_shown_at_the_first_command_and_left_after_a_question_only(work, home):
    require(SandboxLevel.FULL)
    hook = work / ".git/hooks/pre-commit"
    (work / "tidy.sh").write_text(f"echo x > {hook}\n")
    with ProviderServer(list(SCRIPT)) as server:
        env = {**home, **server.environment, "YOURTOOL_SANDBOX_ENABLED": ""}
        with Terminal((*YOURTOOL, "--mode", "auto"), cwd=work, env=env) as terminal:
            terminal.wait("sonnet", "AUTO: tools run without approval")
            assert "sandbox" not in terminal.text.casefold(), "it is not measured yet"
            terminal.say("go")
            terminal.wait(
                "where: outside the sandbox, with all your rights",
                "it failed in the sandbox: the sandbox protects files",
                "sandbox:full",
            )
            assert not hook.exists()
            terminal.answer("a")
            terminal.wait("All done")
            assert hook.exists()
            terminal.say("/quit")
            assert terminal.end() == 0
