"""The content of a mentioned file goes with the prompt, under the rules of the tool `read_file`."""

import base64

import pytest

from yourtool.agent.input.mentioned_files import MAX_FILES, MentionedFiles
from yourtool.foundation.masking import Mask
from yourtool.messages.blocks import ImageBlock, TextBlock
from yourtool.permissions.gate import Gate
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.files.files import MAX_RESULT_BYTES
from yourtool.tools.workspace.file_reads import FileReads
from yourtool.tools.workspace.workspace import Workspace

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SECRET = "sk-abcdefghijklmnop"


@pytest.fixture
def work(tmp_path):
    path = tmp_path / "work"
    (path / "src").mkdir(parents=True)
    (path / "src/a.py").write_text("print(1)\n")
    return path


def open_files(work, *, rules=None, attaches=True, own=(), rejects=None):
    gate = Gate(rules or RuleSet(), Mode.ASK)
    workspace = Workspace(work, own_directories=own)
    return MentionedFiles(
        workspace, gate, FileReads(), lambda: Mask([SECRET]), lambda block: rejects, attaches
    )


def labels(files, text):
    return [mention.label for mention in files.find(text)]


@pytest.mark.parametrize(
    "text",
    ["@src/a.py", "fix @src/a.py", "fix (@src/a.py), now", "see @src/a.py.", "a\n@src/a.py\nb"],
)
def test_mentioned_file_is_a_block_of_its_own(work, text):
    files = open_files(work)
    assert labels(files, text) == ["src/a.py, 9 bytes"]
    assert files.read(files.find(text)) == (TextBlock("The file src/a.py:\n\nprint(1)\n"),)


@pytest.mark.parametrize(
    "text", ["me@src/a.py", "\\@src/a.py", "@nobody", "@", "@@src/a.py", "@a\0"]
)
def test_other_text_mentions_no_file(work, text):
    assert labels(open_files(work), text) == []


def test_file_that_is_mentioned_twice_is_sent_once(work):
    assert len(open_files(work).find("@src/a.py and @src/a.py")) == 1


def test_only_the_name_is_sent_if_the_settings_say_so(work, tmp_path):
    (tmp_path / "cat.png").write_bytes(PIXEL)
    files = open_files(work, attaches=False)
    text = f"@src/a.py {tmp_path}/cat.png"
    assert labels(files, text) == ["src/a.py, only mentioned: as the settings say"]
    assert files.read(files.find(text)) == ()


def test_content_that_is_large_or_not_text_is_only_mentioned(work):
    (work / "big.log").write_bytes(b"x" * (MAX_RESULT_BYTES + 1))
    (work / "long.txt").write_bytes(b"\n" * 2_001)
    (work / "program").write_bytes(b"\x7fELF\0\0")
    (work / "latin.txt").write_bytes(b"na\xefve")
    (work / "empty").touch()
    assert labels(open_files(work), "@big.log @long.txt @program @latin.txt @empty @src") == [
        "big.log, only mentioned: it has 48.8 KiB, which the model reads in parts",
        "long.txt, only mentioned: it has 2.0 KiB, which the model reads in parts",
        "program, only mentioned: a binary file of 6 bytes",
        "latin.txt, 5 bytes",
        "empty, only mentioned: it is empty",
        "src, only mentioned: a directory",
    ]


@pytest.mark.req("R-TOOL-10")
def test_credential_file_is_sent_only_with_a_rule(work):
    (work / ".env").write_text("KEY=1\n")
    [label] = labels(open_files(work), "@.env")
    assert label.startswith(".env, only mentioned: it may contain credentials")
    allowed = open_files(work, rules=RuleSet(allow=(Rule.parse("read_file(.env)"),)))
    assert labels(allowed, "@.env") == [".env, 6 bytes"]


def test_forbidden_file_is_only_mentioned(work):
    files = open_files(work, rules=RuleSet(deny=(Rule.parse("read_file(src/*)"),)))
    assert labels(files, "@src/a.py") == ["src/a.py, only mentioned: a rule forbids reading it"]


def test_file_outside_the_workspace_and_own_directories_are_closed(work, tmp_path):
    (tmp_path / "secret.txt").write_text("words")
    (work / "link").symlink_to(tmp_path / "secret.txt")
    (work / "own").mkdir()
    (work / "own/credentials.toml").write_text("key = 1")
    text = f"@../secret.txt @{tmp_path}/secret.txt @link @own/credentials.toml @../missing"
    found = labels(open_files(work, own=(work / "own",)), text)
    assert len(found) == 4
    assert all(label.endswith(", only mentioned: tools cannot read it") for label in found)


def test_images_are_attached_unless_the_model_rejects_them(work, tmp_path):
    (work / "cat.png").write_bytes(PIXEL)
    (tmp_path / "dog.png").write_bytes(PIXEL)
    text = f"@cat.png and {tmp_path}/dog.png"
    files = open_files(work)
    assert labels(files, text) == ["cat.png, 70 bytes", "dog.png, 70 bytes"]
    assert all(isinstance(block, ImageBlock) for block in files.read(files.find(text)))
    [label] = labels(open_files(work, rejects="`x` takes no images"), "@cat.png")
    assert label == "cat.png, only mentioned: `x` takes no images"


def test_keys_in_a_file_are_masked(work):
    (work / "notes.txt").write_text(f"my key is {SECRET}")
    files = open_files(work)
    [block] = files.read(files.find("@notes.txt"))
    assert SECRET not in block.text and "my key is" in block.text


def test_attached_file_counts_as_read(work):
    files = open_files(work)
    files.read(files.find("@src/a.py"))
    assert files.reads.last_digest("src/a.py") is not None


def test_number_of_files_is_limited(work):
    for number in range(MAX_FILES + 2):
        (work / f"f{number}").write_text("x")
    text = " ".join(f"@f{number}" for number in range(MAX_FILES + 2))
    files = open_files(work)
    assert len(files.read(files.find(text))) == MAX_FILES
    assert labels(files, text)[-1].endswith("only mentioned: one of more than 20")
