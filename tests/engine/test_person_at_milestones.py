"""A person works in the checkout between any two durable steps: what they do stays, and every story lands all the same.

A process runs the whole feature. At the first milestones of each name it stands still, and the person does one thing.
`make test` has a sample of the acts, `make soak` a night for each.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from pathlib import Path

import pytest

from ralphy.documents.prd_reader import check_prd
from ralphy.errors import ExitCode
from tests.engine.building import ONE_RUN, Project, assert_clean, breaks, build, drive, story, works
from tests.sampling import sampled

STORIES = ["login/US-001", "login/US-002"]

# What the person does at a milestone: $N is its number. Git's own commands alone, as they are typed.
ON_BRANCH = "git switch --quiet ralph/login"
COMMIT = "echo $N > mine$N; git add mine$N; git commit --quiet -m mine$N"
BACK = "git switch --quiet $STANDS"
ACTS = {
    "commits on the branch": f"{ON_BRANCH}; {COMMIT}; {BACK}",
    "commits on main": f"git switch --quiet main; {COMMIT}; {BACK}",
    "switches there and back": "git switch --quiet main; git switch --quiet ralph/login; " + BACK,
    "stashes": "echo $N > src/base.py; git stash push --quiet -m mine$N",
    "stages and leaves": "echo $N > mine$N; git add mine$N",
    "amends": f"{ON_BRANCH}; git commit --quiet --amend --no-edit --date=2001-01-01T00:00:$N+0000; {BACK}",
    "rebases": f"git switch --quiet main; {COMMIT}; {ON_BRANCH}; git rebase --quiet main; {BACK}",
    "pulls": "git switch --quiet main; new=$(git -C ../remote.git commit-tree -p main -m mine$N main^{tree}); "
             "git -C ../remote.git update-ref refs/heads/main $new; "
             f"git pull --quiet --ff-only origin main; {BACK}",
    "edits a document": "echo mine$N >> docs/features/login/notes.md",
    "edits prd.json": "sed -i \"s/\\\"description\\\": \\\"/&mine$N /\" docs/features/login/prd.json",
    "removes the lanes": "rm -rf \"$LANES\"",
}  # fmt: skip

# Git refuses to switch for some milliseconds, while a checkout on the branch is about to follow it.
FOLLOWS = {"refs_moved", "documents_noted", "documents_laid_out", "files_replaced", "index_recorded"}


# One night in which they do these by turns
TURNS = ("commits on the branch", "commits on main", "removes the lanes")


@pytest.mark.soak
@pytest.mark.parametrize("stands", ["main", "ralph/login"])
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.fault("M6")
def test_what_a_person_does_at_any_milestone_stays_and_every_story_lands(tmp_path: Path, act: str, stands: str) -> None:
    require_undisturbed(tmp_path, stands, act)


@pytest.mark.fault("M6")
def test_a_person_who_does_something_else_at_each_milestone_keeps_it_all(tmp_path: Path) -> None:
    require_undisturbed(tmp_path, "main", *TURNS)


def require_undisturbed(tmp_path: Path, stands: str, *acts: str) -> None:
    """A night whose person does these acts by turns."""
    project = a_feature(tmp_path, is_pushed=not {"amends", "rebases"}.intersection(acts))
    script, turns = tmp_path / "person.sh", len(acts)
    cases = "\n".join(f"{turn}) {ACTS[act]};;" for turn, act in enumerate(acts))
    lanes = Path(project.env["HOME"], ".cache", "ralphy", "lanes")
    script.write_text(f"STANDS={stands}; LANES={lanes}\ncase $((N % {turns})) in\n{cases}\nesac\n")

    code = drive(project, "meet", str(script), stands, str(tmp_path / "acts.jsonl"))

    done = [json.loads(line) for line in (tmp_path / "acts.jsonl").read_text().splitlines()]
    sys.stdout.writelines(f"{one}\n" for one in done)
    assert code == ExitCode.DONE
    require_landed(project)
    assert {one["milestone"] for one in done if one["said"]} <= FOLLOWS
    for turn, act in enumerate(acts):
        numbers = [one["number"] for one in done if not one["code"] and one["number"] % turns == turn]
        assert numbers
        require_kept(project, act, numbers)
    assert project.git("rev-parse", "--abbrev-ref", "HEAD") == stands


@pytest.mark.fault("M6")
def test_a_person_on_the_branch_can_switch_away_while_an_agent_works(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.loop(**ONE_RUN)
    project.switch()

    def there_and_back() -> None:
        assert project.git("status", "--porcelain") == ""
        project.switch("main")
        project.switch()

    project.loop(at={"laid_out": there_and_back})

    require_landed(project)


@pytest.mark.fault("M6", "P1")
@pytest.mark.parametrize(("point", "again"), sampled([("intent_recorded", False), ("refs_moved", False),
                                                      ("refs_moved", True)], ("refs_moved", False)))  # fmt: skip
def test_a_kill_while_work_that_a_stale_commit_undid_is_brought_back_loses_nothing(
    tmp_path: Path, point: str, again: bool
) -> None:
    project = a_feature(tmp_path, is_pushed=False)
    project.play(stories={"*": [works()]})
    script = tmp_path / "person.sh"
    script.write_text(f"""
        if [ -e mine ] && [ $MILESTONE = {point} ]; then kill -9 $PPID; exit; fi
        if [ $MILESTONE = refs_moved ]; then echo 1 > mine; git add mine; git commit --quiet -m mine; fi
    """)
    assert drive(project, "meet", str(script), project.branch, str(tmp_path / "acts.jsonl")) == -signal.SIGKILL
    assert ("src/us_001.py" in project.code_files()) is (point == "refs_moved")
    if again:
        project.git("commit", "--quiet", "--allow-empty", "-m", "mine, again")
        assert "src/us_001.py" not in project.code_files()

    assert drive(project, "note", str(tmp_path / "again")) == ExitCode.DONE

    require_landed(project)
    assert "mine" in project.code_files()
    assert_clean(project)


# what is edited, and where Ralphy is killed then
ADOPTED = [("progress.txt", "edits_adopted"), ("prd.json", "refs_moved"), ("prd.json", "edits_adopted")]


@pytest.mark.fault("M6", "P1")
@pytest.mark.parametrize(("name", "point"), sampled(ADOPTED, ("prd.json", "edits_adopted")))
def test_a_kill_while_an_edit_is_adopted_adopts_it_once(tmp_path: Path, name: str, point: str) -> None:
    project = a_feature(tmp_path, is_pushed=False)
    project.play(stories={"*": [works()]})
    edits = ACTS["edits prd.json"] if name == "prd.json" else f"echo mine$N >> docs/features/login/{name}"
    script = tmp_path / "person.sh"
    at = "judged" if point != "edits_adopted" else "end_recorded"
    script.write_text(f"""
        if [ -e ../edited ] && [ $MILESTONE = {point} ]; then kill -9 $PPID; fi
        if [ $MILESTONE = {at} ] && [ ! -e ../edited ] && [ -e docs/features/login/{name} ]; then
            touch ../edited; {edits}
        fi
    """)
    assert drive(project, "meet", str(script), "main", str(tmp_path / "acts.jsonl")) == -signal.SIGKILL

    assert drive(project, "note", str(tmp_path / "again")) == ExitCode.DONE

    require_landed(project)
    assert project.code(f"{project.path}/{name}").count("mine") == 1
    assert len([one for one in project.subjects() if "changes by hand" in one]) == 1
    assert_clean(project)


def a_feature(tmp_path: Path, *, is_pushed: bool) -> Project:
    """Two stories, the first one healed. What is rewritten after it was pushed is a person's to push."""
    project = build(
        tmp_path, story("US-001"), story("US-002"), gates={"spec": "auto", "qa": "auto"}, limits={"max_attempts": 9}
    )
    plan = project.prd()
    project.plan(*plan["userStories"], description="A login.")
    if is_pushed:
        project.add_remote(tmp_path / "remote.git")
        project.git("push", "--quiet", "origin", "main")
    project.play(stories={"US-001": [breaks(), works()], "US-002": [works()]})
    return project


