"""A long Markdown reply in pieces of the size of a token: prose, lists, code and tables."""

SEED = """\
## A section

The **parser** reads one line at a time and keeps `state` between calls, so that a block that is \
finished is never read again. This matters *most* for long replies, where the work for each new \
word must not depend on how many words came before it.

- first check the `input` for the obvious mistakes
- then run **all** the tests, the slow ones too
- and only then look at the result

```python
def area(width: int, height: int) -> int:
    \"\"\"Return the area.\"\"\"
    # multiply both sides
    return width * height
```

What is left is a question of order: whoever asks *first* is answered first, and `nobody` waits \
for longer than the others do, however many of them there are at the same time.

| name | value |
|---|--:|
| width | 12 |
| height | 7 |

"""

TOKEN = 4
"""Characters per piece."""


def reply(tokens: int, end: str = "") -> list[str]:
    """Return a Markdown text in `count` pieces; `end` is the last paragraph."""
    size = tokens * TOKEN
    text = (SEED * (size // len(SEED) + 1))[:size]
    pieces = [text[at : at + TOKEN] for at in range(0, size, TOKEN)]
    return [*pieces, f"\n```\n\n{end}\n"] if _in_code(text) and end else [*pieces, f"\n\n{end}\n"]


def _in_code(text: str) -> bool:
    return text.count("\n```") % 2 == 1
