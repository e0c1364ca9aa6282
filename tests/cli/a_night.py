"""A night of twelve stories in three lanes: one landed just now, one failed, three are worked on."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ralphy.agents.usage_windows import Window
from ralphy.cli.run.night import Evidence, Night, after
from ralphy.documents.report import Report, report_of
from ralphy.pipeline import decision as d
from ralphy.pipeline import events as e
from ralphy.pipeline.history import History
from ralphy.pipeline.model import CriterionAnswer, Prd, QaReport, Snapshot, Tree
from ralphy.pipeline.nights import past_of
from tests.core.building import a_run, an_end

BEGAN = 1_000_000.0
NOW = BEGAN + 4_330


def decided(completed: int, **more: Any) -> e.Decided:
    told = {
        "decision": "RunAgent",
        "phase": "IMPLEMENTATION",
        "reason": "US-009: starting attempt 1 of 5 with sonnet",
        "rests": False,
        **more,
    }
    return e.Decided(feature="login", completed=completed, stories=12, **told)


def begun(number: int, lane: str, ago_s: float, attempt: int = 1, model: str = "sonnet") -> e.RunBegan:
    return e.RunBegan(at=NOW - ago_s, feature="login", story=f"US-{number:03}", lane=lane, run=f"r{number}",
                      step="story", attempt=attempt, mode="fresh", model=model)  # fmt: skip


def does(number: int, activity: str, text: str) -> e.AgentActivity:
    return e.AgentActivity(feature="login", story=f"US-{number:03}", run=f"r{number}", activity=activity, text=text)


def ended(number: int, cost_usd: float, **tokens: int) -> e.RunEnded:
    return e.RunEnded(feature="login", story=f"US-{number:03}", run=f"r{number}", step="story", attempt=1,
                      outcome="succeeded", landed=True, cost_usd=cost_usd, tokens=tokens)  # fmt: skip


A_NIGHT = (
    decided(4),
    begun(5, "1", 900),
    ended(5, 0.0, input=1_234, output=45_678, cache_read=2_150_000, cache_creation=301_000),
    e.StoryFailed(feature="login", story="US-005", reason="red", asked_in="QUESTIONS.md"),
    decided(4, cost_usd=3.12),
    begun(6, "1", 762),
    begun(7, "2", 191, attempt=2, model="opus"),
    begun(8, "3", 9),
    *(does(6, "reading", f"src/part_{n}.py") for n in range(40)),
    does(6, "running", "uv run pytest -q tests/test_export.py::test_the_header_has_all_columns_in_their_order"),
    does(7, "writing", "src/日本語/一覧.py"),
    does(7, "warning", "no output for 60 s; the run ends at 180 s"),
    does(8, "thinking", "Where is the session kept?"),
)
KNOWN = Evidence(budget_usd=20.0, calls_left=37, story_s=(540.0, 1260.0), jobs=3,
                 windows=(Window("five_hour", 0.81, NOW + 7200),), breaker="HALF_OPEN")  # fmt: skip


def the_night() -> Night:
    return reduce(lambda night, event: after(event, night), A_NIGHT, Night(began=BEGAN, evidence=KNOWN))


TITLES = ("Create an account", "Sign in", "Sign out", "Lock an account")


def the_morning() -> Report:
    """Three of four stories landed, one of them at its second attempt; the fourth has failed."""
    journal: list[dict[str, Any]] = []
    stories: list[dict[str, Any]] = []
    answers: list[CriterionAnswer] = []
    for number, title in enumerate(TITLES, 1):
        story, at, fails = f"US-{number:03}", NOW + 1200.0 * number, number == len(TITLES)
        checks = [{"name": "test", "exit": 0, "seconds": 29.0}]
        proof: dict[str, Any] = {"number": 1, "tests": [f"tests/test_login.py::test_{title.lower().replace(' ', '_')}"]}
        answers.append(CriterionAnswer(f"{story}.1", "yes", tuple(proof["tests"])))
        evidence = {"verified": True, "checks": checks, "tests": {"red_first": proof}, "cost_usd": 0.61}
        error = {"last_error": "tests/test_login.py:41: AssertionError: 6 tries, not 5"} if fails else {}
        files = ["src/login.py"] * (number + 1)
        stories.append({"id": story, "title": title, "status": "failed" if fails else "completed",
                        "acceptanceCriteria": [f"{title} works"], "evidence": {} if fails else evidence,
                        "execution": {"attempts": 2 if fails else 1, "files_modified": files, **error}})  # fmt: skip
        journal += [
            a_run(story, f"r{number}", at=at, lane=str(number % 3 + 1), model="sonnet", attempt=1),
            an_end("rejected" if fails else "succeeded", f"r{number}", at=at + 900, landed=not fails, cost=0.61,
                   seconds=880.0, detail="the check test fails" if fails else "", kept=1 if fails else 0),
        ]  # fmt: skip
    tree = Tree("c", "ralph/login", "main", "ralph/login", "t")
    qa = QaReport("pass", (), tuple(answers))
    s = Snapshot("login", NOW, Prd.of({"userStories": stories}), tree, History("login", cost_usd=2.44), qa=qa)
    commits = {f"US-{number:03}": f"5d1f0c92aa{number}" for number in (1, 2, 3)}
    decision = d.Wait("US-004 has failed: waiting for an answer in QUESTIONS.md")
    return report_of(s, decision, commits, past_of(journal, "login"), "docs/features/login")
