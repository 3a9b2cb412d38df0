"""Exports contain neither the keys of the user nor what has the form of a secret (R-CRD-02)."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from tests.store.turns import FactBuilder, changed, tool_call
from tests.strategies import few, histories
from yourtool.foundation.masking import MASK, Mask
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import DocumentBlock, ImageSource, TextBlock
from yourtool.store.exports import export_lines, from_jsonl, to_jsonl
from yourtool.store.scrubbing import Scrubber, find_secrets

LETTERS = "aB3dE5gH1jK7mN9pQ2sT4vW6yZ8"
SECRETS = {
    "AWS access key": "AKIA" + "Q3EGRK7DJ5PXZ2MA",
    "GitHub token": "ghp_" + LETTERS + LETTERS[:9],
    "GitLab token": "glpat-" + LETTERS[:20],
    "API key": "sk-proj-" + LETTERS,
    "Google API key": "AIza" + LETTERS + LETTERS[:8],
    "Slack token": "xoxb-" + "123456789012-" + LETTERS,
    "Stripe key": "sk_live_" + LETTERS,
    "npm token": "npm_" + LETTERS + LETTERS[:9],
    "PyPI token": "pypi-" + LETTERS * 2,
    "Hugging Face token": "hf_" + LETTERS + LETTERS[:7],
    "JSON Web Token": ".".join(("eyJ" + LETTERS, "eyJ" + LETTERS, LETTERS)),
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{LETTERS}\n-----END RSA PRIVATE KEY-----",
}
AROUND = {
    "password in an address": ("postgres://me:", "hunter2", "@db.example/x"),
    "authorization": ("authorization: Bearer ", LETTERS, "\n"),
    "assigned secret": ('{\\"client_secret\\": \\"', LETTERS, '\\"}'),
}
ORDINARY = [
    "token = self.get_next_token(2)",
    "see https://example.com:8080/a@b and https://me@example.com",
    "basic understanding of tokens: they are words",
    "the secret: be kind to one another",
    "password: hunter2",
    "-----BEGIN PUBLIC KEY-----",
    "sess_01J9ZQ4K6N8B0V2C4X6Z8A0S2D",
    "sha256:" + "ab12" * 16,
]


@pytest.fixture(scope="module")
def scrubber():
    return Scrubber(Mask(["my-own-key-4711"]))


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items())
def test_secret_is_replaced_and_named(kind, secret, scrubber):
    for before, after in (("", ""), ("it is ", "."), ('{"a":"', '"}'), ("ö=", "\n")):
        assert scrubber.text(f"{before}{secret}{after}") == f"{before}{MASK}{after}"
        [(found, sample)] = scrubber.find(f"{before}{secret}{after}")
        assert found == kind
        assert secret not in sample and f"({len(secret)} characters)" in sample


@pytest.mark.parametrize(("kind", "parts"), AROUND.items())
def test_only_the_secret_part_of_a_phrase_is_replaced(kind, parts, scrubber):
    before, _, after = parts
    assert scrubber.text("".join(parts)) == f"{before}{MASK}{after}"
    assert [found for found, _ in scrubber.find("".join(parts))] == [kind]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text, scrubber):
    assert scrubber.text(text) == text
    assert not list(scrubber.find(text))


def test_own_key_is_found_in_every_encoding(scrubber):
    assert scrubber.text("x my-own-key-4711 y") == f"x {MASK} y"
    [(kind, sample)] = scrubber.find("x my-own-key-4711 y")
    assert (kind, sample) == ("key that yourtool uses", "… (15 characters)")


@pytest.mark.parametrize("line", ["{}\n", "{}\\n", " 12\t{}\n"])
def test_private_key_that_was_read_in_two_parts_is_in_neither(line, scrubber):
    body = [LETTERS + LETTERS + str(number) for number in range(10, 20)]
    key = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]
    for part in (key[:6], key[6:]):
        shown = scrubber.text("".join(map(line.format, part)) + "and more")
        assert not [each for each in body if each in shown]


PIECES = st.sampled_from(
    [*SECRETS.values(), *("".join(each) for each in AROUND.values()), "token=", "sk-", "é", " "]
)


@given(st.lists(PIECES | st.text(), max_size=6).map("".join))
@example("Bearer " + SECRETS["API key"] + SECRETS["JSON Web Token"])
@example("\ud800")
def test_scrubbed_text_has_no_secret(text):
    scrubber = Scrubber(Mask(["my-own-key-4711"]))
    once = scrubber.text(text)
    assert scrubber.text(once) == once
    assert not list(scrubber.find(once))
    assert bool(list(scrubber.find(text))) == (once != text)


def test_search_takes_linear_time(scrubber):
    for unit in (
        "-----BEGIN PRIVATE KEY-----",
        "ab12" * 16 + "\n",
        "eyJ" + "a" * 20 + ".",
        "password: ",
        "a://b:",
    ):
        assert growth(scrubber.text, lambda size, unit=unit: unit * size) < LINEAR


@few
@given(histories(), st.sampled_from(sorted(SECRETS.values())))
@pytest.mark.req("R-SEED-06")
@pytest.mark.remaining
def test_no_text_of_a_session_is_exported_with_a_secret(messages, secret):
    builder, use = FactBuilder(), tool_call("shell", command=f"echo {secret}", **{secret: [secret]})
    facts = [
        builder.session_start(),
        builder.turn_start(secret),
        builder.reply(TextBlock(f"it is {secret}"), use),
        builder.tool_result(use, secret),
    ]
    facts += [builder.fact_with(message) for message in messages]
    scrubber = Scrubber(Mask())
    lines = b"".join(to_jsonl(facts, scrubber.text, None))
    assert json.dumps(secret)[1:-1].encode() not in lines
    assert len(from_jsonl(lines.splitlines(keepends=True), None)) == len(facts)
    hits = find_secrets(facts, scrubber, None)
    assert {each.message.id for each in facts[1:4]} <= {hit.message_id for hit in hits}


def test_attachment_with_a_secret_is_left_out(tmp_path, scrubber):
    secret = SECRETS["GitHub token"]
    builder = FactBuilder()
    asked = builder.turn_start("read these")
    blocks = [
        DocumentBlock(ImageSource("file_ref", store_blob(tmp_path, content)), "text/plain")
        for content in (b"fine", secret.encode())
    ]
    asked = changed(asked, message=changed(asked.message, content=(TextBlock("x"), *blocks)))
    facts = [builder.session_start(), asked]
    lines = list(to_jsonl(facts, scrubber.text, tmp_path))
    assert sum(b"yourtool.blob" in line for line in lines) == 1
    [hit] = find_secrets(facts, scrubber, tmp_path)
    assert (hit.kind, hit.message_id) == ("GitHub token", asked.message.id)


@pytest.mark.req("R-CRD-02")
@pytest.mark.parametrize("at", [1, 4, 20])
def test_secret_that_is_split_over_text_blocks_is_in_no_export(at, scrubber, tmp_path):
    secret = SECRETS["GitHub token"]
    halves = (TextBlock(f"it is {secret[:at]}"), TextBlock(f"{secret[at:]}."))
    builder, use = FactBuilder(), tool_call("shell", command="env")
    facts = [builder.session_start(), builder.turn_start(), builder.reply(*halves, use)]
    result = builder.tool_result(use, "x")
    inner = changed(result.message.content[0], content=halves)
    facts.append(changed(result, message=changed(result.message, content=(inner,))))
    for export_format in ("markdown", "html", "jsonl", "pi"):
        lines = b"".join(export_lines(facts, export_format, scrubber.text, tmp_path)).decode()
        assert secret[at:] not in lines and f"it is {secret[:at]}" not in lines
        assert lines.count(f"it is {MASK}.") == 2
    read = from_jsonl([*to_jsonl(facts, scrubber.text, None)], tmp_path)
    assert [len(each.message.content) for each in read[-2:]] == [3, 1]
    hits = find_secrets(facts, scrubber, tmp_path)
    assert {hit.message_id for hit in hits} == {each.message.id for each in facts[-2:]}
