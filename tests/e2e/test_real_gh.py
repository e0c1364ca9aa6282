"""The end of the way with the real gh on a loopback GitHub: the branch is pushed, the pull request is there once.

The rehearsal agent stands in for `claude`, since what is looked at begins when the work is done.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.test_forge import gh_environment, real_gh
from tests.doubles.github_api import GitHubApi, loopback_github
from tests.doubles.github_world import World
from tests.e2e.project import BRANCH, Project, on_a_forge
from tests.engine import building
from tests.engine.building import reports, story, works
from tests.engine.nights import played_once

pytestmark = real_gh

URL = "https://github.com/acme/widget/pull/1"


@played_once
def reviewed(place: Path) -> building.Project:
    """A feature with one story, of which nothing is left to do but what is done on a forge."""
    night = building.build(place, story("US-001", title="Sign in"))
    night.write("PRD.md", "# Sign in\n\n## Objective\n\n- People sign in.\n")
    night.write("SPEC.md", "# Sign in\n")
    night.play(stories={"*": [works()]}, qa=[reports()])
    assert night.loop().code == 10
    return night


@pytest.fixture
def bare(reviewed: building.Project, tmp_path: Path) -> Path:
    return on_a_forge(reviewed.repo, tmp_path)


@pytest.fixture
def github(bare: Path) -> Iterator[GitHubApi]:
    with loopback_github(World(git_dir=bare)) as running:
        yield running


@pytest.fixture
def project(reviewed: building.Project, github: GitHubApi) -> Project:
    """The feature in a repository that is on the forge, and a person who leaves its gate open."""
    return Project(reviewed.repo, {**reviewed.env, "RALPHY_GATES_QA": "auto", **of_gh(github)})


def of_gh(github: GitHubApi, token: str = "ghp_FAKE") -> dict[str, str]:
    """What lets gh talk to the double."""
    return {name: value for name, value in gh_environment(github, token).items() if name.startswith(("GH_", "PATH"))}


def pushed(project: Project, bare: Path) -> str:
    """What the remote holds on the feature's branch."""
    return project.git("--git-dir", str(bare), "rev-parse", BRANCH)


def assert_published(project: Project, bare: Path, github: GitHubApi) -> None:
    """There is one pull request, its address is on record, and both sides agree on the branch."""
    assert [pr["headRefName"] for pr in github.world.prs] == [BRANCH]
    assert project.prd()["workflow"]["pr"]["url"] == URL
    assert pushed(project, bare) == project.git("rev-parse", BRANCH)
    assert project.git("status", "--porcelain") == ""
    assert project.night().code == 0
    assert len(github.world.prs) == 1


def automatic(project: Project) -> Project:
    return Project(project.repo, {**project.env, "RALPHY_PR_AUTO_MERGE": "true"})


def test_the_forge_is_asked_to_merge_the_published_commit_where_checks_are_required(
    project: Project, bare: Path, github: GitHubApi
) -> None:
    github.world.required = ["prove"]

    called = automatic(project).night()

    assert called.code == 0
    assert "when these checks pass: prove" in called.said
    assert github.world.prs[0]["autoMergeRequest"]["expectedHeadOid"] == pushed(project, bare)
    assert_published(project, bare, github)


@pytest.mark.parametrize("required, state, why", [
    ([], "CLEAN", "main requires no checks"),
    pytest.param(["prove"], "BLOCKED", "is not allowed", marks=pytest.mark.soak),
])  # fmt: skip
def test_without_required_checks_or_the_forges_leave_a_pull_request_is_left_to_a_person(
    required: list[str], state: str, why: str, project: Project, bare: Path, github: GitHubApi
) -> None:
    github.world.required, github.world.auto_merge_allowed, github.world.merge_state = required, False, state

    called = automatic(project).night()

    assert called.code == 0
    assert "warning: #1 is not merged automatically: " in called.said and why in called.said
    assert not github.world.prs[0].get("autoMergeRequest") and github.world.prs[0]["state"] == "OPEN"
    assert_published(project, bare, github)


