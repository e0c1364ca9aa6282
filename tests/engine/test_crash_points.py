"""A kill between any two durable steps costs nothing: a whole feature, ended at every milestone, and started again.

`make test` ends one feature at four of them, one after the other; `make soak` has a feature of its own for each.

While it goes on a person switches to its branch, with changes of their own, and stays there: the checkout follows.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from ralphy.documents.prd_reader import check_prd
from ralphy.errors import ExitCode
from tests.conftest import set_home
from tests.engine.building import Project, assert_clean, breaks, build, drive, person, works
from tests.engine.driver import KILLED
from tests.faults.world import carriers

SHARES = 12
OFTEN = 3  # a milestone that comes more often proves the same again; the last one is tried, too
STORIES = ["login/US-001", "login/US-002"]
SITS_DOWN = """
git switch --quiet ralph/login
echo 'BASE = 2' > src/base.py
echo 'MINE = 1' > src/mine.py
"""

Point = tuple[str, int]


def feature(tmp_path: Path) -> Project:
    """From PRD.md to the remote: two stories, the first one healed, gates that open by themselves.

    US-002's agent commits by itself, US-001's first attempt is red; in the middle of it a person begins to work on the
    branch. Every later act repeats the last one, so that it does not matter how often a story is begun.
    """
    project = build(tmp_path, gates={"spec": "auto", "qa": "auto"}, limits={"max_attempts": 9})
    project.add_remote(tmp_path / "remote.git")
    sits_down = person(project, SITS_DOWN)
    acts = [breaks(run=sits_down), works(run=sits_down)]
    project.play(
        defaults={"cost_usd": 0.01}, stories={"US-001": acts, "US-002": [{**works(), "commit": "wip: {{story}}"}]}
    )
    return project


@pytest.fixture(scope="module")
def milestones(tmp_path_factory: pytest.TempPathFactory) -> list[Point]:
    """(name, which one of that name) of every milestone of an undisturbed run, in order."""
    folder = tmp_path_factory.mktemp("undisturbed")
    notes = folder / "milestones"
    with pytest.MonkeyPatch.context() as patch:
        set_home(folder / "home", patch)
        assert drive(feature(folder), "note", str(notes)) == ExitCode.DONE
    seen: Counter[str] = Counter()
    points = []
    for name in notes.read_text(encoding="utf-8").split():
        seen[name] += 1
        points.append((name, seen[name]))
    return points


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.fault("P1")
def test_a_kill_at_any_milestone_costs_nothing(milestones: list[Point], tmp_path: Path, share: int) -> None:
    failed = {}
    for point in tried(milestones)[share::SHARES]:
        folder = tmp_path / f"{point[0]}-{point[1]}"
        folder.mkdir()
        why = why_lost(folder, point)
        if why:
            failed[point] = why
        shutil.rmtree(folder)
    assert failed == {}


@pytest.mark.fault("P1")
def test_kills_before_in_and_after_a_landing_and_after_the_push_cost_nothing(tmp_path: Path) -> None:
    project = feature(tmp_path)
    for name, nth in (("judged", 2), ("refs_moved", 1), ("intent_recorded", 1), ("pushed", 1)):
        assert drive(project, "die", name, str(nth)) == KILLED, f"{name} was not reached"

    assert drive(project, "note", str(tmp_path / "last")) == ExitCode.DONE

    require_whole(project)


def tried(milestones: list[Point]) -> list[Point]:
    """The first few of each milestone, and the last. How often documents are laid out depends on the clock's tick."""
    most = Counter(name for name, _ in milestones if not name.startswith("documents_"))
    return [(name, nth) for name, nth in milestones if nth <= OFTEN or nth == most[name]]


def why_lost(folder: Path, point: Point) -> str:
    """What a kill there has cost; "" if nothing."""
    project = feature(folder)
    try:
        assert drive(project, "die", point[0], str(point[1])) == KILLED, "the milestone was not reached"
        assert drive(project, "note", str(folder / "again")) == ExitCode.DONE
        require_whole(project)
    except AssertionError as error:
        return str(error)[:600]
    return ""


def require_whole(project: Project) -> None:
    """Every story once, with its trailers and its end; all completed, clean, sound, pushed, and nobody left behind."""
    assert sorted(project.landed()) == STORIES
    commits = [project.commit_of(name) for name in ("US-001", "US-002")]
    ended = {end["run"] for end in project.journal("end") if end.get("landed")}
    assert ended == {project.trailer("Ralphy-Run", commit) for commit in commits}
    for name, commit in zip(("US-001", "US-002"), commits, strict=True):
        assert all(project.trailer(key, commit) for key in ("Ralphy-Attempt", "Ralphy-Run", "Ralphy-Cost-USD"))
        assert f"stories/{name}.md" in " ".join(project.files_of(commit))
    document = check_prd((project.folder / "prd.json").read_bytes(), "prd.json")
    assert {found["status"] for found in document["userStories"]} == {"completed"}
    assert document["workflow"]["pr"]["pushed"] is True
    assert not [line for line in project.subjects() if line.startswith("wip")]
    assert not [path for path in project.folder.rglob("*") if ".tmp" in path.name]
    assert project.git("ls-remote", "origin", project.branch).split()[0] == project.tip
    assert carriers(project) == []
    require_person_undisturbed(project)
    assert_clean(project)


def require_person_undisturbed(project: Project) -> None:
    """The checkout is on the branch's tip, and all that differs are the changes of the person, which are cleared up."""
    assert project.git("rev-parse", "--abbrev-ref", "HEAD") == project.branch
    assert project.git("status", "--porcelain", "--untracked-files=all") == " M src/base.py\n?? src/mine.py"
    assert project.git("cat-file", "blob", ":src/us_002.py").startswith("WORKS")
    assert (project.repo / "src" / "base.py").read_text() == "BASE = 2\n"
    assert (project.repo / "src" / "mine.py").read_text() == "MINE = 1\n"
    assert "src/mine.py" not in project.code_files()
    project.git("checkout", "--quiet", "--", "src/base.py")
    (project.repo / "src" / "mine.py").unlink()
