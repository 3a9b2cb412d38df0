"""Agent Skills: which files are skills, what the model gets of them, and limits."""

import pytest

from tests.agent.harness import DENY, Checked, User, play
from tests.trusted_folders import trust
from yourtool.agent.commands.skills import build_report
from yourtool.agent.session.project.project_files import MAX_BYTES
from yourtool.agent.session.project.skills import find_skills
from yourtool.agent.session.system_prompt import system_messages
from yourtool.events.deltas import Notice
from yourtool.events.guidance import SkillLoaded
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tools.guidance.skills import MAX_INDEX_BYTES


def write_skill(folder, name, description="Use it to test.", body="Do it.", *, more=""):
    directory = folder / name
    directory.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n"
    (directory / "SKILL.md").write_text(text)
    return directory / "SKILL.md"


def read_one(home, text, name="a-skill"):
    """Return the skills and problems of a user with one file."""
    directory = home / "skills" / name
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return find_skills(home / "elsewhere")


def front(*lines, name="a-skill"):
    return "\n".join(("---", f"name: {name}", *lines, "---", "Body."))


VALID = {
    "plain": "description: x",
    "quoted": 'description: "x: y"',
    "block": "description: >\n  x\n  y",
    "windows": "description: x\r",
    "unknown keys": "description: x\nother: [1, {a: b}]",
    "all fields": "description: x\nlicense: MIT\ncompatibility: any\nmetadata: {version: 1.0}\n"
    "allowed-tools: [Read]",
    "a date": "description: 2026-01-01",
    "longest": f"description: {'x' * 1024}",
}
INVALID = {
    "no front matter": ("Body.", "does not start with `---`"),
    "unclosed": ("---\nname: a-skill\n", "does not start with `---`"),
    "empty": ("---\n---\n", "not a mapping"),
    "a list": ("---\n- a\n---\n", "not a mapping"),
    "not YAML": ("---\na: [\n---\n", "not YAML"),
    "no description": (front(), "`description`"),
    "blank description": (front("description: ' '"), "`description`"),
    "long description": (front(f"description: {'x' * 1025}"), "`description`"),
    "other name": (front("description: x", name="b"), "not that of its directory"),
    "upper case": (front("description: x", name="A-skill"), "single hyphens"),
    "two hyphens": (front("description: x", name="a--skill"), "single hyphens"),
    "last hyphen": (front("description: x", name="a-skill-"), "single hyphens"),
    "a path": (front("description: x", name="../a"), "single hyphens"),
    "long name": (front("description: x", name="a" * 65), "`name`"),
    "name is a list": (front("description: x", name="[a]"), "`name`"),
    "long compatibility": (front("description: x", f"compatibility: {'x' * 501}"), "compatib"),
    "metadata": (front("description: x", "metadata: x"), "`metadata`"),
    "alias": (front("a: &a x", "description: *a"), "alias"),
    "bomb": (front("a: &a [x,x]", "b: &b [*a,*a]", "description: *b"), "alias"),
    "deep": ("---\n" + "[" * 5_000 + "\n---\n", "nested too deeply"),
    "long": ("---\n" + "# x\n" * 5_000 + "---\n", "longer than"),
    "10 MB": (b"x" * 10_000_000, "does not start with"),
    "not text": (b"\xff\xfe\0\0---", "does not start with"),
}


@pytest.mark.parametrize("lines", VALID.values(), ids=VALID)
@pytest.mark.req("R-SKL-01")
def test_valid_skill_is_found(home, lines):
    found = read_one(home, front(lines))
    assert [*found.skills], found.problems
    assert found.skills["a-skill"].body == "Body."


@pytest.mark.parametrize(("text", "problem"), INVALID.values(), ids=INVALID)
@pytest.mark.req("R-SKL-01")
def test_invalid_skill_is_named_and_stops_no_other(home, text, problem):
    write_skill(home / "skills", "good")
    found = read_one(home, text)
    assert [*found.skills] == ["good"]
    assert problem in found.problems[0]
    assert "`~/.yourtool/skills/a-skill`" in found.problems[0]


