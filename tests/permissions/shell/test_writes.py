from pathlib import Path

import pytest

from yourtool.permissions.shell import writes
from yourtool.permissions.shell.writes import find_protected_write


@pytest.fixture
def root(tmp_path):
    root = tmp_path.resolve()
    for name in (".git/hooks", "src", ".github/workflows"):
        (root / name).mkdir(parents=True)
    (root / "AGENTS.md").write_text("x\n")
    (root / "link").symlink_to(".git/hooks")
    (root / "src/out").symlink_to("../.git/config")
    return root


@pytest.mark.parametrize(
    "line",
    [
        "echo x > .git/hooks/pre-commit", "echo x >> .git/config", "echo x >| .git/config",
        "echo x &> .git/config", "true; (echo x > .git/hooks/a)", "if true; then echo >.envrc; fi",
        "echo x 1<> .git/config", "echo x >& .git/config", "echo x > '.g'it/config",
        "echo x > ./src/../.git/config", "echo x > .GIT/config", "cat <<X > .git/hooks/a\nx\nX",
        "cp a .git/hooks/pre-commit", "cp -t .git/hooks a", "cp --target-directory=.git/hooks a",
        "mv a .vscode/tasks.json", "echo x | tee .git/hooks/a", "sed -i s/a/b/ .git/config",
        "sed -ni.bak p .git/config", "sed --in-place p .git/config", "perl -pi -e 1 .envrc",
        "git config core.pager ./x", "git -C . config --add a.b c", "git config --unset a.b",
        "git config set core.hooksPath x", "git config -e", "ln -s a .git/hooks/a",
        "chmod +x .git/hooks/a", "install a .git/hooks/a", "dd if=a of=.git/hooks/a",
        "rsync a .git/hooks/", "touch AGENTS.md", "rm -rf .git", "mkdir -p .github/workflows",
        "truncate -s0 .git/config", "cd .git && echo x > config", "cd .git/hooks && cp ../../a b",
        "sudo cp a .git/hooks/a", "env X=1 tee .git/config", "timeout 5 touch .git/hooks/a",
        "bash -c 'echo x > .git/hooks/a'", "env sh -c 'touch .envrc'", "eval 'touch .envrc'",
        "find . | xargs cp -t .git/hooks", "cp a link/pre-commit", "echo x > src/out",
        "cp a ~/.bashrc", 'cp a "$HOME/.bashrc"', "cp a .gi*/hooks/a", "rm .g*", "rm *.md",
        "curl -o .git/hooks/a example.org", "wget -O .envrc example.org",
        "for f in a; do cp a .envrc; done",
        "$(touch .envrc)", "echo `touch .envrc`", "true && /bin/cp a .git/config",
        "git mv a .gitmodules", "git restore .envrc", "git checkout HEAD~1 -- .github/workflows/a",
        "git clone a .git/hooks", "git init .git/hooks/a", "git archive -o .git/hooks/a HEAD",
        "git format-patch -o.git/hooks HEAD~1", "git diff --output=.git/hooks/a",
        "curl -sSLo .git/hooks/a example.org", "curl -o.git/hooks/a example.org",
        "curl -OLo .envrc example.org", "wget -O.envrc example.org", "wget -qO .envrc example.org",
        "sort -uo.envrc a", "sort --o=.envrc a", "sort --outp .envrc a", "cc -o.git/hooks/a a.c",
        "wget --output-d .envrc example.org", "jar --outdir .git/hooks",
        "tar -xf a -C .git/hooks", "tar xzf a --directory .git/hooks", "tar -xC.git/hooks -f a",
        "unzip -qd .git/hooks a", "wget -P .git/hooks b", "wget --directory-pre=.git/hooks b",
        "gawk -i inplace 1 .envrc", "awk -i inplace 1 .envrc", "cp -t.git/hooks a", "CP a .envrc",
        "/bin/Sudo tee .envrc",
        "for f in a .envrc; do echo > $f; done",
        'f=.envrc; echo > "$f"', "D=.git; cp a ${D}/hooks/a",
        "for d in .git/hooks; do (cd $d && echo > a); done", "select x in .envrc; do rm $x; done",
        "for f in b a; do for g in x .envrc; do cp $f $g; done; done",
        "git apply --directory=.git/hooks a", "git -C x am --dir .github/workflows a",
        "patch -d .git/hooks -p1", "patch -d.git/hooks", "patch --directory=.git/hooks",
        "git -C .git/hooks apply ../../a", "git -C .git -C hooks am a", "cd .git/hooks && git am a",
        "git --git-dir .git --work-tree .git/hooks apply a", "git -C .github/workflows mv a b",
        "git --git-dir .git apply --directory=.git/hooks a",
        "git --attr-source HEAD apply --directory=.git/hooks a",
        "git -C .github apply --directory=workflows a", "git -C .github mv a workflows/b",
        "git --git-dir=.git --work-tree=.git/hooks checkout -- pre-commit",
        "git -c core.worktree=.git/hooks restore x", "GIT_WORK_TREE=.git/hooks git checkout -- x",
        "env GIT_WORK_TREE=.git/hooks git checkout x", "export GIT_WORK_TREE=.git/hooks; git am x",
        "git -C .git/hooks stash pop", "git worktree add .git/hooks/a", "git submodule add a b",
        "cd .git/hooks && patch -p1 -i ../../a", "cd .git/hooks && tar xf ../../a",
        "cd .git/hooks && unzip ../../a", "env -C .git/hooks tar xf a",
        "env --chdir=.git/hooks wget example.org",
        "gzip .git/hooks/a", "gunzip -f .envrc.gz", "xz -d .git/config", "split a .git/hooks/b",
    ],
)  # fmt: skip
@pytest.mark.req("R-TOOL-07")
def test_visible_write_to_a_protected_place_is_found(root, line):
    assert find_protected_write(line, root) is not None


