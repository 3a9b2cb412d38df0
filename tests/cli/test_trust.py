"""`yourtool trust`, and what untrusted folders do in a headless run."""

import json
import re

import pytest

from tests.provider_server import Reply
from tests.security.payloads import PAYLOADS
from yourtool.agent.session.project.project_trust import is_trusted

OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""What a terminal would interpret, except for the line feed."""

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.req("R-CLI-01")
def test_trust_shows_what_it_trusts_and_list_and_remove_know_it(line):
    (line.workspace / "AGENTS.md").write_text("Be\u200b brief.")
    code, out, err = line("trust")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"Trusted {line.workspace}",
        "  AGENTS.md: 12 bytes, 1 hidden character, instructions",
    ]
    assert is_trusted(line.workspace)
    [row] = json.loads(line("trust", "list", "--json")[1])
    assert (row["folder"], row["trusted"], row["files"]) == (
        str(line.workspace),
        True,
        ["AGENTS.md"],
    )
    assert str(line.workspace) in line("trust", "list")[1]
    code, out, _ = line("trust", "remove", str(line.workspace))
    assert (code, out) == (
        0,
        f"Forgot the answer about {line.workspace}. You will be asked again.\n",
    )
    assert not is_trusted(line.workspace)
    assert line("trust", "list")[1].startswith("No folder is trusted")


def test_trust_of_a_directory_without_files_that_configure_is_stored(line, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    code, out, _ = line("trust", str(folder), "--json")
    assert (code, json.loads(out)) == (0, {"folder": str(folder), "trusted": True, "files": []})
    assert is_trusted(folder)
    assert "No file in it configures yourtool" in line("trust", str(folder))[1]


def test_directory_that_no_longer_exists_can_be_removed(line, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    assert line("trust", str(folder))[0] == 0
    folder.rmdir()
    assert line("trust", "remove", str(folder))[0] == 0


@pytest.mark.parametrize(
    "words", [["remove"], ["list", "more"], ["remove", "a", "b"], ["nowhere"], ["remove", "/no"]]
)
def test_wrong_words_are_usage_errors(line, words):
    code, out, err = line("trust", *words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_broken_file_is_reported_and_not_replaced(line, home):
    (home / "trust.toml").write_text("nonsense")
    code, _, err = line("trust")
    assert code == 2
    assert "no folder is trusted" in err
    assert (home / "trust.toml").read_text() == "nonsense"


@pytest.mark.req("R-CONF-05", "T14")
def test_headless_run_ignores_untrusted_instructions_and_names_the_way_out(line, served):
    (line.workspace / "AGENTS.md").write_text("canary-instruction")
    served.script += [Reply("one"), Reply("two"), Reply("three")]
    code, out, err = line("-m", "sonnet", "-p", "go")
    assert (code, out) == (0, "one\n")
    assert err == (
        "yourtool: `AGENTS.md` not used: the folder is not trusted; `yourtool trust` trusts it.\n"
    )
    assert line("trust")[0] == 0
    code, out, err = line("-m", "sonnet", "-p", "go")
    assert (code, out, err) == (0, "two\n", "")
    (line.workspace / "AGENTS.md").write_text("canary-instruction, changed")
    code, out, err = line("-m", "sonnet", "-p", "go")
    assert (code, out) == (0, "three\n")
    assert err == (
        "yourtool: `AGENTS.md` not used: changed since you were asked; `yourtool trust` trusts"
        " it.\n"
    )
    has_canary = ["canary-instruction" in json.dumps(body) for _, body in served.requests]
    assert has_canary == [False, True, False]


@pytest.mark.req("R-CONF-05")
def test_doctor_shows_the_trust_in_the_current_folder(line, monkeypatch):
    monkeypatch.chdir(line.workspace)
    (line.workspace / "AGENTS.md").write_text("x")

    def row():
        checks = json.loads(line("doctor", "--json")[1])["checks"]
        [found] = [each for each in checks if each["area"] == "trust"]
        return found["status"], found["detail"]

    assert row() == (
        "note",
        "not trusted; `yourtool trust` trusts it; AGENTS.md: 1 byte, instructions",
    )
    line("trust")
    assert row()[0] == "ok"
    (line.workspace / "AGENTS.md").write_text("y")
    assert "changed since you answered" in row()[1]


@pytest.mark.req("T17", "T19")
@pytest.mark.remaining
def test_names_of_folders_do_not_control_the_terminal_and_stay_distinguishable(line, tmp_path):
    listed = set[str]()
    for payload in PAYLOADS:
        folder = tmp_path / payload["text"].replace("/", "")
        folder.mkdir()
        (folder / "AGENTS.md").write_text("x")
        for words in (("trust", str(folder)), ("trust", "list"), ("trust", "remove", str(folder))):
            code, out, err = line(*words)
            assert code == 0
            assert not OBEYED.search(out + err), payload["id"]
            assert all(code in out for code in payload["must_show_codepoints"])
            listed |= {out} if words == ("trust", "list") else set()
    assert len(listed) == len(PAYLOADS)
