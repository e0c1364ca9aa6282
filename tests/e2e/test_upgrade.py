"""An upgrade with a feature in flight: what the version before began and was killed in, this one brings to its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.e2e.project import BRANCH, FEATURE, PATIENCE_S, Project, shell

ROOT = Path(__file__).parents[2]
BEFORE = "fe5c12a4c9a25c7b602ec75227d5d9cfa2d32e3a"  # the version that a person had in use before this one
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


def play(project: Project, stories: Mapping[str, Any]) -> None:
    """What agents do from now on."""
    scenario = {"defaults": {"cost_usd": 0.01}, "stories": stories}
    Path(project.env["RALPHY_REHEARSAL"]).write_text(json.dumps(scenario), encoding="utf-8")


def start(project: Project, *words: str) -> subprocess.Popen[str]:
    """Start the `ralphy` that is on the project's PYTHONPATH."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ralphy", *words], cwd=project.repo, env=project.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip


def call(project: Project, ends: int, *words: str) -> str:
    """What a call of `ralphy` says that ends with this code."""
    with start(project, *words) as process:
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == ends, said
    assert "Traceback" not in said
    return said


@pytest.fixture
def project(tmp_path: Path, private_home: Path) -> Project:
    """A small project with tests, on main."""
    repo = tmp_path / "shop"
    for name, text in BASE.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text, encoding="utf-8")
    agent = f"{sys.executable} {ROOT / 'ralphy' / 'rehearsal' / '__main__.py'}"
    env = shell(RALPHY_REHEARSAL=str(private_home / "scenario.json"), RALPHY_AGENT_COMMAND=agent, PYTHONPATH=str(ROOT))
    made = Project(repo, env)
    play(made, {"*": [WORK]})
    made.git("init", "--quiet")
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "chore: begin")
    return made


@pytest.fixture
def before(project: Project, tmp_path: Path) -> Project:
    """The same project with the version before this one, from this repository's own history."""
    folder = tmp_path / "before"
    folder.mkdir()
    names = ("ralphy", "templates", "schemas", "prd.json.example")
    packed = subprocess.run(["git", "archive", BEFORE, *names], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"this checkout's history does not reach back to {BEFORE[:7]}")
    subprocess.run(["tar", "--extract"], input=packed.stdout, cwd=folder, check=True)
    return Project(project.repo, {**project.env, "PYTHONPATH": str(folder)})


def test_an_upgrade_with_a_feature_in_flight(project: Project, before: Project) -> None:
    """The version before sets the project up and is killed in the third story; this one goes on from there.

    The version before had its agents work in the checkout. What a killed one left there is the person's to remove.
    """
    call(before, ExitCode.DONE, "init")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "chore: set up Ralphy")
    project.write("PRD.md", "# Accounts\n\n## Objective\n\n- People sign up\n- People sign in\n- People sign out\n")
    call(before, ExitCode.WAITING, "loop", FEATURE)
    project.approve()
    play(project, {"US-003": [SLOW, {"delete": ["half.txt"], **WORK}], "*": [WORK]})
    killed_at(before, "half.txt")
    assert project.trailers("Ralphy-Story") == ["login/US-001", "login/US-002"]

    assert "what it left there stays; see git status" in call(project, ExitCode.WAITING, "loop", FEATURE)
    assert project.git("status", "--porcelain", "half.txt") == "?? half.txt"
    assert project.git("ls-tree", "-r", "--name-only", BRANCH, "half.txt") == ""
    (project.repo / "half.txt").unlink()
    assert project.trailers("Ralphy-Story") == ["login/US-001", "login/US-002", "login/US-003"]
    landed = json.loads(project.git("show", f"{BRANCH}:docs/features/login/prd.json"))["userStories"]
    assert landed[2]["execution"]["attempts"] == 1
    project.approve()
    call(project, ExitCode.DONE, "loop", FEATURE)
    project.git("switch", "--quiet", "main")
    project.git("merge", "--quiet", "--no-ff", "--no-edit", BRANCH)

    assert project.git("fsck", "--strict", "--no-dangling") == ""
    assert project.git("status", "--porcelain") == ""
    assert (project.repo / "notes.txt").read_text(encoding="utf-8") == NOTES
    call(project, ExitCode.DONE, "audit")
    for story in json.loads(project.git("show", "main:docs/features/login/prd.json"))["userStories"]:
        assert story["passes"]
        project.git("cat-file", "-e", f"main:shop/login_{story['id'].lower().replace('-', '_')}.py")


def killed_at(project: Project, path: str) -> None:
    """Call `ralphy loop` and kill it the hard way once its agent has written a file."""
    with start(project, "loop", FEATURE) as process:
        while not (project.repo / path).exists() and process.poll() is None:
            time.sleep(0.05)
        process.kill()
    assert process.returncode == -signal.SIGKILL
