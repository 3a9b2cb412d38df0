"""The table of programs: what a row has from the row that it is the same as."""

import pytest

from yourtool.permissions.shell.programs.table import (
    Accepted,
    Program,
    Words,
    build_program,
    find_program,
)

RUNNERS = """
Rscript ash awk bash builtin bun bunx busybox choom chroot chrt command coproc dash deno doas ed
emacs env eval ex exec expect fakeroot find firejail fish flock function gawk gdb git ionice julia
ksh ltrace lua lua5.4 luajit mawk mksh nice node node-22 nodejs nohup npx nsenter osascript parallel
perl perl5.36 php php8.2 pipx pkexec pnpx prlimit pwsh pypy pypy3 python python2 python3 python3.11
rbash rlwrap ruby ruby3.1 runuser script sed setarch setpriv setsid sg sh source ssh stdbuf strace
su sudo systemd-run taskset tclsh tclsh8.6 time timeout toybox trap ts-node tsx unbuffer unshare uvx
vi vim watch xargs xvfb-run zsh
"""
GIVEN = {
    "letters": Words(("ab", "c:")),
    "options": Words(("long", "with:")),
    "tests": Words(("name",)),
    "files": Words(("c",)),
    "numbers": True,
    "response_files": True,
    "forms": {"c": "x"},
    "bundle": True,
    "loads_code": True,
    "follows_links": True,
    "enters_submodules": True,
    "runs_code": True,
    "problem": "x",
    "contained": True,
    "needs": Words(("--only",)),
    "arguments": "files",
}


@pytest.mark.parametrize("field", sorted({*Accepted.__struct_fields__} - {"same_as"}))
def test_row_inherits_every_field_of_the_row_that_it_is_the_same_as(field):
    rows = {
        "base": Program(reads=Accepted(**{field: GIVEN[field]})),
        "row": Program(reads=Accepted(same_as="base")),
    }
    assert getattr(build_program("row", rows).reads, field) == GIVEN[field]


def test_row_adds_to_what_it_inherits():
    rows = {
        "base": Program(changes=Accepted(letters=Words(("b",)), options=Words(("one",)))),
        "row": Program(
            changes=Accepted(same_as="base", letters=Words(("c",)), options=Words(("two",)))
        ),
    }
    row = build_program("row", rows).changes
    assert (row.letters, row.options) == (("b", "c"), ("one", "two"))


def runs_others(name):
    program = find_program(name)
    return program is not None and not program.is_named_exactly


@pytest.mark.parametrize("name", RUNNERS.split())
@pytest.mark.req("R-CONF-04", "R-CONF-08")
def test_program_that_runs_others_is_one_at_any_location(name):
    assert runs_others(name)
    assert runs_others(f"/usr/local/bin/{name}")
    assert not runs_others(f"x{name}x")


@pytest.mark.parametrize("name", ["make", "ls", "g++", "pytest", "cargo", "7z", "", "3.11"])
def test_other_programs_run_no_others(name):
    assert not runs_others(name)
