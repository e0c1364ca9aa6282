"""A test that failed is asked again, alone, at the end of `make test`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

PASSES = "def test_passes(): pass\n"
FAILS = "def test_fails(): assert not 'ever'\n"
FLAKY = """
from pathlib import Path

def test_{name}():
    tried = Path(__file__).with_suffix(".{name}")
    before = tried.exists()
    tried.touch()
    assert before
"""


def flaky(*names: str) -> str:
    return "".join(FLAKY.format(name=name) for name in names)


def run(folder: Path, tests: str, *options: str) -> tuple[int, list[str]]:
    """The exit code of a run over `tests`, and what it prints."""
    (folder / "test_toy.py").write_text(tests, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.run", *options, "-q", "-p", "no:cacheprovider"],
        cwd=folder, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()


def test_a_test_that_passes_alone_is_named_and_the_run_is_green(tmp_path: Path) -> None:
    code, lines = run(tmp_path, PASSES + flaky("once"), "--hypothesis-seed=7")
    assert code == 0
    assert lines[-2] == "FLAKY test_toy.py::test_once failed in the run and passed alone (seed 7)"
    assert lines[-1] == "1 passed, 1 flaky"


def test_a_test_that_fails_again_is_red_beside_a_flaky_one(tmp_path: Path) -> None:
    code, lines = run(tmp_path, PASSES + FAILS + flaky("once"))
    assert code == 1
    assert re.fullmatch(r"FAILED test_toy.py::test_fails \(seed \d+\)", lines[-2])
    assert lines[-1] == "1 failed, 1 passed, 1 flaky"


def test_more_flaky_tests_than_are_tolerated_are_red(tmp_path: Path) -> None:
    code, lines = run(tmp_path, flaky("a", "b"), "--flakes", "1")
    assert code == 1
    assert not [line for line in lines if line.startswith("FLAKY")]


def test_a_file_that_cannot_be_read_is_red(tmp_path: Path) -> None:
    code, _ = run(tmp_path, PASSES + "import no_such_module\n")
    assert code == 2
