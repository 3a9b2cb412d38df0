"""Fields and values of the contracts that the program neither reads nor writes yet.

Stored and exported forms contain them, so that other programs and later versions can use them
without a new schema version. A field that is not listed here has a reader or a writer.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "yourtool").rglob("*.py"))
VOCABULARY = ("events", "messages", "effects.py", "models.py", "run_result.py")

MESSAGES, EVENTS, TOOLS = "the message contract", "the event catalog", "the tool contract"
RESERVED = {
    "PromptMetadata.user_id": (MESSAGES, "accounts of a gateway"),
    "PromptMetadata.team_id": (MESSAGES, "accounts of a gateway"),
    "ReplyMetadata.user_id": (MESSAGES, "accounts of a gateway"),
    "ReplyMetadata.team_id": (MESSAGES, "accounts of a gateway"),
    "ResultMetadata.user_id": (MESSAGES, "accounts of a gateway"),
    "ResultMetadata.team_id": (MESSAGES, "accounts of a gateway"),
    "ImportSource.source_path": (MESSAGES, "import of other programs' sessions"),
    "RequestOptions.service_tier": (MESSAGES, "repeating and comparing turns"),
    "Origin.FOLLOW_UP": (MESSAGES, "messages to a running turn"),
    "Sensitivity.USER_CONTROLLED": (EVENTS, "export of traces with pseudonyms"),
    "Sensitivity.AGGREGATABLE": (EVENTS, "export of traces with pseudonyms"),
    "ToolDefinition.requires_workspace": (TOOLS, "tools of MCP servers"),
}
"""The contract that defines each name, and the topic that will use it."""


def is_enum(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base) == "StrEnum" for base in node.bases)


def defined_names() -> Iterator[tuple[str, str]]:
    """Yield (class, name) of every field of a Struct and every value of an enum."""
    for path in SOURCES:
        if path.relative_to(ROOT / "yourtool").parts[0] not in VOCABULARY:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(
                    each.annotation
                ):
                    yield node.name, ast.unparse(each.target)
                elif isinstance(each, ast.Assign) and is_enum(node):
                    yield node.name, ast.unparse(each.targets[0])


def used_names() -> set[str]:
    """Return the names of all attributes and keyword arguments in the program."""
    found = set[str]()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                    found.add(name)
                case ast.MatchClass(kwd_attrs=names):
                    found.update(names)
                case _:
                    pass
    return found


def test_every_field_without_a_use_is_reserved_for_a_topic():
    used = used_names()
    unused = {f"{kind}.{name}" for kind, name in defined_names() if name not in used}
    assert unused == RESERVED.keys()
