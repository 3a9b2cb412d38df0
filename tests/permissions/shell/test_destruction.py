"""The files that destructive commands name, as the shell would expand them."""

import shlex

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
        ("rm -- a -r -- b", [("rm", "deletes", "", [("a",), ("-r",), ("--",), ("b",)])]),
        ("/bin/rm x", [("rm", "deletes", "", [("x",)])]),
        ("find -delete", [("find", "deletes", "", [(".",)])]),
        ("echo 'rm x'", []),
        ("eval 'rm x'", [("rm", "deletes", "", [("x",)])]),
        ("/bin/bash -c 'rm x'", [("rm", "deletes", "", [("x",)])]),
        ("make 'rm x'", []),
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
        ("find -L src -delete", [("find", "deletes", "", [("src",)])]),
        ("find . -exec echo {} \\; -delete", [("find", "deletes", "", [(".",)])]),
        ("find . -exec echo {} \\;", []),
        ("mv --target-directory c a b", [("mv", "moves", "", [("a",), ("b",)])]),
        ("mv -t c a b", [("mv", "moves", "", [("a",), ("b",)])]),
        ("shred -n 3 -u key", [("shred", "overwrites", "", [("key",)])]),
        ("truncate -s 0 *.log", [("truncate", "overwrites", "", [("*.log",)])]),
        ("dd if=/dev/zero of=$TARGET/x", [("dd", "overwrites", "", [("build/x",)])]),
        ("chmod -R 777 .", [("chmod", "changes", "", [(".",)])]),
        ("chown me *.c", [("chown", "changes", "", [("*.c",)])]),
        ("find src -name '*.o' -delete", [("find", "deletes", "", [("src",)])]),
        ("find . -exec rm -rf {} +", [("find", "deletes", "", [(".",)])]),
        ("find . -name x", []),
        ("find -P src -delete", [("find", "deletes", "", [("src",)])]),
        ("find -H src -delete", [("find", "deletes", "", [("src",)])]),
        ("mv a -t", [("mv", "moves", "", [("a",)])]),
        ("chmod -w *.c", [("chmod", "changes", "", [("*.c",)])]),
        ("chmod -R -- -x a", [("chmod", "changes", "", [("a",)])]),
        ("chmod --reference=a *.c", [("chmod", "changes", "", [("*.c",)])]),
        ("chgrp -v me *.c", [("chgrp", "changes", "", [("*.c",)])]),
        ("chmod +x run.sh", []),
        ("echo rm -rf /", []),
        ("git status", []),
    ],
)
def test_operands_are_expanded_as_the_shell_does(line, expected):
    assert patterns(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("d=x && rm $d*", ("x*",)), ("d=x; rm $d*", ("x*",)), ("export d=x; rm $d*", ("x*",)),
        ("d=x && true; rm ${d}*", ("x*",)), ("d=$TARGET; rm $d*", None),
        ("for f in $TARGET; do rm $TARGET*; done", ("build*",)),
        ("echo ${TARGET:-x}; rm $TARGET*", ("build*",)), ("rm $d*; d=x", None),
        ("false && d=x; rm $d*", None), ("a || d=x; rm $d*", None), ("d=x & rm $d*", None),
        ("d=x && true & rm $d*", None), ("export d=x & rm $d*", None),
        ("if a; then export d=x; fi; rm $d*", None), ("(d=x); rm $d*", None),
        ("d=x | a; rm $d*", None), ("d=x a; rm $d*", None), ("f() { d=x; }; rm $d*", None),
        ("d=x; f() { d=y; }; f; rm $d*", None), ("d=x; d=y; rm $d*", None),
        ("d=x; d+=y; rm $d*", None), ("d=x; unset d; rm $d*", None),
        ("unset -v 'd'; rm $TARGET*", None), (": ${TARGET:=x}; rm $TARGET*", None),
        (": ${d=/}; rm $d*", None), ("((d=1)); rm $d*", None), ("a $((d=1)); rm $d*", None),
        ("declare -l d=X; rm $d*", None), ("declare 'd=X'; rm $d*", None),
        ("d[1]=x; rm $d*", None), ("for d in x; do a; done; rm $d*", None),
        ("d=x; eval 'd=y'; rm $d*", None), ("command eval 'd=y'; rm $TARGET*", None),
        ("let d=1; rm $d*", None), ("builtin read d; rm $d*", None), ("trap a EXIT; rm $d*", None),
        ("exec {d}>f; rm $d*", None), ("RANDOM=x; rm $RANDOM*", None),
        ("PWD=x; rm $PWD*", None),
        ("bash -c 'rm $TARGET*'", ("build*",)), ("eval 'rm $TARGET*'", None),
        ("bash -c 'd=x; rm $d*'", ("x*",)), ("d=/; eval 'rm $d*'", None),
        ("export d=/; bash -c 'rm $d*'", None), ("d=/ bash -c 'rm $d*'", None),
        ("sudo bash -c 'rm $HOME/x'", None), ("env TARGET=/ sh -c 'rm $TARGET*'", None),
        ("sudo bash -c 'rm x*'", ("x*",)), (". ./a; bash -c 'rm $TARGET*'", None),
        ("sudo bash -c \"bash -c 'rm \\$TARGET*'\"", None),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-07")
def test_variable_has_a_value_only_if_nothing_in_the_line_can_change_it(line, expected):
    assert [o.patterns for each in find_destructions(line, HOME) for o in each.operands] == [
        expected
    ]


@pytest.mark.parametrize(
    ("line", "directory"),
    [
        ("pushd a; rm *", "a/"),
        ("cd a; rm *", "a/"), ("cd a && b; rm *", "a/"), ("a && cd b && rm *", "b/"),
        ("cd a && cd b && rm *", "a/b/"), ("cd a || exit; rm *", "a/"), ("cd a & rm *", ""),
        ("cd a && b & rm *", ""), ("echo $(cd a); rm *", ""), ("cd a | b; rm *", ""),
        ("cd a | rm *", ""),
        ("a <(cd b); rm *", ""), ("a && cd b; rm *", None), ("a || cd b; rm *", None),
        ("a && cd b || rm *", None), ("a || cd b && rm *", None),
        ("if a; then cd b; fi; rm *", None), ("while a; do cd b; done; rm *", None),
        ("for f in a; do cd b; done; rm *", None), ("case a in a) cd b;; esac; rm *", None),
        ("for ((;;)); do cd b; done; rm *", None), ("f() { cd a; }; rm *", None),
        ("if a; then pushd b; fi; rm *", None), ("a && popd; rm *", None),
        ("if a; then b; fi; rm *", ""), ("a && b || c; rm *", ""), ("if a; then rm *; fi", ""),
        ("cd a; if b; then rm *; fi", "a/"),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-07")
def test_directory_is_known_only_if_the_shell_certainly_enters_it(line, directory):
    assert [each.directory for each in find_destructions(line, HOME)] == [directory]


@pytest.mark.parametrize(
    ("line", "is_recursive"),
    [
        ("rm -r a", True), ("rm -fr a", True), ("rm -R a", True), ("rm --recursive a", True),
        ("grm -r a", True), ("rm -f a", False), ("rm a", False), ("chmod -R 7 a", True),
        ("chmod -r *", False), ("mv a b", True), ("find . -exec rm -r {} +", True),
        ("find . -exec rm {} +", False), ("find . -delete", False),
    ],
)  # fmt: skip
def test_contents_of_directories_count_if_the_command_is_recursive(line, is_recursive):
    assert [each.is_recursive for each in find_destructions(line, HOME)] == [is_recursive]


@pytest.mark.parametrize(
    "start",
    [
        "shred -n 3", "shred -s 9", "shred --iterations 3", "shred --size 9",
        "shred --random-source r", "truncate -s 0", "truncate -r r", "truncate --size 0",
        "truncate --reference r", "mv -S x -t c", "mv --suffix x --target-directory c",
        "gmv -S x -t c", "gmv --suffix x --target-directory c",
    ],
)  # fmt: skip
def test_value_of_an_option_is_no_operand(start):
    (found,) = find_destructions(f"{start} a b", HOME)
    assert [each.patterns for each in found.operands] == [("a",), ("b",)]


@pytest.mark.parametrize("action", ["-exec", "-execdir", "-ok", "-okdir"])
def test_program_of_every_action_of_find_counts(action):
    (found,) = find_destructions(f"find src {action} rm {{}} \\; -name a", HOME)
    assert (found.action, found.search.names) == ("deletes", ("a",))


@pytest.mark.parametrize("line", ["mv -t c a b", "mv --target-directory=c a b", "mv a b c"])
def test_destination_of_moved_files_is_known(line):
    (found,) = find_destructions(line, HOME)
    assert found.destination.patterns == ("c",)


def test_more_words_than_the_limit_are_not_listed():
    for count in (199, 200, 201):
        names = tuple(f"n{number}" for number in range(count))
        (found,) = find_destructions(f"rm {{{','.join(names)}}}", HOME)
        assert found.operands[0].patterns == (names if count <= 200 else None)


@pytest.mark.parametrize(
    ("word", "pattern"),
    [
        ('" $TARGET "', "\\ build\\ "),
        ('"a $TARGET  b $TARGET c"', "a\\ build\\ \\ b\\ build\\ c"),
        ('"a\nb"', "a\\\nb"), ('"  "', "\\ \\ "), ('"\\$x\\a"', "\\$x\\\\a"),
    ],
)  # fmt: skip
def test_blanks_in_double_quotes_are_part_of_the_name(word, pattern):
    for line in (f"rm {word}", f"ls; rm -f {word}"):
        (found,) = find_destructions(line, HOME)
        assert found.operands[0].patterns == (pattern,)


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
    (found,) = find_destructions("find . -exec rm {} \\; -name a -mindepth 2 -maxdepth 9999", HOME)
    assert (found.search.names, found.search.is_exact) == (("a",), True)
    assert (found.search.min_depth, found.search.max_depth) == (2, 1_000)
    (found,) = find_destructions("find . -mindepth 00000 -maxdepth 00015 -delete", HOME)
    assert (found.search.min_depth, found.search.max_depth) == (0, 15)
    (found,) = find_destructions("find . -delete -name", HOME)
    assert not found.search.is_exact


@pytest.mark.parametrize(
    "line", ["(" * 4_000, "rm " + "{a,b}" * 200, "rm " + "*" * 3_000, "bash -c '" * 300 + "rm x"]
)
def test_lines_that_are_made_to_be_slow_are_read_quickly(line):
    find_destructions(line, HOME)


def test_lines_of_a_long_script_are_read_one_by_one():
    script = f"cat > x <<'E'\n{'text ' * 1_000}\nE\nrm -rf build/*\n"
    assert patterns(script) == [("rm", "deletes", "", [("build/*",)])]


def test_code_in_too_many_lines_is_not_read():
    line = "rm x"
    for depth in range(6):
        expected = [("rm", "deletes", "", [("x",)])] if depth <= 4 else []
        assert patterns(line) == expected
        line = f"bash -c {shlex.quote(line)}"