def test_tags_construct_nothing(home):
    found = read_one(home, front("description: !!python/object/apply:os.getcwd []"))
    assert not found.skills
    found = read_one(home, front("description: !!python/name:os.system x", name="b"), "b")
    assert found.skills["b"].description == "x"


@pytest.mark.req("T19")
def test_description_is_one_line_without_control_characters(home):
    found = read_one(home, front(r'description: "a\n# Rules\n\e[2J\u202Eb"'))
    assert found.skills["a-skill"].description == "a # Rules ␛[2J\\u{202e}b"


@pytest.mark.req("R-SKL-01", "T14")
def test_skills_of_a_project_need_trust_in_their_present_content(tmp_path, home):
    for folder in (".claude", ".agents", ".yourtool"):
        write_skill(tmp_path / folder / "skills", "same", folder)
        write_skill(tmp_path / folder / "skills", f"of-{folder[1:]}")
    write_skill(home / "skills", "same", "mine")
    assert [each.description for each in find_skills(tmp_path).skills.values()] == ["mine"]
    trust(tmp_path)
    found = find_skills(tmp_path).skills
    assert [*found] == ["of-agents", "of-claude", "of-yourtool", "same"]
    assert found["same"].description == ".yourtool"
    write_skill(tmp_path / ".claude" / "skills", "new")
    assert [*find_skills(tmp_path).skills] == ["same"]


@pytest.mark.req("T14")
def test_skills_behind_links_out_of_the_folder_are_not_read(tmp_path):
    outside, work = tmp_path / "outside", tmp_path / "work"
    write_skill(outside, "secret")
    (work / ".agents" / "skills").mkdir(parents=True)
    (work / ".agents" / "skills" / "secret").symlink_to(outside / "secret")
    (work / ".claude").mkdir()
    (work / ".claude" / "skills").symlink_to(outside)
    inner = work / ".yourtool" / "skills"
    for name in ("linked", "hard"):
        (inner / name).mkdir(parents=True)
    (work / ".env").write_text("---\nname: linked\ndescription: x\n---\n4711")
    (inner / "linked" / "SKILL.md").symlink_to(work / ".env")
    (inner / "hard" / "SKILL.md").hardlink_to(work / ".env")
    trust(work)
    found = find_skills(work)
    assert not found.skills
    assert not found.problems


@pytest.mark.req("R-SKL-02")
def test_prompt_lists_skills_up_to_a_limit(tmp_path, home):
    assert "# Skills" not in system_messages(tmp_path, "s")[0].text
    for number in range(60):
        write_skill(home / "skills", f"skill-{number:02}", "x" * 200)
    write_skill(home / "skills", "a-secret", more="disable-model-invocation: true\n")
    text = system_messages(tmp_path, "s")[0].text
    rows = [line for line in text.splitlines() if line.startswith("- skill-")]
    assert len("\n".join(rows)) <= MAX_INDEX_BYTES
    assert f"- and {60 - len(rows)} more" in text
    assert "a-secret" not in text


def texts(events):
    return [
        event.message.result.content[0].text
        for event in events
        if isinstance(event, ToolCompleted | ToolFailed)
    ]


def loads(*names):
    return [*(calls("load_skill", name=name) for name in names), says("ok")]


