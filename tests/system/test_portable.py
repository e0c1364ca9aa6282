"""The portable way: what other systems get, tried on this one with RALPHY_PORTABLE=1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ralphy.errors import ExitCode
from ralphy.system import IS_PORTABLE, VARIABLE, linux, portable
from ralphy.system.door import here
from tests.engine.building import PATIENCE_S, ROOT, build, story, works

MARKED = ("tests/adapters/test_supervisor.py", "tests/adapters/test_bounds.py", "tests/faults/test_supervision.py",
          "tests/cli/test_waiting.py", "tests/engine/test_story_loop.py")  # fmt: skip


@pytest.mark.soak
@pytest.mark.timeout(960)
@pytest.mark.skipif(IS_PORTABLE, reason="these tests run on the portable way already")
def test_the_same_tests_pass_on_the_portable_way(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    root = {name: value for name, value in os.environ.items() if name == "PYTEST_DEBUG_TEMPROOT"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "portable", "-p", "no:cacheprovider", f"--junitxml={report}",
         *MARKED],
        cwd=ROOT, env={**env, **root, VARIABLE: "1"}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    cases = ElementTree.parse(report).findall(".//testcase")
    assert len(cases) >= 15, done.stdout
    assert [case.get("name") for case in cases if len(case.findall("skipped"))] == []


@pytest.fixture
def on_the_portable_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.delenv("RALPHY_SAFETY_SANDBOX")


def test_moderate_says_that_there_is_no_sandbox(on_the_portable_way: None, tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works()]})
    code, said = project.call("loop", "login")
    assert "safety: moderate, WITHOUT a sandbox: RALPHY_PORTABLE is set, so bubblewrap is not used" in said
    assert (code, project.landed()) == (ExitCode.WAITING, ["login/US-001"])


@pytest.mark.parametrize("safety", [{"level": "strict"}, {"sandbox": "bwrap"}])
def test_what_needs_a_sandbox_is_refused(on_the_portable_way: None, tmp_path: Path, safety: dict[str, str]) -> None:
    project = build(tmp_path, story("US-001"), safety=safety)
    project.play(stories={"US-001": [works()]})
    code, said = project.call("loop", "login")
    assert (code, "RALPHY_PORTABLE is set, so bubblewrap is not used" in said) == (ExitCode.ENVIRONMENT, True), said


@pytest.mark.parametrize("way", [linux, portable])
def test_an_input_file_is_read_from_its_beginning_and_has_no_name(way: object, tmp_path: Path) -> None:
    file = way.input_file("prompt")  # type: ignore[attr-defined]
    file.seal(b"words" * 100_000)
    with open(file.path, "rb") as reader:
        assert reader.read() == b"words" * 100_000
        assert os.fstat(reader.fileno()).st_nlink == 0
    file.close()
    file.close()


@pytest.mark.parametrize("way", [linux, portable])
def test_a_closed_folder_is_opened_and_a_link_is_not_followed(way: object, tmp_path: Path) -> None:
    for name in ("closed", "elsewhere"):
        (tmp_path / name).mkdir(mode=0)
    (tmp_path / "link").symlink_to("elsewhere")
    parent = os.open(tmp_path, os.O_RDONLY)
    for name in ("closed", "link", "gone"):
        way.make_accessible(parent, name)  # type: ignore[attr-defined]
    os.close(parent)
    modes = [(tmp_path / name).lstat().st_mode & 0o777 for name in ("closed", "elsewhere")]
    assert modes == [0o700, 0]
    (tmp_path / "elsewhere").chmod(0o700)


def test_the_steady_clock_never_goes_back() -> None:
    assert here.steady() <= here.steady()


def test_a_program_tells_which_way_is_taken() -> None:
    program = "from ralphy.system.processes import processes; print(processes.__name__)"
    names = [
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, env={**os.environ, VARIABLE: value}, text=True,
                       capture_output=True, timeout=PATIENCE_S, check=True).stdout.strip()
        for value in ("1", "0")
    ]  # fmt: skip
    assert names == ["ralphy.system.portable_processes", "ralphy.system.linux_processes"]
