"""Code blocks are copied as they were written, also in quotes and lists."""

import pytest

from tests.doubling import LINEAR, growth
from yourtool.agent.commands.code_blocks import CodeBlock, find_code_blocks


@pytest.mark.parametrize(
    ("markdown", "blocks"),
    [
        ("words", []),
        ("```\n```", []),
        ("```py\na\n  b\n```\nwords", [("py", "a\n  b\n")]),
        ("~~~ sh title\n```\n~~~~", [("sh", "```\n")]),
        ("````\n```\na\n```\n````", [("", "```\na\n```\n")]),
        ("1. do:\n\n   ```\n   a\n     b\n > c\n   ```", [("", "a\n  b\n> c\n")]),
        ("- ```\n  a\n  ```", [("", "a\n")]),
        ("> ```c\n> a\n>\n> b\n> ```", [("c", "a\n\nb\n")]),
        ("```\r\na\r\n```\r\n", [("", "a\r\n")]),
        ("```\nno end", [("", "no end\n")]),
        ("``` `code` ```", []),
    ],
)
def test_code_blocks_are_found(markdown, blocks):
    assert find_code_blocks(markdown) == [CodeBlock(*block) for block in blocks]


@pytest.mark.parametrize("piece", ["```\n", "> ", "   ", "`", "- ", "1"])
def test_search_for_code_blocks_is_linear(piece):
    assert growth(find_code_blocks, lambda size: piece * size) < LINEAR
