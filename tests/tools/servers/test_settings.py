"""The files with servers: what is used, and mistakes with their places."""

import json

import pytest
from hypothesis import given
from hypothesis import settings as run_settings

from tests.strategies import examples, json_values
from tests.tools.servers.configured import load, settings
from yourtool.effects import SideEffects
from yourtool.tools.servers.settings import McpSettingsError, SettingsFile, load_settings

TEXT = """{
  "mcpServers": {
    "git": {"command": "mcp-server-git", "args": ["-r", "."], "env": {"A": "${B:-c}"}},
    "docs": {
      "type": "http",
      "url": "https://example.org/mcp",
      "headers": {"Authorization": "Bearer ${TOKEN}"}
    },
    "wrong": {
      "command": "x",
      "comand": "y",
      "args": "not a list"
    },
    "none": {},
    "events": {"type": "sse", "url": "https://example.org"}
  }
}"""


def texts(loaded):
    return [str(each) for each in loaded.problems]


def test_servers_are_read_and_mistakes_have_their_places():
    loaded = load_settings([SettingsFile("f.json", TEXT, "user")])
    git, docs = loaded.servers
    assert (git.name, git.transport, git.args, git.place) == (
        "git",
        "stdio",
        ("-r", "."),
        "f.json:3",
    )
    assert (docs.transport, docs.url, docs.line) == ("http", "https://example.org/mcp", 4)
    assert docs.variables == ("TOKEN",)
    assert texts(loaded) == [
        "f.json:11: `mcpServers.wrong.comand`: there is no such field; did you mean `command`?",
        "f.json:12: `mcpServers.wrong.args`: must be a list of texts",
        "f.json:14: `mcpServers.none`: needs a `command`, or a `url`",
        "f.json:15: `mcpServers.events.type`: is not supported: use the server's address for"
        " `http`",
    ]


def test_variables_have_values_defaults_or_a_named_mistake():
    git, docs = load_settings([SettingsFile("f.json", TEXT, "user")]).servers
    assert git.expand("${B:-c}", {}) == "c" and git.expand("${B:-c}", {"B": "d"}) == "d"
    assert docs.expand("Bearer ${TOKEN}", {"TOKEN": "${B}"}) == "Bearer ${B}", "only once"
    with pytest.raises(McpSettingsError, match=r"f.json:4: `\$\{TOKEN\}` is not set; set `TOKEN`"):
        docs.expand("Bearer ${TOKEN}", {})
    assert "TOKEN}" in docs.definition, "what is shown and stored has no value"


def test_own_server_precedes_that_of_a_project_with_the_same_name():
    loaded = load_settings(
        [
            settings({"a": {"command": "theirs"}}, "project", "/p/.mcp.json"),
            settings({"a": {"command": "mine"}}),
            settings({"a": {"command": "once"}}, "option", "o.json"),
        ]
    )
    assert [each.command for each in loaded.servers] == ["once"]
    assert texts(loaded) == [
        "/home/me/mcp.json:3: `mcpServers.a`: is not used: o.json:3 has a server of the same name",
        "/p/.mcp.json:3: `mcpServers.a`: is not used: o.json:3 has a server of the same name",
    ]


def test_name_that_occurs_twice_in_a_file_is_named():
    text = '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}'
    loaded = load_settings([SettingsFile("f.json", text, "user")])
    assert not loaded.servers and "`a` occurs twice in one object" in texts(loaded)[0]


def test_only_the_user_sets_effects_and_leaves_the_sandbox():
    entry = {"command": "x", "effects": "read", "toolEffects": {"w": "write"}, "sandbox": False}
    [own] = load({"a": entry}).servers
    assert own.get_effects("r") is SideEffects.READ and own.get_effects("w") is SideEffects.WRITE
    assert own.sandbox is False
    loaded = load({"a": entry}, "project")
    [theirs] = loaded.servers
    assert theirs.get_effects("r") is theirs.get_effects("w") is SideEffects.NETWORK
    assert theirs.sandbox is None
    assert sum("only your own `mcp.json` can set it" in each for each in texts(loaded)) == 3


