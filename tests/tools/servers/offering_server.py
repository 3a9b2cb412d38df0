"""A server made with the SDK that has prompts and resources."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("offering")


@server.prompt()
def review(path: str, depth: str = "deep") -> str:
    """Review a file."""
    return f"Review {path}, {depth}.\x1b[31m"


@server.prompt(name="plain text")
def plain() -> str:
    """Answer in few words."""
    return "Be plain."


@server.resource("notes://today", description="The notes of today")
def today() -> str:
    return "Buy pears.\x1b[2J"


@server.resource("notes://{day}/first")
def first(day: str) -> str:
    return f"The first note of {day}."


if __name__ == "__main__":
    server.run()
