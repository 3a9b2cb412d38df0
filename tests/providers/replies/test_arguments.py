import itertools

from hypothesis import given
from hypothesis import strategies as st

from yourtool.providers.replies.arguments import ArgumentsScanner, parse_arguments

AWKWARD = (
    '{"a":"}","b":{"c":"{"}} ',
    '{"a":"\\\\","b":"\\"}"}',
    '{"a":"\\ud83e\\udd8a}"}\n',
    "{} \xa0",
    "{} {}",
    "[{}]",
    "null",
    "}{",
    '"{}"',
    "\\{}",
    "",
)


@given(st.sampled_from(AWKWARD) | st.text('{}[]":,\\a1 \n'), st.lists(st.integers(0, 30)))
def test_arguments_are_complete_when_they_form_an_object(text, cuts):
    growth, pieces = ArgumentsScanner(), []
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for begin, end in itertools.pairwise(edges):
        pieces.append(text[begin:end])
        so_far = text[:end]
        is_object = bool(so_far.strip()) and parse_arguments(so_far)[1] is None
        assert growth.is_complete(pieces) is is_object
        assert growth.is_complete(pieces) is is_object


class Counted(list):
    """Pieces that count how many of them were read."""

    read = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        self.read += len(found)
        return found

    def __iter__(self):
        self.read += len(self)
        return super().__iter__()


def test_scanner_reads_each_piece_once():
    growth, pieces = ArgumentsScanner(), Counted()
    for piece in ['{"a":"', *["{}"] * 500, '"}', *[" "] * 500]:
        pieces.append(piece)
        growth.is_complete(pieces)
    assert growth.is_complete(pieces)
    assert pieces.read < 3 * len(pieces)
