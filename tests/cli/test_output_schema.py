import json

import pytest

from tests.provider_server import Reply
from yourtool.headless import check_output_schema
from yourtool.run_result import ExitCode, Result

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return path


def test_answer_is_json_text(line, served, schema):
    served.script.append(Reply('{"n": 3}'))
    result = line.result("-p", "count", "-m", "opus", "--output-schema", str(schema))
    assert (result["exit_code"], json.loads(result["result"])) == (0, {"n": 3})
    [(_, body)] = served.requests
    sent = body["output_config"]["format"]["schema"]
    assert (sent["required"], sent["additionalProperties"]) == (["n"], False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Three.", "not JSON"),
        ("[" * 5_000 + "]" * 5_000, "not JSON: nested too deeply"),
        ('{"n": 0}', "$.n: must be at least 1"),
        ('{"n": 3, "why": "I counted"}', "$.why: unknown field"),
    ],
)
def test_answer_that_does_not_match_the_schema_fails_with_a_reason(
    line, served, schema, text, problem
):
    served.script.append(Reply(text))
    result = line.result("-p", "count", "-m", "opus", "--output-schema", str(schema))
    assert (result["exit_code"], result["is_error"], result["result"]) == (1, True, text)
    assert result["error"]["class"] == "output_schema_validation_failed"
    assert problem in result["error"]["message"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        ("{", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ('{"items": ' * 200 + "{}" + "}" * 200, "nested too deeply"),
        ('{"items": ' * 5_000 + "{}" + "}" * 5_000, "nested too deeply"),
        ('{"type": "string"}', "must be an `object`"),
        ('{"type": "object", "not": {}}', "$.not: not supported"),
        (
            '{"type": "object", "properties": {"a": {"$ref": "#"}}}',
            "properties.a.$ref: recursive",
        ),
        ('{"type": "object", "properties": {"a": {"$ref": "b.json"}}}', "not found in the schema"),
    ],
)
def test_unsupported_schema_exits_2(line, tmp_path, content, problem):
    path = tmp_path / "bad.json"
    if content is not None:
        path.write_text(content)
    line.script([{"say": "never"}])
    code, out, err = line("-p", "count", "--output-schema", str(path))
    assert (code, out) == (2, "")
    assert str(path) in err
    assert problem in err


NESTED = {  # as pydantic writes it
    "$defs": {
        "Item": {
            "properties": {
                "n": {"exclusiveMinimum": 0, "title": "N", "type": "integer"},
                "kind": {"$ref": "#/$defs/Kind"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["n", "kind"],
            "title": "Item",
            "type": "object",
        },
        "Kind": {"enum": ["a", "b"], "title": "Kind", "type": "string"},
    },
    "properties": {
        "items": {"items": {"$ref": "#/$defs/Item"}, "title": "Items", "type": "array"},
        "first": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]},
        "both": {"type": ["string", "integer"]},
    },
    "required": ["items"],
    "title": "Answer",
    "type": "object",
}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"items": [{"n": 1, "kind": "a"}], "first": None, "both": 3}, ""),
        ({"items": [{"n": 1, "kind": "a", "note": None}], "first": {"n": 2, "kind": "b"}}, ""),
        ({"items": [{"n": 0, "kind": "a"}]}, "$.items[0].n: does not match `exclusiveMinimum` 0"),
        ({"items": [{"n": 1, "kind": "c"}]}, '$.items[0].kind: must be one of ["a","b"]'),
        ({"items": [], "first": 7}, "$.first: matches no alternative"),
    ],
)
def test_schema_with_references_and_alternatives_is_sent_and_checked(
    line, served, tmp_path, answer, problem
):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(NESTED))
    served.script.append(Reply(json.dumps(answer)))
    result = line.result("-p", "count", "-m", "opus", "--output-schema", str(path))
    assert result["exit_code"] == bool(problem)
    assert problem in (result["error"] or {"message": ""})["message"]
    [(_, body)] = served.requests
    sent = body["output_config"]["format"]["schema"]
    assert "$ref" not in json.dumps(sent) and "$defs" not in sent
    [item, null] = sent["properties"]["first"]["anyOf"]
    assert (item["additionalProperties"], null) == (False, {"type": "null"})


def test_pattern_is_rejected_because_matching_can_take_forever(line, tmp_path):
    part = {"type": "string", "pattern": "^(a+)+$"}
    whole = {"type": "object", "properties": {"pattern": {"type": "array", "items": part}}}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(whole))
    code, out, err = line("-p", "count", "-m", "opus", "--output-schema", str(path))
    assert (code, out) == (2, "")
    assert "$.properties.pattern.items.pattern: not supported" in err


def test_model_without_schema_support_exits_4(line, schema):
    line.script([{"say": "never"}])
    result = line.result("-p", "count", "-m", "demo:tour", "--output-schema", str(schema))
    assert (result["exit_code"], result["error"]["class"]) == (4, "routing_failed")
    assert "cannot follow a JSON schema" in result["error"]["message"]


def test_missing_model_is_explained_once(line, schema):
    line.script([{"say": "never"}])
    code, out, err = line("-p", "count", "-m", "demo:tour", "--output-schema", str(schema))
    assert (code, out) == (4, "")
    assert err.count("nothing was sent") == err.count("cannot follow a JSON schema") == 1


def test_interface_rejects_a_schema(line, schema):
    code, _, err = line("--output-schema", str(schema))
    assert code == 2
    assert "`--output-schema` requires `-p`" in err


def test_failed_result_is_not_checked_against_the_schema():
    failed = Result(is_error=True, error=None, exit_code=ExitCode.LIMIT)
    assert check_output_schema(SCHEMA, failed) is failed


@pytest.mark.req("R-ADP-17")
def test_unknown_effort_is_rejected(line):
    code, _, err = line("-p", "hi", "--effort", "so-so")
    assert code == 2
    assert "xhigh" in err
