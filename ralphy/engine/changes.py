"""What differs in the working tree: changed paths, control files among them, and files that git ignores."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralphy.engine.checkout import STATUS, rows_of
from ralphy.engine.control import set_aside
from ralphy.engine.workspace import Workspace
from ralphy.files.atomic import is_odd, link_on_the_way
from ralphy.git import commands as git
from ralphy.git.objects import TREE, Entry
from ralphy.git.special_files import remove_odd, run_wary
from ralphy.pipeline.steering import steers

GITLINK = "160000"
_CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".venv", "venv",
           "node_modules", ".npm", ".yarn", ".pnpm-store", ".next", ".nuxt", ".cache", ".gradle", "target", "vendor",
           ".eggs", "htmlcov", "coverage", ".nyc_output", ".turbo", ".parcel-cache", ".DS_Store")  # fmt: skip
_CACHE_ENDINGS = (".egg-info", ".coverage", ".tsbuildinfo")


def shown(path: str) -> str:
    """A path as text: bytes that are no UTF-8 are replaced."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def status_rows(w: Workspace) -> Iterator[tuple[str, str]]:
    """(two-letter code, path) of everything that differs from Ralphy's index, ignored files too ("!!").

    A FIFO, a socket or a device in a file's place is removed before anybody opens it: the file counts as deleted.
    """
    out = run_wary(w.repository, "status", *STATUS, index=w.index)
    for code, path in rows_of(out):
        if code[1] != " " or code[0] in "?!":
            if not is_beyond_link(w, path) and remove_odd(w.repository.root / path):
                w.say(f"{shown(path)}: removed special file; treated as deleted")
            yield code, path


def is_beyond_link(w: Workspace, path: str) -> bool:
    """Has a link taken the place of a folder that a path leads through? Then git knows nothing of what is there."""
    return link_on_the_way(w.repository.root, w.repository.root / path) is not None


def changed_paths(w: Workspace) -> list[str]:
    """Everything that differs from Ralphy's index, but for ignored files."""
    return [path for code, path in status_rows(w) if code != "!!"]


def note_ignored(w: Workspace) -> None:
    """Remember which ignored files are there before a run; from then on they are kept account of."""
    if w.checkout.ignored is None:
        w.checkout.ignored = frozenset(path for code, path in status_rows(w) if code == "!!")


def set_ignored_aside(w: Workspace, found: set[str], green: str) -> tuple[str, ...]:
    """Ignored files that the run made would be there for the checks and missing in the commit.

    What was ignored before, and folders that hold such files or committed ones, are a person's and stay.
    """
    before = w.checkout.ignored
    if before is None:
        w.checkout.ignored = frozenset(found)
        return ()
    own = (f"{w.feature.path}/", ".ralphy/")
    made = [inner for path in found - before for inner in _beside_old(w, path, before)]
    new = [path for path in made if not _is_cache(path) and not path.startswith(own)]
    new = [path for path in new if not w.is_other_feature(path) and not _holds_old(w, path, before, green)]
    for path in sorted(new):
        set_aside(w, w.repository.root / path.rstrip("/"), path.rstrip("/").replace("/", "__"))
    w.checkout.ignored = frozenset((found | before) - set(new))
    return tuple(sorted(new))


def _beside_old(w: Workspace, path: str, before: frozenset[str]) -> list[str]:
    """An ignored path; of a folder that holds something that was there before the run, what lies beside that.

    Git names a folder as a whole once a rule matches it: one old cache in it would hide every new file.
    """
    if not path.endswith("/") or not any(old.startswith(path) for old in before):
        return [path]
    found, folders = [], [path]  # as deep as what is old lies: whatever is new goes as a whole
    for folder in folders:
        for entry in _entries(w.repository.root / folder):
            inner = f"{folder}{entry.name}" + ("/" if entry.is_dir(follow_symlinks=False) else "")
            if inner.endswith("/") and any(old.startswith(inner) and old != inner for old in before):
                folders.append(inner)
            elif inner not in before:
                found.append(inner)
    return found


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What stands in a folder; nothing if it cannot be read, or is none any more."""
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def _holds_old(w: Workspace, path: str, before: frozenset[str], green: str) -> bool:
    """Is an ignored path within, or around, something that was there before the run?"""
    folder = f"{path.rstrip('/')}/"
    known = any(old.startswith(folder) or folder.startswith(f"{old.rstrip('/')}/") for old in before)
    return known or w.objects.at(green, path.rstrip("/")) is not None


def ignored_before(w: Workspace, paths: Sequence[str]) -> list[str]:
    """Those of the paths that git ignored before the run: files of a person that are nobody else's business."""
    before = w.checkout.ignored or frozenset()
    folders = tuple(old for old in before if old.endswith("/"))
    return [path for path in paths if path in before or path.startswith(folders)] if before else []


