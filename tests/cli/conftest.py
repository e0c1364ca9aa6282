"""Ralphy as a person calls it: the command line in this process, in a repository that `build` made."""

from __future__ import annotations

import errno
import json
import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ralphy.cli.main import main
from tests.engine.building import PATIENCE_S, Project, build
from tests.engine.forked import Started


class Call:
    """`call("status", "--all")` in a project's repository: its exit code, stdout and stderr."""

    def __init__(self, directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self.capfd = capfd

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.capfd.readouterr()
        code = main(["-C", str(self.directory), *words])
        said = self.capfd.readouterr()
        return code, said.out, said.err

    def json(self, *words: str) -> tuple[int, dict[str, Any]]:
        """(exit code, the one object on stdout)."""
        code, out, _ = self("--json", *words)
        value: dict[str, Any] = json.loads(out)
        return code, value

    def doctor(self, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
        """`doctor` without running the checks: its exit code, and its findings by name."""
        code, value = self.json("doctor", "--no-checks", *options)
        assert value["ok"] is (code == 0)
        return code, {row["name"]: row for row in value["checks"]}

    def findings(self, *options: str) -> dict[str, dict[str, Any]]:
        return self.doctor(*options)[1]

    def lines(self, *words: str) -> list[dict[str, Any]]:
        """The objects of a command that prints one a line."""
        return [json.loads(line) for line in self("--json", *words)[1].splitlines()]


class Bell:
    """A FIFO that an agent rings: `{"run": bell.ring}` in a scenario, `bell.wait()` in the test."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.ring = [["sh", "-c", f"echo > '{path}'"]]

    def wait(self) -> None:
        assert select.select([self._reader], [], [], PATIENCE_S)[0], "nobody rang"
        os.read(self._reader, 64)


class Heard:
    """What comes out of a pipe or a terminal, read until something is in it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._from = 0
        self.text = ""

    def until(self, wanted: str) -> None:
        """Read on until `wanted` has come, behind what was waited for before; fails when it ends without."""
        while (at := self.text.find(wanted, self._from)) < 0:
            assert self._read(), f"it ended without {wanted!r}: {self.text!r}"
        self._from = at + len(wanted)

    def rest(self) -> None:
        """Read to the end."""
        while self._read():
            pass

    def send(self, text: str) -> None:
        """Type on the terminal."""
        os.write(self._descriptor, text.encode())

    def _read(self) -> bool:
        assert select.select([self._descriptor], [], [], PATIENCE_S)[0], f"nothing comes after {self.text!r}"
        try:
            data = os.read(self._descriptor, 65536)
        except OSError as error:  # the other side of the terminal is closed
            assert error.errno == errno.EIO
            return False
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def heard_while(project: Project, *words: str) -> Iterator[tuple[Heard, Started]]:
    """`ralphy …` as a process without a terminal, and its stderr; it is terminated when the block ends."""
    with project.start(*words) as process:
        assert process.stderr
        yield Heard(process.stderr.fileno()), process
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def call(git_repo: Path, capfd: pytest.CaptureFixture[str]) -> Call:
    """The command line in a repository that knows nothing of Ralphy."""
    return Call(git_repo, capfd)


Make = Callable[..., tuple[Project, Call]]
CallIn = Callable[[Project], Call]


@pytest.fixture
def call_in(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CallIn:
    """`call = call_in(project)`: the command line in a project, whose agents play its scenario."""

    def call(project: Project) -> Call:
        for name in ("RALPHY_REHEARSAL", "RALPHY_REHEARSAL_STATE"):
            monkeypatch.setenv(name, project.env[name])
        return Call(project.repo, capfd)

    return call


@pytest.fixture
def made(tmp_path: Path, call_in: CallIn) -> Make:
    """`project, call = made(story("US-001"), …)`: what `build` takes, and the command line in it."""

    def make(*stories: dict[str, Any], **settings: Any) -> tuple[Project, Call]:
        project = build(tmp_path, *stories, **settings)
        return project, call_in(project)

    return make