def test_hosts_of_a_server_are_part_of_what_is_accepted():
    entry = {"command": "x", "hosts": ["example.org", "*.example.org:8443"]}
    [plain], [asking] = load({"a": {"command": "x"}}, "project").servers, load({"a": entry}).servers
    assert asking.hosts == ("example.org", "*.example.org:8443")
    assert '"example.org"' in asking.definition and asking.digest != plain.digest


@pytest.mark.parametrize("hosts", ["example.org", ["*"], ["https://example.org"], ["10.0.0.1/8"]])
def test_hosts_that_are_none_are_reported(hosts):
    loaded = load({"a": {"command": "x", "hosts": hosts}})
    assert loaded.servers[0].hosts == ()
    assert any("must be a list of" in each for each in texts(loaded))


def test_fields_with_which_other_programs_allow_calls_are_ignored():
    loaded = load({"a": {"command": "x", "autoApprove": ["*"], "alwaysAllow": ["b"]}})
    assert [each.get_effects("b") for each in loaded.servers] == [SideEffects.NETWORK]
    assert all("rules of `permissions.toml` allow calls" in each for each in texts(loaded))


SECRET = {"clientId": "a", "issuer": "b", "clientSecret": "${B}"}
IDENTITY = {
    "identityToken": "${C}",
    "identityEndpoint": "https://login.example.org/token",
    "identityClientId": "c",
}


@pytest.mark.parametrize(
    ("oauth", "problem"),
    [
        ({"clientId": "a", "callbackPort": 8080}, "must be an object of texts"),
        ({"clientId": "a", "issue": "b"}, "has no field `issue`; its fields are clientId, issuer"),
        ({"clientId": "a", "clientSecret": "${B}"}, "needs `issuer`"),
        ({"clientId": "a", "issuer": "b"}, "needs either `clientSecret` or `privateKey`"),
        ({"clientId": "a", "issuer": "b", "clientSecret": "c"}, "needs a variable such as"),
        ({**SECRET, "identityToken": "${C}"}, "with `identityToken` also needs `identityEndpoint`"),
        ({**SECRET, **IDENTITY, "identityToken": "c"}, "needs a variable such as `${ID_TOKEN}`"),
        ({**SECRET, **IDENTITY, "identityEndpoint": "http://a.b/t"}, "starts with `https://`"),
    ],
)
def test_login_that_cannot_be_used_is_reported_and_the_server_is_used(oauth, problem):
    loaded = load({"a": {"url": "https://example.org/mcp", "oauth": oauth}})
    [found] = loaded.problems
    assert found.key == "mcpServers.a.oauth" and problem in found.message
    assert not loaded.servers[0].oauth


def test_project_sets_no_login():
    oauth = {"clientId": "a", "issuer": "https://b.example", "clientSecret": "${API_KEY}"}
    loaded = load({"a": {"url": "https://example.org/mcp", "oauth": oauth}}, "project")
    assert "only your own `mcp.json` can set it" in loaded.problems[0].message
    assert not loaded.servers[0].oauth and "API_KEY" not in loaded.servers[0].variables


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"mcpServers": 1}', "[" * 100_000])
def test_file_that_is_no_object_of_servers_has_a_problem(text):
    loaded = load_settings([SettingsFile("f.json", text, "user")])
    assert not loaded.servers and len(loaded.problems) == 1
    assert str(loaded.problems[0]).startswith("f.json:1:")


@given(json_values)
@run_settings(max_examples=examples(200))
def test_any_entry_is_read_without_an_exception(value):
    text = json.dumps({"mcpServers": {"a": value, "b": {"command": "x", "env": value}}})
    loaded = load_settings([SettingsFile("f.json", text, "project")])
    assert all(each.command or each.url for each in loaded.servers)
