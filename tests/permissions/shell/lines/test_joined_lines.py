"""Several lines as one, as bash reads them."""

import subprocess

import pytest

from yourtool.permissions.shell.canonical import SearchPath, build_canonical_line
from yourtool.permissions.shell.coverage import covers_line
from yourtool.permissions.shell.lines.joined_lines import join_lines
from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.specs import parse_spec

MESSAGE = "\"$(cat <<'EOF'\nSubject\n\nIt's $done.\nEOF\n)\""


@pytest.mark.parametrize(
    "line",
    [
        f"git add f && git commit -m {MESSAGE}",
        f"git add f && \\\ngit commit -m {MESSAGE}",
        f"git add f\ngit commit -m {MESSAGE}",
        "git add f1 && \\\n  git commit -m x",
        "git add f1 &&\n  git commit -m x",
        "# Save it; don't push\ngit add f # and `this`\n\n# $x\ngit commit -m x\n",
        "git add f\ngit commit -F - <<'EOF'\nx\nEOF\ngit add g",
        "time git add f",
        "git add f; time -p git commit -m x",
    ],
)
@pytest.mark.req("R-CONF-04")
def test_rules_cover_ordinary_commands_of_several_lines(tmp_path, line):
    specs = [parse_spec("git add *"), parse_spec("git commit *")]
    assert covers_line(specs, line, Place(tmp_path.resolve(), tmp_path.resolve()))


@pytest.mark.parametrize(
    "line",
    [
        "git add f\ntouch x", "git add f # \\\ntouch x", "# 'a\ntouch x\n# '",
        "git add a#\ntouch x", "git add 'f' \\\n; touch x", "git add \\# f\ntouch x",
        "git add \\ # f\ntouch x",
        "git add f | time touch x", "time -f x git add f", "A=1 time git add f",
        "time A=1 git add f",
        "'time' git add f", "time", "time -p", "time time git add f", "time { git add f; }",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_no_line_end_and_no_comment_hides_a_command(tmp_path, line):
    place = Place(tmp_path.resolve(), tmp_path.resolve())
    assert not covers_line([parse_spec("git add *")], line, place)


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("a \\\n b", "a  b"), ("a\\\nb", "ab"), ("a\nb", "a; b"), ("a &&\nb", "a && b"),
        ("a |\n\n# c\nb", "a |   b"), ("'a\nb' \"\\\n\"", "'a\nb' \"\\\n\""), ("a#b", "a#b"),
        ("a '# b'", "a '# b'"), ("a # b \\\nc", "a ; c"), ("a \\\n# b\nc", "a ; c"),
        ("\\;\na", "\\;; a"),
        ("a $b", "a $b"), ('a "$b"', 'a "$b"'),
        ("a ${b}", None), ('a "$(b)"', None),
        ("do\na", "do a"), ("echo do\na", "echo do; a"), ("a `b`", None), ("a 'b", None),
        ("a \\", None),
    ],
)  # fmt: skip
def test_joined_line_means_the_same_as_the_lines(lines, joined):
    assert join_lines(lines) == joined


def test_shell_measures_a_command_that_a_rule_covers():
    line = build_canonical_line(parse_plain("time -p true | cat"), SearchPath((), "/"))
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert line == "time -p true | cat"
    assert done.stderr.startswith("real ")
