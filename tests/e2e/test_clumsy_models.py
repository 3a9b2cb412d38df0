"""Clumsy models finish their tasks, in no more requests than are recorded."""

import re

import pytest

from tests.e2e import craft_with_model
from tests.e2e.clumsy_models import KINDS
from tests.e2e.clumsy_tasks import TASKS, run_task
from tests.e2e.craft_page import PAGE
from tests.e2e.requests_per_task import FILE, read_requests
from tests.e2e.task_projects import PROJECTS
from tests.provider_server import ProviderServer

pytestmark = pytest.mark.remaining


@pytest.mark.req("R-ADP-06", "R-TOOL-08")
@pytest.mark.parametrize(
    ("kind", "project"), TASKS, ids=[f"{kind}-{project.language}" for kind, project in TASKS]
)
def test_a_clumsy_model_finishes_its_task_in_the_recorded_requests(kind, project, tmp_path):
    outcome = run_task(kind, project, tmp_path)
    assert outcome.problem == ""
    assert outcome.requests <= read_requests()[kind, project.language].now


def test_requests_are_recorded_for_forty_tasks_and_never_more_than_before():
    recorded = read_requests()
    assert len(TASKS) == len(recorded) == 40
    more = [task for task, row in recorded.items() if row.now > row.before]
    assert not more, FILE.name


@pytest.mark.craft
def test_every_clumsy_model_finishes_its_tasks(figures, tmp_path):
    recorded = read_requests()
    done, finished, over = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0), list[str]()
    for kind, project in TASKS:
        outcome = run_task(kind, project, tmp_path / kind / project.language)
        done[kind] += outcome.requests
        finished[kind] += not outcome.problem
        if outcome.requests > recorded[kind, project.language].now:
            over.append(f"{kind} in {project.language}: {outcome.requests} requests")
    before = {
        kind: sum(recorded[kind, project.language].before for project in PROJECTS) for kind in KINDS
    }
    for kind, row in KINDS.items():
        text = f"{finished[kind]} finished in {done[kind]} requests, before in {before[kind]}"
        figures("clumsy models", text, part=row.title)
    total = f"{sum(finished.values())} finished in {sum(done.values())} requests"
    figures("clumsy models", f"{total}, before in {sum(before.values())}", part="all")
    assert sum(finished.values()) == len(TASKS)
    assert not over


def test_the_page_has_the_recorded_requests_and_a_transcript_of_each_kind():
    page = PAGE.read_text("utf-8")
    recorded = read_requests()
    for kind, row in KINDS.items():
        rows = [recorded[kind, project.language] for project in PROJECTS]
        before, now = sum(each.before for each in rows), sum(each.now for each in rows)
        assert re.search(rf"^\| \[{row.title}\].*\| 5 of 5 \| {before} \| {now} \|", page, re.M)
        section = page.partition(f"\n## {row.title}\n")[2].partition("\n## ")[0]
        assert re.findall(r"(?m)^(Before|Now), .* requests:$", section) == ["Before", "Now"]
        assert section.count("\nuser     ") >= 2
        assert section.count("\ncall     ") >= 8


def test_a_real_model_does_the_tasks_with_the_configuration_of_its_user(
    monkeypatch, tmp_path, capsys
):
    kind, project = TASKS[0]
    with ProviderServer(answer=KINDS[kind].build(project).answer) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert craft_with_model.main(["sonnet"], [(kind, project)]) == 0
        count = len(server.requests)
    [line, total] = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        rf"Wrong types, Python: finished; {count} requests, [\d,]+ tokens, .*", line
    )
    assert total.startswith(f"1 of 1 tasks finished; {count} requests, ")


def test_a_real_model_without_a_key_ends_the_measurement_with_the_reason(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert craft_with_model.main(["sonnet"]) == craft_with_model.NO_MODEL
    written = capsys.readouterr()
    assert written.out == ""
    assert "The tasks need a model: " in written.err
    assert "ANTHROPIC_API_KEY" in written.err
