"""Contexts for tool calls of one session."""

import pytest

from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.masking import Mask
from yourtool.tools.base import ToolContext
from yourtool.tools.workspace.file_reads import FileReads
from yourtool.tools.workspace.workspace import Workspace

NO_KEYS = Mask()


class Contexts:
    def __init__(self, root, spill, readable=(), opener=None):
        self.spill = spill
        self.workspace = Workspace(root, (spill, *readable), opener=opener)
        self.reads = FileReads()
        self.shown = []

    def __call__(self, *, mask=NO_KEYS, **changes):
        return ToolContext(
            workspace=self.workspace,
            tool_use_id="tu_01",
            spill=self.spill,
            emit=self.shown.append,
            reads=self.reads,
            mask=mask,
            **changes,
        )


async def call(tool, context, /, **arguments):
    return await tool.run(tool.parse(arguments), context)


async def answer(tool, context, /, **arguments):
    output = await call(tool, context, **arguments)
    return "".join(block.text for block in output.content if hasattr(block, "text"))


async def get_refusal(tool, context, *said, failure=ToolFailure.EXECUTION_ERROR, **arguments):
    with pytest.raises(ToolError) as caught:
        await call(tool, context, **arguments)
    for text in said:
        assert text in str(caught.value)
    assert caught.value.failure is failure
    return str(caught.value)
