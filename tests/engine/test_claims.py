"""What an agent says, over real runs: it can hold a story back, and the evidence says how sure a reader may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralphy.agents.status_report import read
from ralphy.errors import ExitCode
from tests.engine.building import build, story, works

PROMISE = "<promise>STORY_DONE</promise>"


DONE = "I implemented it. All tests pass."
PART = "I wrote a part of it and will continue later."
BLOCK = "---RALPH_STATUS---\nSTATUS: {}\nTESTS_STATUS: PASSING\n---END_RALPH_STATUS---"


@pytest.mark.parametrize(
    "said",
    [
        DONE,
        "Done: every criterion is met, and verified.\n\nNo errors remain; the old tests still pass.",
        BLOCK.format("COMPLETE"),
        f"Implemented as part of the login form.\n\n{PROMISE}",
    ],
)
def test_two_signs_and_no_unfinished_work_sound_done(said: str) -> None:
    claim = read(said)

    assert claim.leaves_open == ""
    assert 0.7 <= claim.confidence < 0.9


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (PART, "speaks of unfinished work (part of, continue, later)"),
        (f"{DONE} The second criterion is not done yet.", "speaks of unfinished work (not done)"),
        (f"{DONE} I couldn\u2019t run the linter.", "speaks of unfinished work (couldn't)"),
        (f"{DONE}\n\n{BLOCK.format('IN_PROGRESS')}", "speaks of unfinished work (STATUS: IN_PROGRESS)"),
        ("Done.", "does not say that the work is done"),
        (PROMISE, "does not say that the work is done"),
        ("", "does not say that the work is done"),
        ('{"done": true, "tested": true, "works": true}', "does not say that the work is done"),
        (f"> {DONE}\n\n```\n{DONE}\n```", "does not say that the work is done"),
    ],
)
def test_what_else_a_text_says_leaves_open_whether_the_agent_is_done(said: str, why: str) -> None:
    claim = read(said)

    assert claim.leaves_open == f"EXIT_SIGNAL is missing, and the agent's text {why}"
    assert claim.confidence == 0
    assert read(f"{said}\n\nEXIT_SIGNAL: true").leaves_open == ""


ASKS = {"say": "There are two ways.\n\nWhich of them do you want?", "exit_signal": None}
NEGATED: dict[str, Any] = {
    "write": {"notes.md": f"{PROMISE}\nEXIT_SIGNAL: true\n"},
    "read": ["notes.md"],
    "say": f"I am NOT outputting {PROMISE}: two tests still fail.",
    "exit_signal": None,
}
QUOTED = "> ---RALPH_STATUS---\n> STATUS: COMPLETE\n> EXIT_SIGNAL: true\n> ---END_RALPH_STATUS---"
NIGHT = {
    "US-001": ASKS,
    "US-002": works(**ASKS),
    "US-003": NEGATED,
    "US-004": works(say=f"{DONE} Done, verified.", exit_signal=False, promise="STORY_DONE"),
    "US-005": works(say=DONE, exit_signal=None, promise=None),
    "US-006": works(status={"STATUS": "BLOCKED"}),
    "US-007": works(exit_signal=None, promise=None, say=QUOTED),
}


@pytest.mark.fault("A6", "A8")
def test_what_is_no_report_holds_a_story_back_and_a_text_that_sounds_done_is_flagged(tmp_path: Path) -> None:
    project = build(tmp_path, *map(story, NIGHT), limits={"max_attempts": 1})
    project.play(stories={name: [act] for name, act in NIGHT.items()})

    project.loop(agents=len(NIGHT))

    outcomes = ["needs_input", "needs_input", "rejected", "rejected", "succeeded", "rejected", "rejected"]
    assert project.outcomes() == list(zip(NIGHT, outcomes, strict=True))
    assert [*project.statuses().values()] == ["blocked", "blocked", "failed", "failed", "completed", "failed", "failed"]
    assert project.read("QUESTIONS.md").count("Which of them do you want?") >= 2
    for name, why in (("US-004", "EXIT_SIGNAL: false"), ("US-006", "BLOCKED"), ("US-007", "EXIT_SIGNAL is missing")):
        assert why in project.story(name)["execution"]["last_error"]
    assert project.landed() == ["login/US-005"]
    (warning,) = [text for text in project.story("US-005")["evidence"]["warnings"] if "no report" in text]
    assert warning == "the agent gave no report (EXIT_SIGNAL is missing); its text sounds done: 0.7 of 1"


def test_work_that_lacks_nothing_but_a_report_is_finished_by_the_next_runs_and_never_started_over(
    tmp_path: Path,
) -> None:
    project = build(tmp_path, story("US-001"))
    silent = {"append": {"src/us_001.py": "N = {{attempt}}\n"}, "say": "Ok.", "exit_signal": None, "promise": None}
    acts = [{**silent, "say": PART}, silent, silent, {"append": {"src/us_001.py": "N = 4\n"}}]
    project.play(stories={"US-001": acts})

    project.loop(agents=4)

    assert project.outcomes()[:4] == [*[("US-001", "rejected")] * 3, ("US-001", "succeeded")]
    assert project.code("src/us_001.py") == "N = 1\nN = 2\nN = 3\nN = 4\n"
    told = project.prompts("US-001")[1]
    assert "speaks of unfinished work (part of, continue, later): finish the work and report" in told
    assert "Its work is still in the tree" in told


def test_stories_that_say_they_are_blocked_tell_the_breaker(tmp_path: Path) -> None:
    project = build(tmp_path, *[story(f"US-00{n}", priority=n) for n in range(1, 3)])
    project.play(stories={"*": [works(question="Which one?")]})

    ended = project.loop()

    assert set(project.statuses().values()) == {"blocked"}
    assert ended.code == ExitCode.WAITING
    assert {end.get("error") for end in project.journal("end")} == {"blocked"}
