"""Late modules are imported by the first use of what is in them."""

import sys
import threading

import pytest

PACKAGE = """
from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(__name__, "late")
"""
LATE = """
import time

time.sleep(0.02)
ANSWER = 42
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a late and an ordinary module."""
    (folder := tmp_path / "lately").mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "late.py").write_text(LATE)
    (folder / "ordinary.py").write_text("ANSWER = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield __import__("lately")
    for name in [each for each in sys.modules if each.partition(".")[0] == "lately"]:
        del sys.modules[name]


def import_from(package, module):
    """Import a module as `from package import module` does."""
    return getattr(__import__(package.__name__, fromlist=[module]), module)


def test_a_late_module_is_imported_by_the_first_look_up_in_it(package):
    late = import_from(package, "late")
    assert "lately.late" not in sys.modules
    assert late.ANSWER == 42
    assert "lately.late" in sys.modules


def test_other_modules_are_imported_at_once(package):
    import_from(package, "ordinary")
    assert "lately.ordinary" in sys.modules


def test_after_its_import_the_package_has_the_module_itself(package):
    assert import_from(package, "late").ANSWER == 42
    assert import_from(package, "late") is sys.modules["lately.late"]


def test_a_name_that_is_set_is_set_in_the_module(package):
    import_from(package, "late").ANSWER = 43
    assert sys.modules["lately.late"].ANSWER == 43


def test_a_missing_name_is_an_error_as_in_every_module(package):
    with pytest.raises(AttributeError, match="has no attribute `nothing`"):
        _ = package.nothing
    with pytest.raises(AttributeError, match="nothing"):
        _ = import_from(package, "late").nothing


def test_threads_that_use_it_first_together_wait_for_one_import(package):
    late, found = import_from(package, "late"), []
    threads = [threading.Thread(target=lambda: found.append(late.ANSWER)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [42] * 8
