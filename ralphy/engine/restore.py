"""Putting the working tree back: path by path, so that whatever else is in it stays as a person left it.

What differs from what is known is kept in `.ralphy/set-aside/` before it is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ralphy.engine import submodules
from ralphy.engine.changes import (
    GITLINK,
    changed_paths,
    entries_of,
    ignored_before,
    is_beyond_link,
    is_control,
    set_nested_aside,
    shown,
)
from ralphy.engine.control import set_aside
from ralphy.engine.scan import set_too_big_aside
from ralphy.engine.workspace import Workspace, is_private
from ralphy.files.atomic import read_regular, replace_file

if TYPE_CHECKING:
    from ralphy.engine.candidate import Candidate

_OWN = ("prd.json", "progress.txt")
_PLAIN, _MODE, _EXECUTABLE = "100644", 0o644, 0o111


def clear_away(w: Workspace, candidate: Candidate) -> bool:
    """Take the candidate's changes out of the working tree again; False if something else is left in it.

    A file that is no longer as the candidate has it was changed by somebody meanwhile: it is set aside first.
    """
    changes = list(w.objects.changes(candidate.green, candidate.tree))
    now = entries_of(w, candidate.green, [path for path, _, _ in changes])
    for path, _, new in changes:
        if now.get(path) is not None and now[path] != new:
            moved = set_aside(w, w.repository.root / path, shown(path).replace("/", "__"))
            kept = moved.name if moved else "nothing"
            w.say(f"{shown(path)} was changed meanwhile: it is kept as {kept} in set-aside")
    for path, before, _ in changes:
        if before is None:
            remove_file(w, path)
    check_out(w, candidate.green, [path for path, before, _ in changes if before])
    _put_own_back(w, candidate.green)
    left = [path for path in changed_paths(w) if not is_control(w, path) and not w.is_other_feature(path)]
    made = [path for path in left if w.objects.at(candidate.green, path.rstrip("/")) is None]
    _set_made_aside(w, candidate.green, made)
    if submodules.changed(w, candidate.green):  # nothing of Ralphy's puts that back
        w.checkout.clean_at = ""
        return False
    return len(made) == len(left)


def _set_made_aside(w: Workspace, green: str, made: Sequence[str]) -> None:
    """What the attempt made and had Git ignore: with the rules of the last green commit, it is a new file.

    A folder that is new as a whole goes at one stroke, unless there are ignored files of a person in it.
    """
    known = w.checkout.ignored or frozenset()
    tops = dict.fromkeys(_top_of_new(w, green, path, known) for path in made)
    for path in tops:
        moved = set_aside(w, w.repository.root / path, shown(path).replace("/", "__"))
        w.say(f"the attempt left {shown(path)} behind: set aside as {moved.name if moved else 'nothing'}")
    gone = tuple(f"{path}/" for path in tops)
    w.checkout.ignored = frozenset(path for path in known if path.rstrip("/") not in tops and not path.startswith(gone))


def _top_of_new(w: Workspace, green: str, path: str, known: frozenset[str]) -> str:
    """The highest folder above a path that the green tree does not have, or the path itself."""
    parts = path.rstrip("/").split("/")
    for end in range(1, len(parts)):
        folder = "/".join(parts[:end])
        within = any(old.startswith(f"{folder}/") and old != f"{folder}/" for old in known)
        if w.objects.at(green, folder) is None and not within:
            return folder
    return path.rstrip("/")


def kept_commit(w: Workspace, tree: str, parent: str, message: str) -> str:
    """A commit of Ralphy's own for a tree that is kept under a ref; it is on the disk when this returns."""
    w.objects.persist(tree)
    who = f"Ralphy <ralphy@localhost> {int(w.clock())} +0000"
    text = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{message}\n"
    commit = w.objects.write("commit", text.encode("utf-8", "replace"))
    w.objects.sync()
    return commit


def check_out(w: Workspace, green: str, paths: Sequence[str]) -> None:
    """Write files as Ralphy's index has them, modes, links and filters as git does it."""
    known = [path for path in paths if w.objects.at(green, path)]
    if not known:
        return
    names = "\0".join(known).encode("utf-8", "surrogateescape") + b"\0"
    w.repository.run("checkout-index", "-f", "-u", "-z", "--stdin", stdin=names, index=w.index)


def remove_file(w: Workspace, path: str) -> None:
    """A file that the green tree does not know, and the folders that it leaves empty."""
    if is_beyond_link(w, path):
        return
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
    changes = list(w.objects.changes(green, tree))
    for path, _, new in changes:
        if new is None:
            remove_file(w, path)
    write_files(w, tree, [path for path, _, new in changes if new and new.mode != GITLINK])


