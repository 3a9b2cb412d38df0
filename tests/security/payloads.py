"""Texts that try to control a terminal, or to look like something else.

`surface`: where the text is shown. None of the byte strings of `forbidden_hex` may reach the
terminal, the words of `must_show` stay readable, and the code points of `must_show_codepoints` are
shown as their numbers. Payloads of one `pair` must not look alike.
"""

from typing import Any

PAIR = "DZ"
"""The pair of commands that differ only in an invisible character."""


def _payload(
    name: str,
    surface: str,
    text: str,
    forbidden: tuple[str, ...] = (),
    shows: tuple[str, ...] = (),
    codepoints: tuple[str, ...] = (),
    pair: str | None = None,
) -> dict[str, Any]:
    """`forbidden`: texts whose bytes may not be written."""
    return {
        "id": name,
        "surface": surface,
        "text": text,
        "forbidden_hex": [each.encode("utf-8").hex() for each in forbidden],
        "must_show": list(shows),
        "must_show_codepoints": list(codepoints),
        **({"pair": pair} if pair else {}),
    }


_OUTPUT, _COMMAND = "tool_output", "approval_command"
_TIDE = ("high", "low")
PAYLOADS = [
    _payload("clipboard", _OUTPUT, "high \x1b]52;c;dGlkZQ==\x07 low", ("\x1b]52",), _TIDE),
    _payload("title", _OUTPUT, "high \x1b]0;owned\x1b\\ low", ("\x1b]0;",), _TIDE),
    _payload("screen", _OUTPUT, "high \x1b[3J\x1b[H low", ("\x1b[3J",), _TIDE),
    _payload("cursor", _OUTPUT, "high \x1b[5A\x1b[2K low", ("\x1b[5A",), _TIDE),
    _payload("report", _OUTPUT, "high \x1b[6n\x1b[c low", ("\x1b[6n", "\x1b[c"), _TIDE),
    _payload("mouse", _OUTPUT, "high \x1b[?9999h low", ("\x1b[?9999h",), _TIDE),
    _payload("device-control", _OUTPUT, "high \x1bP$q q\x1b\\ low", ("\x1bP$q",), _TIDE),
    _payload("application", _OUTPUT, "high \x1b_tide\x1b\\ low", ("\x1b_tide",), _TIDE),
    _payload("reset", _OUTPUT, "high \x1bc low", ("\x1bc ",), _TIDE),
    _payload("c1-csi", _OUTPUT, "high \x9b2J low", ("\x9b",), _TIDE),
    _payload("c1-osc", _OUTPUT, "high \x9d0;owned\x9c low", ("\x9d",), _TIDE),
    _payload("shift-out", _OUTPUT, "high \x0e low", ("\x0e",), _TIDE),
    _payload("home", _OUTPUT, "high \x1b[2J\x1b[1;1Htop low", ("\x1b[1;1Htop",), _TIDE),
    _payload("c1-up", _OUTPUT, "high \x9b1A low", ("\x9b",), _TIDE),
    _payload("termcap", _OUTPUT, "high \x1bP+q41\x1b\\ low", ("\x1bP+q",), _TIDE),
    _payload("bell", "mcp_tool_name", "tide\x07", ("\x07",), ("tide",)),
    _payload("file-name", "file_name", "t\x1b[7mide.txt", ("\x1b[7mide",), ("t",)),
    _payload("link", "assistant_text", "go \x1b]8;;https://tide.example\x07there", ("\x1b]8;;h",)),
    _payload(
        "whole-link", "assistant_text", "\x1b]8;;https://a.example\x07b\x1b]8;;\x07", ("\x1b]8;;h",)
    ),
    _payload("markup", "assistant_text", "[@click=app.quit]tide[/]", (), ("[@click=app.quit]",)),
    _payload("markup-style", "assistant_text", "[blink]tide[/blink]", (), ("[blink]tide",)),
    _payload("isolate", "diff", "+a\u2068b", ("\u2068",), (), ("2068",)),
    _payload("rtl-isolate", "diff", "+a\u2067b", ("\u2067",), (), ("2067",)),
    _payload("erase", _COMMAND, "wget tide.example\r\x1b[Kls", ("\x1b[K", "e\r"), ("wget",)),
    _payload("return", _COMMAND, "curl tide.example\r\x1b[2Kls", ("\x1b[2K", "e\r"), ("curl",)),
    _payload("backspace", _COMMAND, "rm tide\b\b\b\b\b\b\bls", ("\b\b",), ("rm tide",)),
    _payload("override", _COMMAND, "cp \u202etxt.edit", ("\u202e",), (), ("202e",)),
    _payload("mark", _COMMAND, "ls \u200f-l", ("\u200f",), (), ("200f",)),
    _payload("joiner", _COMMAND, "ls\u2060 -l", ("\u2060",), (), ("2060",)),
    _payload("tag", _COMMAND, "ls \U000e0074", ("\U000e0074",), (), ("e0074",)),
    _payload("tag-letter", _COMMAND, "ls \U000e0041", ("\U000e0041",), (), ("e0041",)),
    _payload("soft-hyphen", _COMMAND, "r\u00adm", ("\u00ad",), (), ("ad",)),
    _payload("hidden", _COMMAND, "make\u200b test", ("\u200b",), (), ("200b",), PAIR),
    _payload("plain", _COMMAND, "make test", (), ("make test",), (), PAIR),
]
