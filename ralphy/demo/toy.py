"""The toy repository: a small shop with tests of its own, a PRD, and a bare repository as its remote.

The person's own settings do not count: Git and Ralphy have only the toy's. Its checks run with the Python that runs
Ralphy, and need nothing installed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import Conflict, EnvironmentProblem
from ralphy.resources import template_root

FEATURE = "receipts"
BRANCH = f"ralph/{FEATURE}"
_CHECK = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", ".", "-v"]


@dataclass(frozen=True, slots=True)
class Toy:
    """The toy's folder; `env` is the whole environment of each program that runs in it."""

    folder: Path
    env: Mapping[str, str]

    @property
    def repository(self) -> Path:
        return self.folder / "shop"

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    @property
    def feature(self) -> Path:
        return self.repository / "docs" / "features" / FEATURE

    def git(self, *args: str) -> str:
        """The output of a Git command in the toy; EnvironmentProblem if it fails."""
        try:
            done = subprocess.run(["git", *args], cwd=self.repository, env=self.env, capture_output=True,
                                  encoding="utf-8", errors="replace", check=True)  # fmt: skip
        except FileNotFoundError as error:
            raise EnvironmentProblem("git is not on PATH", hint="install git 2.36 or later") from error
        except subprocess.CalledProcessError as error:
            raise EnvironmentProblem(f"git {args[0]}: {error.stderr.strip()}", where=str(self.repository)) from error
        return done.stdout.rstrip("\n")


def lay_out(folder: Path, agent: str, environ: Mapping[str, str]) -> Toy:
    """Make the toy in an empty or new folder; `agent` is "rehearsal" or "claude".

    Raises Conflict if the folder is not empty, EnvironmentProblem if Git fails.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict("already exists", where=str(folder), hint="name an empty folder, or none")
    toy = Toy(folder, _environment(folder, agent, environ))
    source = template_root() / "demo"
    shutil.copytree(source / "project", toy.repository, ignore=shutil.ignore_patterns("__pycache__"))
    (toy.repository / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    settings = toy.repository / ".ralphy"
    settings.mkdir()
    # JSON is YAML.
    (settings / "config.yaml").write_text(json.dumps(_settings(agent), indent=2) + "\n", encoding="utf-8")
    if agent == "rehearsal":
        shutil.copyfile(source / "rehearsal.yaml", settings / "rehearsal.yaml")
    _commit_and_push(toy)
    toy.feature.mkdir(parents=True)
    shutil.copyfile(source / "PRD.md", toy.feature / "PRD.md")
    return toy


def _environment(folder: Path, agent: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without settings for Git, Ralphy and CI; for a rehearsal also with its own home."""
    home = folder / "home"
    home.mkdir(parents=True)
    foreign = ("RALPHY_", "GIT_")
    inherited = {name: value for name, value in environ.items() if name != "CI" and not name.startswith(foreign)}
    own = {
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return inherited | own | ({"HOME": str(home)} if agent == "rehearsal" else {})


def _settings(agent: str) -> dict[str, object]:
    """The toy's `.ralphy/config.yaml`."""
    rehearsal = {"command": [sys.executable, "-m", "ralphy.rehearsal"], "env": ["PYTHONPATH"]}
    return {
        "project": {"name": "shop"},
        "stack": {"language": "python"},
        "lanes": {"jobs": 2},
        "checks": [{"name": "test", "run": shlex.join(_CHECK), "timeout_s": 60}],
        **({"agent": rehearsal} if agent == "rehearsal" else {"limits": {"max_cost_usd": 10}}),
    }


def _commit_and_push(toy: Toy) -> None:
    """The first commit, on main, also at the remote."""
    toy.git("init", "--quiet", "--bare", "--initial-branch=main", str(toy.remote))
    toy.git("init", "--quiet", "--initial-branch=main")
    toy.git("config", "user.name", "Ralphy Demo")
    toy.git("config", "user.email", "demo@localhost")
    toy.git("add", "--all")
    toy.git("commit", "--quiet", "--message", "feat: a shop with a basket")
    toy.git("remote", "add", "origin", str(toy.remote))
    toy.git("push", "--quiet", "origin", "main")
