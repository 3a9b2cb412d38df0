"""The choices of `/resume`."""

from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest

from tests.tui.fakes import WHEN
from yourtool.agent.commands.sessions import session_choices


def summary(**changes):
    values = {
        "id": "sess_1",
        "title": "fix it",
        "workspace_path": "/w",
        "active_model": None,
        "turn_count": 1,
        "unpriced": False,
        "cost_usd": Decimal("0.5"),
        "updated_at": WHEN - timedelta(hours=2),
    }
    return SimpleNamespace(**{**values, **changes})


@pytest.mark.req("R-TUI-20")
def test_sessions_of_this_workspace_come_first_then_the_newest(tmp_path):
    here = str(tmp_path)
    rows = session_choices(
        [
            summary(id="a", updated_at=WHEN),
            summary(id="b", workspace_path=here, updated_at=WHEN - timedelta(days=3)),
            summary(id="c", workspace_path=here, turn_count=2),
            summary(id="d", cost_usd=Decimal(0), unpriced=True, updated_at=WHEN),
        ],
        tmp_path,
        WHEN,
    )
    assert [row.value for row in rows][:3] == ["c", "b", "a"]
    assert "· unpriced ·" in rows[3].detail
    assert rows[0].detail == "2 h ago · 2 turns · $0.5000 · default model · here"
