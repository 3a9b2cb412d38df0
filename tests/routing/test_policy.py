import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.errors import UnknownModelError
from yourtool.routing.policy import (
    MAX_RULES,
    Policy,
    PolicyError,
    PolicyFile,
    build_policy,
    parse_policy,
)
from yourtool.routing.predicates import COMBINATORS, PREDICATES, TurnInput

MODELS = {"haiku": "a:haiku", "sonnet": "a:sonnet", "opus": "a:opus"}
TIERS = '[tiers]\nfast = "haiku"\nbalanced = "sonnet"\ndeep = "opus"\n'
HERE = "/home/me/project"


def resolve(name):
    if name not in MODELS:
        raise UnknownModelError(f"No model is called `{name}`.")
    return MODELS[name]


def parse(text, **options):
    return parse_policy(text, "routing.toml", resolve, **options)


def policy(text, project="", here=HERE):
    user = parse(text)
    own = parse(project, outer_tiers=user.general.tiers) if project else PolicyFile()
    return build_policy(user, own, here)


def mistakes(text, **options):
    with pytest.raises(PolicyError) as caught:
        parse(text, **options)
    return [str(each) for each in caught.value.problems]


def names(found, text="", count=0):
    return [rule.name for rule in found.matching(TurnInput(text=text), lambda _: lambda: count)]


def test_rules_of_the_directory_come_first_then_those_of_the_project_then_the_others():
    found = policy(
        f'{TIERS}global_default = "haiku"\n'.replace(TIERS, "") + TIERS
        + '[[rules]]\nname = "everywhere"\nwhen = {}\nuse = "deep"\n'
        f'[workspaces."{HERE}"]\ndefault = "opus"\n'
        f'[[workspaces."{HERE}".rules]]\nname = "here"\nwhen = {{}}\nuse = "fast"\n',
        project='[[rules]]\nname = "of the project"\nwhen = {}\nuse = "sonnet"\n',
    )  # fmt: skip
    assert names(found) == ["here", "of the project", "everywhere"]
    assert [rule.model for rule in found.rules] == ["a:haiku", "a:sonnet", "a:opus"]
    assert (found.workspace_default, found.global_default) == ("a:opus", "a:haiku")
    elsewhere = policy(f'[[workspaces."{HERE}".rules]]\nwhen = {{}}\nuse = "haiku"\n', here="/x")
    assert elsewhere == Policy()


@pytest.mark.req("R-RTE-07")
def test_tiers_of_a_directory_replace_those_for_every_directory():
    text = (
        TIERS + '[[rules]]\nwhen = {}\nuse = "fast"\n'
        f'[workspaces."{HERE}".tiers]\nfast = "opus"\nbalanced = "opus"\ndeep = "opus"\n'
    )
    assert [rule.model for rule in policy(text).rules] == ["a:opus"]
    assert [rule.model for rule in policy(text, here="/x").rules] == ["a:haiku"]


def test_only_the_rules_that_hold_are_candidates_in_order():
    found = policy(
        '[[rules]]\nname = "a"\nwhen = { message_contains_any = ["tide"] }\nuse = "opus"\n'
        '[[rules]]\nname = "b"\nwhen = { estimated_input_tokens_gt = 10 }\nuse = "haiku"\n'
    )
    assert names(found) == []
    assert names(found, "the tide", 11) == ["a", "b"]
    assert names(found, "the tide") == ["a"]


def test_every_mistake_is_reported_with_its_line_and_the_nearest_word():
    text = """\
schema_version = 2
default = "haiku"
[tiers]
fast = "haiku"
slow = "opus"
[[rules]]
name = "a"
when = { mesage_matches = "x" }
use = "opus"
[[rules]]
name = "b"
when = {}
use = "nobody"
[[rules]]
when = {}
[[rules]]
name = "c"
when = { any_of = [{ has_images = true },
                   { has_images = "yes" }] }
use = "deep"
[[rules]]
name = "d"
use = "haiku"
whn = {}
[workspaces."relative"]
tiers = 3
rules = 3
"""
    assert mistakes(text) == [
        "routing.toml:2: `default`: there is no such key; did you mean `global_default`?",
        "routing.toml:1: `schema_version`: is 2; this version reads 1",
        "routing.toml:5: `tiers.slow`: there is no such key",
        "routing.toml:3: `tiers`: must name all tiers; `balanced` and `deep` have no model",
        "routing.toml:8: `rules.when.mesage_matches`: there is no such predicate; did you mean"
        " `message_matches`?",
        "routing.toml:13: `rules.use`: No model is called `nobody`.",
        "routing.toml:14: `rules`: has no `use`",
        "routing.toml:18: `rules.when.any_of.has_images`: expected `bool`, got `str`",
        "routing.toml:24: `rules.whn`: there is no such key; did you mean `when`?",
        "routing.toml:21: `rules`: has no `when`",
        'routing.toml:25: `workspaces."relative"`: must be an absolute path'.replace('"', ""),
        "routing.toml:26: `workspaces.relative.tiers`: must be a table",
        "routing.toml:27: `workspaces.relative.rules`: must be a list of tables, `[[rules]]`",
    ]


