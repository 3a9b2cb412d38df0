"""Tool lists in the style of real MCP servers: what their schema generators write."""

from typing import Any

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def zod(required=(), **properties: Any) -> dict[str, Any]:
    """Return a schema as zod-to-json-schema writes it."""
    return {
        "$schema": DRAFT_7,
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def pydantic(name: str, required=(), defs=None, **properties: Any) -> dict[str, Any]:
    """Return a schema as pydantic writes it."""
    return {
        **({"$defs": defs} if defs else {}),
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "title": name,
        "type": "object",
    }


def nullable(kind: str, title: str) -> dict[str, Any]:
    return {"anyOf": [{"type": kind}, {"type": "null"}], "default": None, "title": title}


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
REPO = {"title": "Repo Path", "type": "string"}

EVERYTHING = {
    "echo": zod(["message"], message={"type": "string", "description": "Message to echo"}),
    "get-annotated-message": zod(
        ["messageType"],
        messageType={"type": "string", "enum": ["error", "success", "debug"]},
        includeImage={"type": "boolean", "default": False},
    ),
    "get-env": zod(),
    "get-resource-links": zod(count={"type": "number", "minimum": 1, "maximum": 10, "default": 3}),
    "get-resource-reference": zod(
        resourceType={"type": "string", "enum": ["Text", "Blob"], "default": "Text"},
        resourceId={"type": "number", "default": 1},
    ),
    "get-structured-content": zod(
        ["location"],
        location={"anyOf": [{"const": "New York"}, {"const": "Chicago"}], "description": "City"},
    ),
    "get-sum": zod(["a", "b"], a=NUMBER, b=NUMBER),
    "get-tiny-image": zod(),
    "gzip-file-as-resource": zod(
        name={"type": "string", "default": "README.md.gz"},
        data={"type": "string", "format": "uri"},
        outputType={"type": "string", "enum": ["resourceLink", "resource"]},
    ),
    "toggle-simulated-logging": zod(),
    "toggle-subscriber-updates": zod(),
    "trigger-long-running-operation": zod(
        duration={"type": "number", "default": 10}, steps={"type": "number", "default": 5}
    ),
    "trigger-sampling-request": zod(["prompt"], prompt=TEXT, maxTokens=NUMBER),
}
PATH = {"path": TEXT}
EDIT = {
    "type": "object",
    "properties": {"oldText": TEXT, "newText": TEXT},
    "required": ["oldText", "newText"],
    "additionalProperties": False,
}
FILESYSTEM = {
    "read_file": zod(["path"], **PATH, tail=NUMBER, head=NUMBER),
    "read_text_file": zod(["path"], **PATH, tail=NUMBER, head=NUMBER),
    "read_media_file": zod(["path"], **PATH),
    "read_multiple_files": zod(["paths"], paths={"type": "array", "items": TEXT, "minItems": 1}),
    "write_file": zod(["path", "content"], **PATH, content=TEXT),
    "edit_file": zod(
        ["path", "edits"],
        **PATH,
        edits={"type": "array", "items": EDIT},
        dryRun={"type": "boolean", "default": False},
    ),
    "create_directory": zod(["path"], **PATH),
    "list_directory": zod(["path"], **PATH),
    "list_directory_with_sizes": zod(
        ["path"], **PATH, sortBy={"type": "string", "enum": ["name", "size"], "default": "name"}
    ),
    "directory_tree": zod(
        ["path"], **PATH, excludePatterns={"type": "array", "items": TEXT, "default": []}
    ),
    "move_file": zod(["source", "destination"], source=TEXT, destination=TEXT),
    "search_files": zod(["path", "pattern"], **PATH, pattern=TEXT),
    "get_file_info": zod(["path"], **PATH),
    "list_allowed_directories": zod(),
}
GIT = {
    f"git_{name}": pydantic(f"Git{name.title()}", ["repo_path"], repo_path=REPO, **fields)
    for name, fields in {
        "status": {},
        "diff_unstaged": {"context_lines": {"default": 3, "type": "integer"}},
        "diff_staged": {"context_lines": {"default": 3, "type": "integer"}},
        "diff": {"target": TEXT},
        "commit": {"message": TEXT},
        "add": {"files": {"items": TEXT, "title": "Files", "type": "array"}},
        "reset": {},
        "log": {
            "max_count": {"default": 10, "type": "integer"},
            "start_timestamp": nullable("string", "Start"),
            "end_timestamp": nullable("string", "End"),
        },
        "create_branch": {"branch_name": TEXT, "base_branch": nullable("string", "Base")},
        "checkout": {"branch_name": TEXT},
        "show": {"revision": TEXT},
        "branch": {
            "branch_type": {"$ref": "#/$defs/Kind"},
            "contains": nullable("string", "Contains"),
            "not_contains": nullable("string", "Not Contains"),
        },
    }.items()
}
GIT["git_branch"]["$defs"] = {"Kind": {"enum": ["local", "remote", "all"], "type": "string"}}
REST = {
    "fetch": pydantic(
        "Fetch",
        ["url"],
        url={"format": "uri", "minLength": 1, "type": "string"},
        max_length={"default": 5000, "exclusiveMaximum": 10**6, "exclusiveMinimum": 0,
                    "type": "integer"},
        raw={"default": False, "type": "boolean"},
    ),
    "get_current_time": pydantic("Now", ["timezone"], timezone=TEXT),
    "convert_time": pydantic("Convert", ["time"], time=TEXT),
}  # fmt: skip
SERVER_TOOLS: dict[str, dict[str, Any]] = {**EVERYTHING, **FILESYSTEM, **GIT, **REST}
"""42 tools by name."""
