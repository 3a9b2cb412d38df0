"""`yourtool acp` without its library, and with wrong arguments."""

import sys

import pytest

from yourtool.foundation.extras import build_install_command
from yourtool.foundation.late_modules import late_modules

editors = pytest.importorskip("yourtool.extensions.editors")
pytestmark = pytest.mark.usefixtures("own_logging")


def test_missing_library_is_named_with_the_way_to_install_it(line, monkeypatch):
    for name in [each for each in sys.modules if each.split(".")[0] == "acp"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [each for each in sys.modules if each.startswith("yourtool.extensions.editors.")]:
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(editors, name.rpartition(".")[2], raising=False)
    monkeypatch.setattr(
        editors, "__getattr__", late_modules("yourtool.extensions.editors", "server", "sessions")
    )
    monkeypatch.setitem(sys.modules, "acp", None)
    code, out, err = line.bare("acp")
    assert (code, out) == (2, "")
    assert err == (
        "yourtool: `yourtool acp` needs a library that is not installed;"
        f" install it with `{build_install_command('acp')}`\n"
    )


def test_prompt_is_no_argument_of_it(line):
    code, out, err = line.bare("acp", "hello")
    assert (code, out) == (2, "")
    assert "hello" in err