@pytest.mark.fault("H5")
def test_a_pull_request_is_opened_with_the_evidence_and_left_to_a_person_even_if_it_could_be_merged(
    project: Project, bare: Path, github: GitHubApi
) -> None:
    github.world.merge_state = "CLEAN"

    called = project.night()

    assert called.code == 0
    assert URL in called.said
    (pr,) = github.world.prs
    assert (pr["title"], pr["baseRefName"], pr["isDraft"]) == ("Sign in", "main", False)
    assert "The stories of `login`, rehearsed." in pr["body"]
    assert "| US-001 Sign in | 1 | $" in pr["body"]
    assert_published(project, bare, github)
    assert [pr["state"] for pr in github.world.prs] == ["OPEN"]
    assert github.operations()
    assert not [name for name in github.operations() if "merge" in name.lower()]


def test_a_pull_request_that_is_there_is_adopted(project: Project, bare: Path, github: GitHubApi) -> None:
    github.world.add(BRANCH, title="Somebody was faster", body="By hand.")

    called = project.night()

    assert called.code == 0
    assert f"pull request adopted: {URL}" in called.said
    assert (github.world.prs[0]["title"], github.world.prs[0]["body"]) == ("Somebody was faster", "By hand.")
    assert "PullRequestCreate" not in github.operations()
    assert_published(project, bare, github)


@pytest.mark.fault("H2")
def test_a_lost_answer_makes_no_second_pull_request(project: Project, bare: Path, github: GitHubApi) -> None:
    github.fail("createPullRequest", after=True)

    called = project.night()

    assert called.code == 0
    assert github.operations().count("PullRequestCreate") == 1
    assert "pull request adopted" in called.said
    assert_published(project, bare, github)


@pytest.mark.parametrize("trouble", ["login", pytest.param("forge", marks=pytest.mark.soak)])
@pytest.mark.fault("H1")
def test_work_is_kept_when_the_forge_refuses_and_published_later(
    trouble: str, project: Project, bare: Path, github: GitHubApi
) -> None:
    if trouble == "forge":
        github.fail("createPullRequest", status=502, times=2)
        refused = project.night()
    else:
        refused = Project(project.repo, {**project.env, **of_gh(github, token="bad")}).night()

    assert refused.code == 5
    assert ("gh auth login" if trouble == "login" else "502") in refused.said
    assert "the branch" in refused.said and "pushed" in refused.said
    assert github.world.prs == []
    assert pushed(project, bare) == project.git("rev-parse", BRANCH)
    assert project.story("US-001")["passes"] is True
    assert project.git("status", "--porcelain") == ""
    runs = len(project.journal("run"))

    assert project.night().code == 0
    assert len(project.journal("run")) == runs
    assert_published(project, bare, github)


@pytest.mark.fault("H1")
def test_without_gh_the_branch_is_pushed_and_the_text_is_left(
    project: Project, bare: Path, github: GitHubApi, tmp_path: Path
) -> None:
    called = Project(project.repo, {**project.env, "PATH": str(only("git", "sh", "true", folder=tmp_path))}).night()

    assert called.code == 0
    assert "gh (the GitHub CLI) is not on PATH" in called.said and "PR.md" in called.said
    assert github.requests == []
    assert_handed_over(project, bare)


def only(*programs: str, folder: Path) -> Path:
    """A folder for PATH in which there are just these programs."""
    made = folder / "bin"
    made.mkdir()
    for name in programs:
        (made / name).symlink_to(shutil.which(name) or name)
    return made


def assert_handed_over(project: Project, bare: Path) -> None:
    """The branch is on the remote, PR.md in the feature folder, and it is on record that it was not opened."""
    assert pushed(project, bare) == project.git("rev-parse", BRANCH)
    assert (project.folder / "PR.md").read_text().startswith("# Sign in\n")
    record = project.prd()["workflow"]["pr"]
    assert record["pushed"] is True and "url" not in record
    assert project.git("status", "--porcelain") == ""
