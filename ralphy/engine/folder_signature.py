"""What changes when a feature's folder does: a wait ends when it differs from what it was before the look."""

from __future__ import annotations

import os
from pathlib import Path

from ralphy.documents.feature_folder import Feature
from ralphy.documents.request_queue import folder_of
from ralphy.files.atomic import names_in, signature
from ralphy.git import commands as git


def signature_of(repository: git.Repository, feature: Feature) -> int:
    """What changes when the folder does, or a change of the stories is queued."""
    queued = (name for name in names_in(folder_of(repository.state_dir, feature.name)) if not name.startswith("."))
    return hash((_of_folder(feature), frozenset(queued)))


def _of_folder(feature: Feature) -> int:
    """What changes when anything in the feature folder itself does; `.ralphy/` and views do not count."""
    try:
        entries = list(os.scandir(feature.folder))
    except OSError:  # it is gone
        return 0
    found = [
        (entry.name, signature(Path(entry.path)))
        for entry in entries
        if entry.name not in (".ralphy", "TASKS.md") and not entry.name.startswith(".prd.json.tmp")
    ]
    return hash(frozenset(found))
