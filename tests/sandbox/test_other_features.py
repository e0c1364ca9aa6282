"""An agent or a check that writes into another feature's folder, in a sandbox and without one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.engine.building import AGENT, Project, build, story, works
from tests.sandbox.inside import everything_in

OTHER = "docs/features/pay"
WRITE = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.parent.mkdir(parents=True, exist_ok=True); p.write_text(sys.argv[2])"  # noqa: E501
NEW = "docs/features/zz"
LEAVES = """
import os
if os.path.exists("src/us_001.py"):
    for path, text in (("docs/features/pay/APPROVED", ""), ("docs/features/login/.ralphy/config.yaml", "setup: evil")):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write(text)
"""


def writes(path: str, text: str) -> list[str]:
    return [sys.executable, "-c", WRITE, path, text]


def put(project: Project, path: str, text: str) -> None:
    (project.repo / path).parent.mkdir(parents=True, exist_ok=True)
    (project.repo / path).write_text(text, encoding="utf-8")


@pytest.fixture
def two(tmp_path: Path) -> Project:
    project = build(tmp_path, story("US-001"))
    put(project, f"{OTHER}/SPEC.md", "# Pay\n")
    put(project, f"{OTHER}/PRD.md", "# Pay\n")
    return project


@pytest.mark.attempt(15, 16, 17)
def test_what_an_agent_does_to_other_features_in_its_lane_stays_there(walls: str, two: Project) -> None:
    evil = "agent: {command: [evil]}\nsafety: {level: minimal}\n"
    changes = {f"{OTHER}/APPROVED": "", f"{OTHER}/SPEC.md": "# Pay me\n", f"{OTHER}/.ralphy/config.yaml": evil,
               f"{NEW}/PRD.md": "# zz\n", f"{NEW}/.ralphy/config.yaml": evil}  # fmt: skip
    before = everything_in(two.repo / OTHER)
    acts = [["sh", "-c", '"$@" || true', "sh", *writes(name, text)] for name, text in changes.items()]
    two.play(stories={"*": [works(run=acts)]})
    two.loop()
    assert everything_in(two.repo / OTHER) == before
    assert not (two.repo / NEW).exists()
    assert not [name for name in two.git("ls-tree", "-r", "--name-only", two.branch).split() if name in changes]


@pytest.mark.attempt(15, 61)
def test_so_is_what_a_check_does_to_it_and_to_the_settings(two: Project) -> None:
    put(two, "check.py", f"{LEAVES}\n{(two.repo / 'check.py').read_text()}")
    two.git("commit", "--quiet", "--all", "-m", "test: more")
    two.loop()
    assert not (two.repo / OTHER / "APPROVED").exists()
    assert not (two.folder / ".ralphy" / "config.yaml").exists()


@pytest.mark.attempt(61)
def test_settings_that_a_check_writes_where_there_were_none_are_not_in_force(two: Project, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    evil = f"setup: touch {canary}\n"
    leaves = f"import os, sys; os.makedirs('.ralphy', exist_ok=True); open('.ralphy/config.yaml', 'w').write({evil!r})"
    put(two, "check.py", f"{leaves}\n{(two.repo / 'check.py').read_text()}")
    two.git("rm", "--quiet", ".ralphy/config.yaml")
    two.git("commit", "--quiet", "--all", "-m", "chore: no settings")
    two.env |= {
        "RALPHY_AGENT_COMMAND": shlex.join(AGENT), "RALPHY_GATES_SPEC": "auto",
        "RALPHY_STACK_TEST_COMMAND": f"{sys.executable} -S -E check.py",
    }  # fmt: skip
    two.loop()
    assert two.statuses() == {"US-001": "completed"}
    assert not (two.repo / ".ralphy" / "config.yaml").exists()
    assert not canary.exists()
