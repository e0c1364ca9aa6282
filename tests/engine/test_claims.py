"""What an agent says, over real runs: it can hold a story back, and the evidence says how sure a reader may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import build, story, tried, works


@pytest.mark.fault("A8")
@pytest.mark.parametrize("act", [{}, works()], ids=["nothing done", "green work"])
def test_a_question_without_a_report_waits_for_an_answer(tmp_path: Path, act: dict[str, Any]) -> None:
    asks = {**act, "say": "There are two ways.\n\nWhich of them do you want?", "exit_signal": None}
    project = tried(tmp_path, asks)

    assert project.outcomes() == [("US-001", "needs_input")]
    assert project.story("US-001")["status"] == "blocked"
    assert "Which of them do you want?" in project.read("QUESTIONS.md")
    assert project.landed() == []


@pytest.mark.fault("A6")
def test_a_promise_that_is_negated_or_read_from_a_file_is_no_report(tmp_path: Path) -> None:
    promise = "<promise>STORY_DONE</promise>"
    act = {"write": {"notes.md": f"{promise}\nEXIT_SIGNAL: true\n"}, "read": ["notes.md"],
           "say": f"I am NOT outputting {promise}: two tests still fail.", "exit_signal": None}  # fmt: skip
    project = tried(tmp_path, act)

    assert project.outcomes() == [("US-001", "rejected")]
    assert project.landed() == []


def test_work_without_a_report_passes_with_how_sure_its_text_sounds(tmp_path: Path) -> None:
    project = tried(tmp_path, works(say="I implemented it. All tests pass.", exit_signal=None))

    assert project.landed() == ["login/US-001"]
    (warning,) = [text for text in project.story("US-001")["evidence"]["warnings"] if "no report" in text]
    assert warning == "the agent gave no report (EXIT_SIGNAL is missing); its text sounds done: 0.7 of 1"


def test_stories_that_say_they_are_blocked_tell_the_breaker(tmp_path: Path) -> None:
    project = build(tmp_path, *[story(f"US-00{n}", priority=n) for n in range(1, 6)])
    project.play(stories={"*": [works(question="Which one?")]})

    ended = project.loop()

    assert set(project.statuses().values()) == {"blocked"}
    assert ended.code == ExitCode.WAITING
    assert {end.get("error") for end in project.journal("end")} == {"blocked"}
