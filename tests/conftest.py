"""What every test starts from: a private home, a bare environment, and a small real repository."""

from __future__ import annotations

import compileall
import gc
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Protocol

import hypothesis
import psutil
import pytest

from tests import killed_runs

# `make fast` shows each property 25 examples, `make test` 50, `make soak` 1,000; each run has others.
# How long one takes says nothing: other programs run on the machine.
hypothesis.settings.register_profile(
    "patient", max_examples=50, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")
hypothesis.settings.register_profile("fast", max_examples=25)
hypothesis.settings.register_profile("soak", max_examples=1000)

# Whatever is set for the person (or the CI, or the make) that runs the tests must not reach a test.
FOREIGN = ("CI", "PYTEST_DEBUG_", "RALPHY_", "CLAUDE", "ANTHROPIC_", "GH_", "GITHUB_", "GIT_", "XDG_", "MAKE", "MFLAGS")

ROOT = Path(__file__).parents[1]
# Homes and repositories of tests lie where those of people do: the sandbox has a /tmp of its own.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/var/tmp")

_HOMES = count()

# A new repository gets a folder for hooks and an empty info/exclude, and no samples of hooks: tests make thousands.
GIT_CONFIG = f"""\
[user]
	name = Test Person
	email = person@example.org
[init]
	defaultBranch = main
	templateDir = {ROOT / "tests" / "git-template"}
[commit]
	gpgSign = false
[gc]
	auto = 0
[maintenance]
	auto = false
"""

CALC = '''\
"""Sums for people in a hurry."""


def add(left: int, right: int) -> int:
    return left + right
'''

TEST_CALC = """\
from calc import add


def test_two_and_three_make_five() -> None:
    assert add(2, 3) == 5
"""


def pytest_configure() -> None:
    """A shell that runs this in the background ignores SIGINT, nohup SIGHUP, and children would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_sessionstart(session: pytest.Session) -> None:
    """What an earlier run left that was killed is cleared away, by the one process that begins all others.

    Tests start Ralphy a thousand times. Where PYTHONDONTWRITEBYTECODE is set, as in many a CI, each start would compile
    it again, which takes longer than most calls.
    """
    if not hasattr(session.config, "workerinput"):
        root = killed_runs.usual_root()
        killed_runs.clear(root)
        killed_runs.remove_old(root)
        for folder in ("ralphy", "tests"):
            compileall.compile_dir(ROOT / folder, quiet=2)


def pytest_collection_finish() -> None:
    """What pytest holds of thousands of tests is not looked through again whenever a test has made some objects."""
    gc.collect()
    gc.freeze()


class RunGit(Protocol):
    """`git("log", "--oneline")` returns stdout without its last line ending; raises when git fails."""

    def __call__(self, *args: str, cwd: Path | None = None) -> str: ...


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home of the test's own; git knows a person, and nothing else is configured.

    Agents that misbehave must be able to: what is done about it without a sandbox is what most tests are about.
    Those of the sandbox have the fixture `sandbox`.
    """
    yield set_home(tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES)), monkeypatch)  # mktemp looks at all


def set_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of a test whose home this is."""
    home.mkdir(parents=True, exist_ok=True)
    for name in os.environ:
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    (home / "gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    # Two versions of a file within a second would share their bytecode.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    # A toy project's pytest starts five times as fast without the plugins that happen to be installed here.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("RALPHY_SAFETY_SANDBOX", "none")
    monkeypatch.setenv("RALPHY_LANES_PROBE", "off")  # the checks of most tests are a line of shell
    return home


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default of the settings: bubblewrap is used, which must work here, else the test is skipped."""
    monkeypatch.delenv("RALPHY_SAFETY_SANDBOX")
    if why := why_no_sandbox():
        pytest.skip(why)


def why_no_sandbox() -> str:
    """Why bubblewrap cannot be tried here; "" if it can."""
    flags = ("--unshare-user", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc")
    try:
        tried = subprocess.run(["bwrap", *flags, "true"], capture_output=True, encoding="utf-8", check=False)
    except OSError:
        return "bubblewrap is not installed (make tools, as root)"
    return f"bubblewrap does not work here: {tried.stderr.strip()}" if tried.returncode else ""


@pytest.fixture
def git_repo(tmp_path: Path) -> Path:
    """A repository with one commit on main: `calc.py` and a passing pytest in `tests/test_calc.py`.

    `python -m pytest` in it is green; plain `pytest` too, thanks to its conftest.py.
    """
    repo = tmp_path / "repo"
    (repo / "tests").mkdir(parents=True)
    (repo / "calc.py").write_text(CALC, encoding="utf-8")
    (repo / "conftest.py").write_text("", encoding="utf-8")
    (repo / "tests" / "test_calc.py").write_text(TEST_CALC, encoding="utf-8")
    (repo / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n", encoding="utf-8")
    _git("init", "--quiet", cwd=repo)
    _git("add", "--all", cwd=repo)
    _git("commit", "--quiet", "--message", "chore: begin", cwd=repo)
    return repo


@pytest.fixture
def git(git_repo: Path) -> RunGit:
    """Run git in `git_repo`, or in `cwd`."""

    def run(*args: str, cwd: Path | None = None) -> str:
        return _git(*args, cwd=cwd or git_repo)

    return run


def program(path: Path, script: str) -> Path:
    """Write a program of the shell, and the folder it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def is_gone(pid: int) -> bool:
    """Whether a process ends within a minute: a machine under load takes its time."""
    end = time.monotonic() + 60
    while lives(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def lives(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _git(*args: str, cwd: Path) -> str:
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
    return done.stdout.removesuffix("\n")
