"""prove: what stories are worth, asked again from their commits, in any clone and without an agent."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema

from ralphy.cli.main import main
from ralphy.resources import schema
from tests.engine.building import Project, build, story
from tests.engine.nights import played_once
from tests.engine.pytested import PYTESTS, pytested

MUL = "\n\ndef mul(a, b):\n    return a * b\n"
HALF = "\n\ndef half(a):\n    return a / 2\n"


def asks(name: str, said: str) -> str:
    return f"def test_{name}():\n    from calc import {name}\n\n    assert {said}\n"


@played_once
def landed(place: Path) -> Project:
    """Two stories on the feature's branch, each with a test that fails without it."""
    project = pytested(place, story("US-001"), story("US-002", priority=2), verify={"unproved": "flag"})
    project.play(stories={
        "US-001": [{"append": {"calc.py": MUL}, "write": {"tests/test_mul.py": asks("mul", "mul(2, 3) == 6")}}],
        "US-002": [{"append": {"calc.py": HALF}, "write": {"tests/test_half.py": asks("half", "half(4) == 2")}}],
    })  # fmt: skip
    project.loop()
    assert project.landed() == ["login/US-001", "login/US-002"]
    return project


def cloned(project: Project, at: Path) -> Project:
    """The feature's branch in a clone, where nothing is known but what is committed."""
    project.git("clone", "--quiet", "--branch", project.branch, str(project.repo), str(at))
    clone = replace(project, repo=at)
    clone.git("branch", "--quiet", "main", "origin/main")
    assert ralphy(clone, "trust")[0] == 0
    return clone


