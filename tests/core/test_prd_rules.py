"""What must hold for a prd.json beyond its schema."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from ralphy.documents.prd_reader import prd_problems
from ralphy.documents.prd_rules import Problem, problems
from tests.core.building import examples


def story(story_id: str = "US-001", **fields: Any) -> dict[str, Any]:
    return {"id": story_id, "title": "Store users", **fields}


def prd(*stories: Any, **fields: Any) -> dict[str, Any]:
    return {"userStories": list(stories), **fields}


def the_problem(document: dict[str, Any], **options: Any) -> Problem:
    found = problems(document, **options)
    assert len(found) == 1, found
    return found[0]


NO_BRANCHES = [
    "a..b", "-a", "/a", "a/", "a//b", "a b", "a~1", "a.lock", ".a", "a/.b", "HEAD", "@{1}", "@", "a\n", ""
]  # fmt: skip


@pytest.mark.fault("I3x")
def test_an_id_or_a_branch_that_git_does_not_take_is_refused() -> None:
    for story_id in ("a..b", "a.", "a.lock", "a\n", "a\x1b"):
        (problem,) = prd_problems(prd(story(story_id)))
        assert problem.path == ("userStories", 0, "id")
        assert "without '..' and without '.' or '.lock' at the end" in problem.message
        assert problem.message.isprintable()
    for name in NO_BRANCHES:
        (problem,) = prd_problems(prd(branchName=name))
        assert problem.path == ("branchName",)
        assert problem.message.endswith("must be a name that Git takes for a branch, such as ralph/login")


@pytest.mark.parametrize("written", ["us-001", " US-001"])
def test_a_dependency_that_is_nearly_an_id_is_guessed(written: str) -> None:
    problem = the_problem(prd(story("US-001"), story("US-002", dependsOn=[written])))
    assert problem.hint == "did you mean US-001?"


def test_a_circle_is_named_in_the_order_of_the_needs() -> None:
    stories = [story("a"), story("b", dependsOn=["a", "d"]), story("c", dependsOn=["b"]), story("d", dependsOn=["c"])]
    problem = the_problem(prd(*stories))
    assert problem.path[2] == "dependsOn"
    ring = problem.message.removeprefix("is circular: ").split(" → ")
    assert ring[0] == ring[-1] == stories[int(problem.path[1])]["id"]
    assert all(needed in needs(stories, one) for one, needed in pairwise(ring))


def needs(stories: list[dict[str, Any]], story_id: str) -> list[str]:
    return next(list(s.get("dependsOn", [])) for s in stories if s["id"] == story_id)


@given(st.lists(st.lists(st.integers(0, 5), max_size=2), min_size=6, max_size=6))
@pytest.mark.fault("I1x")
def test_a_circle_is_found_exactly_when_there_is_one(edges: list[list[int]]) -> None:
    stories = [story(f"s{n}", dependsOn=[f"s{m}" for m in to if m != n]) for n, to in enumerate(edges)]
    left = {each["id"]: set(each["dependsOn"]) for each in stories}
    while free := [story_id for story_id, needed in left.items() if not needed & left.keys()]:
        for story_id in free:
            del left[story_id]
    assert bool(problems(prd(*stories))) is bool(left)


ODD_NAMES = st.lists(
    st.sampled_from(
        ["a", "B", ".", "..", "/", "-", "@", "@{", "{", "}", ".lock", " ", "~", "^", ":", "?", "*", "[", "]"]
    )
    | st.sampled_from(["\\", "\x7f", "\t", "\x01", "é", "HEAD", "refs", "heads", "#", "!", "$", "'", '"']),
    min_size=1,
    max_size=5,
).map("".join)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=ODD_NAMES)
@example(name="ralph/login")
@example(name="a/HEAD")
def test_branch_names_are_judged_as_git_judges_them(tmp_path: Path, name: str) -> None:
    assume(name != "@")  # git takes it as the current branch, whatever that is
    argv = ["git", "check-ref-format", "--branch", name]
    git = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)
    assert (not prd_problems(prd(branchName=name))) is (git.returncode == 0)


def test_the_schema_comes_first_then_the_branch_the_ids_and_the_rest() -> None:
    document = prd(story("a", title=" ", dependsOn=["no"]), story("A"), branchName="main")
    paths = [problem.path for problem in prd_problems(document)]
    assert paths == [
        ("userStories", 0, "title"),
        ("branchName",),
        ("userStories", 1, "id"),
        ("userStories", 0, "dependsOn", 0),
    ]
