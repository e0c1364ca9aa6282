"""The candidate tree: exactly what will be tested and, if the checks pass, committed.

It is written once, from the working tree, into Ralphy's own index; the checkout's index plays no part,
so its bits (skip-worktree, assume-unchanged) hide nothing, and its lock stops nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralphy.adapters.files import replace_file
from ralphy.adapters.objects import Entry
from ralphy.core.errors import Conflict
from ralphy.core.substance import FileChange, why_unsafe
from ralphy.engine.checkout import rows_of
from ralphy.engine.control import set_aside
from ralphy.engine.workspace import Workspace, is_private

GITLINK = "160000"
_CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".venv", "venv",
           "node_modules", ".npm", ".yarn", ".pnpm-store", ".next", ".nuxt", ".cache", ".gradle", "target", "vendor",
           ".eggs", "htmlcov", "coverage", ".nyc_output", ".turbo", ".parcel-cache", ".DS_Store")  # fmt: skip
_CACHE_ENDINGS = (".pyc", ".pyo", ".egg-info", ".coverage", ".tsbuildinfo")


@dataclass(frozen=True, slots=True)
class Candidate:
    """`tree` is the whole tree with the control files of `green`; `code` its id without the feature folder.

    `files` are the changed code files, as git names them. `tampered` names control files that had been changed,
    `refused` why it may not be committed at all.
    """

    tree: str
    code: str
    green: str
    files: tuple[str, ...]
    tampered: tuple[str, ...] = ()
    refused: str = ""
    set_aside: tuple[str, ...] = ()


def prepare_index(w: Workspace, head: str) -> None:
    """Make Ralphy's index hold HEAD's tree with the stat of the files, so that later looks are cheap.

    Raises Conflict for a sparse checkout, and for changes that bits of the checkout's own index hide.
    """
    if w.checkout.index_at == head:
        return
    rows = w.repository.run("ls-files", "-v", "-z").decode("utf-8", "surrogateescape").split("\0")
    if any(row[:2] in ("S ", "s ") for row in rows):
        raise Conflict("this is a sparse checkout", hint="git sparse-checkout disable, or use a worktree of its own")
    load_index(w, head)
    bits = {row[2:] for row in rows if row[:1].islower()}
    changed = w.repository.run("diff-files", "--name-only", "-z", index=w.index) if bits else b""
    hidden = sorted(bits & set(changed.decode("utf-8", "surrogateescape").split("\0")))
    if hidden:
        w.checkout.index_at = ""
        raise Conflict(f"changes are hidden by index bits: {', '.join(hidden[:5])}",
                       hint="git update-index --no-assume-unchanged --no-skip-worktree FILE; then commit")  # fmt: skip


def load_index(w: Workspace, head: str) -> None:
    """The same whatever is in the checkout: what a dead run left in it is looked at with it."""
    w.index.parent.mkdir(parents=True, exist_ok=True)
    w.index.unlink(missing_ok=True)
    w.index.with_suffix(".lock").unlink(missing_ok=True)
    w.repository.run("read-tree", head, index=w.index)
    w.repository.run("update-index", "-q", "--refresh", index=w.index)
    w.checkout.index_at = head


def write_candidate(w: Workspace, green: str) -> Candidate:
    """Take in the working tree as it is now. `green` is the tree of the last green commit."""
    rows = list(_status(w))
    aside = _set_ignored_aside(w, {path for code, path in rows if code == "!!"})
    changed = [path for code, path in rows if code != "!!"]
    tampered = restore_control(w, green, changed)
    code = [p for p in changed if not _is_control(w, p) and not w.is_other_feature(p)]
    nested = _set_nested_aside(w, code)
    modules = [path for path in code if (known := w.objects.at(green, path)) and known.mode == GITLINK]
    refused = f"{shown(nested[0])} is a nested repository" if nested else ""
    refused = refused or (f"{shown(modules[0])} is a submodule: what is in it is not committed here" if modules else "")
    aside = tuple(shown(path) for path in (*aside, *nested))
    code = [path for path in code if not path.endswith("/")]
    if not code:
        return Candidate(green, w.code_of(green), green, (), tampered, refused, aside)
    tree = w.objects.graft(green, entries_of(w, green, code))
    files = tuple(path for path, _, _ in w.objects.changes(green, tree))
    refused = refused or _why_refused(w, green, tree)
    return Candidate(tree, w.code_of(tree), green, files, tampered, refused, aside)


def shown(path: str) -> str:
    """A path as text: bytes that are no UTF-8 are replaced."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _set_nested_aside(w: Workspace, code: list[str]) -> list[str]:
    """Repositories in the repository: git shows one as a folder, or not at all if it lies around known files."""
    shown = [path for path in code if path.endswith("/")]
    folders = {folder for path in code for folder in Path(path).parents if folder != Path()}
    around = sorted(f"{folder}/.git" for folder in folders if os.path.lexists(w.repository.root / folder / ".git"))
    for path in (*shown, *around):
        set_aside(w, w.repository.root / path, path.rstrip("/").replace("/", "__"))
    return [*shown, *(path.removesuffix(".git") for path in around)]


