"""Settings without their secrets stay valid and mean the same otherwise."""

import tomllib

import pytest
import yaml

from yourtool.tools.sandbox.home.secret_values import clean_git, clean_ini, clean_lines, clean_toml
from yourtool.tools.sandbox.home.yaml_secrets import clean_yaml

KINDS = 'd = 2020-01-02\nt = 07:32:00\nf = [1.5, inf]\nb = true\ns = "\\u007f\\"é\\n"\n'


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (
            '[registries.private]\nindex = "https://r.example"\ntoken = "canary"\n[net]\nx = 3\n',
            {"registries": {"private": {"index": "https://r.example"}}, "net": {"x": 3}},
        ),
        (
            'ignore = [\n  "S105",  # a password, canary\n  "S106",\n]\nx = "hard-password"\n',
            {"ignore": ["S105", "S106"], "x": "hard-password"},
        ),
        (
            '[per-file-ignores]\n"secrets.py" = ["S105"]\n[secrets]\nmine = "canary"\n',
            {"per-file-ignores": {"secrets.py": ["S105"]}},
        ),
        (
            'urls = ["https://u:canary@h", "https://h"]\n[env]\nA_TOKEN = """\ncanary"""\n',
            {"urls": ["https://h"], "env": {}},
        ),
        (
            f"{KINDS}[[a]]\nx = 1\n[[a]]\nsecret = 1\n",
            {**tomllib.loads(KINDS), "a": [{"x": 1}, {}]},
        ),
        ('token = "canary"\nbroken\n', {}),
    ],
)  # fmt: skip
def test_toml_loses_secret_values_only(text, rest):
    cleaned = clean_toml(text)
    assert tomllib.loads(cleaned) == rest
    assert "canary" not in cleaned


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (
            'npmScopes:\n  private:\n    npmRegistryServer: "https://r.example"\n'
            "    npmAuthToken: canary # canary token\n    npmAlwaysAuth: true\nnodeLinker: pnp\n",
            {
                "npmScopes": {"private": {"npmRegistryServer": "https://r.example",
                                          "npmAuthToken": "", "npmAlwaysAuth": True}},
                "nodeLinker": "pnp",
            },
        ),
        (
            "channels:\n- https://u:canary@h.example\n- https://private.example\n# canary token\n",
            {"channels": ["", "https://private.example"]},
        ),
        ('{"npmRegistries": {"a": {"npmAuthIdent":\n "canary"}}, "b": 1}',
         {"npmRegistries": {"a": {"npmAuthIdent": ""}}, "b": 1}),
        ("tokens:\n- canary\n- {x: canary, y: null}\nz: 'a # token'\n",
         {"tokens": ["", {"x": "", "y": None}], "z": "a # token"}),
        ("password: |\n  canary\n  canary\nb: >-\n  text # of a token\nc: 1\n",
         {"password": "", "b": "text # of a token", "c": 1}),
        ("a: &x {token: canary}\nb: *x\n", {"a": {"token": ""}, "b": {"token": ""}}),
        ("token: &t canary\nb: *t\n", None),
        ("token: canary\n  broken: [\n", None),
        ("token:\nb: 1\n", {"token": None, "b": 1}),
    ],
)  # fmt: skip
def test_yaml_loses_secret_values_only(text, rest):
    cleaned = clean_yaml(text)
    assert yaml.safe_load(cleaned) == rest
    assert "canary" not in cleaned


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('[user]\n\tname = n\n[credential "https://h"]\n\thelper = canary\n[core]\n\tx = y\n',
         "[user]\n\tname = n\n[core]\n\tx = y\n"),
        ('[includeIf "gitdir:~/private/"]\n\tpath = x\n', None),
        ('[core]\n\texcludesFile = ~/.secrets-ignore\n\tpager = less\n', None),
        ('[url "https://u:canary@h.example"]\n\tinsteadOf = h:\n[a]\n\tb = c\n', "[a]\n\tb = c\n"),
        ('[github] token = canary\n[a] b = c\n', "[github]\n[a] b = c\n"),
        ('[http]\n\textraHeader = \\\n  "Authorization: \\\n canary"\n\tproxy = p\n',
         "[http]\n\tproxy = p\n"),
        ('[alias]\n\tup = "!API_TOKEN=canary deploy"\n\tst = status\n# token canary\n',
         "[alias]\n\tst = status\n"),
        ("[core]\n\tx = -----BEGIN PRIVATE KEY-----\n", "[core]\n"),
    ],
)  # fmt: skip
def test_settings_of_git_lose_whole_settings_or_whole_sections(text, rest):
    assert clean_git(text) == (text if rest is None else rest)


def test_indented_lines_are_removed_with_the_value_that_they_continue():
    text = "[global]\npassword =\n  canary\nindex-url = https://private.example\n\n[x]\na =\n  b\n"
    assert clean_ini(text) == text.replace("password =\n  canary\n", "")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("registry=https://private.example\n//r.example/:_authToken=canary\n_auth = canary\n",
         "registry=https://private.example\n"),
        ('"//r.example/:_authToken" canary\nregistry "https://r.example"\n',
         'registry "https://r.example"\n'),
        ("build --x \\\n  --remote_header=x-api-key=canary\nbuild --y\n", "build --y\n"),
        ("GOPROXY=https://u:canary@h.example\nGOFLAGS=-v\n", "GOFLAGS=-v\n"),
        ("# my token canary\n; canary password\nx=y\n", "x=y\n"),
        ("x = secret_canaryabcdefghijklmnop\ny = no-password\n", "y = no-password\n"),
        ("//r/:_password=canary\n//r/:username=u\n", "//r/:username=u\n"),
    ],
)  # fmt: skip
def test_lines_with_secrets_are_removed(text, rest):
    assert clean_lines(text) == rest
