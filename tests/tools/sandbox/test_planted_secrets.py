"""Secrets at the places where programs keep them: a command in the sandbox finds none."""

import itertools

import pytest

from tests.tools.contexts import call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.permissions import credential_files
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell

SECRET = "planted-secret-91f3"
SETTINGS = {
    ".npmrc": f"registry=https://npm.example/\n//npm.example/:_authToken={SECRET}\n",
    ".yarnrc.yml": f'npmRegistryServer: "https://npm.example"\nnpmAuthToken: "{SECRET}"\n',
    ".gitconfig": f"[user]\n\tname = a\n[http]\n\textraHeader = Authorization: Basic {SECRET}\n",
    ".config/git/config": f'[url "https://me:{SECRET}@git.example/"]\n\tinsteadOf = g:\n',
    ".config/pip/pip.conf": f"[global]\nindex-url = https://me:{SECRET}@pip.example/simple\n",
    ".pip/pip.conf": f"[global]\nextra-index-url = https://me:{SECRET}@pip.example/simple\n",
    ".config/uv/uv.toml": f'[[index]]\nurl = "https://me:{SECRET}@uv.example/simple"\n',
    ".cargo/config.toml": f'[registries.own]\ntoken = "{SECRET}"\n',
    ".cargo/credentials.toml": f'[registry]\ntoken = "{SECRET}"\n',
    ".condarc": f"channel_alias: https://me:{SECRET}@conda.example\n",
    ".bundle/config": f'---\nBUNDLE_GEMS__EXAMPLE: "me:{SECRET}"\n',
    ".gemrc": f":sources:\n- https://me:{SECRET}@gems.example/\n",
    ".curlrc": f'user = "me:{SECRET}"\n',
    ".wgetrc": f"http_password = {SECRET}\n",
    ".m2/settings.xml": f"<settings><servers><server><password>{SECRET}</password>"
    "</server></servers></settings>\n",
    ".gradle/gradle.properties": f"signing.password={SECRET}\n",
    ".gradle/init.gradle": f'ext.password = "{SECRET}"\n',
    ".nuget/NuGet/NuGet.Config": f'<add key="ClearTextPassword" value="{SECRET}" />\n',
    ".composer/auth.json": f'{{"http-basic": {{"a.example": {{"password": "{SECRET}"}}}}}}\n',
    ".config/composer/auth.json": f'{{"bearer": {{"a.example": "{SECRET}"}}}}\n',
}
"""Files that programs of a build read, with a secret in each."""
OTHERS = [
    ".aws/credentials",
    ".aws/config",
    ".aws/sso/cache/a.json",
    ".azure/accessTokens.json",
    ".azure/msal_token_cache.json",
    ".oci/config",
    ".oci/key.pem",
    ".config/doctl/config.yaml",
    ".config/hcloud/cli.toml",
    ".config/heroku/token",
    ".config/gcloud/application_default_credentials.json",
    ".config/gcloud/access_tokens.db",
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".config/hub",
    ".config/op/config",
    ".config/rclone/rclone.conf",
    ".config/github-copilot/apps.json",
    ".config/flyctl/config.yml",
    ".fly/config.yml",
    ".config/netlify/config.json",
    ".config/vercel/auth.json",
    ".local/share/com.vercel.cli/auth.json",
    ".config/stripe/config.toml",
    ".config/sops/age/keys.txt",
    ".config/containers/auth.json",
    ".docker/config.json",
    ".kube/config",
    ".kube/cache/x",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".config/opencode/opencode.json",
    ".aider.conf.yml",
    ".continue/config.json",
    ".cursor/mcp.json",
    ".config/Cursor/User/globalStorage/state.vscdb",
    ".config/Code/User/settings.json",
    ".local/share/yourtool/sessions.db",
    ".config/yourtool/credentials.toml",
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/config",
    ".ssh/work_key",
    ".gnupg/private-keys-v1.d/a.key",
    ".gnupg/secring.gpg",
    ".password-store/a.gpg",
    ".local/share/keyrings/login.keyring",
    ".local/share/kwalletd/kdewallet.kwl",
    ".config/keepassxc/keepassxc.ini",
    "passwords.kdbx",
    "Documents/passwords.txt",
    "notes.txt",
    "Desktop/keys.csv",
    ".bitcoin/wallet.dat",
    ".litecoin/wallet.dat",
    ".ethereum/keystore/UTC-a",
    ".electrum/wallets/default_wallet",
    ".config/solana/id.json",
    ".monero/wallet",
    ".config/Exodus/exodus.wallet/seed.seco",
    ".ledger/a",
    ".mozilla/firefox/a.default/logins.json",
    ".mozilla/firefox/a.default/cookies.sqlite",
    ".config/google-chrome/Default/Cookies",
    ".config/chromium/Default/Login",
    ".config/BraveSoftware/Default/Login",
    ".thunderbird/a/logins.json",
    ".config/Slack/Cookies",
    ".config/discord/Local",
    ".config/Signal/config.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    ".lesshst",
    ".viminfo",
    ".sqlite_history",
    ".local/share/fish/fish_history",
    ".irb_history",
    ".rediscli_history",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".zshenv",
    ".config/fish/config.fish",
    ".envrc",
    ".env",
    "work/other/.env",
    "work/other/config.py",
    ".local/share/Trash/files/key.pem",
    ".cache/thumbnails/a",
    ".xsession-errors",
    ".rnd",
    ".s3cfg",
    ".boto",
    ".pypirc",
    ".gem/credentials",
    ".config/hub.yml",
    ".jupyter/jupyter_server_config.json",
    ".kaggle/kaggle.json",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".config/wandb/settings",
    ".netlify/state.json",
]


def list_places():
    """Return paths of the table of credential files, and the others."""
    own = [*SETTINGS, *OTHERS]
    pairs = ("/".join(each) for each in credential_files.PAIRS)
    below = (f"{each}/key" for each in credential_files.DIRECTORIES)
    named = (f"work/other/{each}" for each in credential_files.NAMES)
    candidates = itertools.chain(own, pairs, below, named)
    found = dict[str, None]()
    for each in candidates:
        if not any(other.startswith(f"{each}/") or each.startswith(f"{other}/") for other in found):
            found[each] = None
    return list(found)


async def test_none_of_more_than_126_planted_secrets_is_readable(home, root, contexts):
    places = list_places()
    assert len(places) >= 126
    for place in places:
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SETTINGS.get(place, f"key = {SECRET}-{place}\n"))
    context = contexts(sandbox=build_sandbox(root, SandboxLevel.FULL))
    names = " ".join(f"'{home}/{place}'" for place in places)
    line = f"cat {names} 2>/dev/null; grep -rhs {SECRET} {home} /tmp /var/tmp; true"
    done = await call(shell, context, command=line)
    assert done.success
    found = [text for text in done.content[0].text.splitlines() if SECRET in text]
    assert found == []
    await context.sandbox.close()


@pytest.mark.parametrize("place", SETTINGS)
async def test_settings_with_a_secret_are_hidden_or_shown_without_it(place, home, root, contexts):
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SETTINGS[place])
    context = contexts(sandbox=build_sandbox(root, SandboxLevel.FULL))
    done = await call(shell, context, command=f"cat '{path}'; cat ~/{place}; true")
    assert SECRET not in done.content[0].text
    await context.sandbox.close()