def entries_of(w: Workspace, green: str, paths: Sequence[str]) -> dict[str, Entry | None]:
    """What stands at changed paths now: git stores the contents of files, filters and all, in one process."""
    entries: dict[str, Entry | None] = {}
    plain: list[tuple[str, str]] = []
    for path in paths:
        mode, data = _kind(w, green, path)
        if data is not None:
            entries[path] = Entry(mode, w.objects.write("blob", data))
        elif mode in ("", GITLINK):
            entries[path] = w.objects.at(green, path) if mode else None
        else:
            plain.append((path, mode))
    if plain:
        oids = w.checkout.blobs.write(path for path, _ in plain)
        entries |= {path: Entry(mode, oid) for (path, mode), oid in zip(plain, oids, strict=True)}
    return entries


def _kind(w: Workspace, green: str, path: str) -> tuple[str, bytes | None]:
    """(git's mode of what is at a path, "" if nothing is or a folder took its place; the target of a link)."""
    target = w.repository.root / path
    try:
        found = target.lstat()
    except OSError:
        return "", None
    if stat.S_ISLNK(found.st_mode):
        return "120000", os.fsencode(target.readlink())
    if stat.S_ISDIR(found.st_mode):
        before = w.objects.at(green, path)
        return (GITLINK if before and before.mode == GITLINK else ""), None
    before = w.objects.at(green, path)
    if before and not w.checkout.trusts_file_mode and before.mode in ("100644", "100755"):
        return before.mode, None
    return ("100755" if found.st_mode & 0o100 else "100644"), None


def _status(w: Workspace) -> Iterator[tuple[str, str]]:
    """(two-letter code, path) of everything that differs from Ralphy's index, ignored files too ("!!")."""
    out = w.repository.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching",
                           "--no-renames", index=w.index)  # fmt: skip
    return ((code, path) for code, path in rows_of(out) if code[1] != " " or code[0] in "?!")


def changed_paths(w: Workspace) -> list[str]:
    """Everything that differs from Ralphy's index, but for ignored files."""
    return [path for code, path in _status(w) if code != "!!"]


def note_ignored(w: Workspace) -> None:
    """Remember which ignored files are there before a run; from then on they are kept account of."""
    if w.checkout.ignored is None:
        w.checkout.ignored = frozenset(path for code, path in _status(w) if code == "!!")


def _set_ignored_aside(w: Workspace, found: set[str]) -> tuple[str, ...]:
    """Ignored files that the run made would be there for the checks and missing in the commit (ruling 2)."""
    own, before = (f"{w.feature.path}/", ".ralphy/"), w.checkout.ignored
    new = found - before if before is not None else set()
    made = tuple(sorted(p for p in new if not _is_cache(p) and not p.startswith(own) and not w.is_other_feature(p)))
    for path in made:
        set_aside(w, w.repository.root / path.rstrip("/"), path.rstrip("/").replace("/", "__"))
    w.checkout.ignored = frozenset(found - set(made))
    return made


def _is_cache(path: str) -> bool:
    parts = path.rstrip("/").split("/")
    return any(part in _CACHES for part in parts) or parts[-1].endswith(_CACHE_ENDINGS)


