"""An agent that Ralphy does not have, made of a module and a row in the table of presets, does a whole story."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ralphy.agents.preset import Preset
from ralphy.agents.presets import PRESETS
from ralphy.agents.program import Conditions, RunFiles
from ralphy.agents.protocol import Activity, AgentRequest, AgentResult, Outcome, Tokens
from ralphy.agents.variables import Variables
from ralphy.config import fields
from ralphy.errors import ExitCode
from ralphy.pipeline.events import AgentActivity
from ralphy.processes.supervision import run_supervised
from ralphy.sandbox.bubblewrap import command_inside
from ralphy.text.line_splitter import LineSplitter
from tests.cli.conftest import Call
from tests.engine.building import Project, assert_clean, build, story
from tests.engine.driver import KilledError

# The program: it gets the prompt as its input, works, and tells of it in its own words.
PROGRAM = """\
import json, os, pathlib, sys

def tell(**what):
    print(json.dumps(what), flush=True)

assert sys.argv[1:2] == ["--with"], sys.argv
tell(model=sys.argv[2], key=os.environ.get("DIARY_KEY"), unasked=os.environ.get("DIARY_MOOD"))
assert "US-001" in sys.stdin.read() or os.environ["RALPHY_STEP"] != "story"
if os.environ["RALPHY_STEP"] == "story":
    pathlib.Path("src/us_001.py").write_text("WORKS = 1\\n")
    tell(wrote="src/us_001.py")
else:
    report = pathlib.Path(os.environ["RALPHY_OUTBOX"], "QA_REPORT.md")
    report.write_text('---\\n{"verdict": "pass", "findings": []}\\n---\\n# Fine\\n')
tell(bill={"usd": 0.25, "in": 10, "out": 5})
tell(goodbye="Done.\\n---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---")
"""


@dataclass
class Pages:
    """What the program has told so far."""

    cost_usd: float = 0.0
    knows_its_cost: bool = True
    tokens: Tokens = field(default_factory=Tokens)
    goodbye: str = ""

    def read(self, line: bytes) -> Activity | None:
        try:
            told: dict[str, Any] = orjson.loads(line)
        except ValueError:
            return None
        self.knows_its_cost = "bill" in told
        match told:
            case {"wrote": path}:
                return Activity("writing", str(path))
            case {"bill": {"usd": usd, "in": read, "out": written}}:
                self.cost_usd, self.tokens = usd, Tokens(read, written)
            case {"goodbye": text}:
                self.goodbye, self.knows_its_cost = text, True
        return None


@dataclass
class Diary:
    """Runs the program inside the walls that it is given."""

    command: tuple[str, ...]
    at: Conditions

    def prepared(
        self, request: AgentRequest, on_activity: Callable[[Activity], None],
    ) -> Callable[[str], AgentResult]:  # fmt: skip
        files, pages, lines = RunFiles(request), Pages(), LineSplitter()

        def hear(data: bytes) -> None:
            files.stream.add(data)
            for line in lines.feed(data):
                if activity := pages.read(line):
                    on_activity(activity)

        def why_stop(root: int) -> str | None:
            assert self.at.limits
            assert self.at.limits.why_over(root, 0.0) is None
            return self.at.should_stop() if self.at.should_stop else None

        argv = (*self.command, "--with", request.model)
        command = command_inside(self.at.sandbox, argv, Path(request.cwd), request.env, request.deadline_s)

        def go(prompt: str) -> AgentResult:
            files.save_prompt(prompt.encode())
            given = replace(command, stdin=prompt.encode())
            ended = run_supervised(given, hear, files.errors.add, should_stop=why_stop)
            files.close()
            outcome = Outcome.SUCCEEDED if pages.goodbye else Outcome.CRASHED
            return AgentResult(outcome, text=pages.goodbye, cost_usd=pages.cost_usd,
                               tokens=pages.tokens, duration_s=ended.duration_s)  # fmt: skip

        return go


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """One story for the agent of a preset that is a row in the table, and nothing else."""
    program = tmp_path / "diary.py"
    program.write_text(PROGRAM, encoding="utf-8")
    diary = Preset(
        command=(sys.executable, str(program)),
        make=Diary,
        log=Pages,
        models=re.compile(r"ink|pencil"),
        model="pencil",
        variables=Variables(passed=frozenset({"DIARY_KEY"})),
    )
    monkeypatch.setitem(PRESETS, "diary", diary)
    forget()
    project = build(tmp_path, story("US-001"), agent={"preset": "diary"}, models={"implementation": "ink"})
    project.env |= {"DIARY_KEY": "a key", "DIARY_MOOD": "gloomy"}
    yield project
    forget()


def forget() -> None:
    """The settings are asked again what `agent.preset` takes."""
    fields.nodes.cache_clear()
    fields._validator.cache_clear()


def streams(project: Project) -> list[dict[str, Any]]:
    """The first line of each run's stream, oldest first."""
    found = sorted((project.folder / ".ralphy" / "runs").glob("*/stream.ndjson"), key=lambda path: path.stat().st_mtime)
    return [orjson.loads(path.read_bytes().splitlines()[0]) for path in found]


def die() -> None:
    raise KilledError


def test_a_new_agent_does_a_whole_story(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    ended = project.loop()

    assert (ended.code, ended.runs, project.landed()) == (ExitCode.WAITING, ["US-001", "qa"], ["login/US-001"])
    assert project.trailer("Ralphy-Cost-USD", project.commit_of("US-001")) == "0.2500"
    assert ("US-001", "writing", "src/us_001.py") in [
        (event.story, event.activity, event.text) for event in ended.events if isinstance(event, AgentActivity)
    ]
    given = {"key": "a key", "unasked": None}
    assert streams(project) == [{"model": "ink", **given}, {"model": "pencil", **given}]
    code, out, _ = Call(project.repo, capfd)("logs", "US-001")  # they are read in its words
    assert (code, "writing   src/us_001.py" in out) == (ExitCode.DONE, True)
    assert_clean(project)


def test_what_a_run_cost_that_nobody_saw_the_end_of_is_read_from_its_log(project: Project) -> None:
    with pytest.raises(KilledError):
        project.loop(at={"agent_ended": die})
    project.loop(agents=1)
    assert next((end["outcome"], end["cost"]) for end in project.journal("end")) == ("stopped", 0.25)
