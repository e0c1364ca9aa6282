"""The life of a feature in every constellation of checkout, branch and base; and which one is meant without a name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphy.config import load as settings
from ralphy.engine.feature.features import FeatureLocation, features_of, only_open
from ralphy.engine.workspace.checkout import Checkout
from ralphy.errors import NotFound
from ralphy.git import commands as git
from tests.engine.building import Project, build, story
from tests.engine.nights import played_once


def found(project: Project) -> dict[str, FeatureLocation]:
    repository = git.discover(project.repo, project.env)
    checkout = Checkout.of(repository)
    try:
        config = settings.load(project.repo, None, env=project.env).config
        return {one.feature.name: one for one in features_of(checkout, config)}
    finally:
        checkout.close()


def life(project: Project) -> str:
    return found(project)["login"].life.value


def commit(project: Project, message: str = "chore: more") -> None:
    project.git("add", "--all")
    project.git("commit", "--quiet", "--allow-empty", "-m", message)


def code_of_head(project: Project) -> str:
    repository = git.discover(project.repo, project.env)
    checkout = Checkout.of(repository)
    try:
        return checkout.objects.id_without(checkout.objects.tree_of(project.git("rev-parse", "HEAD")), project.path)
    finally:
        checkout.close()


@played_once
def published(tmp_path: Path) -> Project:
    """A feature whose branch is as Ralphy leaves it at the end; the checkout is on it."""
    project = build(tmp_path, story("US-001"))
    project.git("switch", "--quiet", "-c", project.branch)
    (project.repo / "src" / "login.py").write_text("DONE = 1\n")
    commit(project, "feat(login): US-001")
    done = story("US-001", status="completed", passes=True, evidence={"tree": "1"})
    project.plan(done, workflow={"pr": {"branch": project.branch, "code": code_of_head(project), "pushed": False}})
    commit(project, "chore(login): published")
    return project


def merged(p: Project) -> None:
    p.git("switch", "--quiet", "main")
    p.git("merge", "--quiet", "--no-ff", "-m", "Merge login", p.branch)


def squashed(p: Project) -> None:
    p.git("switch", "--quiet", "main")
    p.git("merge", "--quiet", "--squash", p.branch)
    commit(p, "feat: login (#1)")


def rebased(p: Project) -> None:
    p.git("switch", "--quiet", "main")
    commit(p)
    p.git("cherry-pick", f"main..{p.branch}")


def squashed_without_documents(p: Project) -> None:
    p.git("switch", "--quiet", "main")
    (p.repo / "src" / "login.py").write_text("DONE = 1\n")
    commit(p, "feat: login (#1)")
    (p.repo / "src" / "base.py").write_text("BASE = 3\n")
    commit(p, "feat: more")


def fetched(p: Project) -> None:
    merged(p)
    p.git("update-ref", "refs/remotes/origin/main", "main")
    p.git("reset", "--quiet", "--hard", "main~1")


def deleted(merge: Callable[[Project], None]) -> Callable[[Project], None]:
    def both(p: Project) -> None:
        merge(p)
        p.git("branch", "-D", p.branch)

    return both


MERGES: dict[str, Callable[[Project], None]] = {
    "merged": merged,
    "squashed": squashed,
    "squashed, branch deleted": deleted(squashed),
    "squashed without documents": squashed_without_documents,
    "rebased": rebased,
    "fetched": fetched,
}


@pytest.mark.parametrize("how", MERGES)
def test_however_it_got_into_the_base_it_is_merged(published: Project, how: str) -> None:
    assert life(published) == "published"
    MERGES[how](published)
    assert life(published) == "merged"


def elsewhere(p: Project) -> None:
    p.git("switch", "--quiet", "main")


def with_a_commit_of_a_person(p: Project) -> None:
    (p.repo / "src" / "login.py").write_text("DONE = 2\n")
    commit(p, "fix: by hand")


def squashed_and_gone_on(p: Project) -> None:
    squashed(p)
    p.git("switch", "--quiet", p.branch)
    p.plan(*p.prd()["userStories"], story("US-002"))
    commit(p)


def reverted(p: Project) -> None:
    merged(p)
    p.plan(story("US-001"))
    commit(p, "Revert US-001")


def reopened_on_main(p: Project) -> None:
    deleted(squashed)(p)
    p.plan(*p.prd()["userStories"], story("US-002"))


def with_another_story_than_the_base(p: Project) -> None:
    deleted(squashed)(p)
    p.git("switch", "--quiet", "-c", p.branch)
    prd = p.prd()
    p.write("prd.json", json.dumps({**prd, "userStories": [*prd["userStories"], {**prd["userStories"][0], "id": "B"}]}))
    (p.repo / "src" / "b.py").write_text("B = 1\n")
    commit(p)


OTHERS = {
    "published, seen from main": (elsewhere, "published"),
    "a person's commit after the end": (with_a_commit_of_a_person, "in_work"),
    "gone on after a squash": (squashed_and_gone_on, "in_work"),
    "reverted on main": (reverted, "open"),
    "a story more on main": (reopened_on_main, "open"),
    "a story more than the base has": (with_another_story_than_the_base, "in_work"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_left_to_do_keeps_it_open(published: Project, what: str) -> None:
    change, expected = OTHERS[what]
    change(published)
    assert life(published) == expected


def test_a_branch_of_another_name_is_found_by_what_its_prd_says(published: Project) -> None:
    published.plan(*published.prd()["userStories"], branchName="ralph/renamed")
    commit(published)
    published.git("branch", "-m", "ralph/renamed")
    published.git("switch", "--quiet", "main")
    assert (found(published)["login"].branch, life(published)) == ("ralph/renamed", "in_work")


def test_a_list_that_was_imported_as_completed_is_still_to_be_reviewed(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001", status="completed", passes=True))
    commit(project)
    assert life(project) == "open"


@pytest.mark.parametrize("text", ["{", "[]", '{"userStories": 7}'])
def test_a_broken_prd_is_open_so_that_somebody_names_the_error(tmp_path: Path, text: str) -> None:
    project = build(tmp_path)
    project.write("prd.json", text)
    assert life(project) == "open"


def test_where_there_is_no_feature_none_is_meant() -> None:
    with pytest.raises(NotFound, match="no feature in docs/features/"):
        only_open([], "docs/features")
