"""Reviews that are kept: the report by what it was made of, so that the same code is not reviewed twice.

They lie beside the journal, where no agent writes. A person who asks for another review forgets them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.notes import read_note, write_note
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps.qa import QA

_MOST_KEPT = 20


def _path(w: Workspace) -> Path:
    return w.repository.state_dir / "reviews" / f"{w.feature.name}.json"


def _key(s: Snapshot) -> str:
    return sha256(json.dumps(QA.inputs_now(s), sort_keys=True).encode()).hexdigest()


def keep_review(w: Workspace, s: Snapshot, report: bytes, record: Mapping[str, Any]) -> None:
    """Keep a report, and what the workflow notes of it, for the inputs that it was made of."""
    others = {key: row for key, row in read_note(_path(w)).items() if key != _key(s)}
    rows = [*others.items(), (_key(s), {"report": report.decode("utf-8", "replace"), "record": dict(record)})]
    _path(w).parent.mkdir(parents=True, exist_ok=True)
    write_note(_path(w), dict(rows[-_MOST_KEPT:]))


def kept_review(w: Workspace, s: Snapshot) -> tuple[bytes, dict[str, Any]] | None:
    """(the report, what was noted of it) for what a review would read now; None if there is none."""
    row = read_note(_path(w)).get(_key(s))
    if not isinstance(row, dict) or not isinstance(row.get("report"), str) or not isinstance(row.get("record"), dict):
        return None
    return row["report"].encode(), row["record"]


def forget_reviews(w: Workspace) -> None:
    _path(w).unlink(missing_ok=True)