def _is_control(w: Workspace, path: str) -> bool:
    return path.startswith((f"{w.feature.path}/", ".ralphy/"))


def restore_control(w: Workspace, green: str, changed: Sequence[str]) -> tuple[str, ...]:
    """Put control files back as the last green tree has them; gives their names. prd.json is handled before.

    What is new goes first: it may be a link in the place of a folder, and what lies behind it is not ours.
    """
    prd = w.feature.in_repository("prd.json")
    own = [path for path in changed if _is_control(w, path) and not is_private(w, path) and path != prd]
    restored = []
    for path in sorted(own, key=lambda path: w.objects.at(green, path) is not None):
        entry = w.objects.at(green, path)
        target = w.repository.root / path
        set_aside(w, target, path.replace("/", "__"))
        if entry is not None:
            _write_blob(w, target, entry)
        restored.append(shown(path))
    return tuple(restored)


def _write_blob(w: Workspace, target: Path, entry: Entry) -> None:
    replace_file(target, w.objects.read(entry.oid) or b"")


def _why_refused(w: Workspace, green: str, tree: str) -> str:
    for path, _, new in w.objects.changes(green, tree):
        if new and new.mode in ("120000", "160000"):
            why = why_unsafe(path, new.mode, (w.objects.read(new.oid) or b"") if new.mode == "120000" else b"")
            if why:
                return shown(why)
    return ""


def file_changes(w: Workspace, green: str, tree: str) -> Iterator[FileChange]:
    """The changed files with their bytes, one at a time."""
    for path, old, new in w.objects.changes(green, tree):
        before = w.objects.read(old.oid) if old and old.mode != "160000" else None
        after = w.objects.read(new.oid) if new and new.mode != "160000" else None
        if old and new and old.oid == new.oid:
            before, after = None, None  # only the mode changed: that is a change of code
        yield FileChange(path, before, after, new.mode if new else "")


def clear_away(w: Workspace, candidate: Candidate) -> None:
    """Make the working tree hold the green tree again; ignored files stay."""
    for path, before, _ in w.objects.changes(candidate.green, candidate.tree):
        if before is None:
            _remove(w, path)
    w.repository.run("read-tree", "--reset", "-u", candidate.green, index=w.index)


def _remove(w: Workspace, path: str) -> None:
    """A file that the green tree does not know, and the folders that it leaves empty."""
    target = w.repository.root / path
    target.unlink(missing_ok=True)
    for folder in target.parents:
        if folder == w.repository.root:
            return
        try:
            folder.rmdir()
        except OSError:
            return


def lay_out(w: Workspace, tree: str, green: str) -> None:
    """Put the files of a kept attempt into the working tree; the index goes on holding the green tree."""
    w.objects.persist(tree)
    w.objects.sync()
    w.repository.run("read-tree", "--reset", "-u", tree, index=w.index)
    w.repository.run("read-tree", "-m", green, index=w.index)


def undo_code_changes(w: Workspace, green: str) -> tuple[str, str]:
    """After a step that is not to change code: (a tree with what it did, or "", and the names of the files).

    Control files are left alone: before the first approval they are not committed yet.
    """
    code = [p for p in changed_paths(w) if not _is_control(w, p) and not w.is_other_feature(p)]
    code = [path for path in code if path not in w.set_up_files()]
    _set_nested_aside(w, code)
    files = [path for path in code if not path.endswith("/")]
    if not files:
        return "", shown(", ".join(code))
    names = "\0".join(files).encode("utf-8", "surrogateescape") + b"\0"
    w.repository.run("update-index", "--add", "--remove", "-z", "--stdin", stdin=names, index=w.index)
    tree = w.repository.run("write-tree", index=w.index).decode().strip()
    w.repository.run("read-tree", green, index=w.index)
    known = [path for path in files if w.objects.at(green, path)]
    for path in set(files) - set(known):
        (w.repository.root / path).unlink(missing_ok=True)
    names = "\0".join(known).encode("utf-8", "surrogateescape") + (b"\0" if known else b"")
    w.repository.run("checkout-index", "-f", "-u", "-z", "--stdin", stdin=names, index=w.index)
    w.repository.run("update-index", "-q", "--refresh", index=w.index)
    return tree, shown(", ".join(code))
