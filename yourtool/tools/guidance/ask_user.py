"""The `ask_user` tool."""

from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.tools.base import Args, ToolContext, tool

MAX_SECONDS = 7 * 24 * 3600.0
"""Time that an answer may take: people come back after a weekend."""
_MAX_QUESTIONS, _MAX_OPTIONS, _MAX_LENGTH = 4, 4, 500
_NO_ANSWER = "(no answer: decide yourself, and say what you assumed)"


class AskedQuestion(Args, frozen=True):
    """One question with the answers that it offers."""

    question: str
    options: tuple[str, ...]


class AskUser(Args, frozen=True):
    """Arguments of `ask_user`."""

    questions: tuple[AskedQuestion, ...]


@tool(SideEffects.NONE)
async def ask_user(args: AskUser, context: ToolContext) -> str:
    """Ask the user what only they can decide; give 2 to 4 options for each question."""
    if context.ask_text is None:
        raise ToolError("No user is present. Decide yourself, and say what you assumed.")
    _check(args)
    lines: list[str] = []
    for asked in args.questions:
        answer = await context.ask_text("The model asks", asked.question, asked.options)
        lines += (asked.question, f"> {_NO_ANSWER if answer is None else answer}", "")
    return "\n".join(lines[:-1])


def _check(args: AskUser) -> None:
    """Check the numbers, which in the schema would cost tokens of every request."""
    counts = [len(each.options) for each in args.questions]
    texts = (text for each in args.questions for text in (each.question, *each.options))
    are_few = 1 <= len(counts) <= _MAX_QUESTIONS and all(2 <= n <= _MAX_OPTIONS for n in counts)
    if not are_few or not all(text.strip() and len(text) <= _MAX_LENGTH for text in texts):
        raise ToolError(
            "Ask 1 to 4 questions with 2 to 4 options each, none of them empty or longer than"
            f" {_MAX_LENGTH} characters. The user can also type another answer.",
            ToolFailure.VALIDATION_ERROR,
        )


ask_user.timeout_seconds = MAX_SECONDS
