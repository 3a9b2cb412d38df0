"""Harmless changes of a git configuration."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.tools.protection.git_settings import Origin, merge_settings, resolve_address

OLD = b"""[core]
\trepositoryformatversion = 0 ; a comment
\thooksPath = mine
[remote "origin"]
\turl = https://example.org/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
"""
HARMLESS = (
    '[branch "a"]\nremote = origin\nmerge = refs/heads/a\nrebase = true\ndescription = x',
    '[branch "a"]\nremote = .',
    "[user]\nname = me\nemail = a@b",
    "[core]\nbare = false\nautocrlf = input\nfsmonitor = false",
    "[pull]\nrebase = true",
    "[push]\ndefault = current",
    "[gc]\nauto = 0",
    "[rerere]\nenabled",
    "[advice]\ndetachedHead = false",
    '[color "diff"]\nmeta = red',
    "[extensions]\nworktreeConfig = true",
    '[remote "b"]\nurl = https://example.org/a.git\nfetch = +refs/heads/*:refs/remotes/b/*',
    '[submodule "m"]\nactive = true\nupdate = checkout',
    '[remote "origin"]\nfetch = +refs/pull/*/head:refs/remotes/origin/pr/*',
)
DANGEROUS = (
    "[core]\nhooksPath = x",
    "[core]\nfsmonitor = x",
    "[core]\nsshCommand = x",
    "[core]\npager = x",
    "[core]\neditor = x",
    "[core]\naskPass = x",
    "[core]\ngitProxy = x",
    "[core]\nattributesFile = x",
    "[core]\nworktree = /x",
    "[alias]\nst = !x",
    "[alias]\nst = status",
    '[filter "x"]\nclean = x',
    '[diff "x"]\ntextconv = x',
    "[diff]\nexternal = x",
    '[merge "x"]\ndriver = x',
    '[mergetool "x"]\ncmd = x',
    '[credential "https://x"]\nhelper = x',
    '[url "https://x/"]\ninsteadOf = https://example.org/',
    "[include]\npath = x",
    '[includeIf "gitdir:/"]\npath = x',
    "[http]\nproxy = x",
    "[http]\nsslVerify = false",
    '[http "https://x"]\nextraHeader = x',
    "[gpg]\nprogram = x",
    '[gpg "ssh"]\nprogram = x',
    "[sequence]\neditor = x",
    '[protocol "ext"]\nallow = always',
    "[ssh]\nvariant = x",
    "[uploadpack]\npackObjectsHook = x",
    "[receive]\ndenyCurrentBranch = ignore",
    "[gc]\nrecentObjectsHook = x",
    "[init]\ntemplateDir = x",
    "[never]\nheard = of",
    '[remote "b"]\nurl = https://evil.example/',
    '[remote "b"]\nurl = ext::x',
    '[remote "origin"]\npushurl = https://evil.example/',
    '[remote "origin"]\nfetch = +refs/heads/*:refs/heads/*',
    '[remote "origin"]\nreceivepack = x',
    '[branch "a"]\nremote = https://evil.example/',
    '[branch "a"]\nremote = ../evil',
    '[branch "a"]\npushRemote = x',
    '[submodule "m"]\nurl = https://evil.example/',
    '[submodule "m"]\nupdate = !x',
    '[extensions "x"]\na = b',
)


@pytest.mark.parametrize("added", HARMLESS)
def test_a_harmless_setting_stays(added):
    new = OLD + added.encode() + b"\n"
    merged = merge_settings(OLD, new, Origin())
    assert (merged.content, merged.refused) == (new, ())


@pytest.mark.parametrize("added", DANGEROUS)
def test_a_setting_that_runs_or_redirects_is_refused(added):
    merged = merge_settings(OLD, OLD + added.encode() + b"\n", Origin())
    assert len(merged.refused) == 1
    assert merged.content == OLD


def test_a_removed_setting_of_a_program_is_refused():
    new = OLD.replace(b"\thooksPath = mine\n", b"")
    merged = merge_settings(OLD, new, Origin())
    assert merged.refused == ("core.hookspath",)
    assert merged.content == OLD


def test_what_git_cannot_read_is_refused_as_a_whole():
    assert merge_settings(OLD, OLD + b"[broken\n", Origin()).content == OLD
    assert merge_settings(OLD, b"lonely\n", Origin()).content == OLD


def test_harmless_changes_stay_in_a_file_with_refused_ones():
    new = OLD + b"[alias]\nst = !x\n[user]\nname = me # you\n"
    merged = merge_settings(OLD, new, Origin())
    assert merged.refused == ("alias.st",)
    assert merged.content == OLD + b"[user]\n\tname = me\n"


def test_addresses_of_a_new_repository_are_harmless_but_not_programs():
    new = b'[remote "origin"]\nurl = %s\n'
    origin = Origin(is_new=True)
    assert merge_settings(None, new % b"https://example.org/a.git", origin).refused == ()
    assert merge_settings(None, new % b"git@example.org:a.git", origin).refused == ()
    assert merge_settings(None, new % b"ext::sh -c x", origin).refused
    assert merge_settings(None, b"[core]\npager = x\n", origin).refused == ("core.pager",)


def test_the_work_tree_of_a_submodule_is_below_the_project(tmp_path):
    origin = Origin(module=tmp_path / ".git/modules/a", top=tmp_path)
    new = b"[core]\nworktree = %s\n"
    assert merge_settings(None, new % b"../../../a", origin).refused == ()
    for path in (b"../../../../a", b"/etc", b"../../.."):
        assert merge_settings(None, new % path, origin).refused == ("core.worktree",)


@pytest.mark.parametrize(
    ("base", "relative", "address"),
    [
        ("https://example.org/a/b.git", "../c.git", "https://example.org/a/c.git"),
        ("git@example.org:a/b.git", "../../c", "git@example.org:c"),
        ("/srv/a/", "./b/", "/srv/a/b"),
    ],
)
def test_addresses_of_submodules_are_relative_to_the_remote(base, relative, address):
    assert resolve_address(base, relative) == address


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(HARMLESS)), st.lists(st.sampled_from(DANGEROUS), min_size=1))
@pytest.mark.remaining
def test_no_refused_setting_is_in_the_merged_file(harmless, dangerous):
    new = OLD + "\n".join((*harmless, *dangerous, "")).encode()
    merged = merge_settings(OLD, new, Origin())
    again = merge_settings(OLD, merged.content, Origin())
    assert merged.refused
    assert again.refused == ()
