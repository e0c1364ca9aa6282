"""clarify: an agent asks what PRD.md leaves open, as a person calls it."""

from __future__ import annotations

from ralphy.errors import ExitCode
from ralphy.pipeline.clarifications import with_answer
from tests.cli.conftest import Make

ASKED = "# Clarifications\n\n## Q1. Who may sign in?\n\n- A. Customers\n- B. Everybody\n\nAnswer:\n"


def test_clarify_asks_once_shows_what_is_open_and_the_specification_waits(made: Make) -> None:
    project, call = made(gates={"spec": "human"})
    project.play(clarify=[{"outbox": {"CLARIFICATIONS.md": ASKED}}])
    code, out, _ = call("clarify")
    assert (code, out.count("Q1. Who may sign in?\n\n- A. Customers\n- B. Everybody\n")) == (0, 1)
    assert f"write after each `Answer:` in {project.folder}/CLARIFICATIONS.md" in out
    assert call("clarify")[0] == 0 and len(project.prompts("clarify")) == 1
    assert call("loop")[0] == ExitCode.WAITING and project.prompts("spec") == []
    assert "  ralphy clarify login" in call("status", "--all")[1]

    project.write("CLARIFICATIONS.md", with_answer(project.read("CLARIFICATIONS.md"), "Q1", "B"))
    assert call("loop")[0] == ExitCode.WAITING and len(project.prompts("spec")) == 1
    code, out, _ = call("--json", "loop", "--to", "clarify")
    assert code == 0 and "SPEC.md exists already, so no questions are asked" in out
    code, _, err = call("clarify")
    assert code == ExitCode.CONFLICT and "ralphy redo spec login" in err
