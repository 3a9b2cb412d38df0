"""Mistakes in `[budget]`: each is an error with file, line and key."""

import pytest

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0", "a limit of 0 would stop every request"),
        ("-1.5", "must be an amount in US dollars"),
        ("nan", "must be an amount in US dollars"),
        ("inf", "must be an amount in US dollars"),
        ("1e400", "must be an amount in US dollars"),
        ('"many"', "must be a number such as `0.50`, not `many`"),
        ('""', "must be a number such as `0.50`, not ``"),
        ("true", "got `bool`"),
        ("[1]", "got `array`"),
    ],
)
def test_budget_that_is_no_amount_is_reported_and_asks_soon(line, value, words):
    path = line.home / "config.toml"
    path.write_text(f"[budget]\n\nday = {value}\n")
    code, out, err = line("config", "check")
    assert code == 2
    assert f"{path}:3: `budget.day`: " in out + err
    assert words in out + err
    line.script([{"say": "hello"}])
    path.write_text(f"budget = {{day = {value}}}\n{path.read_text()}")
    code, _, err = line("-p", "hi")
    assert code == 0
    assert words in err and '`budget.day` is `"0.01"`.' in err
