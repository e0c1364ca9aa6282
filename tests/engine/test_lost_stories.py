"""prd.json gone or emptied with history behind it: a question to the person, never an input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphy.errors import ExitCode, InvalidInput
from tests.engine.building import PATIENCE_S, Project, build, story, strayed_documents
from tests.engine.nights import played_once
from tests.sampling import sampled

Lose = Callable[[Project], None]


@played_once
def done(tmp_path: Path) -> Project:
    """Two completed stories and a failed one, on the feature's branch, with a specification."""
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.write("PRD.md", "# Login\n\n## Objective\n\nPeople sign in.\n")
    project.write("SPEC.md", "# Specification\n")
    assert project.loop().code == ExitCode.WAITING
    assert project.landed() == ["login/US-001", "login/US-002"]
    return project


def loses_everything(project: Project) -> None:
    (project.folder / "prd.json").unlink()


def loses_its_text(project: Project) -> None:
    project.write("prd.json", "")


def loses_its_stories(project: Project) -> None:
    project.write("prd.json", json.dumps({**project.prd(), "userStories": []}))


def loses_a_completed_story(project: Project) -> None:
    prd = project.prd()
    project.write("prd.json", json.dumps({**prd, "userStories": prd["userStories"][1:]}))


def loses_its_file_with_git(project: Project) -> None:
    project.switch()
    project.git("rm", "--quiet", f"{project.path}/prd.json")


def loses_its_commit(project: Project) -> None:
    loses_its_file_with_git(project)
    project.git("commit", "--quiet", "-m", "tidy up")


LOSSES = [loses_its_stories, loses_its_text, loses_a_completed_story, loses_its_commit]


@pytest.mark.parametrize("lose", LOSSES)
def test_stories_that_are_gone_are_asked_for_and_nothing_is_done(done: Project, lose: Lose) -> None:
    lose(done)
    tip = done.tip

    ended = done.loop()

    assert (ended.code, ended.runs) == (ExitCode.WAITING, [])
    assert "git show " in ended.rest.reason and "ralphy redo spec" in ended.rest.reason
    assert done.tip == tip
    code, said = done.call("story", "add", "one more", "login")
    assert code == ExitCode.CONFLICT and "git show " in said
    if lose is loses_its_commit:
        done.git("revert", "--no-edit", "HEAD")
    else:
        done.write("prd.json", done.git("show", f"{done.branch}:{done.path}/prd.json") + "\n")
    assert done.loop().runs == []
    assert done.statuses() == {"US-001": "completed", "US-002": "completed"}


def test_a_broken_prd_json_says_how_to_bring_it_back(done: Project) -> None:
    path = "docs/features/login/prd.json"
    for data in ("[]", "{}", '{"userStories": [{"id"'):
        done.write("prd.json", data)
        with pytest.raises(InvalidInput) as error:
            done.loop()
        assert f"git show ralph/login:{path} > {path}" in error.value.hint


@pytest.mark.parametrize("lose", [loses_everything, loses_its_file_with_git])
def test_a_prd_json_that_is_gone_from_the_checkout_is_laid_out_again(done: Project, lose: Lose) -> None:
    tip = done.tip
    lose(done)

    done.loop()

    assert done.statuses() == {"US-001": "completed", "US-002": "completed"}
    assert done.tip == tip
    assert strayed_documents(done) == []


def test_starting_over_is_a_persons_word(done: Project) -> None:
    loses_its_stories(done)

    assert done.call("redo", "spec", "login")[0] == 0
    done.loop(last_step="spec")

    assert done.outcomes()[-1] == ("spec", "succeeded")
    assert done.statuses() == {"US-001": "pending", "US-002": "pending"}
    assert done.set_aside() == ["SPEC.md", "prd.json"]


@pytest.mark.parametrize(
    "lose", sampled([loses_everything, loses_its_file_with_git, loses_its_stories], loses_its_stories)
)
def test_a_fresh_start_after_prd_json_was_removed_keeps_the_stories_that_were(done: Project, lose: Lose) -> None:
    lose(done)
    if lose is loses_its_file_with_git:
        done.switch("main")

    with done.start("start", "login", "--fresh", "--yes") as process:
        assert process.stderr
        next(line for line in process.stderr if "git branch -f ralph/login refs/ralphy/login/before-1" in line)
        process.terminate()
        process.communicate(timeout=PATIENCE_S)

    kept = done.git("show", f"refs/ralphy/login/before-1:{done.path}/prd.json")
    assert [story["status"] for story in json.loads(kept)["userStories"]] == ["completed", "completed"]


def test_a_story_added_after_a_revert_of_a_landed_one_is_done_beside_it(done: Project) -> None:
    done.git("switch", "--quiet", done.branch)
    done.git("revert", "--no-edit", done.commit_of("US-002"))
    done.git("switch", "--quiet", "main")

    code, said = done.call("story", "add", "one more", "login")

    assert code == 0, said
    assert [one["status"] for one in done.prd()["userStories"]] == ["completed", "pending", "pending"]
    done.loop(agents=2)
    assert set(done.statuses().values()) == {"completed"}
    assert len(done.landed()) == 4


def test_a_story_that_is_not_completed_may_go(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), limits={"max_iterations": 1})
    project.loop(runs=0)
    prd = project.prd()
    project.write("prd.json", json.dumps({**prd, "userStories": prd["userStories"][:1]}))

    assert project.loop().runs == ["qa"]
