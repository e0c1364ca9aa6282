"""The candidate tree: exactly what will be tested and, if the checks pass, committed.

It is written once, from the working tree, into Ralphy's own index; the checkout's index plays no part,
so its bits (skip-worktree, assume-unchanged) hide nothing, and its lock stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ralphy.adapters.files import replace_file
from ralphy.adapters.objects import Entry
from ralphy.core.errors import Conflict
from ralphy.core.substance import FileChange, why_unsafe
from ralphy.engine.control import set_aside
from ralphy.engine.workspace import Workspace, is_private

_CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".venv", "venv",
           "node_modules", ".npm", ".yarn", ".pnpm-store", ".next", ".nuxt", ".cache", ".gradle", "target", "vendor",
           ".eggs", "htmlcov", "coverage", ".nyc_output", ".turbo", ".parcel-cache", ".DS_Store")  # fmt: skip
_CACHE_ENDINGS = (".pyc", ".pyo", ".egg-info", ".coverage", ".tsbuildinfo")


@dataclass(frozen=True, slots=True)
class Candidate:
    """`tree` is the whole tree with the control files of `green`; `code` its id without the feature folder.

    `tampered` names control files that had been changed, `refused` why it may not be committed at all.
    """

    tree: str
    code: str
    green: str
    files: tuple[str, ...]
    tampered: tuple[str, ...] = ()
    refused: str = ""
    set_aside: tuple[str, ...] = ()


def prepare_index(w: Workspace, head: str) -> None:
    """Make Ralphy's index hold HEAD's tree with the stat of the files, so that later looks are cheap."""
    if w.index_is_ready:
        return
    w.index.parent.mkdir(parents=True, exist_ok=True)
    w.index.unlink(missing_ok=True)
    w.index.with_suffix(".lock").unlink(missing_ok=True)
    if any(row[:2] == b"S " for row in w.repository.run("ls-files", "-t", "-z").split(b"\0")):
        raise Conflict("this is a sparse checkout", hint="git sparse-checkout disable, or use a worktree of its own")
    w.repository.run("read-tree", head, index=w.index)
    w.repository.run("update-index", "-q", "--refresh", index=w.index)
    rows = w.repository.run("diff-files", "--name-only", "-z", index=w.index).decode("utf-8", "surrogateescape")
    hidden = [path for path in rows.split("\0") if path and not _is_control(w, path) and not w.is_other_feature(path)]
    if hidden:
        raise Conflict(f"changes are hidden by index bits: {', '.join(hidden[:5])}",
                       hint="git update-index --no-assume-unchanged --no-skip-worktree FILE, then commit them")  # fmt: skip
    w.index_is_ready = True


def write_candidate(w: Workspace, green: str) -> Candidate:
    """Take in the working tree as it is now. `green` is the tree of the last green commit."""
    rows = list(_status(w))
    aside = _set_ignored_aside(w, {path for code, path in rows if code == "!!"})
    changed = [path for code, path in rows if code != "!!"]
    tampered = _restore(w, green, [p for p in changed if _is_control(w, p)])
    code = [p for p in changed if not _is_control(w, p) and not w.is_other_feature(p)]
    nested = next((path for path in code if path.endswith("/")), "")
    if nested:
        return Candidate(green, "", green, (nested,), tuple(tampered), f"{nested} is a nested repository", aside)
    if not code:
        return Candidate(green, w.code_of(green), green, (), tuple(tampered), "", aside)
    names = "\0".join(code).encode("utf-8", "surrogateescape") + b"\0"
    w.repository.run_durable("update-index", "--add", "--remove", "-z", "--stdin", stdin=names, index=w.index)
    tree = w.repository.run_durable("write-tree", index=w.index).decode().strip()
    files = tuple(path for path, _, _ in w.objects.changes(green, tree))
    return Candidate(tree, w.code_of(tree), green, files, tuple(tampered), _why_refused(w, green, tree), aside)


def _status(w: Workspace) -> Iterator[tuple[str, str]]:
    """(two-letter code, path) of everything that differs from Ralphy's index, ignored files too ("!!")."""
    out = w.repository.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching",
                           "--no-renames", index=w.index)  # fmt: skip
    for row in out.decode("utf-8", "surrogateescape").split("\0"):
        if len(row) > 3 and (row[1] != " " or row[0] in "?!"):
            yield row[:2], row[3:]


