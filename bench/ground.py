"""Scratch repositories to measure on, and a home of their own: nothing of the user's has a part in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bench.stand_in import StandIn, build

PROJECT = Path(__file__).resolve().parent.parent
FEATURES = "docs/features"
_FOREIGN = ("RALPHY_", "CLAUDE", "ANTHROPIC_", "GH_", "GITHUB_", "GIT_", "XDG_", "MAKE", "MFLAGS", "PYTHON")
_GITCONFIG = "[user]\n\tname = Bench\n\temail = bench@example.org\n[init]\n\tdefaultBranch = main\n"
_CONFIG = {"checks": [], "limits": {"max_iterations": 100000, "calls_per_hour": 100000}}

Document = dict[str, object]


class CannotRun(Exception):
    """What was to be measured did not do what it is measured at; the text says why."""


class Effort(Enum):
    """How much is measured: all of it, or enough to see that it works."""

    FULL = "full"
    QUICK = "quick"

    def pick(self, *, full: int, quick: int) -> int:
        return full if self is Effort.FULL else quick


@dataclass(frozen=True, slots=True)
class Ground:
    """A scratch folder with its stand-in agent and the environment that everything measured runs in."""

    folder: Path
    stand_in: StandIn
    env: Mapping[str, str]

    def repository(self, name: str, features: Mapping[str, Mapping[str, str]]) -> Path:
        """A new repository with one commit: a little code, and feature folders (name -> file -> text)."""
        root = self.folder / name
        for feature, files in features.items():
            for file, text in files.items():
                write(root / FEATURES / feature / file, text)
        write(root / "main.py", "print('hello')\n")
        agent = {"agent": {"command": self.stand_in.command}, "safety": self.safety}
        write(root / ".ralphy" / "config.yaml", json.dumps({**_CONFIG, **agent}))
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
            self.git(root, *words)
        return root

    @property
    def safety(self) -> dict[str, object]:
        """The settings by which the stand-in may note its stamps."""
        return {"writable": [str(self.folder / "agent")]}

    def git(self, root: Path, *words: str) -> None:
        subprocess.run(["git", *words], cwd=root, env=self.env, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def ground() -> Iterator[Ground]:
    """A scratch folder that goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="ralphy-bench-", ignore_cleanup_errors=True) as made:
        folder = Path(made).resolve()
        write(folder / "home" / "gitconfig", _GITCONFIG)
        env = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
        home = str(folder / "home")
        env |= {"HOME": home, "GIT_CONFIG_GLOBAL": f"{home}/gitconfig", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
                "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"}  # fmt: skip
        yield Ground(folder, build(folder / "agent"), env)


def ralphy(*words: str) -> list[str]:
    """The argv of a ralphy command: the installed one of this environment, else the package's own module."""
    script = Path(sys.executable).with_name("ralphy")
    return [*([str(script)] if script.exists() else [sys.executable, "-m", "ralphy"]), *words]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def story(number: int) -> Document:
    """A story of the usual size, some 400 bytes."""
    return {
        "id": f"US-{number:05}",
        "title": f"Story number {number} of the benchmark",
        "description": f"As a user I want function number {number}, so that I can get the value of it in one place.",
        "acceptanceCriteria": [
            f"Calling function {number} returns the expected value",
            "Invalid input is refused with a message that names the field",
            "The tests pass",
        ],
        "priority": number,
        "passes": False,
        "notes": "",
    }


def prd(stories: int, branch: str = "ralph/bench") -> str:
    """A prd.json of so many stories."""
    document = {"project": "bench", "branchName": branch, "description": "The benchmark's feature",
                "userStories": [story(n + 1) for n in range(stories)]}  # fmt: skip
    return json.dumps(document, indent=2) + "\n"
