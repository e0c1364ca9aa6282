"""An upgrade with a feature in flight: what the version before began and was killed in, this one brings to its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.e2e.project import shell

ROOT = Path(__file__).parents[2]
BEFORE = "fe5c12a4c9a25c7b602ec75227d5d9cfa2d32e3a"  # the version that a person had in use before this one
PATIENCE_S = 90.0
NOTES = "buy milk, call Ada\n"
BASE = {
    "shop/__init__.py": "",
    "tests/__init__.py": "",
    "tests/test_shop.py": "import unittest\n\nimport shop\n\n\nclass Shop(unittest.TestCase):\n"
    "    def test_there_is_a_shop(self) -> None:\n        self.assertTrue(shop)\n",
    ".gitignore": "__pycache__/\n",
    "notes.txt": NOTES,
}
WORK = {
    "write": {
        "shop/{{feature}}_{{slug}}.py": "def answer() -> int:\n    return 42\n",
        "tests/test_{{feature}}_{{slug}}.py": (
            "import unittest\n\nfrom shop.{{feature}}_{{slug}} import answer\n\n\n"
            "class Answer(unittest.TestCase):\n"
            "    def test_it_is_42(self) -> None:\n        self.assertEqual(answer(), 42)\n"
        ),
    }
}
SLOW = {"write": {"half.txt": "half of it\n"}, "run": ["sleep", "600"]}


@dataclass(frozen=True, slots=True)
class Called:
    """How a call of `ralphy` ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


@dataclass(frozen=True, slots=True)
class Office:
    """The person's checkout."""

    repo: Path
    env: dict[str, str]

    def ralphy(self, *words: str, code: Path = ROOT) -> Called:
        """Call `ralphy`, of this version or of the one at `code`."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ralphy", *words], cwd=self.repo, stdin=subprocess.DEVNULL,
            env={**self.env, "PYTHONPATH": str(code)}, capture_output=True, encoding="utf-8", check=False,
            timeout=PATIENCE_S,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return Called(done.returncode, done.stdout, done.stderr)

    def loop(self, ends: int, code: Path = ROOT) -> Called:
        called = self.ralphy("loop", "accounts", code=code)
        assert called.code == ends, called.said
        return called

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.repo, env=self.env, capture_output=True, encoding="utf-8",
                              check=False)  # fmt: skip
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def write(self, name: str, text: str = "") -> None:
        """Put a file into the feature's folder."""
        folder = self.repo / "docs" / "features" / "accounts"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    def play(self, stories: Mapping[str, Any]) -> None:
        """What agents do from now on."""
        scenario = {"defaults": {"cost_usd": 0.01}, "stories": stories}
        Path(self.env["RALPHY_REHEARSAL"]).write_text(json.dumps(scenario), encoding="utf-8")

    def stories(self, ref: str) -> dict[str, Any]:
        found = json.loads(self.git("show", f"{ref}:docs/features/accounts/prd.json"))
        return {story["id"]: story for story in found["userStories"]}

    def landed(self) -> list[str]:
        """The stories that have a commit of their own, the oldest first."""
        form = "--format=%(trailers:key=Ralphy-Story,valueonly)"
        names = self.git("log", "--reverse", form, "ralph/accounts").split()
        return [name.partition("/")[2] for name in names if name.startswith("accounts/")]


@pytest.fixture
def office(tmp_path: Path, private_home: Path) -> Office:
    """A small project with tests that Ralphy has been set up for, on main."""
    repo = tmp_path / "shop"
    for name, text in BASE.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text, encoding="utf-8")
    scenario = private_home / "scenario.json"
    agent = f"{sys.executable} {ROOT / 'ralphy' / 'rehearsal' / '__main__.py'}"
    env = {**shell(RALPHY_REHEARSAL=str(scenario), RALPHY_AGENT_COMMAND=agent), "PYTHONDONTWRITEBYTECODE": "1"}
    office = Office(repo, env)
    office.play({"*": [WORK]})
    office.git("init", "--quiet")
    office.git("add", "--all")
    office.git("commit", "--quiet", "--message", "chore: begin")
    return office


@pytest.fixture
def version_before(tmp_path: Path) -> Path:
    """The version before this one, from this repository's own history."""
    folder = tmp_path / "before"
    folder.mkdir()
    names = ("ralphy", "templates", "schemas", "prd.json.example")
    packed = subprocess.run(["git", "archive", BEFORE, *names], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"this checkout's history does not reach back to {BEFORE[:7]}")
    subprocess.run(["tar", "--extract"], input=packed.stdout, cwd=folder, check=True)
    return folder


def test_an_upgrade_with_a_feature_in_flight(office: Office, version_before: Path) -> None:
    """The version before sets the project up and is killed in the third story; this one goes on from there.

    The version before had its agents work in the checkout. What a killed one left there is the person's to remove.
    """
    assert office.ralphy("init", code=version_before).code == 0
    office.git("add", "--all")
    office.git("commit", "--quiet", "--message", "chore: set up Ralphy")
    office.write("PRD.md", "# Accounts\n\n## Objective\n\n- People sign up\n- People sign in\n- People sign out\n")
    office.loop(ends=ExitCode.WAITING, code=version_before)
    office.write("APPROVED")
    office.play({"US-003": [SLOW, {"delete": ["half.txt"], **WORK}], "*": [WORK]})
    killed_at(office, "half.txt", code=version_before)
    assert office.landed() == ["US-001", "US-002"]

    called = office.loop(ends=ExitCode.WAITING)
    assert "what it left there stays; see git status" in called.said
    assert office.git("status", "--porcelain", "half.txt") == "?? half.txt"
    assert office.git("ls-tree", "-r", "--name-only", "ralph/accounts", "half.txt") == ""
    (office.repo / "half.txt").unlink()
    assert office.landed() == ["US-001", "US-002", "US-003"]
    assert office.stories("ralph/accounts")["US-003"]["execution"]["attempts"] == 1
    office.write("APPROVED")
    office.loop(ends=ExitCode.DONE)
    office.git("switch", "--quiet", "main")
    office.git("merge", "--quiet", "--no-ff", "--no-edit", "ralph/accounts")

    assert office.git("fsck", "--strict", "--no-dangling") == ""
    assert office.git("status", "--porcelain") == ""
    assert (office.repo / "notes.txt").read_text(encoding="utf-8") == NOTES
    assert office.ralphy("audit").code == 0
    for name, story in office.stories("main").items():
        assert story["passes"]
        office.git("cat-file", "-e", f"main:shop/accounts_{name.lower().replace('-', '_')}.py")


def killed_at(office: Office, path: str, code: Path) -> None:
    """Call `ralphy loop` and kill it the hard way once its agent has written a file."""
    with subprocess.Popen([sys.executable, "-P", "-m", "ralphy", "loop", "accounts"], cwd=office.repo,
                          env={**office.env, "PYTHONPATH": str(code)}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # fmt: skip
        while not (office.repo / path).exists() and process.poll() is None:
            time.sleep(0.05)
        process.kill()
    assert process.returncode == -signal.SIGKILL