@pytest.mark.parametrize(
    "line",
    [
        "make test > out.txt", "cp a b", "cat .git/config", "grep tee .git/config", "ls .git/hooks",
        "git config --get user.name", "git config user.name", "git config --list",
        "git commit -m x",
        "echo .git/hooks/a", "sed -n p .git/config", "cd src && touch a", "echo x 2>&1", "rm *.py",
        "mkdir build", "python x.py .git/config", "diff .git/config a > out", "", "cp", "echo >",
        "cat < .git/config", "tee", "bash -c 'cat .git/config'", "gcc -o main main.c",
        "touch .gitkeep", "git checkout HEAD", "git restore --source HEAD a",
        "git log -Sfoo .envrc",
        "grep -efoo .envrc", "grep -o x .envrc", "ls -lo .git", "git clone a", "make -C .ci test",
        "make --directory=.ci test", "gcc -c -- .envrc", "x o .envrc", "x --o.envrc a",
        "gzip a.txt", "xz -d a.xz b.xz", "git apply --directory=src a", "git log --dir .envrc",
        "git apply a", "git -C src apply ../a", "cd src && git am ../a", "cd src && tar xf ../a",
        "patch -p1 -i a", "git --work-tree=. apply a", "git --git-dir",
        "git --git-dir=.git apply a", "git -C .git log", "git -C .git/hooks status",
        "git worktree list", "git submodule status",
        "env -C src tar xf a", "A=.git/hooks git apply a", "git -c a.b=.git/hooks apply a",
        "touch a\0b", "cd .git/hooks && curl -o - example.org",
    ],
)  # fmt: skip
def test_reading_and_other_writes_are_no_protected_writes(root, line):
    assert find_protected_write(line, root) is None


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("git --work-tree=.git/hooks checkout -- a", ".git/hooks"),
        ("cd .git/hooks && git apply ../../a", ".git/hooks"),
        ("cd link && patch < ../a", "link"),
    ],
)
def test_directory_of_a_patch_is_named(root, line, place):
    assert find_protected_write(line, root) == place


