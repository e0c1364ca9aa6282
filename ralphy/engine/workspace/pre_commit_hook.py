"""The repository's own pre-commit hook: where it is, and a digest of its text."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.read import open_regular

NAME = "pre-commit"


def hook_of(w: Workspace) -> Path | None:
    """The pre-commit hook that git would run; None if there is none or the settings say to skip it."""
    if w.config.git.hooks == "skip":
        return None
    path = w.checkout.hooks_folder / NAME
    return path if path.is_file() and os.access(path, os.X_OK) else None


def hook_digest(w: Workspace) -> str:
    """A digest of the hook's text; "" if there is none to run. Another hook makes another baseline."""
    hook = hook_of(w)
    if hook is None:
        return ""
    try:
        with open_regular(hook) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]
    except OSError:  # it may be run and not be read
        return ""
