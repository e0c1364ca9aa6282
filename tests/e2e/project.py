"""A person's repository with a feature in it, and `ralphy` as that person would call it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doubles.github_api import GitHubApi
from tests.doubles.github_world import World
from tests.e2e import claude_cli

FEATURE = "login"
BRANCH = f"ralph/{FEATURE}"
PATIENCE_S = 400.0


@dataclass(frozen=True, slots=True)
class Called:
    """How a call of `ralphy` ended; `said` is its stderr, the log for people."""

    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Project:
    """A repository, and the environment of the shell in it."""

    repo: Path
    env: Mapping[str, str]

    @property
    def folder(self) -> Path:
        return self.repo / "docs" / "features" / FEATURE

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `ralphy` with these words; -P keeps the repository's own modules out of it."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "ralphy", *words],
            cwd=self.repo,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def loop(self, *flags: str) -> Called:
        """Call `ralphy loop` and wait for its end."""
        with self.start("loop", FEATURE, *flags) as process:
            try:
                _, said = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.terminate()
                raise
        return Called(process.returncode, said)

    def write(self, name: str, text: str) -> None:
        """Put a file into the feature folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def plan(self, *stories: Mapping[str, Any]) -> None:
        """A prd.json by hand, so that no spec step comes before the stories."""
        self.write("prd.json", json.dumps({"userStories": list(stories)}))

    def prd(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "prd.json").read_text(encoding="utf-8"))
        return found

    def story(self, story_id: str) -> dict[str, Any]:
        stories: Sequence[dict[str, Any]] = self.prd()["userStories"]
        return next(story for story in stories if story["id"] == story_id)

    def approve(self) -> None:
        (self.folder / "APPROVED").touch()

    def kept(self, name: str) -> list[Path]:
        """The files of that name that the runs left, the oldest first."""
        return sorted((self.folder / ".ralphy" / "runs").glob(f"*/{name}"))

    def journal(self, event: str) -> list[dict[str, Any]]:
        """The lines of one kind in Ralphy's journal."""
        lines = (self.repo / ".git" / "ralphy" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        return [entry for line in lines if (entry := json.loads(line))["ev"] == event]

    def ends(self) -> list[tuple[str, str]]:
        """(step or story, outcome) of every run that ended, in order."""
        runs = {entry["run"]: entry.get("story") or entry["step"] for entry in self.journal("run")}
        return [(runs[entry["run"]], entry["outcome"]) for entry in self.journal("end")]

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.repo, capture_output=True, encoding="utf-8", check=True)
        return done.stdout.strip()

    def subjects(self) -> list[str]:
        """The first lines of the commits since main, the oldest first."""
        return self.git("log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()

    def trailer(self, name: str) -> list[str]:
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
    bare, project = folder / "widget.git", Project(repo, {})
    project.git("init", "--quiet", "--bare", str(bare))
    project.git("remote", "add", "origin", "https://github.com/acme/widget.git")
    project.git("config", "remote.origin.pushurl", str(bare))
    return bare


@contextmanager
def the_forge(bare: Path) -> Iterator[GitHubApi]:
    """A loopback GitHub whose branches are those of a bare repository."""
    # Not in tmp_path: the path of a unix socket has about a hundred characters at most.
    folder = tempfile.mkdtemp(prefix="gh-")
    try:
        with GitHubApi(Path(folder) / "s", World(git_dir=bare)) as running:
            yield running
    finally:
        shutil.rmtree(folder)
