"""Which git commands discard what git cannot bring back."""

import pytest

from yourtool.effects import Subject
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict
from yourtool.permissions.shell.git_losses import find_git_loss


def loss(line):
    return find_git_loss(line.split())


@pytest.mark.req("T29")
@pytest.mark.parametrize(
    ("line", "paths", "staged"),
    [
        ("git checkout -- .", (".",), False),
        ("git checkout .", (".",), False),
        ("git checkout HEAD -- a b", ("a", "b"), True),
        ("git checkout main", ("main",), False),
        ("git checkout -f main", (), True),
        ("git checkout --forc main", (), True),
        ("git switch -f main", (), True),
        ("git switch --discard-changes main", (), True),
        ("git restore .", (".",), False),
        ("git restore --source HEAD~1 a", ("a",), True),
        ("git restore -SW a", ("a",), True),
        ("git restore --pathspec-from-file=x", (), True),
        ("git checkout --pathspec-from-file x", (), True),
        ("git reset --hard", (), True),
        ("git -C . reset --hard HEAD~2", (), True),
        ("git -c a.b=c reset --hard", (), True),
        ("/usr/bin/git reset --merge", (), True),
        ("git rebase --abort", (), True),
        ("git merge --abort", (), True),
        ("git cherry-pick --skip", (), True),
        ("git rm -rf a", ("a",), True),
        ("git read-tree -u --reset HEAD", (), True),
        ("git checkout-index -fa", (), False),
        ("git checkout-index --force a", ("a",), False),
        ("git am --abort", (), True),
        ("git am --skip", (), True),
        ("git rebase --skip", (), True),
        ("git revert --abort", (), True),
        ("git switch --force main", (), True),
        ("git restore -s HEAD a", ("a",), True),
        ("git restore --staged --worktree a", ("a",), True),
        ("git restore -W a -- b", ("a", "b"), False),
        ("git checkout main a", ("main", "a"), True),
        ("git rm --force a -- b", ("a", "b"), True),
        ("git --exec-path x reset --hard", (), True),
        ("git --config-env a=b --namespace x reset --hard", (), True),
    ],
)
def test_commands_that_replace_files_are_found(line, paths, staged):
    found = loss(line)
    assert (found.unstaged, found.staged, found.pathspecs) == (True, staged, paths)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("git clean -fdx", ("-d", "-x", "-f")),
        ("git clean -f", ("-f",)),
        ("git clean -fX -e keep", ("-X", "-f", "--exclude=keep")),
        ("git clean --force -d", ("-d",)),
        ("git clean -ffd", ("-d", "-f", "-f")),
        ("git clean -f --exclude=a -eb --exclude c", ("-f", "--exclude=c", "--exclude=a", "-eb")),
    ],
)
def test_clean_deletes_untracked_files(line, options):
    assert loss(line).cleaned == options


@pytest.mark.req("T29")
@pytest.mark.parametrize(
    ("line", "removed", "mark", "names"),
    [
        ("git stash drop", "stashes", "drop", ("stash@{0}",)),
        ("git stash drop stash@{2}", "stashes", "drop", ("stash@{2}",)),
        ("git stash clear", "stashes", "clear", ()),
        ("git branch -D old", "branches", "-D", ("old",)),
        ("git branch -d --force old", "branches", "--force", ("old",)),
        ("git push --force", "remote", "--force", ()),
        ("git push -fu origin main", "remote", "-fu", ()),
        ("git push --force-with-lease=main", "remote", "--force-with-lease=main", ()),
        ("git push origin +main", "remote", "+main", ()),
        ("git push origin :old", "remote", ":old", ()),
        ("git push -f", "remote", "-f", ()),
        ("git push --mirror", "remote", "--mirror", ()),
        ("git push --prune", "remote", "--prune", ()),
        ("git push -d origin a", "remote", "-d", ()),
        ("git push --delete origin a", "remote", "--delete", ()),
        ("git push origin -- +a", "remote", "+a", ()),
        ("git branch --delete --force a -- b", "branches", "--force", ("a", "b")),
        ("git branch -df a", "branches", "-df", ("a",)),
        ("git reflog delete x", "history", "delete", ()),
        ("git filter-repo x", "history", "filter-repo", ()),
        ("git prune", "history", "prune", ()),
        ("git tag -d v1", "history", "-d", ()),
        ("git tag --delete v1", "history", "--delete", ()),
        ("git update-ref -d x", "history", "-d", ()),
        ("git worktree remove -f x", "worktree", "-f", ()),
        ("git reflog expire --expire=now --all", "history", "expire", ()),
        ("git gc --prune=now", "history", "--prune=now", ()),
        ("git filter-branch x", "history", "filter-branch", ()),
        ("git worktree remove --force ../x", "worktree", "--force", ()),
    ],
)
def test_commands_that_remove_commits_are_found(line, removed, mark, names):
    found = loss(line)
    assert (found.removed, found.mark, found.names) == (removed, mark, names)