RULE = "\n[[rules]]\nuse = 'opus'\n"
WHOLE = "\n[[rules]]\nwhen = {}\nuse = 'opus'\n"
MISTAKES = [
    ("x = 1\nrules = [", 2, "", "not TOML: Invalid value"),
    ("x = 1\nx = 2\n", 2, "", "not TOML: Cannot overwrite a value"),
    ("\nschema_version = '1'", 2, "schema_version", "is '1'; this version reads 1"),
    ("\nglobal_default = 3", 2, "global_default", "must be the name of a model"),
    ("\nglobal_default = 'nobody'", 2, "global_default", "No model is called `nobody`"),
    ("\nglobal_default = 'deep'", 2, "global_default", "`deep` is a tier, and `[tiers]` names no"),
    ("\ntiers = 3", 2, "tiers", "must be a table"),
    ("\n[tiers]\nfast = 'opus'", 2, "tiers", "`balanced` and `deep` have no model"),
    (f"\n{TIERS}best = 'opus'", 6, "tiers.best", "there is no such key"),
    (TIERS.replace("haiku", "deep"), 2, "tiers.fast", "No model is called `deep`"),
    (TIERS.replace('"haiku"', "1"), 2, "tiers.fast", "must be the name of a model"),
    ("\nworkspaces = 3", 2, "workspaces", "must be a table"),
    ("\n[workspaces]\n'/x' = 3", 3, 'workspaces."/x"', "must be a table"),
    ("\n[workspaces.x]\nrules = []", 2, "workspaces.x", "must be an absolute path"),
    ("[workspaces.'/x']\nname = 1", 2, 'workspaces."/x".name', "there is no such key"),
    ("[workspaces.'/x']\ndefault = 'x'", 2, 'workspaces."/x".default', "No model is called `x`"),
    ("[workspaces.'/x'.tiers]\nfast = 'opus'", 1, 'workspaces."/x".tiers', "must name all tiers"),
    ("\nrules = { a = 1 }", 2, "rules", "must be a list of tables"),
    ("\nrules = [\n  3]", 3, "rules", "must be a table, `[[rules]]`"),
    (WHOLE * (MAX_RULES + 1), 2, "rules", "more than 1,000 rules"),
    (f"{WHOLE}name = ''", 5, "rules.name", "must be a text in one line"),
    (f'{WHOLE}name = "\\u001b[2J"', 5, "rules.name", "must be a text in one line"),
    (f"{WHOLE}name = 3", 5, "rules.name", "must be a text in one line"),
    (f"{WHOLE}name = '{'a' * 61}'", 5, "rules.name", "more than 60 characters"),
    (f"{WHOLE}name = 'a'{WHOLE}name = 'a'", 9, "rules.name", "another rule is called `a`"),
    (f"{WHOLE}usee = 'opus'", 5, "rules.usee", "no such key; did you mean `use`?"),
    ("\n[[rules]]\nwhen = {}", 2, "rules", "has no `use`"),
    (RULE, 2, "rules", "has no `when`"),
    ("\n[[rules]]\nwhen = {}\nuse = 3", 4, "rules.use", "must be the name of a model"),
    ("\n[[rules]]\nwhen = {}\nuse = 'nobody'", 4, "rules.use", "No model is called `nobody`"),
    ("\n[[rules]]\nwhen = {}\nuse = 'fast'", 4, "rules.use", "`fast` is a tier"),
    (f"{RULE}when = 3", 4, "rules.when", "must be a table, such as"),
]
CONDITIONS = [
    ("message_matches = '('", "is not a pattern of RE2"),
    ("message_matches = 1", "expected `str`, got `int`"),
    ("message_contains_any = []", "must be a list of words that is not empty"),
    ("message_contains_any = 'x'", "expected `array`, got `str`"),
    ("estimated_input_tokens_gt = 'x'", "expected `int`, got `str`"),
    ("estimated_input_tokens_gt = -1", "must not be negative"),
    ("estimated_input_tokens_lt = 1.5", "expected `int`, got `float`"),
    ("has_images = 1", "expected `bool`, got `int`"),
    ("has_tool_calls_in_history = 'y'", "expected `bool`, got `str`"),
    ("skills_matching_message_includes = ['']", "must be a list of words that is not empty"),
    ("file_extensions_in_context = []", "must be a list of words that is not empty"),
    ("workspace_path_matches = '['", "is not a pattern of RE2"),
    ("time_of_day_between = ['25:00', '06:00']", "must be two times"),
    ("time_of_day_between = ['06:00', '06:00']", "starts and ends at the same time"),
    ("cost_today_exceeds_usd = -1.0", "must not be negative"),
    ("cost_today_exceeds_usd = nan", "must be a number of at most"),
    ("team_budget_remaining_lt = 'x'", "expected `float`, got `str`"),
    ("any_of = []", "must be a list of tables that is not empty"),
    ("all_of = 3", "must be a list of tables that is not empty"),
    ("not = 3", "must be a table, such as"),
    ("has_image = true", "no such predicate; did you mean `has_images`?"),
]


