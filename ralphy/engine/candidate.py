"""The candidate tree: exactly what will be tested and, if the checks pass, committed.

It is written once, from the working tree, into Ralphy's own index; the checkout's index plays no part,
so its bits (skip-worktree, assume-unchanged) hide nothing, and its lock stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ralphy.engine import submodules
from ralphy.engine.changes import (
    entries_of,
    ignored_before,
    is_control,
    set_ignored_aside,
    set_nested_aside,
    shown,
    status_rows,
    unsteered,
)
from ralphy.engine.control import set_aside
from ralphy.engine.restore import check_out, restore_control
from ralphy.engine.scan import set_too_big_aside
from ralphy.engine.workspace import Workspace
from ralphy.errors import Conflict
from ralphy.git.modules import gitlinks, head_of_module
from ralphy.git.objects import TREE, Entry
from ralphy.git.special_files import run_wary
from ralphy.testguard.substance import FileChange, why_unsafe


@dataclass(frozen=True, slots=True)
class Candidate:
    """`tree` is the whole tree with the control files of `green`; `code` its id without the feature folder.

    `files` are the changed code files, as git names them. `tampered` names control files that had been changed,
    `refused` why it may not be committed at all; `stands` names
    refs that moved during the run, perhaps by the agent.
    """

    tree: str
    code: str
    green: str
    files: tuple[str, ...]
    tampered: tuple[str, ...] = ()
    refused: str = ""
    set_aside: tuple[str, ...] = ()
    stands: tuple[str, ...] = ()


def prepare_index(w: Workspace, head: str) -> None:
    """Make Ralphy's index hold HEAD's tree with the stat of the files, so that later looks are cheap.

    Raises Conflict for a sparse checkout, and for changes that bits of the checkout's own index hide.
    """
    if w.checkout.index_at == head:
        return
    rows = w.repository.run("ls-files", "-v", "--stage", "-z").decode("utf-8", "surrogateescape").split("\0")
    if any(row[:2] in ("S ", "s ") for row in rows):
        raise Conflict("this is a sparse checkout", hint="git sparse-checkout disable, or use a worktree of its own")
    load_index(w, head)
    _require_modules(w)
    bits = {row.partition("\t")[2] for row in rows if row[:1].islower()}
    compare = ("diff-files", "--ignore-submodules=all", "--name-only", "-z")
    changed = w.repository.run(*compare, index=w.index) if bits else b""
    hidden = sorted(bits & set(changed.decode("utf-8", "surrogateescape").split("\0")))
    if hidden:
        w.checkout.index_at = ""
        raise Conflict(f"changes are hidden by index bits: {', '.join(hidden[:5])}",
                       hint="git update-index --no-assume-unchanged --no-skip-worktree FILE; then commit")  # fmt: skip


def _require_modules(w: Workspace) -> None:
    """Raises Conflict for a submodule that stands on another commit than the one that is recorded."""
    for path, oid in w.checkout.modules.items():
        now = head_of_module(w.repository.root / path)
        if now not in ("", oid):
            raise Conflict(f"the submodule {shown(path)} is at {now[:10]}, and {oid[:10]} is committed",
                           hint=f"git submodule update {shown(path)}, or commit where it is")  # fmt: skip


def load_index(w: Workspace, head: str) -> None:
    """The same whatever is in the checkout: what a dead run left in it is looked at with it."""
    w.index.parent.mkdir(parents=True, exist_ok=True)
    w.index.unlink(missing_ok=True)
    w.index.with_suffix(".lock").unlink(missing_ok=True)
    w.repository.run("read-tree", head, index=w.index)
    run_wary(w.repository, "update-index", "-q", "--refresh", index=w.index)
    w.checkout.index_at = head
    w.checkout.modules = gitlinks(w.repository, w.index)


_MODULE = ("is a submodule: what is in it is not committed here. To move it to another commit, do that yourself, "
           "commit it with the change, and: ralphy story done STORY")  # fmt: skip


def write_candidate(w: Workspace, green: str) -> Candidate:
    """Take in the working tree as it is now. `green` is the tree of the last green commit."""
    rows = list(status_rows(w))
    changed = [path for code, path in rows if code != "!!"]
    exposed = ignored_before(w, changed)
    aside = set_ignored_aside(w, {path for code, path in rows if code == "!!"}, green)
    tampered = restore_control(w, green, changed)
    code = [p for p in changed if not is_control(w, p) and not w.is_other_feature(p) and p not in exposed]
    nested = set_nested_aside(w, code)
    modules = submodules.changed(w, green)
    refused = f"{shown(nested[0])} is a nested repository" if nested else ""
    refused = refused or (f"git no longer ignores {shown(exposed[0])}, which was there before" if exposed else "")
    refused = refused or (f"{shown(modules[0])} {_MODULE}" if modules else "")
    aside = tuple(shown(path) for path in (*aside, *nested))
    code = [path for path in code if not path.endswith("/")]
    too_big, small = set_too_big_aside(w, green, code)
    check_out(w, green, sorted({*code} - {*small}))
    refused, code = refused or too_big, small
    if not code:
        return Candidate(green, w.code_of(green), green, (), tampered, refused, aside)
    tree = w.objects.graft(green, entries_of(w, green, code))
    files = tuple(path for path, _, _ in w.objects.changes(green, tree))
    refused = refused or _why_refused(w, green, tree)
    return Candidate(tree, w.code_of(tree), green, files, tampered, refused, aside)


def _why_refused(w: Workspace, green: str, tree: str) -> str:
    for path, _, new in w.objects.changes(green, tree):
        if new and new.mode in ("120000", "160000"):
            why = why_unsafe(path, new.mode, (w.objects.read(new.oid) or b"") if new.mode == "120000" else b"")
            if why:
                return shown(why)
    return ""


def drift(w: Workspace, candidate: Candidate) -> tuple[str, ...]:
    """Files that are not as the candidate has them any more: something wrote while the checks ran.

    New files that checks left lying about are set aside; they belong to nobody's commit.
    """
    green, known = candidate.green, set(candidate.files)
    after = unsteered(w, list(status_rows(w)), green)
    now = [p for p in after if not is_control(w, p) and not w.is_other_feature(p)]
    persons = set(ignored_before(w, now))
    extra = [path for path in now if path not in known and path not in persons]
    extra += submodules.changed(w, green)
    made = [path for path in extra if not path.endswith("/") and w.objects.at(green, path) is None]
    for path in made:
        set_aside(w, w.repository.root / path, shown(path).replace("/", "__"))
    there = entries_of(w, green, candidate.files)
    changed = [path for path in candidate.files if there.get(path) != _file_at(w, candidate.tree, path)]
    return tuple(map(shown, sorted({*changed, *(set(extra) - set(made))})))


def _file_at(w: Workspace, tree: str, path: str) -> Entry | None:
    entry = w.objects.at(tree, path)
    return None if entry and entry.mode == TREE else entry


def file_changes(w: Workspace, green: str, tree: str) -> Iterator[FileChange]:
    """The changed files with their bytes, one at a time."""
    for path, old, new in w.objects.changes(green, tree):
        before = w.objects.read(old.oid) if old and old.mode != "160000" else None
        after = w.objects.read(new.oid) if new and new.mode != "160000" else None
        if old and new and old.oid == new.oid:
            before, after = None, None  # only the mode changed: that is a change of code
        yield FileChange(path, before, after, new.mode if new else "")
