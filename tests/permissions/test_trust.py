"""Trust in folders."""

import os
import resource
import stat
import threading
from pathlib import Path

import pytest

from yourtool.errors import ConfigError
from yourtool.permissions.trust import (
    HOOK_PROGRAMS,
    IMPORTED,
    PROJECT_FILES,
    Trust,
    TrustStore,
    find_folder,
)


@pytest.fixture
def store(home):
    return TrustStore(home / "trust.toml")


def repository(path):
    (path / ".git").mkdir(parents=True)
    return path


def seen(folder, **files):
    return {folder / f"{name}.md": digest for name, digest in files.items()}


@pytest.mark.req("R-CONF-05", "T14")
def test_folder_is_trusted_only_after_the_answer_of_the_user(store, tmp_path):
    files = seen(tmp_path, AGENTS="one")
    assert store.status(tmp_path, files) is Trust.UNKNOWN
    store.answer(tmp_path, files, trusted=False)
    assert store.status(tmp_path, files) is Trust.DECLINED
    store.answer(tmp_path, files, trusted=True)
    assert store.status(tmp_path, files) is Trust.TRUSTED
    assert TrustStore(store.file).status(tmp_path, files) is Trust.TRUSTED


@pytest.mark.req("T14")
def test_files_that_configure_are_those_of_the_page():
    page = (Path(__file__).parents[2] / "docs/security.md").read_text()
    named = {name for kind in PROJECT_FILES for name in (*kind.names, *kind.folders)}
    assert named == {
        "AGENTS.md", "CLAUDE.md", "SKILL.md", ".mcp.json", ".yourtool/config.toml",
        ".yourtool/routing.toml", ".yourtool/skills", ".agents/skills", ".claude/skills",
        ".yourtool/commands", ".claude/commands",
    }  # fmt: skip
    assert all(f"`{name}`" in page for name in named)
    assert {kind.suffix for kind in PROJECT_FILES} == {"", ".md"}


@pytest.mark.req("T13")
def test_files_that_models_get_are_those_that_may_have_no_credentials():
    sent = {kind.purpose for kind in (*PROJECT_FILES, IMPORTED, HOOK_PROGRAMS) if kind.is_sent}
    assert sent == {"instructions", "imported instructions", "a skill", "a command"}


@pytest.mark.req("T15")
def test_changed_or_new_file_ends_the_trust_and_a_removed_one_does_not(store, tmp_path):
    store.answer(tmp_path, seen(tmp_path, AGENTS="one"), trusted=True)
    assert store.status(tmp_path, seen(tmp_path, AGENTS="two")) is Trust.CHANGED
    assert store.status(tmp_path, seen(tmp_path, AGENTS="one", CLAUDE="x")) is Trust.CHANGED
    assert store.status(tmp_path, {}) is Trust.TRUSTED


def test_declined_folder_is_asked_about_again_when_its_files_change(store, tmp_path):
    store.answer(tmp_path, seen(tmp_path, AGENTS="one"), trusted=False)
    assert store.status(tmp_path, seen(tmp_path, AGENTS="two")) is Trust.CHANGED


def test_git_directory_that_cannot_be_read_ends_a_folder(tmp_path):
    inner = repository(tmp_path / "repo").resolve() / "inner"
    inner.mkdir()
    assert find_folder(inner) == inner.parent
    (inner / ".git").symlink_to(".git")
    assert find_folder(inner) == inner


def test_answer_about_a_repository_covers_its_directories(store, tmp_path):
    root = repository(tmp_path / "repo")
    inner = root / "pkg" / "deep"
    inner.mkdir(parents=True)
    files = seen(root, AGENTS="one")
    assert store.answer(inner, files, trusted=True) == root
    assert store.status(root, files) is Trust.TRUSTED
    assert store.status(root / "pkg", files) is Trust.TRUSTED
    more = {**files, **seen(root / "pkg", AGENTS="two")}
    assert store.status(root / "pkg", more) is Trust.CHANGED
    assert store.answer(root / "pkg", more, trusted=True) == root
    assert store.status(root, files) is Trust.TRUSTED
    assert store.status(root / "pkg", more) is Trust.TRUSTED
    assert len(store.load()) == 1


