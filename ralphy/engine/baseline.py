"""The baseline: what the checks say about a tree before any agent has worked on it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ralphy.core.config import Check
from ralphy.core.history import History
from ralphy.core.model import Baseline, Snapshot
from ralphy.engine.candidate import prepare_index
from ralphy.engine.changes import changed_paths, set_made_aside
from ralphy.engine.checks import CheckResult, run_checks, set_up
from ralphy.engine.workspace import Workspace


def key_of(code: str, checks: Sequence[Check]) -> str:
    """What a baseline is cached by: the code's tree and the commands."""
    commands = hashlib.sha256(repr([(c.name, c.run) for c in checks]).encode()).hexdigest()[:12]
    return f"{code}:{commands}"


def known_baseline(history: History, code: str, checks: Sequence[Check]) -> Baseline | None:
    """The baseline of that code if it was taken before."""
    entry = history.baselines.get(key_of(code, checks))
    if entry is None:
        return None
    return Baseline(bool(entry.get("green")), tuple(entry.get("red", ())), str(entry.get("detail", "")))


def take_baseline(w: Workspace, snapshot: Snapshot) -> None:
    """Run all checks on the tree as it stands, and remember what they said."""
    prepare_index(w, snapshot.tree.head)
    set_up(w)
    w.say("the checks are run on the code as it is")
    before = set(changed_paths(w))
    results = run_checks(w, "baseline", until_red=False)
    set_made_aside(w, before)
    record_baseline(w, snapshot.tree.code, results)


def record_baseline(w: Workspace, code: str, results: Sequence[CheckResult]) -> None:
    """Remember what the checks said about a tree."""
    red = [name for r in results if not r.is_green and not r.is_empty for name in r.names]
    is_empty = any(r.is_empty for r in results)
    w.record("baseline", key=key_of(code, w.checks), green=not red, red=red, empty=is_empty or None,
             detail="; ".join(r.sentence() for r in results))  # fmt: skip


def had_no_tests(w: Workspace, code: str) -> bool:
    """Was there no test at all in that tree?"""
    entry = w.history.baselines.get(key_of(code, w.checks))
    return bool(entry and entry.get("empty"))
