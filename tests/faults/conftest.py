"""The command line of a project in this process, as tests of faults call it where no process has a part."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ralphy.cli.main import main
from tests.engine.building import Project

Ralphy = Callable[..., tuple[int, str]]


@pytest.fixture
def ralphy(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Ralphy:
    """`code, said = ralphy(project, "loop", "login")`: the exit code and stderr, which is never a traceback."""

    def call(project: Project, *words: str) -> tuple[int, str]:
        with monkeypatch.context() as shell:
            for name, value in project.env.items():
                shell.setenv(name, value)
            capfd.readouterr()
            code = main(["-C", str(project.repo), *words])
        said = capfd.readouterr().err
        assert "Traceback" not in said and "unexpected" not in said, said
        return code, said

    return call
