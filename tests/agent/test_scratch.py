"""The copy that the demo works in."""

import subprocess

from yourtool.agent.scratch import make_scratch_copy


def test_a_scratch_copy_has_the_visible_files_and_leaves_the_original_alone(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    (project / "src").mkdir()
    (project / "src" / "app.py").write_text("print()\n")
    (project / ".gitignore").write_text("secret\n")
    (project / "secret").write_text("key")
    (project / "link").symlink_to("/etc/passwd")
    scratch = make_scratch_copy(project, tmp_path / "cache")
    assert (scratch / "src" / "app.py").read_text() == "print()\n"
    assert not (scratch / "secret").exists()
    assert not (scratch / "link").exists()
    assert (scratch / ".git").is_dir()
    (scratch / "src" / "app.py").write_text("changed")
    assert (project / "src" / "app.py").read_text() == "print()\n"


def test_a_directory_that_is_no_repository_is_copied_near_its_top(tmp_path):
    project = tmp_path / "plain"
    (project / "a" / "b" / "c" / "d").mkdir(parents=True)
    (project / "top.txt").write_text("x")
    (project / "a" / "b" / "c" / "d" / "deep.txt").write_text("x")
    scratch = make_scratch_copy(project, tmp_path / "cache")
    assert (scratch / "top.txt").exists()
    assert not (scratch / "a" / "b" / "c" / "d" / "deep.txt").exists()