def write_files(w: Workspace, tree: str, paths: Sequence[str]) -> None:
    """Write files as a tree has them; the index goes on holding what it holds."""
    w.objects.persist(tree)
    w.objects.sync()
    if not paths:
        return
    scratch = w.index.with_name("index-laid-out")
    w.repository.run("read-tree", tree, index=scratch)
    text = "\0".join(paths).encode("utf-8", "surrogateescape") + b"\0"
    w.repository.run("checkout-index", "-f", "-z", "--stdin", stdin=text, index=scratch)
    scratch.unlink(missing_ok=True)


def restore_control(w: Workspace, green: str, changed: Sequence[str]) -> tuple[str, ...]:
    """Put control files back as the last green tree has them; gives their names. prd.json is handled before.

    What is new goes first: it may be a link in the place of a folder, and what lies behind it is not ours.
    """
    prd = w.feature.in_repository("prd.json")
    own = [path for path in changed if is_control(w, path) and not is_private(w, path) and path != prd]
    restored = []
    for path in sorted(own, key=lambda path: w.objects.at(green, path) is not None):
        set_aside(w, w.repository.root / path, path.replace("/", "__"))
        restored.append(path)
    check_out(w, green, restored)
    return tuple(map(shown, restored))


def put_control_back(w: Workspace, green: str) -> None:
    """All control files as `green` has them, prd.json and progress.txt too."""
    restore_control(w, green, changed_paths(w))
    _put_own_back(w, green)


def _put_own_back(w: Workspace, green: str) -> None:
    """prd.json and progress.txt as `green` has them, at one stroke: git would write them while somebody reads."""
    for name in _OWN:
        path = w.feature.in_repository(name)
        entry, at = w.objects.at(green, path), w.feature.file(name)
        if entry is None or entry.mode != _PLAIN or (at.exists() and (at.is_symlink() or not at.is_file())):
            check_out(w, green, [path])
            continue
        data = w.objects.read(entry.oid) or b""
        if read_regular(at) != data:
            replace_file(at, data, durable=False)
        if at.stat().st_mode & _EXECUTABLE:
            at.chmod(_MODE)


def written_code(w: Workspace, green: str) -> tuple[str, tuple[str, ...]]:
    """(a tree with the code that differs from `green`, "" if none does; the paths): what a step has written.

    Control files are no part of it: before the first approval they are not committed yet.
    """
    changed = changed_paths(w)
    spared = {*ignored_before(w, changed), *w.set_up_files()}
    code = [p for p in changed if not is_control(w, p) and not w.is_other_feature(p) and p not in spared]
    set_nested_aside(w, code)
    _, small = set_too_big_aside(w, green, [path for path in code if not path.endswith("/")])
    check_out(w, green, [path for path in code if path not in small and not path.endswith("/")])
    paths = tuple(small)
    if not paths:
        return "", tuple(code)
    tree = w.objects.graft(green, entries_of(w, green, paths))
    w.objects.persist(tree)
    w.objects.sync()
    return tree, paths


def undo_code(w: Workspace, green: str, paths: Sequence[str]) -> None:
    """Put those paths back as `green` has them."""
    for path in paths:
        if not path.endswith("/") and w.objects.at(green, path) is None:
            remove_file(w, path)
    check_out(w, green, [path for path in paths if not path.endswith("/")])


def put_set_up_back(w: Workspace) -> tuple[str, ...]:
    """What `ralphy init` wrote, and no commit holds yet, as the run found it; gives the names of what was different."""
    found = (w.history.open_run or {}).get("set_up") or ()
    noted = {path: data for path in found if (data := w.as_set_up(path)) is not None}
    changed = [path for path, data in noted.items() if read_regular(w.repository.root / path) != data]
    for path in changed:
        set_aside(w, w.repository.root / path, path.replace("/", "__"))
        replace_file(w.repository.root / path, noted[path])
    return tuple(changed)


def kept_numbers(w: Workspace, story: str) -> list[int]:
    """The numbers under which attempts at a story are kept."""
    rows = w.repository.text("for-each-ref", "--format=%(refname)", f"refs/ralphy/{w.feature.name}/{story}").split()
    return [int(row.rsplit("-", 1)[1]) for row in rows if "/attempt-" in row and row.rsplit("-", 1)[1].isdigit()]


def next_number(w: Workspace, story: str, attempt: int) -> int:
    """The attempt count resets after a redo, and a limit costs none: kept ones are numbered on, never overwritten."""
    return max([attempt - 1, *kept_numbers(w, story)]) + 1
