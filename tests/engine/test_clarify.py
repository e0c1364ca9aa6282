"""Before a specification, an agent asks what PRD.md leaves open; a person answers in CLARIFICATIONS.md, or does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.cli.run.in_ci import with_answers
from ralphy.engine.person.again import redo_step
from ralphy.engine.reactor import Patience, run_feature
from ralphy.engine.view.observe import observe
from ralphy.engine.view.view import phase_of
from ralphy.errors import Conflict, ExitCode, InvalidInput
from ralphy.pipeline import decision as d
from ralphy.pipeline.clarifications import open_questions, read_clarifications, require_questions, with_answer
from ralphy.pipeline.steps.clarify import CLARIFY
from tests.engine.building import Project, build, open_feature

ASKED = """# Clarifications: login

## Q1. Who may sign in?

The code knows visitors.

- A. Customers only (recommended)
- B. Everybody

Answer:

## Q2. How long does a session last?

- A. A day
- B. A year

Answer:
"""
GATES = {"spec": "human", "qa": "human"}


def questions(text: str = ASKED) -> dict[str, Any]:
    return {"outbox": {"CLARIFICATIONS.md": text}}


def asking(tmp_path: Path, **settings: Any) -> Project:
    project = build(tmp_path, **{"clarify": {"ask": "on"}, "gates": GATES, **settings})
    project.play(clarify=[questions()])
    return project


def answered(project: Project, question: str, words: str) -> None:
    project.write("CLARIFICATIONS.md", with_answer(project.read("CLARIFICATIONS.md"), question, words))


def test_questions_wait_until_each_is_answered_and_the_specification_is_told(tmp_path: Path) -> None:
    project = asking(tmp_path, clarify={"ask": "on", "most": 2})
    third = ASKED[ASKED.index("## Q2") :].replace("Q2", "Q3")
    project.play(clarify=[questions(ASKED + third), questions()])

    asked = project.loop()

    assert (asked.code, asked.runs) == (ExitCode.WAITING, ["clarify", "clarify"])
    assert "At most 2 questions," in project.prompts("clarify")[0]
    assert "asks 3 questions; at most 2" in project.prompts("clarify")[1]
    assert f"asks Q1, Q2: write after each `Answer:` in {project.folder}" in asked.rest.reason
    assert isinstance(asked.rest, d.Wait) and asked.rest.gate == "clarify"
    with open_feature(project.repo, project.path, project.env) as w:
        assert phase_of(asked.rest, observe(w)) == "AWAITING_CLARIFICATION"

    answered(project, "Q1", "b")
    waits = project.loop()
    assert (waits.code, waits.runs) == (ExitCode.WAITING, [])
    assert "asks Q2: " in waits.rest.reason

    answered(project, "Q2", "An hour")
    specified = project.loop()
    assert (specified.runs, getattr(specified.rest, "gate", "")) == (["spec"], "spec")
    (told,) = project.prompts("spec")
    assert "## Q1. Who may sign in?" in told and "Answer: b\n" in told and "Answer: An hour\n" in told

    project.write("CLARIFICATIONS.md", project.read("CLARIFICATIONS.md").replace("An hour", "A week"))
    assert project.loop().runs == ["spec"]
    assert "Answer: A week" in project.prompts("spec")[1]
    project.approve()
    assert project.loop(agents=1).runs == ["US-001"]
    assert "Answer: A week" in project.code(f"{project.path}/CLARIFICATIONS.md")


def test_an_approval_leaves_the_rest_to_the_agents_and_remarks_ask_again(tmp_path: Path) -> None:
    project = asking(tmp_path)
    project.loop()
    project.write("REJECTED", "Ask about passwords")
    assert project.loop().runs == ["clarify"]
    assert "Ask about passwords" in project.prompts("clarify")[1]

    project.approve()
    assert project.loop().runs == ["spec"]
    assert "where there is none, choose what fits best" in project.prompts("spec")[0]


def test_nothing_waits_where_nothing_is_open_or_a_person_wrote_it(tmp_path: Path) -> None:
    off = build(tmp_path / "off", gates=GATES)
    off.write("CLARIFICATIONS.md", "Everybody may sign in.\n\n## Q1. How long?\n\nAn hour.\n")
    assert off.loop().runs == ["spec"]
    assert "Everybody may sign in.\n\n## Q1. How long?\n\nAn hour." in off.prompts("spec")[0]

    clear = asking(tmp_path / "clear")
    clear.play(clarify=[questions("# Clarifications\n\nPRD.md says enough.\n")])
    assert clear.loop().runs == ["clarify", "spec"]

    own = asking(tmp_path / "own")
    own.write("CLARIFICATIONS.md", with_answer(with_answer(ASKED, "Q1", "A"), "Q2", "B"))
    assert own.loop().runs == ["spec"]

    left = asking(tmp_path / "left", gates={"clarify": "auto", "spec": "human"})
    assert left.loop().runs == ["clarify", "spec"]


def test_redo_asks_again_as_long_as_there_is_no_specification(tmp_path: Path) -> None:
    project = asking(tmp_path)
    assert project.loop().runs == ["clarify"]
    with open_feature(project.repo, project.path, project.env) as w:
        redo_step(w, CLARIFY)
    assert project.loop().runs == ["clarify"]
    project.configure(gates=GATES)
    with open_feature(project.repo, project.path, project.env) as w, pytest.raises(Conflict, match=r"ask is off"):
        redo_step(w, CLARIFY)
    project.approve()
    assert project.loop().runs == ["spec"]
    with open_feature(project.repo, project.path, project.env) as w, pytest.raises(Conflict, match=r"SPEC\.md exists"):
        redo_step(w, CLARIFY)


def test_prepared_answers_are_written_below_their_questions(tmp_path: Path) -> None:
    project = asking(tmp_path)
    with open_feature(project.repo, project.path, project.env) as w:
        rest = with_answers(w, ["Q2: A", "*: what is recommended"], lambda: run_feature(w, Patience(gates=False)))
    assert getattr(rest, "gate", "") == "spec"
    (told,) = project.prompts("spec")
    assert "(recommended)\n- B. Everybody\n\nAnswer: what is recommended\n" in told
    assert "- B. A year\n\nAnswer: A\n" in told


@pytest.mark.parametrize("text, why", [
    ("# C\n\n## 1. Who?\n\n- A. I\n- B. You\n\nAnswer:\n", "a section that is not a question"),
    (ASKED.replace("## Q2.", "## Q1."), "Q1 appears twice"),
    (ASKED.replace("- B. Everybody", "B or not"), "Q1 needs at least two choices"),
    (ASKED.replace("Answer:\n\n", "Answer: A\n\n"), "with nothing after it"),
    (ASKED + ASKED.replace("Q1", "Q3").replace("Q2", "Q4"), "asks 4 questions; at most 3"),
])  # fmt: skip
def test_an_agents_mistakes_go_back_to_it(text: str, why: str) -> None:
    require_questions(ASKED, 3)
    with pytest.raises(InvalidInput, match=why):
        require_questions(text, 3)


def test_a_question_that_quotes_an_answer_line_is_open_until_its_own_is_filled_in() -> None:
    asked = ASKED.replace("The code knows visitors.", "The old form said:\n\nAnswer: nobody\n")
    assert [one.id for one in open_questions(asked)] == ["Q1", "Q2"]
    require_questions(asked, 3)
    text = with_answer(asked, "Q1", "Customers.\nAnswer:")
    assert [one.id for one in open_questions(text)] == ["Q2"]


@given(st.text())
def test_whatever_is_answered_stays_an_answer_of_its_question(words: str) -> None:
    text = with_answer(ASKED, "Q1", words)
    assert len(read_clarifications(text)) == 2
    assert [one.id for one in open_questions(text)] == (["Q2"] if words.strip() else ["Q1", "Q2"])
