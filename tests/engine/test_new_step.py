"""A step that Ralphy does not have, made of an object, its row and a template, goes through the whole pipeline."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ralphy import resources
from ralphy.cli.stories.gates import redo_help
from ralphy.engine.person.again import redo_step
from ralphy.engine.view.observe import observe
from ralphy.engine.view.view import phase_of
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.steps import table
from ralphy.pipeline.steps.acceptance import ACCEPTANCE
from ralphy.pipeline.steps.pr import PR
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.spec import SPEC
from ralphy.pipeline.steps.step import CODE, Step
from ralphy.pipeline.steps.story import SPLIT, STORY
from ralphy.prompts import render
from ralphy.scaffold import writer
from ralphy.scaffold.writer import init_prompts
from tests.engine.building import Project, assert_clean, build, open_feature, reports, story

SECURITY = Step(
    "security",
    phase="SECURITY",
    timeout="qa",
    models=lambda models: (models.qa,),
    document="SECURITY.md",
    inputs=("SPEC.md", CODE),
    gate=lambda gates: gates.qa,
    waiting_phase="AWAITING_SECURITY_VALIDATION",
)
PROMPT = """Look for holes in the code of {{ feature }}, as somebody who wants to get in, and write down what you find.
{{ evidence }}
{{ feedback }}
{{ mistakes }}
"""
FOUND = {"outbox": {"SECURITY.md": "# No holes\n"}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """One story, and a review of its security between qa and pr: through the doors that CONTRIBUTING.md names alone."""
    monkeypatch.setattr(table, "STEPS", (SPEC, ACCEPTANCE, STORY, SPLIT, QA, SECURITY, PR))
    templates = shutil.copytree(resources.template_root(), tmp_path / "templates")
    (templates / "prompts" / "security.md.j2").write_text(PROMPT, encoding="utf-8")
    for reader in (render, writer):
        monkeypatch.setattr(reader, "template_root", lambda: templates)
    return build(tmp_path, story("US-001"))


def reviewed(project: Project) -> None:
    assert project.loop().runs == ["US-001", "qa"]
    project.approve()


def test_a_new_step_is_run_asks_is_read_and_waited_for_in_its_place(project: Project) -> None:
    project.play(qa=[reports()], other=[{"outbox": {}}, {"question": "Is the network trusted?"}, FOUND])
    reviewed(project)

    asked = project.loop()

    assert (asked.code, asked.runs) == (ExitCode.WAITING, ["security", "security"])
    assert "SECURITY.md was not handed in" in project.prompts("security")[1]
    project.write("QUESTIONS.md", project.read("QUESTIONS.md").rstrip() + " no\n")

    waits = project.loop()

    assert (waits.code, waits.runs) == (ExitCode.WAITING, ["security"])
    assert "The answer: no" in project.prompts("security")[2]
    assert isinstance(waits.rest, d.Wait) and waits.rest.gate == "security"
    with open_feature(project.repo, project.path, project.env) as w:
        assert phase_of(waits.rest, observe(w)) == "AWAITING_SECURITY_VALIDATION"
    assert project.code(f"{project.path}/SECURITY.md") == "# No holes\n"
    record = project.prd()["workflow"]["steps"]["security"]
    assert record["inputs"].keys() == {"code"} and record["outputs"].keys() == {"SECURITY.md"}

    project.write("REJECTED", "Look at the cookies, too")
    again = project.loop()
    assert (again.code, again.runs) == (ExitCode.WAITING, ["security"])
    assert "Look at the cookies, too" in project.prompts("security")[3]

    project.approve()
    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.DONE, ["pr"])
    assert project.prd()["workflow"]["steps"]["pr"]["inputs"].keys() == {"SECURITY.md", "code"}
    assert_clean(project)


def test_new_code_and_a_redo_make_its_document_again(project: Project) -> None:
    project.play(qa=[reports()], other=[FOUND])
    reviewed(project)
    project.loop()
    project.approve()
    assert project.loop().runs == ["pr"]

    with open_feature(project.repo, project.path, project.env) as w:
        assert redo_step(w, SECURITY).startswith("SECURITY.md is made again")
    assert project.loop().runs == ["security"]
    project.approve()
    assert project.loop().code == ExitCode.DONE

    project.plan(*project.prd()["userStories"], story("US-002"), workflow=project.prd()["workflow"])
    assert project.loop().runs == ["US-002", "qa"]
    project.approve()
    assert project.loop().runs == ["security"]


def test_it_is_known_wherever_steps_are_named(project: Project) -> None:
    assert ".ralphy/prompts/security.md.j2" in "\n".join(init_prompts(project.repo))
    assert "STEP is one of spec, acceptance, qa, security, pr." in redo_help()
