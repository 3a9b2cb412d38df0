"""What the rules decide about a line, compared with what bash does."""

import random

import pytest

from tests.permissions.shell.bash_lines import Sandbox, make_document, make_line
from yourtool.permissions.shell.coverage import covers_line
from yourtool.permissions.shell.denials import Denial, find_denial
from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.specs import CommandSpec

SHOW = CommandSpec(("show",), is_open=True)
EVIL = CommandSpec(("evil",), is_open=True)


def check(sandbox: Sandbox, line: str) -> None:
    denial = find_denial([EVIL], line)
    place = Place(sandbox.workspace, sandbox.workspace)
    is_covered = covers_line([SHOW], line, place)
    if denial is not Denial.NONE and not is_covered:
        return
    ran = sandbox.run(line)
    if denial is Denial.NONE:
        assert not [words for words in ran if words[0] == "evil"], repr(line)
    if is_covered:
        expected = [list(command.texts) for command in parse_plain(line)]
        assert all(words[0] == "show" for words in ran), repr(line)
        assert sandbox.files == {"b.txt"}, repr(line)
        if not any(word.is_glob for each in parse_plain(line) for word in each.words):
            assert all(words in expected for words in ran), repr(line)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.req("R-CONF-04")
def test_bash_runs_nothing_that_the_rules_did_not_see(tmp_path, seed):
    sandbox, source = Sandbox(tmp_path.resolve()), random.Random(seed)
    for _ in range(150):
        check(sandbox, make_line(source))


def check_document(sandbox: Sandbox, line: str) -> bool:
    """Return whether a line is understood, and check that bash understands it in the same way."""
    commands = parse_plain(line)
    if not commands or any(each.texts[0] != "show" or each.files for each in commands):
        return False
    if any(word.is_glob for each in commands for word in each.words):
        return False
    ran = sandbox.run(line)
    expected = [list(command.texts) for command in commands]
    assert all(words in expected for words in ran), repr(line)
    assert ran, repr(line)
    return True


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.req("R-CONF-04")
def test_bash_reads_a_document_as_the_rules_do(tmp_path, seed):
    sandbox, source = Sandbox(tmp_path.resolve()), random.Random(seed)
    lines = (make_document(source) for _ in range(5_000))
    assert sum(check_document(sandbox, line) for line in lines) > 50


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
@pytest.mark.req("R-CONF-04")
def test_bash_runs_nothing_that_the_rules_did_not_see_in_many_lines(tmp_path, seed):
    sandbox, source = Sandbox(tmp_path.resolve()), random.Random(seed)
    for _ in range(10_000):
        check(sandbox, make_line(source))