def unsteered(w: Workspace, rows: Sequence[tuple[str, str]], green: str) -> list[str]:
    """The changed paths of what Git says after checks.

    What they left where Git ignores it, and others act on (a GNUmakefile), is set aside: no diff shows it.
    """
    before = w.checkout.ignored or frozenset()
    new = [path for code, path in rows if code == "!!" and path not in before and not is_control(w, path)]
    for path in new:
        name = path.rstrip("/")
        if steers(name) and not name.endswith(".mk") and not _holds_old(w, path, before, green):
            set_aside(w, w.repository.root / name, shown(name).replace("/", "__"))
            w.say(f"the checks left {shown(name)} behind, which Git ignores, and which others act on: it is set aside")
    return [path for code, path in rows if code != "!!"]


def _is_cache(path: str) -> bool:
    parts = path.rstrip("/").split("/")
    return any(part in _CACHES for part in parts) or parts[-1].endswith(_CACHE_ENDINGS)


def files_of(w: Workspace, tree: str, prefix: str = "") -> Iterator[tuple[str, Entry]]:
    """All files and links of a tree, with their paths."""
    for name, entry in w.objects.entries(tree).items():
        if entry.mode == TREE:
            yield from files_of(w, entry.oid, f"{prefix}{name}/")
        elif entry.mode.startswith(("100", "120")):
            yield f"{prefix}{name}", entry


def is_control(w: Workspace, path: str) -> bool:
    return path.startswith((f"{w.feature.path}/", ".ralphy/"))


def set_made_aside(w: Workspace, before: set[str]) -> None:
    """New files that checks left lying about belong to nobody's commit."""
    head = w.objects.tree_of(git.head_of(w.repository)[1])
    for path in unsteered(w, list(status_rows(w)), head):
        is_new = path not in before and not path.endswith("/") and w.objects.at(head, path) is None
        if is_new and not is_control(w, path) and not w.is_other_feature(path):
            moved = set_aside(w, w.repository.root / path, shown(path).replace("/", "__"))
            w.say(f"the checks left {shown(path)} behind: it is {moved.name if moved else 'gone'} in set-aside")


def set_nested_aside(w: Workspace, code: list[str]) -> list[str]:
    """Repositories in the repository: git shows one as a folder, or not at all if it lies around known files."""
    shown = [path for path in code if path.endswith("/")]
    folders = {folder for path in code for folder in Path(path).parents if folder != Path()}
    inner = [f"{folder}/.git" for folder in folders if os.path.lexists(w.repository.root / folder / ".git")]
    around = sorted(path for path in inner if not is_beyond_link(w, path))
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
        oids = _written(w, [path for path, _ in plain])
        entries |= {path: Entry(mode, oid) for (path, mode), oid in zip(plain, oids, strict=True)}
    return entries


def _written(w: Workspace, paths: Sequence[str]) -> list[str]:
    """The ids of the contents of files, stored. Git keeps an object that is there already, whatever it really holds."""
    oids = w.checkout.blobs.write(paths)
    planted = [oid for oid in dict.fromkeys(oids) if not w.objects.is_sound(oid)]
    if planted:
        for oid in planted:
            w.objects.drop_loose(oid)
        w.say(f"{len(planted)} objects in .git were not what their ids say: they are written again")
        oids = w.checkout.blobs.write(paths)
        for oid in planted:
            w.objects.read(oid)
    return oids


def _kind(w: Workspace, green: str, path: str) -> tuple[str, bytes | None]:
    """(git's mode of what is at a path, "" if nothing that git knows is, or a folder; the target of a link)."""
    target = w.repository.root / path
    try:
        found = target.lstat()
    except OSError:
        return "", None
    if is_odd(found.st_mode) or is_beyond_link(w, path):
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