def note_ignored(w: Workspace) -> None:
    """Remember which ignored files are there before a run; from then on they are kept account of."""
    if w.ignored is None:
        w.ignored = frozenset(path for code, path in _status(w) if code == "!!")


def _set_ignored_aside(w: Workspace, found: set[str]) -> tuple[str, ...]:
    """Ignored files that the run made would be there for the checks and missing in the commit (ruling 2)."""
    own = (f"{w.feature.path}/", ".ralphy/")
    new = found - (w.ignored or frozenset()) if w.ignored is not None else set()
    made = tuple(sorted(p for p in new if not _is_cache(p) and not p.startswith(own) and not w.is_other_feature(p)))
    for path in made:
        set_aside(w, w.repository.root / path.rstrip("/"), path.rstrip("/").replace("/", "__"))
    w.ignored = frozenset(found - set(made))
    return made


def _is_cache(path: str) -> bool:
    parts = path.rstrip("/").split("/")
    return any(part in _CACHES for part in parts) or parts[-1].endswith(_CACHE_ENDINGS)


def _is_control(w: Workspace, path: str) -> bool:
    return path.startswith((f"{w.feature.path}/", ".ralphy/"))


def _restore(w: Workspace, green: str, paths: list[str]) -> list[str]:
    """Put control files back as the last green tree has them; prd.json and progress.txt are handled before."""
    restored = []
    for path in paths:
        if path == w.feature.in_repository("prd.json") or is_private(w, path):
            continue
        entry = w.objects.at(green, path)
        target = w.repository.root / path
        set_aside(w, target, path.replace("/", "__"))
        if entry is not None:
            _write_blob(w, target, entry)
        restored.append(path)
    return restored


def _write_blob(w: Workspace, target: Path, entry: Entry) -> None:
    replace_file(target, w.objects.read(entry.oid) or b"")


def _why_refused(w: Workspace, green: str, tree: str) -> str:
    for path, _, new in w.objects.changes(green, tree):
        if new and new.mode in ("120000", "160000"):
            why = why_unsafe(path, new.mode, (w.objects.read(new.oid) or b"") if new.mode == "120000" else b"")
            if why:
                return why
    return ""


def file_changes(w: Workspace, green: str, tree: str) -> Iterator[FileChange]:
    """The changed files with their bytes, one at a time."""
    for path, old, new in w.objects.changes(green, tree):
        before = w.objects.read(old.oid) if old and old.mode != "160000" else None
        after = w.objects.read(new.oid) if new and new.mode != "160000" else None
        if old and new and old.oid == new.oid:
            before, after = None, None  # only the mode changed: that is a change of code
        yield FileChange(path, before, after, new.mode if new else "")


def reset_to(w: Workspace, tree: str) -> None:
    """Make the working tree hold `tree`: what the index knows and `tree` does not is removed, ignored files stay."""
    w.repository.run("read-tree", "--reset", "-u", tree, index=w.index)


def undo_code_changes(w: Workspace, green: str) -> tuple[str, str]:
    """After a step that is not to change code: (a tree with what it did, or "", and the names of the files).

    Control files are left alone: before the first approval they are not committed yet.
    """
    rows = [path for code, path in _status(w) if code != "!!"]
    code = [p for p in rows if not _is_control(w, p) and not w.is_other_feature(p) and p not in w.set_up_files()]
    files = [path for path in code if not path.endswith("/")]
    for nested in set(code) - set(files):
        set_aside(w, w.repository.root / nested.rstrip("/"), nested.rstrip("/").replace("/", "__"))
    if not files:
        return "", ", ".join(code)
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
    return tree, ", ".join(code)
