"""The tool that proposes a plan."""

import pytest

from tests.tools.contexts import Contexts
from yourtool.effects import Preview
from yourtool.errors import ToolError, ToolFailure
from yourtool.tools.guidance.plan_proposal import MAX_PLAN_BYTES, propose_plan


@pytest.fixture
def context(tmp_path):
    return Contexts(tmp_path, tmp_path)()


@pytest.mark.req("R-LOOP-13")
@pytest.mark.parametrize("plan", ["", " \n\t", "é" * (MAX_PLAN_BYTES // 2 + 1)])
async def test_blank_or_too_long_plan_is_an_error_of_the_arguments(context, plan):
    with pytest.raises(ToolError) as caught:
        await propose_plan.preview(propose_plan.parse({"plan": plan}), context)
    assert caught.value.failure is ToolFailure.VALIDATION_ERROR


@pytest.mark.req("R-LOOP-13")
async def test_plan_of_the_maximum_length_is_shown_as_it_is_and_can_be_changed(context):
    plan = "x" * MAX_PLAN_BYTES
    preview = await propose_plan.preview(propose_plan.parse({"plan": plan}), context)
    assert isinstance(preview, Preview)
    assert preview.body == preview.editable.text == plan
    assert preview.editable.build_input("other") == {"plan": "other"}
