"""The toy repository: a small shop with tests of its own, a PRD, and a bare repository as its remote.

Nothing of the person's own plays a part: git has an identity and a configuration of the toy's, and Ralphy no
settings but the toy's. Its checks run with the Python that runs Ralphy, and need nothing installed.
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
_FOREIGN = ("RALPHY_", "GIT_")
_IGNORE = "__pycache__/\n*.pyc\n"
_ALL_OF_IT = ("discover", "-s", "tests", "-t", ".", "-v")


@dataclass(frozen=True, slots=True)
class Toy:
    """Where the toy lies; `env` is the whole environment of everything that is run in it."""

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
        """What a git command in the toy prints; EnvironmentProblem if it fails."""
        return _git(self.repository, self.env, *args)


def lay_out(folder: Path, agent: str, environ: Mapping[str, str]) -> Toy:
    """Make the toy in a folder that is empty or not there yet; `agent` is "rehearsal" or "claude".

    Raises Conflict if something is in the folder, EnvironmentProblem if git refuses.
    """
    _refuse_full(folder)
    toy = Toy(folder, _environment(folder, agent, environ))
    for place in (folder / "home", toy.remote):
        place.mkdir(parents=True, exist_ok=True)
    source = template_root() / "demo"
    shutil.copytree(source / "project", toy.repository, ignore=shutil.ignore_patterns("__pycache__"))
    (toy.repository / ".gitignore").write_text(_IGNORE, encoding="utf-8")
    (toy.repository / ".ralphy").mkdir()
    (toy.repository / ".ralphy" / "config.yaml").write_text(_settings(agent), encoding="utf-8")
    if agent == "rehearsal":
        shutil.copyfile(source / "rehearsal.yaml", toy.repository / ".ralphy" / "rehearsal.yaml")
    _begin(toy)
    toy.feature.mkdir(parents=True)
    shutil.copyfile(source / "PRD.md", toy.feature / "PRD.md")
    return toy


def _refuse_full(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict("is there already", where=str(folder), hint="name a folder that is empty, or none")


def _environment(folder: Path, agent: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without settings for git, Ralphy and CI: the demo plays a person who is there.

    A rehearsal gets a home of its own, too.
    """
    kept = {name: value for name, value in environ.items() if name != "CI" and not name.startswith(_FOREIGN)}
    package = Path(__file__).resolve().parents[2]
    paths = [str(package), *filter(None, [kept.get("PYTHONPATH")])]
    private = {"HOME": str(folder / "home")} if agent == "rehearsal" else {}
    return {
        **kept,
        **private,
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_NAME": "Ralphy Demo" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "demo@localhost" for who in ("AUTHOR", "COMMITTER")},
        "PYTHONPATH": os.pathsep.join(paths),
    }


def _settings(agent: str) -> str:
    """The toy's `.ralphy/config.yaml`; what JSON says, YAML says as well."""
    run = shlex.join([sys.executable, "-m", "unittest", *_ALL_OF_IT])
    rehearsal = {"command": [sys.executable, "-m", "ralphy.rehearsal"], "env": ["PYTHONPATH"]}
    lines = [
        "project: {name: shop}",
        "stack: {language: python}",
        "lanes: {jobs: 2}",
        f"checks: {json.dumps([{'name': 'test', 'run': run, 'timeout_s': 60}])}",
        f"agent: {json.dumps(rehearsal)}" if agent == "rehearsal" else "limits: {max_cost_usd: 10}",
    ]
    return "\n".join(lines) + "\n"


def _begin(toy: Toy) -> None:
    """The first commit, on main, here and at the remote."""
    _git(toy.remote, toy.env, "init", "--quiet", "--bare", "--initial-branch=main")
    toy.git("init", "--quiet", "--initial-branch=main")
    # An agent that commits by itself is not handed our environment.
    toy.git("config", "user.name", "Ralphy Demo")
    toy.git("config", "user.email", "demo@localhost")
    toy.git("add", "--all")
    toy.git("commit", "--quiet", "--message", "feat: a shop with a basket")
    toy.git("remote", "add", "origin", str(toy.remote))
    toy.git("push", "--quiet", "origin", "main")


def _git(folder: Path, env: Mapping[str, str], *args: str) -> str:
    try:
        done = subprocess.run(
            ["git", *args], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
            errors="replace", check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise EnvironmentProblem("git is not on PATH", hint="install git 2.36 or later") from error
    if done.returncode:
        raise EnvironmentProblem(f"git {args[0]}: {done.stderr.strip()}", where=str(folder))
    return done.stdout.rstrip("\n")