@pytest.mark.req("R-SKL-02")
async def test_model_loads_a_skill_once_and_finds_others_by_words(bench, home):
    path = write_skill(bench.workspace / ".agents" / "skills", "release", "Make releases.")
    write_skill(home / "skills", "review", "Review a release.")
    trust(bench.workspace)
    adapter = Checked(Scripted(loads("release", "release", "RELEASE", "poetry")))
    session = await bench.session(adapter)
    events = await play(session.send("go"))
    first, again, found, missing = texts(events)
    [loaded] = [event for event in events if isinstance(event, SkillLoaded)]
    assert (loaded.skill_id, loaded.source, len(loaded.skill_version)) == (
        "release", "workspace", 16,
    )  # fmt: skip
    assert loaded in await bench.store.read(session.id)
    assert first == (
        "# Skill: release (source: .agents/skills/release/SKILL.md)\n"
        "Its files are in `.agents/skills/release`.\n\nDo it."
    )
    assert again == "The skill `release` is loaded already: its text is above."
    assert found.splitlines()[1:] == ["- release: Make releases.", "- review: Review a release."]
    assert "no skill matches `poetry`" in missing
    assert len({request.messages[0].content for request in adapter.requests}) == 1
    path.write_text("changed")
    await session.close()
    adapter = Checked(Scripted(loads("review")))
    session = await bench.session(adapter, resume=session.id)
    events = await play(session.send("more"))
    assert [*session.guidance.skills.get_loaded()] == ["release", "review"]
    assert any("SKILL.md` not used" in each.text for each in events if isinstance(each, Notice))
    await session.close()


@pytest.mark.req("R-SKL-02", "R-CTX-03")
async def test_skill_that_a_summary_replaces_is_loaded_again(bench, home):
    write_skill(home / "skills", "review", "Review a release.")
    script = [*loads("review"), says("fine"), says("- A summary."), *loads("review")]
    session = await bench.session(Checked(Scripted(script)))
    await play(session.send("go"))
    await play(session.send("and?"))
    await play(session.compact())
    [again] = texts(await play(session.send("again")))
    assert again.startswith("# Skill: review")
    await session.close()


@pytest.mark.req("R-SKL-02")
async def test_session_loads_three_skills_and_30000_tokens(bench, home):
    for name in ("one", "two", "three", "four"):
        write_skill(home / "skills", name)
    session = await bench.session(Checked(Scripted(loads("one", "two", "three", "four"))))
    assert "a session can load 3 skills" in texts(await play(session.send("go")))[3]
    await session.close()
    for name in ("one", "two"):
        write_skill(home / "skills", name, body="4711 " * 6_000)
    session = await bench.session(Checked(Scripted(loads("one", "two"))))
    first, second = texts(await play(session.send("go")))
    assert first.startswith("# Skill: one")
    assert "30,000 tokens together. Loaded: `one`" in second
    await session.close()


@pytest.mark.req("R-SKL-02")
def test_skill_that_is_too_long_is_truncated_with_a_notice(tmp_path, home):
    end = f"\n[cut at {MAX_BYTES} bytes]"
    write_skill(home / "skills", "mine", body="x" * MAX_BYTES)
    write_skill(tmp_path / ".agents" / "skills", "theirs", body="x" * MAX_BYTES)
    write_skill(tmp_path / ".agents" / "skills", "short")
    trust(tmp_path)
    found = find_skills(tmp_path).skills
    assert [each.body.endswith(end) for each in found.values()] == [True, False, True]


async def test_tool_is_offered_only_if_there_is_a_skill(bench, home):
    adapter = Checked(Scripted([says("a"), says("b")]))
    session = await bench.session(adapter)
    await play(session.send("go"))
    write_skill(home / "skills", "new")
    await play(session.send("go"))
    offered = [[each.name for each in request.tools] for request in adapter.requests]
    assert ["load_skill" in names for names in offered] == [False, True]
    await session.close()


async def test_loaded_skill_grants_no_tool_and_chooses_no_model(bench, home):
    write_skill(home / "skills", "a-skill", more="allowed-tools: [shell, Bash]\nmodel: other\n")
    script = [calls("load_skill", name="a-skill"), calls("shell", command="touch a"), says("ok")]
    adapter, user = Checked(Scripted(script)), User(DENY)
    session = await bench.session(adapter, confirm=user)
    model = session.model
    await play(session.send("go"))
    assert [asked.title for asked in user.asked] == ["shell"]
    assert not (bench.workspace / "a").exists()
    assert session.model == model
    await session.close()


async def offer(bench):
    """Return the names of the tools of a request."""
    adapter = Checked(Scripted([says("ok")]))
    session = await bench.session(adapter)
    await play(session.send("go"))
    await session.close()
    return [each.name for each in adapter.requests[0].tools]


