"""The page docs/faults.md, written from the table and from the tests that prove it.

python -m tests.faults.page docs/faults.md
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from tests.faults.table import NOT_PROVED, Fault, faults, proved_by

INTRO = """\
# Faults

<!-- Generated from tests/faults/rows.txt and the tests' markers by `make docs`. -->

What can go wrong, how a test causes it, and what Ralphy promises then. Each row names the tests that inject the fault
and inspect the result. A test belongs to a row through `@pytest.mark.fault("P6")`; a row without a test says why.

Two programs go further. `make chaos N=200` runs whole features under random kills, full disks, misbehaving agents and
a person who edits, commits, stashes, pulls and switches branches meanwhile. After every call it verifies that each
story is committed once, prd.json is whole, Git is sound, the HEAD, index, stash, files and refs of the checkout are
unchanged by Ralphy, no process is alive, no cheat landed, no gate opened by itself, and the night ends. A seed
repeats its nights: `make chaos N=1 SEED=7`. `make sweep` fails every durable operation of a landing once, with strace
and with a git that dies. The tests run a few of both.
"""
HEAD = "| id | fault | how it is injected | promise | proved by |\n|---|---|---|---|---|"


def render() -> str:
    """docs/faults.md."""
    parts = [INTRO]
    for group, rows in groupby(faults(), lambda fault: fault.group):
        _, _, title = group.partition(": ")
        parts += [f"## {title.capitalize()}\n", HEAD, *map(_row, rows), ""]
    return "\n".join(parts)


def _row(fault: Fault) -> str:
    cells = (fault.id, fault.what, fault.injection, fault.promise, _proof(fault.id))
    return f"| {' | '.join(cells)} |"


def _proof(fault_id: str) -> str:
    """The tests in words, each linked to its file; or why there is none."""
    found = [f"[{proof.sentence}](../{proof.file})" for proof in proved_by(fault_id)]
    return "; ".join(found) or f"*{NOT_PROVED.get(fault_id, '')}*"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), encoding="utf-8")
