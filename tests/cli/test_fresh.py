"""start --fresh: a feature from nothing but its PRD.md, and everything that was is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralphy.cli.options import Invocation
from ralphy.cli.output import Output
from ralphy.engine.person.from_nothing import start_from_nothing
from ralphy.errors import ExitCode
from tests.cli.conftest import Call, CallIn, Make
from tests.cli.test_run import on_a_terminal
from tests.engine.building import Project, assert_clean, build, reports, works
from tests.engine.driver import KilledError, dies_at
from tests.engine.nights import played_once
from tests.sampling import sampled

AUTO = {"spec": "auto", "qa": "auto"}
REF = "refs/ralphy/login/before-1"
PLAN = {"SPEC.md": "# Specification\n", "stories.json": {"userStories": [
    {"id": "US-001", "title": "Sign in", "acceptanceCriteria": ["it works"]}]}}  # fmt: skip
BETTER = {"SPEC.md": "# Better\n", "stories.json": {"userStories": [
    {"id": f"US-00{n}", "title": f"Better {n}", "acceptanceCriteria": ["it works"]} for n in (1, 2)]}}  # fmt: skip
AGENTS: dict[str, Any] = {  # they make one plan first, and a better one after that
    "spec": [{"outbox": PLAN}, {"outbox": BETTER}], "stories": {"*": [works()]}, "qa": [reports()],
}  # fmt: skip


def planned(made: Make, **gates: str) -> tuple[Project, Call]:
    """A feature with a PRD.md alone."""
    project, call = made(gates={**AUTO, **gates})
    project.play(**AGENTS)
    return project, call


@played_once
def ended(place: Path) -> Project:
    project = build(place, gates=AUTO)
    project.play(**AGENTS)
    assert project.loop().code == 0
    return project


@pytest.fixture
def finished(ended: Project, call_in: CallIn) -> tuple[Project, Call]:
    return ended, call_in(ended)


def test_a_feature_starts_from_nothing_and_comes_back_with_one_command(finished: tuple[Project, Call]) -> None:
    project, call = finished
    tip, prd = project.tip, project.prd()

    code, _, err = call("start", "login", "--fresh", "--yes")

    back = f"git branch -f ralph/login {REF}"
    assert code == 0 and back in err, err
    assert f"kept in {REF}: 1 of 1 stories completed; SPEC.md, QA_REPORT.md" in err
    assert project.git("rev-parse", REF) == tip
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.read("SPEC.md") == "# Better\n"
    assert project.read("PRD.md").strip() == project.git("show", f"{tip}:docs/features/login/PRD.md").strip()
    assert call.json("status", "login")[1]["tasks_total"] == 2
    assert [run["attempt"] for run in project.journal("run") if run["step"] == "story"] == [1, 1, 1]
    assert_clean(project)

    project.git(*back.split()[1:])
    assert call("loop", "login")[0] == 0
    assert (project.tip, project.prd()) == (tip, prd)
    assert call("start", "login", "--fresh", "--yes")[0] == 0
    assert project.git("rev-parse", "refs/ralphy/login/before-2") == tip


def test_it_asks_first_and_a_no_changes_nothing(finished: tuple[Project, Call]) -> None:
    project, call = finished
    before = project.git("for-each-ref")
    code, _, err = call("start", "--fresh")
    assert code == ExitCode.INVALID and "--yes" in err and "ralphy reset login" in err
    assert call("start", "--yes")[0] == ExitCode.INVALID
    with on_a_terminal(project, "start", "--fresh") as (heard, process):
        heard.until("Start login from nothing? [y/N]")
        heard.send("\n")
        heard.rest()
    assert process.returncode == ExitCode.WAITING and "Nothing has changed" in heard.text
    assert project.git("for-each-ref") == before and project.statuses() == {"US-001": "completed"}


def test_before_there_is_a_branch_the_documents_alone_are_kept(made: Make) -> None:
    project, call = planned(made, spec="human")
    assert call("loop")[0] == ExitCode.WAITING
    project.write("notes.md", "mine\n")
    with on_a_terminal(project, "start", "--fresh") as (heard, _):
        heard.until("Start login from nothing? [y/N]")
        heard.send("y\n")
        heard.until("Approve the spec of login?")
        heard.send("q\n")
        heard.rest()
    assert project.read("SPEC.md") == "# Better\n" and list(project.statuses()) == ["US-001", "US-002"]
    kept = project.git("ls-tree", "--name-only", f"{REF}:docs/features/login").split()
    assert {"PRD.md", "SPEC.md", "prd.json", "notes.md"} <= set(kept)
    assert project.git("show", f"{REF}:docs/features/login/SPEC.md") == "# Specification"
    assert project.read("notes.md") == "mine\n"
    project.git("branch", "-f", "ralph/login", REF)
    assert call("status")[0] == 0 and call("loop")[0] == ExitCode.WAITING
    assert list(project.statuses()) == ["US-001"]


def test_with_nothing_but_a_prd_md_nothing_is_asked(made: Make) -> None:
    project, call = planned(made)
    assert call("start", "login", "--fresh")[0] == 0
    assert not project.refs("refs/ralphy/login")


def checked_out(project: Project) -> None:
    project.switch()


def pushed(project: Project) -> None:
    project.git("update-ref", "refs/remotes/origin/ralph/login", project.tip)


def merged(project: Project) -> None:
    project.git("merge", "--quiet", "--no-ff", "-m", "Merge login", project.branch)


def planned_by_hand(project: Project) -> None:
    (project.folder / "PRD.md").unlink()
    project.git("branch", "-D", project.branch)


def committed_on_main(project: Project) -> None:
    project.git("add", "-f", f"{project.path}/SPEC.md")
    project.git("commit", "--quiet", "-m", "docs: plan")


@pytest.mark.parametrize(
    ("change", "hint"),
    [(checked_out, "git switch main"), (pushed, "git push origin --delete ralph/login"), (merged, "ralphy redo"),
     (planned_by_hand, "ralphy reset login"), (committed_on_main, "git rm docs/features/login/SPEC.md")],
)  # fmt: skip
def test_where_it_would_contradict_what_stays_it_is_refused(
    finished: tuple[Project, Call], change: Callable[[Project], None], hint: str
) -> None:
    project, call = finished
    change(project)
    before = project.git("for-each-ref")
    code, _, err = call("start", "login", "--fresh", "--yes")
    assert code == ExitCode.CONFLICT and hint in err, err
    assert project.git("for-each-ref") == before and project.folder.joinpath("SPEC.md").exists()


@pytest.mark.parametrize(
    "point", sampled(["past_kept", "documents_gone", "branch_gone"], "documents_gone", "branch_gone")
)
def test_a_kill_on_the_way_leaves_the_old_feature_or_a_new_one(finished: tuple[Project, Call], point: str) -> None:
    project, call = finished
    tip, prd = project.tip, project.prd()

    with (
        pytest.raises(KilledError),
        Invocation(project.repo, Output(quiet=True)).edited("login", "start over") as (w, s),
    ):
        w.milestone = dies_at(point)
        start_from_nothing(w, s)

    assert project.git("rev-parse", REF) == tip
    assert call("loop", "login")[0] == 0
    if point == "branch_gone":
        assert project.landed() == ["login/US-001", "login/US-002"]
    else:
        assert (project.tip, project.prd()) == (tip, prd)
        assert call("start", "login", "--fresh", "--yes")[0] == 0
        assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)
