"""Builders of rehearsals: `rehearse({...})` plays one turn as a real process and returns what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
AGENT = (sys.executable, "-P", "-m", "ralphy.rehearsal")
FLAGS = ("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
SESSION = "9f50a1e3-470d-45f7-92a5-7be0f6ee83bd"
PATIENCE_S = 60.0

Line = dict[str, Any]


@dataclass
class Played:
    """One finished run."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def lines(self) -> list[Line]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def result(self) -> Line:
        assert self.lines[-1]["type"] == "result", self.lines[-1]
        return self.lines[-1]

    @property
    def text(self) -> str:
        return str(self.result["result"])

    def blocks(self, kind: str) -> list[Line]:
        """The content blocks of that type, in order."""
        messages = [line["message"] for line in self.lines if line["type"] in ("assistant", "user")]
        return [block for message in messages for block in message["content"] if block["type"] == kind]

    def tools(self) -> list[str]:
        return [block["name"] for block in self.blocks("tool_use")]


@dataclass
class Rehearse:
    """Plays turns in `cwd`, in the name of story US-001 of the feature login, attempt 1."""

    cwd: Path
    home: Path
    step: str = "story"
    env: dict[str, str] = field(default_factory=dict)

    @property
    def outbox(self) -> Path:
        return self.home / "outbox"

    def __call__(self, turn: Mapping[str, Any] | None = None, *flags: str, prompt: str = "Do it.") -> Played:
        """Play `turn` for whatever step this is; without a turn, play what the environment says."""
        ended = subprocess.run(
            [*AGENT, *FLAGS, *flags],
            cwd=self.cwd,
            env=self.environ(turn),
            input=prompt.encode(),
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Played(ended.returncode, ended.stdout, ended.stderr.decode())

    def start(self, turn: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Begin to play a turn that has to be stopped."""
        child = subprocess.Popen(
            [*AGENT, *FLAGS, "--session-id", SESSION],
            cwd=self.cwd,
            env=self.environ(turn),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdin is not None
        child.stdin.write(b"Do it.")
        child.stdin.close()
        child.stdin = None
        return child

    def environ(self, turn: Mapping[str, Any] | None) -> dict[str, str]:
        said = {"STEP": self.step, "FEATURE": "login", "STORY": "US-001", "ATTEMPT": "1", "RUN_ID": "r1"}
        own = {f"RALPHY_{name}": value for name, value in said.items()}
        if turn is not None:
            own["RALPHY_REHEARSAL"] = str(self.scenario({self.step: [turn]} | {"stories": {"*": [turn]}}))
        return {**os.environ, **own, "RALPHY_OUTBOX": str(self.outbox), **self.env}

    def scenario(self, content: Mapping[str, Any]) -> Path:
        """Write a scenario and return its path."""
        path = self.home / "scenario.json"
        path.write_text(json.dumps({key: value for key, value in content.items() if key != "story"}))
        return path


@pytest.fixture
def rehearse(git_repo: Path, tmp_path: Path) -> Rehearse:
    """A rehearsal in a small git repository; scenario and outbox are outside of it."""
    home = tmp_path / "rehearsal"
    home.mkdir()
    return Rehearse(git_repo, home)


@pytest.fixture
def running(rehearse: Rehearse) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Runs that a test started and that must not outlive it."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for child in started:
        child.kill()
        child.communicate(timeout=PATIENCE_S)


def until(condition: Any, what: str) -> Any:
    """Poll until `condition()` is true and return what it gave; fails after a bounded time."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"never happened: {what}")
