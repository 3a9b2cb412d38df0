"""The turn: model requests and tool calls until a reply calls no tool."""