@pytest.mark.parametrize(("text", "line", "key", "message"), MISTAKES)
@pytest.mark.req("R-RTE-13")
def test_each_mistake_has_its_line_and_key(text, line, key, message):
    [found] = mistakes(text)
    place = f"routing.toml:{line}: `{key}`: " if key else f"routing.toml:{line}: "
    assert found.startswith(place)
    assert message in found


@pytest.mark.parametrize(("condition", "message"), CONDITIONS)
@pytest.mark.req("R-RTE-13")
def test_each_mistake_of_a_condition_has_its_line_and_predicate(condition, message):
    name = condition.partition(" ")[0]
    for text, path in (
        (f"{RULE}when = {{ {condition} }}", name),
        (f"{RULE}[rules.when]\n{condition}", name),
        (f"{RULE}when.{condition}", name),
        (f"{RULE}when.not = {{ {condition} }}", f"not.{name}"),
    ):
        [found] = mistakes(text)
        line = 5 if "[rules.when]" in text else 4
        assert found.startswith(f"routing.toml:{line}: `rules.when.{path}`: "), text
        assert message in found
    [found] = mistakes(f"{RULE}when.any_of = [\n  {{}},\n  {{ {condition} }},\n]")
    assert found.startswith(f"routing.toml:6: `rules.when.any_of.{name}`: ")


def test_every_predicate_has_a_mistake_in_the_table():
    tested = {condition.partition(" ")[0] for condition, _ in CONDITIONS}
    assert tested >= {*PREDICATES, *COMBINATORS}


def test_file_of_a_project_has_no_tables_for_directories_and_can_use_tiers_of_the_user():
    assert mistakes('[workspaces."/x"]\ndefault = "opus"\n', outer_tiers={}) == [
        "routing.toml:1: `workspaces`: there is no such key"
    ]
    found = policy(TIERS, project='[[rules]]\nwhen = {}\nuse = "deep"\n')
    assert [rule.model for rule in found.rules] == ["a:opus"]


@pytest.mark.req("R-RTE-13")
def test_rule_that_can_have_no_effect_is_a_warning():
    found = parse(
        '[[rules]]\nname = "a"\nwhen = { has_images = true }\nuse = "opus"\n'
        '[[rules]]\nname = "b"\nwhen = { has_images = true }\nuse = "haiku"\n'
        '[[rules]]\nname = "c"\nwhen = {}\nuse = "haiku"\n'
        '[[rules]]\nname = "d"\nwhen = { has_images = false }\nuse = "haiku"\n'
        '[[rules]]\nname = "e"\nwhen = { team_budget_remaining_lt = 1 }\nuse = "haiku"\n'
    )
    warnings = [str(each) for each in found.warnings]
    assert len(found.general.rules) == 5
    assert [each.partition(": `rules")[0] for each in warnings] == [
        "routing.toml:5",
        "routing.toml:13",
        "routing.toml:19",
        "routing.toml:17",
    ]
    assert "`b` is tried only if the model of `a` is rejected" in warnings[0]
    assert "`d` is tried only if the model of `c` is rejected" in warnings[1]
    assert "`team_budget_remaining_lt` never holds" in warnings[2]


def test_version_depends_on_what_is_decided_and_not_on_comments():
    text = '[[rules]]\nwhen = { has_images = true }\nuse = "opus"\n'
    assert policy("").version == ""
    assert policy(text).version == policy(f"# a comment\n{text}").version != ""
    assert policy(text).version != policy(text.replace("true", "false")).version


@given(st.text() | st.sampled_from([TIERS, "[[rules]]\n", "when = {}\n", 'use = "opus"\n']))
def test_any_text_is_a_policy_or_has_mistakes(text):
    try:
        found = parse(text)
    except PolicyError as error:
        assert error.problems
    else:
        assert isinstance(found, PolicyFile)