def require_landed(project: Project) -> None:
    assert sorted(project.landed()) == STORIES
    document = check_prd(project.git("show", f"{project.branch}:{project.path}/prd.json").encode(), "prd.json")
    assert {found["status"] for found in document["userStories"]} == {"completed"}
    for name in ("US-001", "US-002"):
        assert project.trailer("Ralphy-Run", project.commit_of(name))
        assert project.code(f"src/{name.lower().replace('-', '_')}.py").startswith("WORKS")
    entries = re.findall(r"^## .* - (US-\d+) \(attempt (\d+)", project.code(f"{project.path}/progress.txt"), re.M)
    assert {("US-001", "1"), ("US-002", "1")} <= set(entries)
    assert "attempt 1" in project.code(f"{project.path}/stories/US-001.md")


def require_kept(project: Project, act: str, numbers: list[int]) -> None:
    """What the person did is where they did it."""
    mine = [f"mine{number}" for number in numbers]
    if act == "stashes":
        found = project.git("stash", "list", "--format=%gs").splitlines()
        assert [line.rpartition(" ")[2] for line in reversed(found)] == mine
    elif act == "stages and leaves":
        assert project.git("diff", "--cached", "--name-only").split() == sorted(mine)
        project.git("reset", "--quiet")
        for name in mine:
            (project.repo / name).unlink()
    elif act.startswith("edits"):
        assert set(mine) <= words_of(project, "notes.md" if act == "edits a document" else "prd.json")
    elif act in ("commits on main", "pulls", "rebases"):
        assert project.git("log", "--reverse", "--format=%s", "main").splitlines()[1:] == mine
    elif act == "commits on the branch":
        assert set(mine) <= set(project.code_files())
    assert_clean(project)


def words_of(project: Project, name: str) -> set[str]:
    """The words of a document on the branch, and of what was set aside: without a sandbox, the edits of a run."""
    aside = (project.folder / ".ralphy" / "set-aside").glob(f"*-{name}")
    texts = [project.code(f"{project.path}/{name}"), *(path.read_text() for path in aside)]
    return set(re.findall(r"\w+", " ".join(texts)))
