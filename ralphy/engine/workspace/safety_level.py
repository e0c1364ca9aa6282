"""What a level of safety asks for, and whether bubblewrap can give it here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ralphy.documents.feature_folder import MARKERS, artifact_names
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.processes.program_paths import OUTSIDE, UNSET, installed_in, python_path_in
from ralphy.sandbox.bubblewrap import find, why_not

SETTINGS = "settings"  # the folder in Git's own, beside Ralphy's state, of the settings that agents run with
AS_YOU = "the agent can do whatever you can"


def control_names() -> tuple[str, ...]:
    """What of the feature folder only a person and Ralphy write."""
    return (*artifact_names(), *MARKERS, "prd.json", "progress.txt", "TASKS.md", ".gitattributes", ".gitignore")


def expanded(w: Workspace, names: Sequence[str]) -> tuple[Path, ...]:
    """Paths of the settings; `~` is the person's home."""
    home = w.env.get("HOME", "/")
    return tuple(Path(f"{home}{name[1:]}" if name == "~" or name.startswith("~/") else name) for name in names)


def own_place(w: Workspace) -> str:
    """The end of a warning that Ralphy runs from the checkout, or that PYTHONPATH leads there; "" if neither is so."""
    installations = [os.path.relpath(place, w.repository.root) for place in installed_in(str(w.repository.root))]
    if installations:
        return f". Ralphy itself runs from {installations[0]} in this checkout, where agents work: {OUTSIDE}"
    led = [os.path.relpath(place, w.repository.root) for place in python_path_in(str(w.repository.root), w.env)]
    return f". PYTHONPATH leads to {led[0]} in this checkout: {UNSET}" if led else ""


def open_program(w: Workspace) -> tuple[str | None, str]:
    """(where bubblewrap is, if an open sandbox works here; why there is none)."""
    safety, program = w.config.safety, find(w.env, w.repository.root)
    if safety.sandbox == "none":
        return None, "safety.sandbox is none"
    why, fix = why_not(program)
    if not why:
        return program, ""
    if safety.sandbox == "bwrap":
        raise EnvironmentProblem(f"safety.sandbox is bwrap, but {why}", hint=fix)
    return None, f"{why}; {fix}, or set safety.sandbox: none"
