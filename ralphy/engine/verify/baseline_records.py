"""Baselines in the journal: recorded after the checks ran, and read instead of running them again.

The tests that the checks listed for a tree are in a file of Ralphy's state folder; the journal has its digest.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.checks.listing import Listing
from ralphy.config.values import Check
from ralphy.engine.workspace.pre_commit_hook import hook_digest
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.pipeline.model import Baseline
from ralphy.text.json_coerce import number_of

if TYPE_CHECKING:
    from ralphy.engine.lane_use.checks import CheckResult

_MOST_FILES = 40  # files with tests


def key_of(code: str, checks: Sequence[Check]) -> str:
    """What a baseline is cached by: the code's tree and the commands."""
    commands = hashlib.sha256(repr([(c.name, c.run) for c in checks]).encode()).hexdigest()[:12]
    return f"{code}:{commands}"


def known_baseline(w: Workspace, code: str) -> Baseline | None:
    """The recorded baseline of that code, if the hook is the same and its list of tests is still there.

    A red one of an earlier invocation does not count: what was fixed since need not be in the tree.
    """
    key = key_of(code, w.checks)
    entry = w.history.baselines.get(key)
    if entry is None or entry.get("hook", "") != hook_digest(w):
        return None
    if entry.get("tests") and not _file_of(w, key).is_file():
        return None
    red, unnamed = tuple(entry.get("red") or ()), tuple(entry.get("unnamed") or ())
    baseline = Baseline(bool(entry.get("green")), red, str(entry.get("detail", "")), unnamed)
    is_accepted = bool(red) and not unnamed and w.history.known_red.issuperset(red)
    is_earlier = (number_of(entry.get("at")) or 0.0) < w.session.began
    return None if is_earlier and not baseline.is_green and not is_accepted else baseline


def is_known_green(w: Workspace, code: str) -> bool:
    """Were the checks green on that code, when they were last run on it?"""
    return bool((w.history.baselines.get(key_of(code, w.checks)) or {}).get("green"))


def record_baseline(w: Workspace, code: str, results: Sequence[CheckResult]) -> None:
    """Record the checks' results for a tree."""
    failing = [r for r in results if r.blamed and not r.is_empty]
    red = [name for r in failing for name in r.blamed]
    unnamed = [r.name for r in failing if not r.failing]
    has_no_word = any(r.exit is None for r in results)  # of what did not run, nothing can be known to fail
    empty = [r.name for r in results if r.is_empty]
    key = key_of(code, w.checks)
    tests = _save(_file_of(w, key), listed(results))
    detail = "; ".join(r.sentence() for r in results)
    named = [] if has_no_word else red
    w.record("baseline", key=key, green=not red, red=named, untested=empty or None, tests=tests or None, detail=detail,
             unnamed=unnamed if red else None, hook=hook_digest(w) or None)  # fmt: skip


def listed(results: Sequence[CheckResult]) -> dict[str, Listing]:
    """The runners' lists of tests, by check."""
    return {r.name: r.listing for r in results if r.listing is not None}


def tests_of(result: CheckResult | None) -> Mapping[str, str]:
    """The outcome of each test that a check names; {} if it names none, or could not be run."""
    return result.listing.tests if result and result.listing else {}


def names_tests(results: Sequence[CheckResult]) -> bool:
    """Does a check name the tests that it runs?"""
    return any(listing.tests for listing in listed(results).values())


def known_tests(w: Workspace, code: str) -> dict[str, Listing] | None:
    """The tests that the checks listed for that code, by check; {} if none did.

    None if the file that has them is gone, or was edited.
    """
    key = key_of(code, w.checks)
    digest = (w.history.baselines.get(key) or {}).get("tests")
    if not digest:
        return {}
    data = read_regular(_file_of(w, key))
    if data is None or hashlib.sha256(data).hexdigest() != str(digest):
        return None
    return {check: Listing(**row) for check, row in json.loads(zlib.decompress(data)).items()}


def _save(path: Path, listings: Mapping[str, Listing]) -> str:
    """Write the listings, and give their digest; "" if there are none. The oldest files are removed."""
    if not listings:
        return ""
    rows = {check: {"tests": dict(one.tests), "counts": dict(one.counts)} for check, one in listings.items()}
    data = zlib.compress(json.dumps(rows, sort_keys=True).encode())
    if read_regular(path) != data:
        replace_file(path, data)
        newest_first = sorted(path.parent.glob("[0-9a-f]*"), key=lambda one: one.stat().st_mtime_ns, reverse=True)
        for old in newest_first[_MOST_FILES:]:
            old.unlink(missing_ok=True)
    return hashlib.sha256(data).hexdigest()


def _file_of(w: Workspace, key: str) -> Path:
    return w.repository.state_dir / "tests" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json.z"


def without_tests(w: Workspace, code: str) -> frozenset[str]:
    """The checks that found no test at all in that tree, by name."""
    entry = w.history.baselines.get(key_of(code, w.checks)) or {}
    return frozenset(map(str, entry.get("untested") or ()))
