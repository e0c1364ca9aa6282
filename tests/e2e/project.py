"""A person's repository with a feature in it, and `ralphy` as that person would call it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import claude_cli
from tests.engine import building

FEATURE = "login"
BRANCH = f"ralph/{FEATURE}"
PATIENCE_S = 400.0


@dataclass(frozen=True, slots=True)
class Called:
    """How a call of `ralphy` ended; `said` is its stderr, the log for people."""

    code: int
    said: str


class Project(building.Project):
    """A repository with the feature login, and the environment of the shell in it."""

    def __init__(self, repo: Path, env: Mapping[str, str]) -> None:
        super().__init__(repo, f"docs/features/{FEATURE}", repo, dict(env))

    def night(self, *flags: str) -> Called:
        """Call `ralphy loop` and wait for its end."""
        with self.start("loop", FEATURE, *flags) as process:
            _, said = process.communicate(timeout=PATIENCE_S)
        return Called(process.returncode, said)

    def kept(self, name: str) -> list[Path]:
        """The files of that name that the runs left, the oldest first."""
        return sorted((self.folder / ".ralphy" / "runs").glob(f"*/{name}"))

    def trailers(self, name: str) -> list[str]:
        """The values of a trailer in the commits since main, the oldest first."""
        form = f"--format=%(trailers:key={name},valueonly)"
        return self.git("log", "--reverse", form, f"main..{BRANCH}").split()


def shell(*folders: Path, **more: str) -> dict[str, str]:
    """The test's environment, where these folders and the interpreter's come first on PATH."""
    path = [*map(str, folders), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {**os.environ, **more, "PATH": os.pathsep.join(path)}


def with_claude(repo: Path, home: Path, url: str, **more: str) -> Project:
    """A shell in which `claude` is the real one, logged in with a key, and its provider is at `url`."""
    cli = claude_cli.environment(home, url)
    return Project(repo, shell(claude_cli.program().parent, **{**cli, **more}))


def make_hostile(repo: Path, canaries: Path, *moments: str, **settings: object) -> None:
    """Write what would run programs in a session that believed it, and further settings: hooks at these moments and a
    server for tools. Each program leaves a file among the canaries."""
    canaries.mkdir()
    hook = {"hooks": [{"type": "command", "command": f"touch '{canaries}/hook'"}]}
    hooks = {"hooks": {moment: [hook] for moment in moments}}
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text(json.dumps({**hooks, **settings}), encoding="utf-8")
    server = {"command": "touch", "args": [str(canaries / "mcp")]}
    (repo / ".mcp.json").write_text(json.dumps({"mcpServers": {"canary": server}}), encoding="utf-8")


def on_a_forge(repo: Path, folder: Path) -> Path:
    """Give the repository a remote on the forge; the bare repository that is really pushed to, in `folder`."""
    bare, project = folder / "widget.git", Project(repo, os.environ)
    project.git("init", "--quiet", "--bare", str(bare))
    project.git("remote", "add", "origin", "https://github.com/acme/widget.git")
    project.git("config", "remote.origin.pushurl", str(bare))
    return bare
