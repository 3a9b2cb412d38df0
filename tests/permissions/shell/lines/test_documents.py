"""Documents with a quoted delimiter are text, in what is understood as in what runs."""

import subprocess

import pytest

from yourtool.permissions.shell.canonical import SearchPath, build_canonical_line
from yourtool.permissions.shell.coverage import cover_line, covers_line
from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.specs import parse_spec

TEXT = "$(touch ran) `touch ran` $HOME 'one' \"two\" \\\n\n\ttab && touch ran # no"
READ = (
    f"cat <<'EOF'\n{TEXT}\nEOF",
    f"cat - <<'EOF' | tr a-z A-Z\n{TEXT}\nEOF",
    f"cat <<'END_1' && echo after\n{TEXT}\nEOF\nEND_1\n",
    f"echo before; cat << 'EOF' 2>&1\n{TEXT}\nEOF",
    f"printf '%s|' \"$(cat <<'EOF'\n{TEXT}\n\nEOF\n)\" end",
    f"echo \"$(cat <<'EOF'\n{TEXT}\nEOF\n)\" && echo \"$(cat <<'EOF'\nb\nEOF\n)\"",
    "printf '%s' 'one\ntwo' \"three\nfour\"",
    f"echo before && \\\necho \"$(cat <<'EOF'\n{TEXT}\nEOF\n)\"",
    f"echo before\necho \"$(cat <<'EOF'\n{TEXT}\nEOF\n)\"",
    f"echo before\ncat \\\n  <<'EOF'\n{TEXT}\nEOF\necho after",
    f"printf '%s' 'a\nb' && cat <<'EOF'\n{TEXT}\nEOF",
)


@pytest.fixture
def place(tmp_path):
    root = tmp_path.resolve()
    (root / "src").mkdir()
    return Place(root, root)


def run(line, place):
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", line], cwd=place.root, capture_output=True
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("line", READ)
@pytest.mark.req("R-CONF-04")
def test_line_with_a_document_is_understood_as_bash_runs_it(place, line):
    canonical = build_canonical_line(parse_plain(line), SearchPath((), place.root))
    expected = run(line, place)
    assert expected[1]
    assert run(canonical, place) == expected
    assert not (place.root / "ran").exists()


@pytest.mark.parametrize(
    "line",
    [
        "cat <<EOF\n$(touch ran)\nEOF",
        'cat <<"EOF"\nx\nEOF',
        "cat <<-'EOF'\n\tx\n\tEOF",
        "cat <<'EOF'\nx",
        "cat <<'EOF'\nEOF",
        "cat <<'EOF'\nx\nEOF && touch ran",
        "cat <<'A' <<'B'\nx\nA\ny\nB",
        "cat <<'EOF' \\\nx\nEOF",
        "cat 3<<'EOF'\nx\nEOF",
        "cat <<'EOF'\n\x1b[2J\nEOF",
        "cat <<<'x'",
        "echo \"a <<'EOF'\"\nx\nEOF",
        "echo ' <<'EOF'\nx\nEOF",
        "echo $(cat <<'EOF'\nx\nEOF\n)",
        "echo x\"$(cat <<'EOF'\nx\nEOF\n)\"",
        "echo \"$(cat <<'EOF'\nx\nEOF\n)\"x",
        "echo \"$(cat <<'EOF'\nx\nEOF\ntouch ran)\"",
        "echo \"$(cat <<'EOF'\nx\nEOF\n)$(touch ran)\"",
        "echo \"$(cat <<'EOF' | sh\nx\nEOF\n)\"",
        "echo \"$(cat <<'EOF'\nx\n EOF\n)\"",
        "echo \"$(cat <<'EOF'\nx\nEOF )\nEOF\n)\"",
        "\"$(cat <<'EOF'\nls\nEOF\n)\" x",
        "X= \"$(cat <<'EOF'\nls\nEOF\n)\" x",
        "echo # \"$(cat <<'EOF'\nx\nEOF\n)\"",
        "echo document-of-the-line-0 <<'EOF'\nx\nEOF",
        f"cat <<'EOF'\n{'x' * 70_000}\nEOF",
        "# \"$(cat <<'EOF'\nx\nEOF\n)\"",
        "cat # <<'EOF'\nx\nEOF",
    ],
)
@pytest.mark.req("R-CONF-04")
def test_any_other_document_is_not_understood(line):
    assert parse_plain(line) == ()


@pytest.mark.parametrize(
    ("spec", "line", "is_covered"),
    [
        ("git commit *", "git commit -F - <<'EOF'\nx\nEOF", True),
        ("git commit *", "git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"", True),
        ("git commit *", "git commit -m 'a\n\nb'", True),
        ("cat > src/a", "cat > src/a <<'EOF'\nx\nEOF", True),
        ("cat > src/a", "cat > src/b <<'EOF'\nx\nEOF", False),
        ("tee *", "tee src/a <<'EOF'\nx\nEOF", True),
        ("tee *", "tee ../a <<'EOF'\nx\nEOF", False),
        ("python3 src/run.py *", "python3 src/run.py <<'EOF'\nx\nEOF", False),
        ("python3 -", "python3 - <<'EOF'\nx\nEOF", False),
        ("bash", "bash <<'EOF'\nls\nEOF", False),
        ("bash *", "bash -s <<'EOF'\nls\nEOF", False),
        ("psql", "psql <<'EOF'\n\\! ls\nEOF", False),
        ("make test", "make test <<'EOF'\nx\nEOF", False),
        ("make *", "make -f - <<'EOF'\nx\nEOF", False),
        ("xargs wc", "xargs wc <<'EOF'\nx\nEOF", False),
        ("ssh example.org uptime", "ssh example.org uptime <<'EOF'\nx\nEOF", False),
        ("git apply *", "git apply <<'EOF'\nx\nEOF", False),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_rule_covers_a_document_only_for_a_program_that_reads_text(place, spec, line, is_covered):
    assert covers_line([parse_spec(spec)], line, place) is is_covered


def test_reading_command_with_a_document_needs_no_rule_in_a_trusted_workspace(place):
    line = f"cat <<'EOF' | grep -c one\n{TEXT}\nEOF"
    assert cover_line([], line, place, is_trusted=True).is_complete
    assert not cover_line([], f"sh <<'EOF'\n{TEXT}\nEOF", place, is_trusted=True).is_complete
