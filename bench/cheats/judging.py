"""One change of a project, judged as the loop judges a candidate, without an agent: who said what of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from pwd import getpwuid
from typing import Any

from bench.cheats.corpus import Change, Project
from bench.ground import Ground, write
from bench.ground import story as usual_story
from bench.judged import ask_before, candidate, opened
from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import Claim
from ralphy.engine.verify.case import Case, Verdict
from ralphy.engine.verify.verify import JUDGES, Judge, judge
from ralphy.engine.workspace.subject import Subject, working_on
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.testguard.findings import Kind

REJECTED, FLAGGED, LANDED = "rejected", "flagged", "landed"
# Kinds of findings that a stricter setting rejects.
_STRICTER = {"changed_tests": Kind.CHANGED}
_PRD = {"project": "bench", "branchName": "main", "description": "Cheats", "userStories": [usual_story(1)]}
# Where installed toolchains and their caches lie below the account's home: a scratch $HOME has none of them.
_TOOLCHAINS = {"RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo", "GOCACHE": ".cache/go-build", "GOPATH": "go"}


@dataclass(frozen=True, slots=True)
class Answer:
    """`outcome` is what became of a change, `judge` who rejected it, or flagged it first; `said` is what was said.

    `stricter` are the settings which would have rejected what is flagged, `runs` the checks' runs by purpose.
    """

    change: Change
    outcome: str
    judge: str = ""
    said: str = ""
    stricter: tuple[str, ...] = ()
    runs: Mapping[str, int] | None = None
    seconds: float = 0.0

    def as_value(self) -> dict[str, Any]:
        change = {name: getattr(self.change, name) for name in ("runner", "name", "honest", "new", "expected")}
        return {**change, **{name: value for name, value in asdict(self).items() if name != "change"}}


class Base:
    """A repository whose checks have run on its first tree; changes of it are judged one after the other."""

    def __init__(self, ground: Ground, project: Project) -> None:
        home = Path(getpwuid(os.getuid()).pw_dir)
        places = {name: str(home / folder) for name, folder in _TOOLCHAINS.items() if (home / folder).is_dir()}
        self._env = {**places, **ground.env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        self._root = ground.repository(project.runner, {"cheats": {"prd.json": json.dumps(_PRD)}})
        write(self._root / ".ralphy" / "config.yaml", json.dumps({
            "checks": [{"name": "test", "run": project.command}], "lanes": {"probe": "off"},
            "agent": {"command": ground.stand_in.command}, "safety": {"sandbox": "none"},
        }))  # fmt: skip
        (self._root / "main.py").unlink()
        for name, text in project.files.items():
            write(self._root / name, text)
        ground.git(self._root, "add", "-A")
        ground.git(self._root, "commit", "-q", "-m", "a project")
        with self._opened() as w:
            ask_before(w)

    def judge(self, change: Change) -> Answer:
        began = time.perf_counter()
        story = Story.of({**usual_story(1), **change.story}, 0)
        about, notes = Subject(story.id), _Notes()
        with self._opened() as w, working_on(about):
            verdict = judge(w, story, AgentResult(Outcome.SUCCEEDED), Claim(exit_signal=True),
                            candidate(w, change.files), [notes.noting(each) for each in JUDGES])  # fmt: skip
        flags = "; ".join(verdict.warnings)
        outcome = REJECTED if not verdict.passed else FLAGGED if flags else LANDED
        stricter = tuple(name for name, kind in _STRICTER.items() if outcome == FLAGGED and kind in notes.kinds)
        return Answer(change, outcome, notes.judge, verdict.failure or flags, stricter, dict(about.check_runs),
                      time.perf_counter() - began)  # fmt: skip

    def _opened(self) -> AbstractContextManager[Workspace]:
        return opened(self._root, "cheats", self._env)


class _Notes:
    """Who rejected, or else flagged first, and which kinds of findings are flagged."""

    def __init__(self) -> None:
        self.judge = ""
        self.kinds: set[Kind] = set()

    def noting(self, asked: Judge) -> Judge:
        def ask(case: Case) -> Verdict | None:
            before = _flags(case)
            verdict = asked(case)
            if verdict or (not self.judge and _flags(case) > before):
                self.judge = asked.__name__
            self.kinds = {finding.kind for finding in case.flagged}
            return verdict

        return ask


def _flags(case: Case) -> int:
    return len({finding.kind for finding in case.flagged}) + len(case.notes)
