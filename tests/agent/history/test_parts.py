"""What a session has besides its conversation, each folded from a few kinds of facts."""

import copy
from pathlib import Path

import msgspec
import pytest

from yourtool.agent.history.file_history import OF_FILES, FileHistory
from yourtool.agent.history.process_history import OF_PROCESSES, ProcessHistory
from yourtool.agent.history.stored_prompt import OF_PROMPT, StoredPrompt
from yourtool.events.codec import STORED_FACT, from_stored

FACTS = [
    from_stored(msgspec.json.decode(msgspec.json.decode(line)["printed"], type=STORED_FACT))
    for line in (Path(__file__).parents[2] / "events/stored_facts.jsonl").read_bytes().splitlines()
]
PARTS = [(FileHistory, OF_FILES), (ProcessHistory, OF_PROCESSES), (StoredPrompt, OF_PROMPT)]


@pytest.mark.parametrize(("part", "listed"), PARTS, ids=lambda each: getattr(each, "__name__", ""))
def test_facts_that_a_part_does_not_list_leave_it_as_it_is(part, listed):
    assert listed <= {type(fact) for fact in FACTS}, "the file has all facts"
    folded, others = part(), [fact for fact in FACTS if type(fact) not in listed]
    for started in (fact for fact in FACTS if type(fact) in listed):
        folded.apply(started)
        before = copy.deepcopy(vars(folded))
        for fact in others:
            folded.apply(fact)
        assert vars(folded) == before
