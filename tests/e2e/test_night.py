"""A night with everything that goes wrong in one: in the morning all records tell the same, true story.

Nine stories of a small project with real tests. A usage limit, a hang, an agent that deletes tests, a `kill -9` of
Ralphy, a full disk, a question, a story that is never done. The person starts `ralphy loop`, finds it killed at
some time of the night, starts it again, frees some space, and reads what there is.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.e2e.project import Project, shell

ROOT = Path(__file__).parents[2]
IDS = [f"US-{number:03}" for number in (1, 2, 3, 4, 5, 6, 7, 9, 12)]
MEGABYTE = 1024 * 1024
TEST_SHOP = "def test_there_is_a_shop() -> None:\n    assert __import__('shop')\n"
SETTINGS = """\
checks: [{name: test, run: "%s -m pytest -q -p no:cacheprovider", timeout_s: 60}]
agent: {command: ["%s", "%s"]}
circuit_breaker: {inactivity_timeout: 0.5}
timeouts: {startup: 3}
limits: {max_attempts: 2, max_splits: 0, min_free_mb: 24}
gates: {spec: auto, qa: human}
"""


def work(**more: Any) -> dict[str, Any]:
    """Code and a test of it."""
    return {
        "write": {
            "shop/{{slug}}.py": "def answer() -> int:\n    return 42\n",
            "tests/test_{{slug}}.py": (
                "from shop.{{slug}} import answer\n\n\ndef test_it_is_42() -> None:\n    assert answer() == 42\n"
            ),
        },
        **more,
    }


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own of 96 MB."""
    if os.geteuid() != 0:
        pytest.skip("a file system can be mounted by root alone")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def project(small_disk: Path, private_home: Path) -> Project:
    """The repository on the small disk, with a green test, and the scenario of the night."""
    repo, ballast = small_disk / "repo", small_disk / "ballast"
    for name, text in {
        "shop/__init__.py": "",
        "tests/test_shop.py": TEST_SHOP,
        "conftest.py": "",
        ".gitignore": "__pycache__/\n",
    }.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text, encoding="utf-8")
    agent = ROOT / "ralphy" / "rehearsal" / "__main__.py"
    (repo / ".ralphy").mkdir()
    (repo / ".ralphy" / "config.yaml").write_text(SETTINGS % (sys.executable, sys.executable, agent), encoding="utf-8")
    scenario = private_home / "scenario.json"
    scenario.write_text(json.dumps(acts(ballast)), encoding="utf-8")
    (private_home / ".gitconfig").write_text((private_home / "gitconfig").read_text(), encoding="utf-8")
    found = Project(
        repo,
        shell(
            RALPHY_REHEARSAL=str(scenario),
            RALPHY_REHEARSAL_STATE=str(scenario.with_name("counts.json")),
            PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        ),
    )
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
    found.git("add", "--all")
    found.git("commit", "--quiet", "--message", "chore: begin")
    found.plan(*({"id": name, "title": f"Part {name[-2:]}", "priority": int(name[-3:])} for name in IDS[:-1]),
               {"id": "US-012", "title": "After the question", "priority": 12, "dependsOn": ["US-007"]})  # fmt: skip
    return found


def acts(ballast: Path) -> dict[str, Any]:
    fill = ["sh", "-c", f"dd if=/dev/zero of='{ballast}' bs=1M 2>/dev/null"]
    honest = work()
    repent = {"write": {**honest["write"], "tests/test_shop.py": TEST_SHOP}}
    return {
        "defaults": {"cost_usd": 0.01},
        "stories": {
            "US-002": [{"limit": {"resets_in_s": 2}}, work()],
            "US-003": [{"silent_hang": True}, work()],
            "US-004": [work(cheat={"delete_tests": ["tests/test_shop.py"]}), repent],
            "US-005": [work(run=["sleep", "60"]), work()],
            "US-006": [work(run=fill), work()],
            "US-007": [{"question": "Which currency do prices have?"}, work()],
            "US-009": [{"write": {"tests/test_us_009.py": "def test_nine() -> None:\n    assert 9 == 6\n"}}],
            "*": [work()],
        },
    }


