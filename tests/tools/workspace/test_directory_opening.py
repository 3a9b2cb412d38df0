import ctypes
import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.tools.openers import OPENERS, needs_openat2
from yourtool.tools.workspace.directory_opening import (
    DIRECTORY,
    KernelOpener,
    child_directory,
    get_opener,
    open_by_components,
    system_opener,
)


class Calls:
    """An `openat2` that answers from a list, and then opens the path."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.count = 0

    def __call__(self, directory, path, how):
        self.count += 1
        if self.answers:
            return self.answers.pop(0)
        if directory == -100:
            return os.open(path, DIRECTORY)
        return os.open(path, DIRECTORY, dir_fd=directory)


@pytest.fixture
def at(root):
    (root / "a/b/c").mkdir(parents=True)
    (root / "a/b/c/file").write_text("x")
    (root / "a/link").symlink_to("b")
    descriptor = os.open(root, DIRECTORY)
    yield descriptor
    os.close(descriptor)


def count_descriptors():
    return len(list(Path("/dev/fd").iterdir()))


def get_errors(work):
    with pytest.raises(OSError) as caught:
        work()
    return caught.value.errno


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("path", ["a", "a/b", "a/b/c"])
def test_directory_is_opened_at_any_depth(opener, path, at, root):
    before = count_descriptors()
    opened = opener(path, at)
    assert os.path.samestat(os.fstat(opened), (root / path).stat())
    assert not os.get_inheritable(opened)
    os.close(opened)
    assert count_descriptors() <= before  # those of an earlier test can be closed meanwhile


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    ("path", "numbers"),
    [
        ("a/link", {errno.ELOOP, errno.ENOTDIR}),
        ("a/link/c", {errno.ELOOP, errno.ENOTDIR}),
        ("a/b/c/file", {errno.ENOTDIR}),
        ("a/b/c/file/x", {errno.ENOTDIR}),
        ("a/gone/c", {errno.ENOENT}),
    ],
)
@pytest.mark.req("R-TOOL-06")
def test_links_files_and_missing_names_are_not_opened(opener, path, numbers, at):
    before = count_descriptors()
    assert get_errors(lambda: opener(path, at)) in numbers
    assert count_descriptors() <= before  # those of an earlier test can be closed meanwhile


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux has these links")
@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.req("R-TOOL-06")
def test_links_of_proc_are_not_followed(opener, at):
    proc = os.open(f"/proc/{os.getpid()}", DIRECTORY)
    try:
        assert get_errors(lambda: opener("cwd", proc)) in {errno.ELOOP, errno.ENOTDIR}
        assert get_errors(lambda: opener(f"fd/{at}/a", proc)) in {errno.ELOOP, errno.ENOTDIR}
    finally:
        os.close(proc)


@needs_openat2
@pytest.mark.req("R-TOOL-06")
def test_kernel_keeps_a_path_below_its_start(at):
    assert get_errors(lambda: system_opener()("a/../..", at)) == errno.EXDEV


@pytest.mark.parametrize("attempts", [1, 15])
def test_path_that_changes_during_the_call_is_tried_again(attempts, at):
    call = Calls(*[-errno.EAGAIN] * attempts)
    os.close(KernelOpener(call)("a/b", at))
    assert call.count == attempts + 1


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_refused_system_call_is_replaced_by_opening_each_component(number, at):
    call = Calls(-number)
    os.close(KernelOpener(call)("a/b/c", at))
    assert call.count == 1


def test_path_that_never_settles_is_opened_by_components_after_a_bounded_number_of_calls(at):
    call = Calls(*[-errno.EAGAIN] * 1_000)
    os.close(KernelOpener(call)("a/b/c", at))
    assert call.count == 16


def test_lowest_descriptor_is_a_result(at):
    assert KernelOpener(lambda *_: 0)("a/b", at) == 0


@needs_openat2
def test_system_call_opens_a_directory_or_reports_why_not(at, root):
    opener = system_opener.__wrapped__()
    opened = opener("a/b", at)
    assert opened > 2
    assert os.path.samestat(os.fstat(opened), (root / "a/b").stat())
    os.close(opened)
    assert get_errors(lambda: opener("gone", at)) == errno.ENOENT


def test_error_of_the_system_call_is_that_of_the_path(at):
    with pytest.raises(FileNotFoundError, match="No such file") as caught:
        KernelOpener(Calls(-errno.ENOENT))("a/b", at)
    assert caught.value.filename == "a/b"


def test_system_call_is_used_where_it_works_once():
    before = count_descriptors()
    assert isinstance(get_opener(Calls()), KernelOpener)
    assert count_descriptors() <= before  # those of an earlier test can be closed meanwhile


@pytest.mark.parametrize("call", [None, Calls(-errno.ENOSYS), Calls(-errno.EPERM)])
def test_components_are_opened_where_the_system_call_does_not_exist(call):
    assert get_opener(call) is open_by_components


def test_process_enters_the_open_directory_even_if_it_was_renamed(at, root):
    (root / "a").rename(root / "moved")
    opened = os.open(root / "moved", DIRECTORY)
    entrance = child_directory(opened, root / "a")
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system cannot enter a directory by its descriptor")
    assert os.path.samestat(Path(entrance).stat(), (root / "moved").stat())
    os.close(opened)


def test_process_enters_a_path_if_there_is_no_way_by_descriptor(root):
    assert child_directory(1_000_000, root) == str(root)


def test_opened_directories_need_not_be_readable(at, root):
    (root / "a").chmod(stat.S_IXUSR)
    try:
        os.close(system_opener()("a/b", at))
    finally:
        (root / "a").chmod(0o700)


def test_components_are_opened_on_other_systems(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert system_opener.__wrapped__() is open_by_components


@pytest.mark.skipif(sys.platform != "linux", reason="others never ask for the library")
def test_components_are_opened_without_a_library_of_system_calls(monkeypatch):
    def refuse(*arguments, **options):
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert system_opener.__wrapped__() is open_by_components


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="`/proc` is Linux's")
@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.req("R-TOOL-06")
def test_directories_of_other_file_systems_are_opened(opener):
    top = os.open("/", DIRECTORY)
    try:
        os.close(opener(f"proc/{os.getpid()}/fd", top))
    finally:
        os.close(top)


@needs_openat2
@pytest.mark.req("R-TOOL-06", "T7")
def test_system_call_is_used_on_every_kernel_that_has_it():
    assert isinstance(system_opener(), KernelOpener)