@pytest.mark.req("T14")
def test_answer_about_a_repository_does_not_cover_a_repository_in_it(store, tmp_path):
    root = repository(tmp_path / "repo")
    nested = repository(root / "vendor" / "other")
    store.answer(root, {}, trusted=True)
    assert store.status(nested, {}) is Trust.UNKNOWN
    assert store.status(root / "vendor", {}) is Trust.TRUSTED
    assert find_folder(nested) == nested


def test_answer_about_a_plain_directory_covers_those_below_but_not_their_repositories(
    store, tmp_path
):
    (tmp_path / "notes").mkdir()
    clone = repository(tmp_path / "clone")
    store.answer(tmp_path, {}, trusted=True)
    assert store.status(tmp_path / "notes", {}) is Trust.TRUSTED
    assert store.status(tmp_path / "notes", seen(tmp_path / "notes", A="1")) is Trust.CHANGED
    assert store.status(clone, {}) is Trust.UNKNOWN


def test_trust_in_the_home_directory_covers_nothing_below_it(store, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "downloads").mkdir()
    store.answer(tmp_path, {}, trusted=True)
    assert store.status(tmp_path, {}) is Trust.TRUSTED
    assert store.status(tmp_path / "downloads", {}) is Trust.UNKNOWN


def test_inner_answer_overrides_that_of_the_folder_around_it(store, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    store.answer(tmp_path, {}, trusted=True)
    store.answer(inner, {}, trusted=False)
    assert store.status(inner, {}) is Trust.DECLINED
    assert store.status(tmp_path, {}) is Trust.TRUSTED


def test_moved_directory_is_not_trusted_and_a_link_to_a_trusted_one_is(store, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    store.answer(work, {}, trusted=True)
    (tmp_path / "link").symlink_to(work)
    assert store.status(tmp_path / "link", {}) is Trust.TRUSTED
    work.rename(tmp_path / "moved")
    assert store.status(tmp_path / "moved", {}) is Trust.UNKNOWN
    assert store.status(tmp_path / "link", {}) is Trust.TRUSTED, "nothing there configures"


def test_link_that_now_leads_elsewhere_is_not_trusted(store, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to("one")
    store.answer(link, {}, trusted=True)
    link.unlink()
    link.symlink_to("two")
    assert store.status(link, {}) is Trust.UNKNOWN


def test_removed_answer_is_asked_again(store, tmp_path):
    assert store.remove(tmp_path) is None
    store.answer(tmp_path, {}, trusted=True)
    assert store.remove(tmp_path) == tmp_path.resolve()
    assert store.status(tmp_path, {}) is Trust.UNKNOWN


@pytest.mark.req("R-CONF-05")
def test_file_is_private_and_one_that_others_can_change_trusts_nothing(store, tmp_path):
    store.answer(tmp_path, {}, trusted=True)
    assert stat.S_IMODE(store.file.stat().st_mode) == 0o600
    store.file.chmod(0o620)
    with pytest.raises(ConfigError, match="chmod 600"):
        store.status(tmp_path, {})
    with pytest.raises(ConfigError, match="chmod 600"):
        store.answer(tmp_path, {}, trusted=True)


@pytest.mark.parametrize(
    "text",
    [
        "schema_version = 2",
        "x",
        "\x00",
        "folder = 3",
        "[[folder]]\npath = '/'",
        "[[folder]]\npath = '/'\ntrusted = true",
        "[[folder]]\npath = '/'\nsandboxed_commands_allowed_at = 'yes'",
        "[[folder]]\npath = '/'\ntrusted = 'yes'\nanswered_at = 2026-01-01T00:00:00Z",
        "[[folder]]\npath = '/'\ntrusted = true\nanswered_at = 2026-01-01T00:00:00Z\nmore = 1",
    ],
)
def test_invalid_file_trusts_nothing_and_is_not_overwritten(store, tmp_path, text):
    store.file.write_text(text)
    with pytest.raises(ConfigError, match="no folder is trusted"):
        store.status(tmp_path, {})
    with pytest.raises(ConfigError, match="no folder is trusted"):
        store.answer(tmp_path, {}, trusted=True)
    assert store.file.read_text() == text


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\x7fb", "é🙂", "a'b", "[x]"])
def test_unusual_names_are_stored_exactly(store, tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    files = {folder / f"{name}.md": "digest"}
    store.answer(folder, files, trusted=True)
    assert store.status(folder, files) is Trust.TRUSTED
    assert store.status(tmp_path, {}) is Trust.UNKNOWN


def test_path_that_is_not_utf8_cannot_be_trusted(store, tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    with pytest.raises(ConfigError, match="not UTF-8"):
        store.answer(folder, {}, trusted=True)
    assert store.status(folder, {}) is Trust.UNKNOWN


def test_store_that_cannot_be_read_or_written_trusts_nothing(store, tmp_path):
    store.file.mkdir()
    with pytest.raises(ConfigError, match="no folder is trusted"):
        store.status(tmp_path, {})
    inside = TrustStore(tmp_path / "file" / "trust.toml")
    inside.file.parent.write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        inside.answer(tmp_path, {}, trusted=True)


def test_answer_creates_the_directories_above_its_file(tmp_path):
    store = TrustStore(tmp_path / "a" / "b" / "trust.toml")
    store.answer(tmp_path, {}, trusted=True)
    assert store.status(tmp_path, {}) is Trust.TRUSTED


def test_answer_that_cannot_be_stored_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        TrustStore(tmp_path / "file" / "deep" / "trust.toml").answer(tmp_path, {}, trusted=True)


def test_answer_that_does_not_fit_on_the_disk_is_an_error_and_keeps_the_others(store, tmp_path):
    store.answer(tmp_path, {}, trusted=True)
    before = store.file.read_bytes()
    (tmp_path / "deep").mkdir()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), hard))
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            store.answer(tmp_path / "deep", {tmp_path / "a.md": "x"}, trusted=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert store.file.read_bytes() == before


def test_answers_of_several_processes_are_all_stored(store, tmp_path):
    folders = [tmp_path / str(number) for number in range(8)]
    for each in folders:
        each.mkdir()
    threads = [
        threading.Thread(
            target=lambda folder=folder: TrustStore(store.file).answer(folder, {}, trusted=True)
        )
        for folder in folders
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert all(store.status(each, {}) is Trust.TRUSTED for each in folders)


def test_answer_about_commands_is_none_about_files_and_outlasts_their_change(store, tmp_path):
    assert store.find_contained(tmp_path) is None
    store.allow_contained(tmp_path)
    assert store.status(tmp_path, {}) is Trust.UNKNOWN
    store.answer(tmp_path, seen(tmp_path, AGENTS="one"), trusted=True)
    assert store.status(tmp_path, seen(tmp_path, AGENTS="two")) is Trust.CHANGED
    found = TrustStore(store.file).find_contained(tmp_path)
    assert found is not None and found.path == str(tmp_path)
    assert store.forget_contained(tmp_path) == tmp_path
    assert store.find_contained(tmp_path) is None
    assert store.status(tmp_path, seen(tmp_path, AGENTS="one")) is Trust.TRUSTED


def test_answer_about_commands_covers_the_repository_and_none_in_it(store, tmp_path):
    root = repository(tmp_path / "repo")
    inner = root / "pkg"
    inner.mkdir()
    nested = repository(root / "vendor")
    store.allow_contained(find_folder(inner))
    assert store.find_contained(root) == store.find_contained(inner)
    assert store.find_contained(nested) is None
    assert store.find_contained(tmp_path) is None


def test_answer_about_commands_in_the_home_directory_covers_nothing_below(
    store, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "downloads").mkdir()
    store.allow_contained(tmp_path)
    assert store.find_contained(tmp_path) is not None
    assert store.find_contained(tmp_path / "downloads") is None


def test_forgotten_answer_about_commands_leaves_no_empty_folder(store, tmp_path):
    assert store.forget_contained(tmp_path) is None
    store.allow_contained(tmp_path)
    store.forget_contained(tmp_path)
    assert "[[folder]]" not in store.file.read_text()


def test_removed_trust_takes_the_answer_about_commands_with_it(store, tmp_path):
    store.answer(tmp_path, {}, trusted=True)
    store.allow_contained(tmp_path)
    store.remove(tmp_path)
    assert store.find_contained(tmp_path) is None


def test_invalid_file_allows_no_commands(store, tmp_path):
    store.allow_contained(tmp_path)
    store.file.write_text(store.file.read_text() + "more = 1\n")
    with pytest.raises(ConfigError, match="no folder is trusted"):
        store.find_contained(tmp_path)
