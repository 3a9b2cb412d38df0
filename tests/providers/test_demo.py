import pytest

from tests.providers.fakes import build_paths, collect_events, definition, make_message, request
from yourtool.errors import ConfigError
from yourtool.events.deltas import MessageComplete
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.demo import demo
from yourtool.tools.commands.shell import shell
from yourtool.tools.edits.edit import edit_file, write_file
from yourtool.tools.files.files import list_dir, read_file
from yourtool.tools.guidance.plan import update_plan

LISTING = "docs/\nsrc/\na.bin\t9\nempty.md\t0\npyproject.toml\t1,200\nREADME.md\t5,000\nlink -> x"
REAL = {
    tool.definition.name: tool
    for tool in (read_file, list_dir, write_file, edit_file, shell, update_plan)
}
DENIED = "The user said no."


class Conversation:
    """Runs a demo model with scripted tools."""

    def __init__(self, home, *, tools=tuple(REAL), answers=None):
        self.messages = []
        self.calls: list[ToolUseBlock] = []
        self._home = home
        self._tools = tuple(definition(name) for name in tools)
        self._answers = {
            "list_dir": LISTING,
            "read_file": "1\t# The *Project*\n2\t\n3\tWords.",
            **(answers or {}),
        }

    async def say(self, text: str, model: str = "tour") -> str:
        """Send a prompt; return all texts of the model until it calls no tool."""
        self.messages.append(make_message(Role.USER, text))
        spoken: list[str] = []
        for _ in range(10):
            adapter = demo(model, home=self._home, pace="0")
            outgoing = request(
                *self.messages,
                model=Model(
                    id=f"demo:{model}", wire_name=model, capabilities=AdapterCapabilities()
                ),
                tools=self._tools,
            )
            events, error = await collect_events(adapter, outgoing)
            assert error is None
            complete = events[-1]
            assert isinstance(complete, MessageComplete)
            reply = make_message(Role.ASSISTANT, *complete.final_content, model=f"demo:{model}")
            self.messages.append(reply)
            spoken.append(reply.text)
            if not reply.tool_uses:
                return "\n".join(spoken)
            for call in reply.tool_uses:
                self.calls.append(call)
                answer = self._answers.get(call.name, "done")
                content = (TextBlock(answer),)
                result = ToolResultBlock(call.id, content, is_error=answer == DENIED)
                self.messages.append(make_message(Role.TOOL, result))
        raise AssertionError("the tour never stops calling tools")

    def made(self, name: str) -> list[dict]:
        return [call.input for call in self.calls if call.name == name]


async def whole_tour(home, **kwargs) -> tuple[Conversation, list[str]]:
    talk = Conversation(home, **kwargs)
    spoken = [await talk.say(text) for text in ("hello there", "go on", "and now?")]
    spoken += [await talk.say("hi guide", "guide"), await talk.say("and?", "guide")]
    return talk, spoken


async def test_first_text_explains_that_this_is_a_script_and_not_a_model(tmp_path):
    spoken = await Conversation(tmp_path).say("hi")
    assert "a script, not a model" in spoken
    alone = await Conversation(tmp_path).say("hi", "guide")
    assert "a script, no model" in alone


async def test_tour_reads_an_existing_file(tmp_path):
    talk = Conversation(tmp_path)
    spoken = await talk.say("hi")
    assert talk.made("list_dir") == [{"path": "."}]
    assert talk.made("read_file") == [{"path": "README.md", "limit": 60}]
    assert "`README.md` that I read has 3 lines and begins with “The Project”" in spoken


async def test_tour_counts_a_single_line(tmp_path):
    talk = Conversation(tmp_path, answers={"read_file": "1\t# One"})
    assert "has 1 line and begins with “One”" in await talk.say("hi")


@pytest.mark.parametrize(
    ("listing", "picked"),
    [
        ("Readme.rst\t3\na.py\t1", "Readme.rst"),
        ("a.bin\t3\nb.py\t1\nc.md\t1", "b.py"),
        ("package.json\t3\na.py\t1", "package.json"),
        ("docs/\nsocket\t(socket)\nempty.py\t0", None),
        ("`.` is an empty directory.", None),
    ],
)
async def test_tour_selects_one_of_the_existing_files(tmp_path, listing, picked):
    talk = Conversation(tmp_path, answers={"list_dir": listing})
    await talk.say("hi")
    assert [made["path"] for made in talk.made("read_file")] == ([picked] if picked else [])


