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
from yourtool.routing.predicates import TurnInput

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules = [", "routing.toml: not TOML"),
        ('[[rules]]\nwhen = {}\nuse = "fast"\n', "`fast` is a tier, and `[tiers]` names no models"),
        ('[tiers]\nfast = "deep"\nbalanced = "opus"\ndeep = "opus"', "No model is called `deep`"),
        ("rules = { a = 1 }", "must be a list of tables"),
        ("rules = [3]", "must be a table, `[[rules]]`"),
        ("tiers = 3", "must be a table"),
        ("workspaces = 3", "must be a table"),
        ("[workspaces]\n'/x' = 3", "must be a table"),
        ("global_default = 3", "must be the name of a model"),
        ('[[rules]]\nname = ""\nwhen = {}\nuse = "opus"', "must be a text in one line"),
        ('[[rules]]\nname = "\\u001b[2J"\nwhen = {}\nuse = "opus"', "must be a text in one line"),
        (f'[[rules]]\nname = "{"a" * 61}"\nwhen = {{}}\nuse = "opus"', "more than 60 characters"),
        ('[[rules]]\nname = "a"\nwhen = {}\nuse = "opus"\n' * 2, "another rule is called `a`"),
        ('[[rules]]\nwhen = {}\nuse = "opus"\n' * (MAX_RULES + 1), "more than 1,000 rules"),
    ],
)
def test_malformed_file_is_a_mistake_with_a_place(text, message):
    assert message in "\n".join(mistakes(text))


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
