"""The files that destructive commands name, as the shell would expand them."""

import pytest

from yourtool.permissions.shell.destruction import find_destructions

HOME = {"HOME": "/home/ada", "TARGET": "build"}


def patterns(line):
    return [
        (each.program, each.action, each.directory, [o.patterns for o in each.operands])
        for each in find_destructions(line, HOME)
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rm -rf a 'b c' *.o", [("rm", "deletes", "", [("a",), ("b\\ c",), ("*.o",)])]),
        ("rm -f -- -x", [("rm", "deletes", "", [("-x",)])]),
        ("rm -r ~/x{1,2}", [("rm", "deletes", "", [("/home/ada/x1", "/home/ada/x2")])]),
        ('rm -rf "$TARGET"/*', [("rm", "deletes", "", [("build/*",)])]),
        ('rm -rf "$NOT_SET"/*', [("rm", "deletes", "", [("/*",)])]),
        ("d=out; rm -rf ${d}/*", [("rm", "deletes", "", [("out/*",)])]),
        ("rm -rf $(find .)", [("rm", "deletes", "", [None])]),
        ('for f in *; do rm "$f"; done', [("rm", "deletes", "", [None])]),
        ("read d; rm -rf $d", [("rm", "deletes", "", [None])]),
        ("test -d a && d=a; rm -rf $RANDOM", [("rm", "deletes", "", [None])]),
        ("cd sub && rm *", [("rm", "deletes", "sub/", [("*",)])]),
        ("(cd sub && make) && rm *", [("rm", "deletes", "", [("*",)])]),
        ("cd $(mktemp -d) && rm *", [("rm", "deletes", None, [("*",)])]),
        ("sudo -u me rm x", [("rm", "deletes", "", [("x",)])]),
        ("bash -c 'cd a; rm b*'", [("rm", "deletes", "a/", [("b*",)])]),
        ("ls | xargs rm -f", [("rm", "deletes", "", [None])]),
        ("mv a b c", [("mv", "moves", "", [("a",), ("b",)])]),
        ("mv --target-directory=c a b", [("mv", "moves", "", [("a",), ("b",)])]),
        ("rm - a", [("rm", "deletes", "", [("-",), ("a",)])]),
        ("rm -rf $NOT_SET", [("rm", "deletes", "", [()])]),
        ('rm "a b" "$(x)"', [("rm", "deletes", "", [("a\\ b",), None])]),
        ("dd of=$(x)", [("dd", "overwrites", "", [None])]),
        ("popd && rm *", [("rm", "deletes", None, [("*",)])]),
        ("cd && rm *", [("rm", "deletes", None, [("*",)])]),
        ("cd /tmp && rm *", [("rm", "deletes", "/tmp/", [("*",)])]),
        ("cd /tmp && cd x && rm *", [("rm", "deletes", "/tmp/x/", [("*",)])]),
        ("find -L . -delete", [("find", "deletes", "", [(".",)])]),
        ("find . -exec echo {} \\; -delete", [("find", "deletes", "", [(".",)])]),
        ("find . -exec echo {} \\;", []),
        ("mv -t c a b", [("mv", "moves", "", [("a",), ("b",)])]),
        ("shred -n 3 -u key", [("shred", "overwrites", "", [("key",)])]),
        ("truncate -s 0 *.log", [("truncate", "overwrites", "", [("*.log",)])]),
        ("dd if=/dev/zero of=$TARGET/x", [("dd", "overwrites", "", [("build/x",)])]),
        ("chmod -R 777 .", [("chmod", "changes", "", [(".",)])]),
        ("chown me *.c", [("chown", "changes", "", [("*.c",)])]),
        ("find src -name '*.o' -delete", [("find", "deletes", "", [("src",)])]),
        ("find . -exec rm -rf {} +", [("find", "deletes", "", [(".",)])]),
        ("find . -name x", []),
        ("chmod +x run.sh", []),
        ("echo rm -rf /", []),
        ("git status", []),
    ],
)
def test_operands_are_expanded_as_the_shell_does(line, expected):
    assert patterns(line) == expected


def test_conditions_of_find_are_known_or_marked_as_not_checked():
    (found,) = find_destructions("find . -maxdepth 2 -type f -name '*.o' -delete", HOME)
    assert (found.search.names, found.search.kind, found.search.max_depth) == (("*.o",), "f", 2)
    assert found.search.is_exact
    (found,) = find_destructions("find . -name *.o -delete", HOME)
    assert (found.search.names, found.search.is_exact) == (("*.o",), True)
    (found,) = find_destructions("find . -name a{b,c} -delete", HOME)
    assert not found.search.is_exact
    (found,) = find_destructions("find . -mtime +3 -delete", HOME)
    assert not found.search.is_exact


@pytest.mark.parametrize(
    "line", ["(" * 4_000, "rm " + "{a,b}" * 200, "rm " + "*" * 3_000, "bash -c '" * 300 + "rm x"]
)
def test_lines_that_are_made_to_be_slow_are_read_quickly(line):
    find_destructions(line, HOME)


def test_lines_of_a_long_script_are_read_one_by_one():
    script = f"cat > x <<'E'\n{'text ' * 1_000}\nE\nrm -rf build/*\n"
    assert patterns(script) == [("rm", "deletes", "", [("build/*",)])]
