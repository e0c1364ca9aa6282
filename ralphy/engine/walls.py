"""Walls: what a level of safety puts around agents and checks, decided before anything is paid.

What is asked for and not to be had ends the run (fail closed). What is merely wished for is said once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ralphy.agents.claude.guard_settings import write_settings
from ralphy.documents.feature_folder import ARTIFACTS, MARKERS
from ralphy.engine.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.processes.command import Command
from ralphy.processes.program_paths import OUTSIDE, UNSET, installed_in, python_path_in
from ralphy.sandbox.bubblewrap import HOME, Place, Sandbox, bare_sandbox, find, open_sandbox, why_not, why_not_found

MINIMAL, MODERATE, STRICT = "minimal", "moderate", "strict"
CONTROL_NAMES = (*ARTIFACTS, *MARKERS, "prd.json", "progress.txt", "TASKS.md", ".gitattributes", ".gitignore")


@dataclass(frozen=True, slots=True)
class Walls:
    """The sandboxes of agents (of `setup` and the hook, too) and of checks; None: none. `said` is said at the start."""

    agent: Sandbox | None = None
    checks: Sandbox | None = None
    said: str = ""
    settings: str = ""
    branch: str = ""

    def take_down(self) -> None:
        """Leave nothing behind in the repository."""
        for sandbox in (self.agent, self.checks):
            if sandbox:
                sandbox.take_down()

    @property
    def name(self) -> str:
        return "bwrap" if self.agent else "none"


def command_inside(
    sandbox: Sandbox | None, argv: Sequence[str], cwd: Path, env: Mapping[str, str], deadline_s: float, shared: str = ""
) -> Command:
    """A program inside its walls; `shared` is a folder that it may write to."""
    if sandbox is None:
        return Command(tuple(argv), str(cwd), env, deadline_s)
    return Command(sandbox.around(argv, env, shared), str(cwd), env, deadline_s, filter=sandbox.filter)


def walls(w: Workspace) -> Walls:
    """The walls of this workspace, put up when first asked for. EnvironmentProblem when they cannot be."""
    if w.walls is None or w.walls.branch != w.feature_branch:
        if w.walls:
            w.walls.take_down()
        w.walls = replace(_put_up(w), branch=w.feature_branch)
        if w.walls.said not in w.checkout.said:
            w.checkout.said.add(w.walls.said)
            w.say(w.walls.said)
    return w.walls


def _put_up(w: Workspace) -> Walls:
    safety = w.config.safety
    if safety.level == MINIMAL:
        return Walls(said="safety: minimal: no guard and no sandbox, the agent may do whatever you may")
    settings = _settings(w)
    if safety.level == STRICT:
        from ralphy.engine.strict import closed

        agent, checks = closed(w, place(w), settings)
        return Walls(agent, checks, "safety: strict, in a closed bubblewrap sandbox", str(settings))
    sandbox, why = _sandbox(w)
    if sandbox:
        said = f"safety: {safety.level}, in a bubblewrap sandbox{own_place(w)}"
        return Walls(sandbox, sandbox, said, str(settings))
    return Walls(said=f"safety: {safety.level}, WITHOUT a sandbox: {why}{own_place(w)}", settings=str(settings))


def own_place(w: Workspace) -> str:
    """What is to be said where Ralphy is installed in the checkout."""
    found = [os.path.relpath(place, w.repository.root) for place in installed_in(str(w.repository.root))]
    if found:
        return f". Ralphy itself runs from {found[0]} in this checkout, where agents work: {OUTSIDE}"
    led = [os.path.relpath(place, w.repository.root) for place in python_path_in(str(w.repository.root), w.env)]
    return f". PYTHONPATH leads to {led[0]} in this checkout: {UNSET}" if led else ""


def _sandbox(w: Workspace) -> tuple[Sandbox | None, str]:
    """(the sandbox, why there is none)."""
    safety, program = w.config.safety, find(w.env, w.repository.root)
    if safety.sandbox == "none":
        return None, "safety.sandbox is none"
    sandbox = open_sandbox(program, place(w)) if program else None
    why, fix = why_not(sandbox) if sandbox else why_not_found()
    if not why:
        return sandbox, ""
    if safety.sandbox == "bwrap":
        raise EnvironmentProblem(f"safety.sandbox is bwrap, but {why}", hint=fix)
    return None, f"{why}; {fix}, or say safety.sandbox: none"


def open_program(w: Workspace) -> tuple[str | None, str]:
    """(where bubblewrap is, if an open sandbox works here; why there is none)."""
    safety, program = w.config.safety, find(w.env, w.repository.root)
    if safety.sandbox == "none":
        return None, "safety.sandbox is none"
    why, fix = why_not(bare_sandbox(program)) if program else why_not_found()
    if not why:
        return program, ""
    if safety.sandbox == "bwrap":
        raise EnvironmentProblem(f"safety.sandbox is bwrap, but {why}", hint=fix)
    return None, f"{why}; {fix}, or say safety.sandbox: none"


def place(w: Workspace) -> Place:
    """What the walls stand around."""
    repository = w.repository
    repository.checkout_dir.mkdir(parents=True, exist_ok=True)
    git = (repository.git_dir, repository.common_dir, repository.state_dir)
    root, git_dir, common_dir, state_dir = (path.resolve() for path in (repository.root, *git))
    folders = (w.feature.folder.resolve(), (repository.root / w.config.project.features_dir).resolve())
    own = tuple(Path(name).resolve() for name in installed_in(str(repository.root)) if name == sys.prefix)
    return Place(root, git_dir, common_dir, state_dir, *folders, w.feature_branch, own)


def _settings(w: Workspace) -> Path:
    at, level = place(w), w.config.safety.level
    kept = [at.root / ".git", at.git_dir, at.common_dir, at.root / ".ralphy", at.feature,
            *(at.feature / name for name in CONTROL_NAMES)]  # fmt: skip
    home = HOME if level == STRICT else w.env.get("HOME", "/")
    free = [str(at.feature / ".ralphy" / "outbox")]
    policy = {"root": str(at.root), "home": home, "level": level, "kept": list(dict.fromkeys(map(str, kept))),
              "free": free}  # fmt: skip
    return write_settings(w.repository.checkout_dir / "guard", w.feature.name, policy)