def test_number_of_a_descriptor_is_no_file(root):
    (root / "2").symlink_to(".git/config")
    assert find_protected_write("make 2> out", root) is None
    assert find_protected_write("make >&2", root) is None
    for line in ("make > 2", "make &>> 2", "make 1<> 2"):
        assert find_protected_write(line, root) == "2"


def test_places_beyond_the_limit_of_lookups_are_still_compared_by_name(root, monkeypatch):
    monkeypatch.setattr(writes, "_MAX_RESOLVED", 2)
    assert find_protected_write("touch a b link/x", root) is None
    assert find_protected_write("touch a link/x", root) == "link/x"
    assert find_protected_write("touch a b c .envrc", root) == ".envrc"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("touch .gi[t]/config", True), ("touch .[g]it", True), ("touch [.]envrc", True),
        ("touch [a-z]", True), ("touch ?it/x", True), ("touch a*/config", False),
        ("touch missing/*", False), ("touch src/*", True), ("touch *", True), ("touch s*", False),
        ("touch -", False), ("touch ''", False), ("cd src && touch ../.git/config", True),
        ("cd missing && touch AGENTS.md", True), ("cd && touch x", False),
        ("cd .git; rm config", True),
        ("touch -t .envrc", True), ("touch --x=.envrc", True), ("gcc -o .envrc a.c", True),
        ("gcc --output=.envrc a.c", True),
        ("gcc --other=.envrc a.c", False), ("gcc -o", False),
        ("git", False), ("git -C x", False), ("git rm .envrc", True), ("git mv a b", False),
        ("git config", True), ("git config --global a.b", False), ("git config edit", True),
        ("git config --global a.b c", True), ("sed -n -i p .envrc", True),
        ("sed -n p .envrc", False),
        ("(cd .git && touch config)", True), ("(cd .git && ls); touch config", False),
        ("(false || cd .git; touch config)", True),
        ("builtin cd .git; touch config", True), ("command cd .git && touch config", True),
        ("time cd .git; touch config", True), ("eval cd .git; touch config", True),
        ("CDPATH=.git; cd hooks && touch a", True), ("CDPATH=.git cd hooks && touch a", True),
        ("export CDPATH=/:.git; cd hooks; touch a", True), ("CDPATH=src; cd a; touch b", False),
         ("sh -c .envrc", False), ("sh x 'touch .envrc'", True),
        ("eval 'x; eval \"touch .envrc\"'", True), ("echo x 2> .envrc", True),
        ("echo 3>&1 x", False), ("timeout 5", False), ("timeout 5 tee .envrc", True),
    ],
)  # fmt: skip
@pytest.mark.req("R-TOOL-07", "T8")
def test_globs_directories_and_options_name_what_is_written(root, line, found):
    assert (find_protected_write(line, root) is not None) is found


WRITERS = """
bsdtar chattr chgrp chmod chown cp dd ed emacs ex gcp ginstall gmv install link ln mkdir mkfifo
mknod mktemp mv nano patch rename rm rmdir rsync scp setfacl shred sponge tee touch truncate unlink
csplit split vi vim
"""
COMPRESSORS = """
bunzip2 bzip2 compress gunzip gzip lz4 lzma uncompress unlz4 unlzma unxz unzstd xz zstd
"""


@pytest.mark.parametrize("program", COMPRESSORS.split())
@pytest.mark.req("R-TOOL-07")
def test_compressed_file_and_the_file_without_its_ending_are_written(root, program):
    assert find_protected_write(f"{program} x .envrc", root) == ".envrc"
    assert find_protected_write(f"{program} .envrc.xz", root) == ".envrc"
    assert find_protected_write(f"{program} x.xz", root) is None


def test_missing_hidden_name_in_brackets_may_be_that_of_a_protected_place(tmp_path):
    assert list(tmp_path.iterdir()) == []
    assert find_protected_write("touch .[d-f]nvrc", tmp_path) == ".[d-f]nvrc"


