"""Git's files after a Ralphy that died in the middle of a run: put back before its successor asks git for anything."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ralphy.files.atomic import fitting, is_odd, last_bytes, read_text, replace_file
from ralphy.files.safe_open import read_safely
from ralphy.files.tree_walk import remove, walk
from ralphy.git.ref_files import can_be_head, is_oid, is_packed_sound, ref_text
from ralphy.git.steering_files import OPEN, GitFiles, read_kept, read_record


def mend_dead(start: Path) -> None:
    """Put back what steers git where a Ralphy died during a run; its successor then keeps and tells what was found.

    What is there is copied beside the record first. Does nothing while a Ralphy works in the checkout.
    """
    found = git_dirs(start)
    if found is None:
        return
    git_dir, common_dir = found
    name = "main" if git_dir == common_dir else f"worktree-{git_dir.name}"
    folder = common_dir / "ralphy" / "checkouts" / name
    if not (folder / OPEN).exists() or _is_worked_in(folder):
        return
    record = read_record(folder, lambda digest: _is_in_journal(common_dir / "ralphy" / "journal.jsonl", digest))
    if record is None:
        return
    from ralphy.git.untouched import untouched

    files = GitFiles.loaded(record)
    spared = untouched(str(folder), lambda digest: _is_of_the_last_run(common_dir / "ralphy" / "journal.jsonl", digest))
    for path in files.changed(spared):
        if not files.is_mode_alone(path):
            keep_found(folder, path)
        files.put_back(path)
    _mend_head(folder, git_dir / "HEAD", str(record.get("head") or ""))
    if _mend_refs(folder, common_dir):
        _write_branches(common_dir, record["refs"])


def _mend_head(folder: Path, head: Path, before: str) -> None:
    """Git finds no repository where HEAD holds nothing that it knows, and waits where HEAD is a FIFO."""
    if before and not can_be_head(read_text(head, 4096).strip()):
        keep_found(folder, str(head))
        remove(head)
        replace_file(head, f"{before}\n".encode())


def _write_branches(common_dir: Path, before: Mapping[str, str]) -> None:
    """Branches that went with what was in their way; which branch is the base is asked before recovery."""
    for ref, oid in before.items():
        if ref.startswith("refs/heads/") and is_oid(oid) and not os.path.lexists(common_dir / ref):
            replace_file(common_dir / ref, f"{oid}\n".encode())


def _mend_refs(folder: Path, common_dir: Path) -> bool:
    """What git would wait for, or fail over, in the place of its refs goes. Did whole branches go with it?"""
    refs, gone = common_dir / "refs", False
    for path in (refs, refs / "heads"):
        if os.path.lexists(path) and not path.is_dir():
            keep_found(folder, str(path))
            remove(path)
            gone = True
        path.mkdir(exist_ok=True)
    for found in [found for found in walk(refs) if not found.is_folder]:
        with suppress(OSError):
            if is_odd((refs / found.path).stat().st_mode):  # through links, as git reads it
                (refs / found.path).unlink()
    packed = common_dir / "packed-refs"
    if os.path.lexists(packed) and not is_packed_sound(ref_text(packed)):
        keep_found(folder, str(packed))
        remove(packed)
        gone = True
    return gone


def _is_worked_in(folder: Path) -> bool:
    from ralphy.git.run_lock import holder

    return bool(holder(folder / "lock"))


def keep_found(folder: Path, path: str) -> None:
    """What was found at a path goes beside the record, where the successor looks: a copy, or itself if it is large."""
    now = read_kept(path)
    if now is not None and stat.S_ISREG(now.mode):
        aside = folder / "found" / fitting(path.strip("/").replace("/", "__"))
        aside.parent.mkdir(parents=True, exist_ok=True)
        if now.is_too_large:
            Path(path).replace(aside)
        else:
            replace_file(aside, now.data, durable=False)


def _is_in_journal(journal: Path, digest: str) -> bool:
    """Does one of the journal's last lines name this record?"""
    return digest.encode() in last_bytes(journal, 256 * 1024)


def _is_of_the_last_run(journal: Path, digest: str) -> bool:
    lines = last_bytes(journal, 256 * 1024).splitlines()
    runs = [line for line in lines if b'"ev":"run"' in line or b'"ev":"guard"' in line]
    return bool(runs) and digest.encode() in runs[-1]


def git_dirs(start: Path) -> tuple[Path, Path] | None:
    """(git directory, common directory) of the checkout around a folder, found without git."""
    for folder in (start.resolve(), *start.resolve().parents):
        at = folder / ".git"
        if at.is_dir():
            return at, at
        if at.is_file():
            named = os.fsdecode(read_safely(at)).removeprefix("gitdir:").strip()
            git_dir = (folder / named).resolve()
            try:
                common = os.fsdecode(read_safely(git_dir / "commondir")).strip()
            except OSError:
                return git_dir, git_dir
            return git_dir, (git_dir / common).resolve()
    return None