def ralphy(project: Project, *words: str) -> tuple[int, str]:
    """(exit code, stdout and stderr) of a command in a project."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(["-C", str(project.repo), *words])
    return code, said.getvalue()


def proved(project: Project, *words: str) -> tuple[int, dict[str, Any]]:
    code, said = ralphy(project, "prove", "--json", "--quiet", *words)
    value = json.loads(said)
    jsonschema.validate(value, schema("prove"))
    return code, value


def test_a_story_whose_commit_was_changed_by_hand_is_named(landed: Project, tmp_path: Path) -> None:
    clone = cloned(landed, tmp_path / "clone")
    first, second = clone.commit_of("US-001"), clone.commit_of("US-002")
    clone.git("checkout", "--quiet", "--detach", first)
    calc = clone.repo / "calc.py"
    calc.write_text(calc.read_text().replace("\n\n\ndef mul", "\n\n\ndef mul_of"))
    clone.git("commit", "--quiet", "--amend", "--no-edit", "--all")
    clone.git("-c", "rebase.autostash=false", "rebase", "--quiet", "--onto", "HEAD", first, second)

    code, value = proved(clone, "main..HEAD")

    assert code == 11
    assert [row["story"] for row in value["stories"] if not row["holds"]] == ["US-001"]


def test_in_a_clone_every_story_of_a_rebased_branch_is_proved_again_by_name(landed: Project, tmp_path: Path) -> None:
    clone = cloned(landed, tmp_path / "clone")
    clone.git("checkout", "--quiet", "main")
    (clone.repo / "NEWS").write_text("what is new\n")
    clone.commit("docs: what is new", "NEWS")
    clone.git("rebase", "--quiet", "main", clone.branch)

    code, value = proved(clone)

    assert (code, value["ok"]) == (0, True)
    assert [(row["story"], row["holds"], row["red_first"]) for row in value["stories"]] == [
        ("US-001", True, ["tests/test_mul.py::test_mul"]),
        ("US-002", True, ["tests/test_half.py::test_half"]),
    ]


def test_what_is_not_there_is_said(landed: Project) -> None:
    # Where no story landed, a check that is required succeeds.
    assert proved(landed, "main..main", "--if-any") == (0, {"schema": "ralphy/prove@1", "ok": True, "stories": []})

    code, out = ralphy(landed, "prove", "login", "--story", "US-009")
    assert (code, "no story US-009 landed in login\n" in out) == (2, True)

    code, out = ralphy(landed, "prove", "US-001")
    assert (code, "US-001 is a story, not a feature\n  hint: ralphy prove login --story US-001\n" in out) == (2, True)

    code, out = ralphy(landed, "prove", "lgoin")
    assert (code, "did you mean login?" in out) == (2, True)

    code, out = ralphy(landed, "prove", "main..nowhere")
    assert (code, "'nowhere' is not a commit" in out) == (3, True)


def test_a_feature_that_is_merged_is_found_by_its_name(landed: Project, tmp_path: Path) -> None:
    clone = cloned(landed, tmp_path / "clone")
    clone.git("checkout", "--quiet", "main")
    clone.git("merge", "--quiet", "--no-ff", "-m", "Merge login", clone.branch)
    clone.git("branch", "--quiet", "--delete", clone.branch)

    code, value = proved(clone, "login", "--story", "US-002")

    assert (code, [(row["story"], row["holds"]) for row in value["stories"]]) == (0, [("US-002", True)])


def test_where_the_base_has_a_name_of_its_own_prd_json_tells_it(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.git("branch", "--move", "trunk")
    project.loop()
    clone = tmp_path / "clone"
    project.git("clone", "--quiet", "--branch", project.branch, str(project.repo), str(clone))
    inside = replace(project, repo=clone)
    inside.git("checkout", "--quiet", "--detach")  # as in CI
    assert ralphy(inside, "trust")[0] == 0

    for place, words in ((project, ["login"]), (inside, [])):
        code, value = proved(place, *words)
        assert (code, [row["story"] for row in value["stories"]]) == (0, ["US-001"])


def test_parts_that_no_test_would_miss_are_named_by_their_lines(tmp_path: Path) -> None:
    code = "\n\ndef mul(a, b):\n    return a * b\n\n\ndef unused(a):\n    return a\n"
    project = pytested(tmp_path, story("US-001"), verify={"unproved": "flag"})
    project.play(stories={
        "US-001": [{"append": {"calc.py": code}, "write": {"tests/test_mul.py": asks("mul", "mul(2, 3) == 6")}}],
    })  # fmt: skip
    project.loop()

    code_, value = proved(project, "login", "--parts")

    (row,) = value["stories"]
    assert (code_, row["parts"], row["unproved_parts"]) == (0, 2, ["calc.py:13-14"])


def test_a_test_that_was_the_proof_and_is_it_no_more_is_flagged(landed: Project, tmp_path: Path) -> None:
    clone = cloned(landed, tmp_path / "clone")
    clone.git("checkout", "--quiet", "--detach", clone.commit_of("US-001"))
    prd = clone.folder / "prd.json"
    raw = json.loads(prd.read_text())
    del raw["userStories"][0]["evidence"]["change"]
    prd.write_text(json.dumps(raw))
    (clone.repo / "tests" / "test_mul.py").write_text("def test_mul():\n    assert True\n")
    clone.git("commit", "--quiet", "--amend", "--no-edit", "--all")

    code, value = proved(clone, "main..HEAD")

    (row,) = value["stories"]
    assert (code, row["holds"]) == (0, True)
    assert "tests/test_mul.py::test_mul failed without the story's code when it landed, and passes now" in row["flags"]


def test_a_failure_that_one_story_ended_is_no_proof_of_the_next(tmp_path: Path) -> None:
    stories = story("US-001"), story("US-002", priority=2)
    files = {**PYTESTS, "tests/test_mul.py": asks("mul", "mul(2, 3) == 6")}
    project = pytested(tmp_path, *stories, files=files, verify={"unproved": "flag"})
    project.play(stories={"US-001": [{"append": {"calc.py": MUL}}], "US-002": [{"append": {"calc.py": HALF}}]})
    project.loop(accepts_red=True)

    _, value = proved(project, "login")

    red = {row["story"]: row["red_first"] for row in value["stories"]}
    assert red == {"US-001": ["tests/test_mul.py::test_mul"], "US-002": []}