@pytest.mark.parametrize("program", WRITERS.split())
@pytest.mark.req("R-TOOL-07")
def test_every_argument_of_a_writing_program_is_a_file_that_it_writes(root, program):
    for line in (f"{program} x .envrc", f"/usr/bin/{program} --to=.envrc x", f"{program} a=.envrc"):
        assert find_protected_write(line, root) is not None
    assert find_protected_write(f"{program} x other", root) is None


@pytest.mark.parametrize(
    "line",
    [
        "cp .git/hooks/pre-commit.sample hook", "cp -r .git backup", "cp -a .git/. ../copy.git",
        "cp AGENTS.md docs/guide.md", "cp --recursive .github/workflows /tmp/workflows",
        "cd src && cp ../.git/config config.txt", "find . -name a | xargs cp -p .envrc a",
    ],
)  # fmt: skip
def test_source_of_a_copy_is_not_written(root, line):
    assert find_protected_write(line, root) is None


@pytest.mark.parametrize(
    "line",
    [
        "cp a .envrc", "cp .envrc", "cp a .git/hooks/a -f", "cp a .git/*",
        'cp a .envrc "$X"', "cp a .envrc $(true)", "cp a .envrc b*", "cp -t.git a b",
        "cp a .envrc -S b", "cp -l .git/config a", "cp -rs .git/hooks a", "cp --link .envrc a",
        "cp --target-directory .git a", "cp a -- .envrc", "ls | xargs -I{} cp .envrc {}",
        "ln .envrc a", "mv .envrc a",
    ],
)  # fmt: skip
def test_copy_that_may_write_to_a_protected_place_is_found(root, line):
    assert find_protected_write(line, root) is not None


@pytest.mark.parametrize("program", ["gsed", "perl", "ruby", "sed"])
def test_editor_writes_only_in_place(root, program):
    assert find_protected_write(f"{program} -i.bak x .envrc", root) is not None
    assert find_protected_write(f"{program} --in-place x .envrc", root) is not None
    assert find_protected_write(f"{program} -e x .envrc", root) is None


@pytest.mark.parametrize(
    "line",
    [
        "sed -i 's/version=.*/version=\"0.2\"/' setup.cfg", "sed -i 's|a=.*|b=/x|g' a",
        "sed -i -e 's/a=.*/b/' -e 's/?=[.]*/c/I' a", "perl -pi -e 's/x=.*/y/' a",
        "sed -i 's/a=.*/b/;s/c=.*/d/' a",
    ],
)  # fmt: skip
def test_expression_of_an_editor_is_no_path(root, line):
    assert find_protected_write(line, root) is None
    assert find_protected_write(f"{line} .envrc", root) == ".envrc"


@pytest.mark.parametrize(
    "option", ["-o", "-O", "--output", "--output-document", "--outfile", "--target-directory"]
)
def test_file_after_an_option_for_output_is_written(root, option):
    assert find_protected_write(f"tool {option} .envrc", root) == ".envrc"
    assert find_protected_write(f"tool {option} out .envrc", root) is None