NEW = {"name": "release", "description": "Use it: to release.", "body": "Run make."}


async def save(bench, user=None, **arguments):
    """Return the text of the result of `save_skill`."""
    script = [calls("save_skill", **(NEW | arguments)), says("ok")]
    confirm = user or User()
    session = await bench.session(Checked(Scripted(script)), confirm=confirm, mode=Mode.AUTO)
    [text] = texts(await play(session.send("go")))
    await session.close()
    return text


@pytest.mark.req("R-SKL-03")
async def test_saved_skill_is_approved_in_every_mode_and_needs_trust(bench, home):
    (bench.workspace / ".agents" / "skills").mkdir(parents=True)
    user = User()
    assert "trusts the folder with it" in await save(bench, user)
    [asked] = user.asked
    assert '+description: "Use it: to release."' in asked.preview.body
    assert not find_skills(bench.workspace).skills
    assert "exists" in await save(bench)
    trust(bench.workspace)
    skill = find_skills(bench.workspace).skills["release"]
    assert (skill.description, skill.body) == ("Use it: to release.", "Run make.")
    assert "already" in await save(bench)


@pytest.mark.req("R-SKL-03")
@pytest.mark.parametrize("name", ["../x", "A", "a--b", "", "a/b"])
async def test_skill_is_only_saved_with_a_valid_name(bench, home, name):
    (bench.workspace / ".agents" / "skills").mkdir(parents=True)
    user = User()
    await save(bench, user, name=name)
    assert not user.asked
    assert not [each for each in bench.workspace.rglob("*") if each.is_file()]


async def test_skill_is_not_saved_through_a_link_or_over_another_one(bench, home):
    (bench.workspace / "src").mkdir()
    (bench.workspace / ".agents").mkdir()
    (bench.workspace / ".agents" / "skills").symlink_to(bench.workspace / "src")
    assert "leads to another place" in await save(bench)
    write_skill(home / "skills", "release")
    assert "already" in await save(bench)
    assert not [each for each in bench.workspace.rglob("*") if each.is_file()]


async def test_denied_skill_is_not_saved(bench, home):
    (bench.workspace / ".agents" / "skills").mkdir(parents=True)
    await save(bench, User(DENY))
    assert not [each for each in bench.workspace.rglob("*") if each.is_file()]


async def test_skill_can_be_saved_where_there_is_a_folder_for_skills(bench, home):
    assert "save_skill" not in await offer(bench)
    (bench.workspace / ".agents" / "skills").mkdir(parents=True)
    names = await offer(bench)
    assert "save_skill" in names
    assert "load_skill" not in names


@pytest.mark.req("R-SKL-01")
def test_skills_of_other_programs_of_the_user_are_found(tmp_path, home, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (".claude", ".agents", ".yourtool"):
        write_skill(tmp_path / folder / "skills", "same", folder)
        write_skill(tmp_path / folder / "skills", f"of-{folder[1:]}")
    (tmp_path / ".claude" / "skills" / "bad").mkdir()
    (tmp_path / ".claude" / "skills" / "bad" / "SKILL.md").write_text("x")
    assert not find_skills(tmp_path / "work").skills
    monkeypatch.delenv("YOURTOOL_HOME")
    found = find_skills(tmp_path / "work")
    assert [*found.skills] == ["of-agents", "of-claude", "of-yourtool", "same"]
    assert found.skills["same"].description == ".yourtool"
    assert {each.source for each in found.skills.values()} == {"user"}
    assert "`~/.claude/skills/bad`" in found.problems[0]


def test_tools_and_model_that_a_skill_names_are_shown_and_have_no_effect(home):
    found = read_one(home, front("description: x", "allowed-tools: [Read, Bash]", "model: opus"))
    skill = found.skills["a-skill"]
    assert (skill.allowed_tools, skill.model) == ("Read, Bash", "opus")
    report = str(build_report(found, {}))
    assert "names the tools Read, Bash, which need approvals as always" in report
    assert "names the model opus, which is not used" in report