async def test_each_prompt_shows_another_feature(tmp_path):
    talk, spoken = await whole_tour(tmp_path)
    names = [call.name for call in talk.calls]
    assert names == [
        *("update_plan", "list_dir", "read_file"),
        *("update_plan", "write_file"),
        *("update_plan", "shell"),
        *("update_plan", "edit_file"),
    ]
    assert talk.made("shell") == [{"command": "wc -l TOUR.md"}]
    assert "/model demo:guide" in spoken[2]
    assert "you began with “hello there”, and 7 tool calls followed" in spoken[3]


async def test_every_call_is_valid_for_the_real_tool_and_the_edit_applies(tmp_path):
    talk, _ = await whole_tour(tmp_path)
    for call in talk.calls:
        REAL[call.name].parse(call.input)
    [written] = talk.made("write_file")
    assert written["path"] == "TOUR.md"
    [edited] = talk.made("edit_file")
    assert written["content"].count(edited["edits"][0]["old"]) == 1
    assert "- [x] looked around and read `README.md`" in written["content"]


async def test_tour_accepts_a_rejected_call(tmp_path):
    denied = dict.fromkeys(("write_file", "shell", "edit_file"), DENIED)
    talk, spoken = await whole_tour(tmp_path, answers=denied)
    assert "Nothing was written" in spoken[1]
    assert "It did not run, or it failed" in spoken[2]
    assert talk.made("shell") == [{"command": "wc -l README.md"}]
    assert talk.made("edit_file") == []
    assert "That was the whole tour" in spoken[3]
    yes_then_no, spoken = await whole_tour(tmp_path, answers={"edit_file": DENIED})
    assert len(yes_then_no.made("edit_file")) == 1
    assert "`TOUR.md` stays as it was" in spoken[3]


@pytest.mark.parametrize("broken", ["list_dir", "read_file"])
async def test_failed_tools_do_not_stop_the_tour(tmp_path, broken):
    spoken = await Conversation(tmp_path, answers={broken: DENIED}).say("hi")
    assert spoken.endswith("Type anything to go on.")


async def test_tour_without_tools_mentions_it_and_calls_none(tmp_path):
    talk, spoken = await whole_tour(tmp_path, tools=())
    assert talk.calls == []
    assert all(spoken)


async def test_tour_ends_with_three_ways_to_a_real_model(tmp_path):
    talk, spoken = await whole_tour(tmp_path)
    last = await talk.say("more")
    for text in (spoken[3], spoken[4], last):
        assert "`ANTHROPIC_API_KEY`" in text
        assert "`/key`" in text
        assert f"`{tmp_path / 'config.toml'}`" in text
        assert "[providers.local]" in text
        assert "/model local:" in text


async def test_prompts_after_the_tour_mention_the_real_models_again(tmp_path):
    talk = Conversation(tmp_path)
    spoken = [await talk.say("x") for _ in range(6)]
    assert all("Three ways to a real model" in text for text in spoken[3:])
    assert "The tour is over" in spoken[5]


async def test_tour_depends_on_the_conversation_only(tmp_path):
    first, _ = await whole_tour(tmp_path)
    again, _ = await whole_tour(tmp_path)
    assert [call.input for call in first.calls] == [call.input for call in again.calls]


@pytest.mark.parametrize(("pace", "expected"), [("", 80), ("fast", 80), ("0", None), ("40", 40)])
async def test_default_pace_is_that_of_a_real_stream(tmp_path, pace, expected):
    assert demo("tour", home=tmp_path, pace=pace).words_per_second == expected  # pyright: ignore[reportAttributeAccessIssue] - of the scripted adapter


def test_error_names_the_missing_script(tmp_path):
    with pytest.raises(ConfigError, match=r"s\.json` cannot be read"):
        demo("file", home=build_paths(tmp_path).home, script="s.json")
