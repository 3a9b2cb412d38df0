"""Sessions of directories that were moved."""

import json

from tests.provider_server import Reply


def ask(line, served, text, *arguments):
    served.script.append(Reply("Yes."))
    code, _, err = line.bare("-p", text, "-m", "opus", *arguments)
    return code, err


def list_sessions(line, *arguments):
    _, out, _ = line.bare("sessions", "list", "--json", *arguments)
    return json.loads(out)


def prompts_of(served):
    return json.dumps(served.requests[-1][1]["system"])


def test_session_goes_on_in_the_directory_to_which_its_own_was_moved(line, served):
    old, new = line.workspace, line.workspace.with_name("moved")
    assert ask(line, served, "one", "--cwd", str(old))[0] == 0
    [session] = list_sessions(line)
    old.rename(new)
    code, err = ask(line, served, "two", "-r", session["id"])
    assert code == 2 and f"`yourtool -r {session['id']} --cwd DIR` goes on in it" in err
    served.script.clear()
    assert ask(line, served, "three", "-r", session["id"], "--cwd", str(new))[0] == 0
    assert str(new) in prompts_of(served) and str(old) + "\\n" not in prompts_of(served)
    assert "one" in json.dumps(served.requests[-1][1]["messages"][0])
    assert [each["workspace_path"] for each in list_sessions(line)] == [str(new)]
    assert ask(line, served, "four", "-c", "--cwd", str(new))[0] == 0
    assert len(list_sessions(line)) == 1


def test_continue_in_a_moved_directory_names_the_session_that_may_be_meant(line, served):
    old = line.workspace
    assert ask(line, served, "one", "--cwd", str(old))[0] == 0
    [session] = list_sessions(line)
    (new := old.parent / "elsewhere" / old.name).parent.mkdir()
    old.rename(new)
    code, err = ask(line, served, "two", "-c", "--cwd", str(new))
    assert code == 2
    assert (
        f"The last session of `{old}`, which is gone: `yourtool -r {session['id']} --cwd ." in err
    )
