"""Submodules in the working tree of a lane: files of the recorded commit, without a Git folder of their own.

Sent to the keeper as code, as that is. The lane borrows the objects of the person's submodules, so Git finds the commit
where the submodule is initialised in the checkout. Elsewhere the folder stays empty.
"""

from __future__ import annotations

import os

from ralphy.lanes.keeper_tree import FULL, GITLINK, Refused, print_of, remove, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ralphy.lanes.keeper_tree import Rows

MOST_MODULES = 1000


def moved(git: Any, known: dict[str, str], tree: str) -> list[str]:
    """Which of the submodules that were filled a tree has no more, or at another commit."""
    if not known:
        return []
    now = {path: oid for path, mode, oid in listed(git("ls-tree", "-z", tree, "--", *known)) if mode == GITLINK}
    return [path for path, commit in known.items() if now.get(path) != commit]


def take_away(paths: list[str], rows: Rows) -> Rows:
    """Remove folders of submodules; gives the rows of all else."""
    remove([path for path in paths if os.path.lexists(path)])
    return {path: row for path, row in rows.items() if not within(path, paths)}


def filled(git: Any, links: dict[str, str], rows: Rows) -> tuple[Rows, dict[str, str], list[str]]:
    """(rows of the files of submodules, the submodules that are filled with their commits, those that stay empty).

    `rows` are the files that stand there already.
    """
    found: Rows = {}
    done, empty, waiting = dict[str, str](), list[str](), list(links.items())
    for path, commit in waiting:
        try:
            inner = list(listed(git("ls-tree", "-r", "-z", "--full-tree", commit)))
            files = {f"{path}/{name}": (mode, oid) for name, mode, oid in inner if mode != GITLINK}
            found |= written(git, files, rows)
        except Refused as error:
            if any(said in str(error) for said in FULL):
                raise
            empty.append(path)
            continue
        done[path] = commit
        for name, _, oid in (one for one in inner if one[1] == GITLINK):
            at = f"{path}/{name}"
            os.makedirs(at, exist_ok=True)  # noqa: PTH103
            found[at] = (GITLINK, oid, print_of(os.lstat(at)))
            if len(waiting) < MOST_MODULES:
                waiting.append((at, oid))
    return {path: row for path, row in found.items() if row[0] != GITLINK or path not in done}, done, empty


def written(git: Any, files: dict[str, tuple[str, str]], rows: Rows) -> Rows:
    """Write the files of one submodule that do not stand there yet; gives the rows of all."""
    due = {path for path, fact in files.items() if path not in rows or rows[path][:2] != fact}
    if due:
        index = git.path("modules")
        for name in (index, f"{index}.lock"):
            if os.path.lexists(name):
                os.unlink(name)  # noqa: PTH108
        lines = "".join(f"{files[path][0]} {files[path][1]}\t{path}\0" for path in due)
        git("update-index", "-z", "--index-info", data=lines.encode("utf-8", "surrogateescape"), index=index)
        git("checkout-index", "--all", "--force", "--quiet", index=index)
    return {path: (*files[path], print_of(os.lstat(path))) if path in due else rows[path] for path in files}


def listed(out: bytes) -> Iterator[tuple[str, str, str]]:
    """(path, mode, id) of what `ls-tree -z` says."""
    for row in out.split(b"\0"):
        if row:
            facts, _, path = row.partition(b"\t")
            mode, _, oid = facts.decode().split(" ")
            yield os.fsdecode(path), mode, oid
