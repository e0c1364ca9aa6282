"""Proofs that were noted with the commits: Git notes in refs/notes/ralphy, which can be pushed and fetched.

A note holds for the same commit, checks, settings, machine and version of Ralphy. Who can push notes can write one:
they are read only where a person asks for it.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from typing import Any

from ralphy import __version__
from ralphy.engine.feature import documents
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.commands import GitError
from ralphy.pipeline.acceptance import DOCUMENT

NOTES = "refs/notes/ralphy"


def key_of_proofs(w: Workspace, *, by_parts: bool) -> str:
    """What a proof holds for, beside its commit."""
    checks = [(check.name, check.run) for check in w.checks]
    parts = [
        __version__,
        platform.system(),
        platform.machine(),
        checks,
        w.config.setup,
        repr(w.config.verify),
        w.config.acceptance.command,
        documents.text(w, DOCUMENT),
        by_parts,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def noted(w: Workspace, commit: str, key: str) -> Mapping[str, Any] | None:
    """The proof of a commit as it was noted; None if there is none for this key."""
    row = _all(w, commit).get(key)
    return row if isinstance(row, dict) else None


def note(w: Workspace, commit: str, key: str, row: Mapping[str, Any]) -> None:
    """Note a proof beside those that hold for other keys."""
    text = json.dumps({**_all(w, commit), key: row}, indent=1, sort_keys=True)
    w.repository.run("notes", f"--ref={NOTES}", "add", "--force", "--file=-", commit, stdin=text.encode())


def _all(w: Workspace, commit: str) -> dict[str, Any]:
    try:
        found = json.loads(w.repository.run("notes", f"--ref={NOTES}", "show", commit))
    except (GitError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