class Night:
    """`ralphy loop` as it is left alone: what it says is kept, and a word in it may call for somebody."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.said: list[str] = []

    def loop(self, on: dict[str, Any]) -> int:
        """Run to the end; when a line matches a pattern of `on`, what stands there is done, once."""
        calls = dict(on)
        with self.project.start("loop", "login") as process:
            assert process.stderr
            for line in process.stderr:
                self.said.append(line)
                for pattern in [pattern for pattern in calls if re.search(pattern, line)]:
                    calls.pop(pattern)(process)
            code = process.wait(timeout=60)
        assert not calls, f"never said: {list(calls)}\n{''.join(self.said)}"
        return code


def frees(ballast: Path) -> Callable[[subprocess.Popen[str]], None]:
    return lambda _: ballast.unlink()


def kills(ralphy: subprocess.Popen[str]) -> None:
    ralphy.kill()


DONE = {*IDS} - {"US-007", "US-009", "US-012"}
# story -> the outcomes of its runs
NIGHT = {
    "US-002": ["limited", "succeeded"],
    "US-003": ["transient", "succeeded"],
    "US-004": ["rejected", "succeeded"],
    "US-005": ["died", "succeeded"],
    "US-006": ["stopped", "succeeded"],
    "US-007": ["needs_input"],
    "US-009": ["rejected", "rejected"],
}


@pytest.mark.fault("F1", "A3", "A8", "N1")
def test_in_the_morning_all_records_tell_the_same_true_story(project: Project) -> None:
    night = Night(project)
    assert night.loop({"writing: shop/us_005.py": kills}) == -signal.SIGKILL
    assert night.loop({"the disk is full": frees(project.repo.parent / "ballast")}) == ExitCode.STORIES_OPEN

    assert outcomes(project) == {name: NIGHT.get(name, ["succeeded"]) for name in IDS if name != "US-012"}
    assert_told(
        project, {**dict.fromkeys(DONE, "completed"), "US-007": "blocked", "US-009": "failed", "US-012": "pending"}
    )
    assert "Which currency do prices have?" in project.read("QUESTIONS.md")

    project.write("QUESTIONS.md", answered(project.read("QUESTIONS.md"), "US-007", "Euros."))
    assert night.loop({}) == ExitCode.STORIES_OPEN
    assert_told(project, {**dict.fromkeys(IDS, "completed"), "US-009": "failed"})


def outcomes(project: Project) -> dict[str, list[str]]:
    """Story -> the outcomes of its runs, in order."""
    found: dict[str, list[str]] = {}
    for name, outcome in project.ends():
        found.setdefault(name, []).append(outcome)
    return found


def answered(questions: str, story: str, answer: str) -> str:
    """QUESTIONS.md with a person's answer behind the first `Answer:` of that story's part."""
    before, mark, after = questions.partition(story)
    return before + mark + re.sub(r"Answer:.*", f"Answer: {answer}", after, count=1)


def assert_told(project: Project, status: dict[str, str]) -> None:
    """prd.json, git's log, progress.txt and `ralphy status` say so, each by itself; nothing lies about."""
    done = {name for name, word in status.items() if word == "completed"}
    assert {story["id"]: story["status"] for story in project.prd()["userStories"]} == status
    assert {story["id"] for story in project.prd()["userStories"] if story["passes"]} == done
    assert sorted(project.trailer("Ralphy-Story")) == sorted(f"login/{name}" for name in done)
    assert progress(project) == {name: word for name, word in status.items() if word != "pending"}
    shown = json.loads(project.ask("status", "--json"))
    assert shown["tasks_completed"] == len(done)
    assert {row["id"]: row["passes"] for row in shown["stories"]} == {name: name in done for name in IDS}
    assert (project.repo / "tests" / "test_shop.py").read_text(encoding="utf-8") == TEST_SHOP
    assert project.git("status", "--porcelain") == ""
    assert project.git("fsck", "--strict", "--no-dangling") == ""


def progress(project: Project) -> dict[str, str]:
    """Story -> the status of its last entry in progress.txt."""
    entries = re.findall(r"^## \[.+?\] - (US-\d+) \(attempt \d/2\) - (\w+)$", project.read("progress.txt"), re.M)
    return dict(entries)