@pytest.mark.parametrize(
    "line",
    [
        "git status", "git checkout", "git checkout -b new", "git switch main", "git reset HEAD a",
        "git restore --staged .", "git clean -n", "git clean -fdn", "git stash", "git stash pop",
        "git branch -d merged", "git push", "git push -n --force", "git rebase main", "git add .",
        "git rm --cached -f a", "git rm a", "git gc", "git", "git -C", "ls", "git merge main",
        "git reset --soft HEAD~1", "git commit --amend", "git tag v1", "git restore -p .",
        "git checkout -B new", "git checkout --orphan new", "git checkout -p a",
        "git checkout --patch a", "git checkout -b new main", "git restore --patch a",
        "git restore -S a", "git restore -s HEAD", "git restore --source HEAD", "git clean -i",
        "git clean --dry-run", "git clean --interactive", "git push --dry-run -f",
        "git push -o +x origin", "git push --push-option +x", "git push --repo :x",
        "git push --receive-pack +x", "git rm -n -f a", "git rm --dry-run -f a",
        "git rm --cached -f a",
        "git read-tree --reset a", "git read-tree -u a", "git worktree add -f a", "git reflog show",
        "git reflog", "git tag", "git stash list", "git stash show -p", "git checkout-index a",
        "git reset --h", "git unknown --hard", "git log -f", "gitk", "git am a",
    ],
)  # fmt: skip
def test_commands_that_discard_nothing_are_not_found(line):
    assert loss(line) is None


@pytest.mark.req("T29", "R-CONF-04")
@pytest.mark.parametrize(
    ("rule", "line", "covered"),
    [
        ("shell(git push*)", "git push origin main", True),
        ("shell(git push*)", "git push --force", False),
        ("shell(git push --force*)", "git push --force origin", True),
        ("shell(git push --force)", "git push --force", True),
        ("shell(git branch*)", "git branch -D old", False),
        ("shell(git stash*)", "git stash drop", False),
        ("shell(git stash drop*)", "git stash drop", True),
        ("shell", "git push --force", True),
    ],
)
def test_rule_covers_the_removal_of_commits_only_if_it_names_it(rule, line, covered, tmp_path):
    rules = RuleSet(allow=(Rule.parse(rule),))
    verdict = rules.verdict("shell", Subject("command", line, str(tmp_path)))
    assert (verdict is RuleVerdict.ALLOW) == covered


@pytest.mark.parametrize(
    ("line", "directory"),
    [
        ("git reset --hard", ""), ("git -C a reset --hard", "a/"),
        ("git -C a -c x=y -C b reset --hard", "a/b/"), ("git --git-dir x reset --hard", None),
        ("git --git-dir=x reset --hard", None), ("git --work-tree x reset --hard", None),
        ("git --git-dir=x -C a reset --hard", None), ("git -C a --work-tree=x reset --hard", None),
        ("git -p reset --hard", ""),
    ],
)  # fmt: skip
def test_directory_of_a_git_command_is_known_unless_it_names_another_repository(line, directory):
    found = loss(line)
    assert (found.command, found.directory) == ("git reset", directory)
    assert found.discards_files


@pytest.mark.parametrize(
    ("line", "discards"),
    [("git clean -f", True), ("git checkout-index -f a", True), ("git push -f", False),
     ("git stash drop", False)],
)  # fmt: skip
def test_only_some_losses_are_those_of_files(line, discards):
    assert loss(line).discards_files is discards


def test_empty_argument_of_a_push_discards_nothing():
    assert find_git_loss(["git", "push", "origin", ""]) is None