@pytest.mark.parametrize("place", ["", "--global", "--local", "--system", "--worktree"])
def test_git_config_with_a_value_writes_and_without_one_reads(root, place):
    file = "~/.gitconfig" if place == "--global" else ".git/config"
    assert find_protected_write(f"git config {place} a.b c", root) == file
    assert find_protected_write(f"git config {place} a.b", root) is None
    for option in ("-l", "--list", "list", "get", "get-all", "--get", "--get-all", "--get-regexp"):
        assert find_protected_write(f"git config {place} {option} a.b c", root) is None
    for option in ("-e", "--edit", "edit"):
        assert find_protected_write(f"git config {place} {option}", root) == file


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("git init sub && cd sub && git config a.b c", "sub/.git/config"),
        ("mkdir sub; cd sub; git init -q; git config a.b c", "sub/.git/config"),
        ("git clone https://x.example/sub.git && git -C sub config a.b c", "sub/.git/config"),
        ("git clone -q ../a sub && cd sub && git config a.b c", "sub/.git/config"),
        ("cd src && git config a.b c", ".git/config"),
        ("git init sub; git config a.b c", ".git/config"),
        ("git -C src config a.b c", ".git/config"),
        ("cd src && echo x > ../.git/config", ".git/config"),
        ("cd src && touch .envrc", "src/.envrc"),
        ("cd src && touch ~/.bashrc", "~/.bashrc"),
        ("touch ./src/.envrc", "./src/.envrc"),
        ("cd .git && echo x > config", ".git/config"),
        ("(cd sub); git config a.b c", ".git/config"),
        ("(cd sub && git config a.b c)", "sub/.git/config"),
        ("( (cd sub); git config a.b c )", ".git/config"),
        ("(cd sub; (cd ..); git config a.b c)", "sub/.git/config"),
        ("{ cd sub; }; git config a.b c", "sub/.git/config"),
        ("cd sub | git config a.b c", ".git/config"),
        ("cd sub | cat; git config a.b c", ".git/config"),
        ("cd sub & git config a.b c", ".git/config"),
        ("x=$(cd sub && pwd); git config a.b c", ".git/config"),
        ("cd sub && cat | git config a.b c", "sub/.git/config"),
        ("bash -c 'cd sub && ls'; git config a.b c", ".git/config"),
        ("eval 'cd sub && ls'; git config a.b c", "sub/.git/config"),
        ("env -C sub ls; git config a.b c", ".git/config"),
        ("env -C sub git config a.b c", "sub/.git/config"),
        ("pushd sub; git config a.b c", "sub/.git/config"),
        ("pushd sub; popd; git config a.b c", ".git/config"),
        ("pushd sub; pushd ../src; popd; git config a.b c", "sub/.git/config"),
        ("cd sub; cd -; git config a.b c", ".git/config"),
        ("cd sub; cd ..; git config a.b c", ".git/config"),
        ("git -C sub config a.b c; git config a.b d", "sub/.git/config"),
        ('cd "$X" && git config a.b c', "$X/.git/config"),
        ('git -C "$X" config a.b c', "$X/.git/config"),
        ('(cd "$X"); git config a.b c', ".git/config"),
        ("cd s*; git config a.b c", "s*/.git/config"),
        ("(cd sub && touch .envrc)", "sub/.envrc"),
    ],
)
def test_place_is_named_from_the_workspace(root, line, file):
    if not line.startswith(("git init", "mkdir", "git clone")):
        (root / "sub/.git").mkdir(parents=True)
    assert find_protected_write(line, root) == file


@pytest.mark.parametrize("line", ["git config a.b c", "cd src && git config a.b c"])
def test_settings_of_a_linked_worktree_are_those_of_its_repository(tmp_path, line):
    main, linked = tmp_path.resolve() / "main", tmp_path.resolve() / "linked"
    (main / ".git/worktrees/linked").mkdir(parents=True)
    (main / ".git/worktrees/linked/commondir").write_text("../..\n")
    (linked / "src").mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {main}/.git/worktrees/linked\n")
    assert find_protected_write(line, linked) == f"{main}/.git/config"


@pytest.mark.parametrize("option", ["-C", "-c", "--git-dir", "--work-tree", "--namespace"])
def test_command_of_git_is_found_behind_options_with_values(root, option):
    assert find_protected_write(f"git {option} x -p config a.b c", root) == ".git/config"
    assert find_protected_write(f"git {option} config log a.b c", root) is None


def test_line_that_is_nested_too_deeply_may_write_to_every_path_in_it(root, monkeypatch):
    line = "sh -c 'eval \"cat .envrc\"'"
    assert find_protected_write(line, root) is None
    monkeypatch.setattr(writes, "_MAX_DEPTH", 1)
    assert find_protected_write(line, root) == ".envrc"


@pytest.mark.parametrize("start", ["echo x > .envrc #", "echo 'x > .envrc"])
def test_line_that_cannot_be_parsed_may_write_to_every_path_in_it(start):
    assert find_protected_write(start + " y" * 5_000, Path("/nowhere")) == ".envrc"
    assert find_protected_write("echo " + " x" * 5_000, Path("/nowhere")) is None
