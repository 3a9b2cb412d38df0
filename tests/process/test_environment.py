"""Keys are not in the environment that other processes can read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from yourtool.process.environment import find_logins, is_key, is_secret

CANARY = "canary-0123456789-canary"
LOOK = """
import ctypes, os, subprocess, sys
from yourtool.process import environment, prctl
environment.hide()
print(open("/proc/self/environ", "rb").read().count(b"canary"))
prctl.forbid_inspection()
print(os.environ["ANTHROPIC_API_KEY"], os.environ["MINE"], os.environ["LANG"])
print(subprocess.run(["env"], capture_output=True, text=True).stdout)
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(getenv(b"MINE"), getenv(b"ANTHROPIC_API_KEY"))
"""
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="read in /proc")


@linux_only
def test_the_kernel_shows_no_possible_key_and_the_program_still_has_all_variables():
    given = {
        "ANTHROPIC_API_KEY": CANARY,
        "MINE": f"{CANARY}-mine",
        "EMPTY": "",
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        env=given,
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    shown, kept, *inherited, from_c = done.stdout.splitlines()
    assert shown == "0"
    assert kept == f"{CANARY} {CANARY}-mine C.UTF-8"
    assert not [line for line in inherited if line.startswith("ANTHROPIC_API_KEY")]
    assert from_c == f"b'{CANARY}-mine' None"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "x"),
        ("GITHUB_TOKEN", "x"),
        ("MY_SECRET", "x"),
        ("DB_PASSWORD", "x"),
        ("PGPASSWORD", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "x"),
        ("npm_config_authToken", "x"),
        ("WHATEVER", "sk-ant-api03-abc"),
        ("WHATEVER", "ghp_abc"),
        ("access-key", "x"),
        ("MYTOKEN", "x"),
        ("AUTH_MODE", "x"),
        ("SSHPASS", "x"),
        ("BW_SESSION", "x"),
        ("PAT", "x"),
        ("GPG_KEY", "x"),
        ("WHATEVER", "-----BEGIN OPENSSH PRIVATE KEY-----"),
        ("STORE", "DefaultEndpointsProtocol=https;AccountKey=abc"),
        ("DATABASE_URL", "postgres://me:pass@host/db"),
        ("DATABASE_URL", "postgres://me:pass@host"),
    ],
)
def test_a_variable_with_the_name_or_the_form_of_a_key_is_secret(name, value):
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/home/me"),
        ("OLDPWD", "/home/me"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("KEYBOARD", "us"),
        ("PATH", "/bin"),
        ("SSH_ASKPASS", "/usr/bin/ask"),
        ("XDG_SESSION_TYPE", "wayland"),
        ("GIT_AUTHOR_NAME", "me"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MONKEYS", "12"),
        ("HTTP_PROXY", "http://proxy:8080"),
        ("HTTP_PROXY", "http://me@proxy:8080"),
        ("PAGE", "http://host/?mail=me:x@host"),
        ("MAIL", "me:x@host"),
        ("EDITOR", "vim"),
    ],
)
def test_other_variables_are_not_secret(name, value):
    assert not is_secret(name, value)


@pytest.mark.parametrize(
    ("value", "logins"),
    [
        ("postgres://me:pass@host/db", [("me", "pass")]),
        ("redis://:pass@host", [("", "pass")]),
        ("redis://a,redis://me:p@ss@b", [("me", "p@ss")]),
        ("http://me@proxy:8080", []),
        ("see http://a and me:x@host", []),
        ("://", []),
    ],
)
def test_url_with_a_password_is_a_secret_and_no_key(value, logins):
    assert list(find_logins(value)) == logins
    assert is_secret("DATABASE_URL", value) == bool(logins)
    assert not is_key("DATABASE_URL", value)
