import pytest

from yourtool.git.harmless_settings import changes_harmless_setting


@pytest.mark.parametrize(
    "arguments",
    [
        "user.name x", "--local user.EMAIL a@b.c", "set pull.rebase true", "--unset user.name",
        "branch.main.rebase true", "--unset branch.a.b.Description", "Branch.x/y.merge z",
    ],
)  # fmt: skip
def test_change_of_a_listed_setting_is_harmless(arguments):
    assert changes_harmless_setting(arguments.split())


@pytest.mark.parametrize(
    "arguments",
    [
        "core.hooksPath x", "core.fsmonitor x", "--global user.name x", "-f x user.name y",
        "user.name --file=x", "--edit", "", "alias.x !y", "remote.origin.url x", "user.name.x y",
        "--remove-section user", "branch.main.remote x", "branch.main.pushRemote x",
    ],
)  # fmt: skip
def test_other_change_is_not_harmless(arguments):
    assert not changes_harmless_setting(arguments.split())
