"""Thirty command lines of an ordinary day."""

_SERVE = (
    "python3 -u -m http.server 0 --bind 127.0.0.1 > server.log 2>&1 & server=$!; port=;"
    " for each in $(seq 200); do port=$(grep -o 'port [0-9]*' server.log | cut -c6-);"
    ' [ -n "$port" ] && break; sleep 0.05; done;'
    ' curl -sf "http://127.0.0.1:$port/" > /dev/null && echo served > served.txt; code=$?;'
    " kill $server; wait $server 2> /dev/null; rm server.log; exit $code"
)
_COPY = "mkdir backup && tar cf - --exclude=./backup . | tar xf - -C backup"
_PACK = (
    "mkdir dist && tar czf dist/all.tgz --exclude=./dist . && tar tzf dist/all.tgz | sort > names"
)

COMMANDS = {
    "status": "git status --short && git tag -a v1.0 -m 'First version'",
    "commit": "echo note > note.txt && git add -A && git commit -q -m 'Add a note'",
    "branch": "git checkout -q -b topic && echo 1 > topic.txt && git add . && git commit -qm Topic",
    "switch": "git switch -q feature",
    "merge": "git merge -q --no-edit feature",
    "rebase": "git rebase -q feature",
    "stash": "echo more >> README.md && git stash -q -u",
    "pop": "echo more >> README.md && git stash -q; git stash pop -q",
    "clean": "git clean -fdxq",
    "reset": "git reset -q --hard HEAD~1",
    "pull": "git pull -q --no-rebase --no-edit origin main",
    "push": "git push -q origin HEAD:refs/heads/topic",
    "worktree": "git worktree add -q -b topic trees/topic",
    "beside": "git worktree add -q -b beside ../beside",
    "move": "git mv README.md READ.md && git rm -rq --cached src",
    "init here": "git init -q && git add -A && git commit -q -m 'Add everything'",
    "init below": "git init -q fresh && cd fresh && echo > a && git add a && git commit -qm One",
    "clone": "git clone -q . copy",
    "configure": "git config user.name Grace && git branch -q -u origin/feature",
    "find": "ls -A && du -sh . && names=$(find . -name objects -prune -o -print | sort) &&"
    ' echo "$names" > found.txt',
    "copy": _COPY,
    "pack": f"{_PACK} && rm dist/all.tgz",
    "make files": "mkdir -p a/b && touch a/b/c.txt && printf 'one\\n' > a/d.txt",
    "change files": "sed -i 's/a/A/g' README.md && mv README.md READ.md && rm -rf build src",
    "link": "chmod 755 README.md && ln -s README.md symbolic && ln README.md hard",
    "pytest": ". .venv/bin/activate && python -m pytest -q",
    "script": "python3 scripts/report.py",
    "make": "make",
    "node": "PATH=$PWD/node_modules/.bin:$PATH lint && node -e 'console.log(1)'",
    "serve": _SERVE,
}
"""By the short name that the table shows."""
