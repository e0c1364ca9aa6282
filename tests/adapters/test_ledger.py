"""What git log says of a story: which commit completed it, and whether that still counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.git.commands import Repository, discover
from ralphy.git.ledger import attempt_patch, find_attempt, kept_attempts, story_commits
from tests.conftest import RunGit


@pytest.fixture
def repository(git_repo: Path) -> Repository:
    return discover(git_repo)


@pytest.fixture
def land(git_repo: Path, git: RunGit) -> Landing:
    return Landing(git_repo, git)


class Landing:
    """`land("US-001")` makes the commit of a story, as Ralphy does; gives its id."""

    def __init__(self, repo: Path, git: RunGit) -> None:
        self._repo = repo
        self._git = git

    def __call__(self, story: str, feature: str = "login", **trailers: str) -> str:
        name = f"{feature}-{story}.txt"
        path = self._repo / name
        path.write_text(path.read_text() + "again\n" if path.exists() else "once\n")
        rows = {"Ralphy-Story": f"{feature}/{story}", "Ralphy-Attempt": "2", "Ralphy-Run": "r1",
                "Ralphy-Cost-USD": "0.1200", **trailers}  # fmt: skip
        message = f"feat({feature}): {story} A title\n\n" + "\n".join(f"{k}: {v}" for k, v in rows.items())
        self._git("add", "--all")
        self._git("commit", "--quiet", "-m", message)
        return self._git("rev-parse", "HEAD")

    def attempt(self, story: str, number: int, text: str, subject: str = "rejected") -> str:
        """An attempt under its ref; the branch and the working tree stay as they are."""
        green = self._git("rev-parse", "HEAD")
        (self._repo / "calc.py").write_text(text)
        (self._repo / "new.py").write_text("NEW = 1\n")
        self._git("add", "--all")
        self._git("commit", "--quiet", "-m", f"login/{story} attempt {number}: {subject}\n\ntest exit 1\nin calc")
        commit = self._git("rev-parse", "HEAD")
        self._git("update-ref", f"refs/ralphy/login/{story}/attempt-{number}", commit)
        self._git("update-ref", f"refs/ralphy/login/{story}/agent-r{number}", commit)
        self._git("reset", "--quiet", "--hard", green)
        return commit


def test_a_storys_commit_is_found_by_its_trailers_and_numbers_that_are_none_do_no_harm(
    repository: Repository, land: Landing
) -> None:
    commit = land("US-001")
    found = story_commits(repository, "login", "HEAD")["US-001"]
    assert (found.commit, found.story, found.subject) == (commit, "US-001", "feat(login): US-001 A title")
    assert (found.attempt, found.run, found.cost_usd, found.reverted_by) == (2, "r1", 0.12, "")
    assert found.at > 1_600_000_000

    land("US-001", **{"Ralphy-Attempt": "many", "Ralphy-Cost-USD": "1e999"})
    found = story_commits(repository, "login", "HEAD")["US-001"]
    assert (found.attempt, found.cost_usd) == (0, 0.0)


def test_stories_of_others_and_a_trailer_in_the_middle_of_a_message_are_not_ours(
    repository: Repository, land: Landing, git: RunGit
) -> None:
    land("US-001", feature="login2")
    land("US-001", feature="logout")
    git("commit", "--quiet", "--allow-empty", "-m", "chore: talk\n\nRalphy-Story: login/US-001\n\nis how it looks.")
    assert story_commits(repository, "login", "HEAD") == {}
    land.attempt("US-0011", 1, "BROKEN = 1\n")
    assert kept_attempts(repository, "login", "US-001") == []


def test_the_difference_runs_nothing_of_the_repositorys(
    repository: Repository, land: Landing, git: RunGit, git_repo: Path
) -> None:
    trap = git_repo.parent / "trap"
    git("config", "diff.external", f"touch {trap}; false")
    git("config", "diff.trap.textconv", f"touch {trap}; cat")
    (git_repo / ".git" / "info").mkdir(exist_ok=True)
    (git_repo / ".git" / "info" / "attributes").write_text("*.py diff=trap\n")
    land.attempt("US-001", 1, "BROKEN = 1\n")
    patch = attempt_patch(repository, find_attempt(repository, "login", "US-001", 1))
    assert b"+BROKEN = 1\n" in patch
    assert b"diff --git a/calc.py b/calc.py" in patch
    assert not trap.exists()
