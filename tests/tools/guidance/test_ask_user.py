"""The `ask_user` tool."""

import pytest

from tests.tools.contexts import Contexts
from yourtool.errors import ToolError
from yourtool.tools.guidance.ask_user import ask_user

QUESTION = {
    "question": "Which database?",
    "options": ["SQLite", "Postgres"],
}


def parse(*questions):
    return ask_user.parse({"questions": list(questions)})


async def test_answers_come_back_with_their_questions(tmp_path):
    asked, answers = [], ["Postgres", None]

    async def ask(title, details, choices=()):
        asked.append((title, details, choices))
        return answers.pop(0)

    context = Contexts(tmp_path, tmp_path)(ask_text=ask)
    args = parse(QUESTION, {**QUESTION, "question": "And for tests?"})
    [block] = (await ask_user.run(args, context)).content
    assert asked[0] == ("The model asks", "Which database?", ("SQLite", "Postgres"))
    assert block.text == (
        "Which database?\n> Postgres\n\nAnd for tests?\n"
        "> (no answer: decide yourself, and say what you assumed)"
    )


async def test_without_a_user_the_model_is_told_to_decide(tmp_path):
    with pytest.raises(ToolError, match=r"No user is present\. Decide"):
        await ask_user.run(parse(QUESTION), Contexts(tmp_path, tmp_path)())


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [QUESTION] * 5,
        [{**QUESTION, "options": ["only"]}],
        [{**QUESTION, "options": list("abcde")}],
        [{**QUESTION, "options": ["a", " "]}],
        [{**QUESTION, "question": ""}],
        [{**QUESTION, "options": ["a", "b" * 501]}],
    ],
)
async def test_too_many_too_few_and_empty_questions_are_refused(tmp_path, questions):
    async def ask(title, details, choices=()):
        raise AssertionError("nothing is asked")

    context = Contexts(tmp_path, tmp_path)(ask_text=ask)
    with pytest.raises(ToolError, match="1 to 4 questions with 2 to 4 options"):
        await ask_user.run(parse(*questions), context)
