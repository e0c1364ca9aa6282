"""A checkout that stands on the feature's branch follows it, as with Git's `receive.denyCurrentBranch=updateInstead`.

Ralphy moves the branch by its ref. Where somebody has it checked out, index and files are brought up by a merge of two
trees with that person's index: changes of other files survive. If something would be overwritten nothing is touched;
where the checkout has come from is noted in Ralphy's state folder, and it is tried again at the next call.

    expect(w, old, new)      before the branch is moved: a kill straight after costs nothing
    follow(w, old, new)      after it was moved, and the live documents were laid out
    catch_up(w)              at every look: what could not be done before
    moved_by_person(w)       at every look, first: the branch is not where Ralphy left it
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.engine.feature.live_documents import is_document, is_known_version
from ralphy.engine.feature.persons_git import checkouts_on_branch, index_lock, operation_in_progress
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.notes import read_note, write_note
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import walk
from ralphy.git import commands as git
from ralphy.git.commands import GitError, Repository
from ralphy.git.objects import Entry
from ralphy.text.first_few import first_few

_PLAIN, _EXECUTABLE = "100644", "100755"
_MOST_NAMED = 5
Changes = Sequence[tuple[str, Entry | None, Entry | None]]


@dataclass(frozen=True, slots=True)
class Moved:
    """The branch's new `tip`, "" if it is deleted, and `how` its commits were replaced, in words; "" if they were not.

    `undone` are paths that the person's commit put back as they were before Ralphy's last work, with the entries that
    Ralphy had landed: the checkout was behind when that person committed. `Objects.graft` brings them back.
    """

    tip: str
    how: str = ""
    undone: Mapping[str, Entry | None] = field(default_factory=dict)


def expect(w: Workspace, old: str, new: str) -> None:
    """Note that the branch is about to move from `old` to `new`, and which checkouts stand on it.

    If `old` is a person's commit that undid work, what is known stays: after a kill the work is brought back again.
    """
    known = _known_tips(w)
    is_theirs = bool(known) and old not in known
    write_note(_tip_file(w), {"branch": w.feature_branch, "tip": known[0] if is_theirs else old, "next": new})
    for repository in checkouts_on_branch(w):
        origin = _origin(w, repository)
        if is_theirs and origin:
            continue
        if not origin or (origin != old and not _staged(repository, old)):  # somebody has brought it to `old`
            write_note(_behind_file(repository), {"branch": w.feature_branch, "old": old, "reported": ""})


def follow(w: Workspace, old: str, new: str) -> None:
    """Update every checkout of the branch, which has moved; those that stay behind are reported once."""
    expect(w, old, new)
    record_branch_tip(w, new)
    catch_up(w)


def catch_up(w: Workspace) -> None:
    """Try what is noted once more; nothing happens while the branch is where a person has put it."""
    tip = git.resolve(w.repository, f"refs/heads/{w.feature_branch}")
    if not tip or tip not in _known_tips(w):
        return
    for repository in checkouts_on_branch(w):
        old = _origin(w, repository)
        if not old:
            continue
        why = _bring_up(w, repository, old, tip) if old != tip else ""
        if why:
            _report_once(w, repository, f"{repository.root} does not follow {w.feature_branch} to {tip[:10]}: {why}")
        else:
            _behind_file(repository).unlink(missing_ok=True)


def record_branch_tip(w: Workspace, tip: str) -> None:
    """This is where the branch stands, by Ralphy's hand or by a person's that it goes on from.

    It need not outlast a power loss: what was expected before knows this tip, too.
    """
    write_note(_tip_file(w), {"branch": w.feature_branch, "tip": tip, "next": ""}, durable=False)


def forget_branch_tip(w: Workspace) -> None:
    """The feature has no branch that Ralphy knows of."""
    _tip_file(w).unlink(missing_ok=True)


def recorded_branch(w: Workspace) -> str:
    """The branch of the feature as Ralphy left it; "" if it has none yet."""
    return str(read_note(_tip_file(w)).get("branch") or "")


def moved_by_person(w: Workspace) -> Moved | None:
    """Where a person has moved the branch; None if it is where Ralphy left it, or Ralphy has not moved it yet."""
    known = _known_tips(w)
    tip = git.resolve(w.repository, f"refs/heads/{w.feature_branch}")
    if not known or tip in known:
        return None
    if before := next((one for one in reversed(known) if _has_ancestor(w, one, tip)), ""):
        return Moved(tip, undone=_undone(w, before, tip))
    is_rewound = _has_ancestor(w, tip, known[0])
    return Moved(tip, ("was reset to an older commit" if is_rewound else "was amended or rebased") if tip else "")


def _bring_up(w: Workspace, repository: Repository, old: str, new: str) -> str:
    """Bring index and files from one commit to another; gives why not, then nothing was touched."""
    if why := _why_not_now(repository):
        return why
    _refresh(repository)
    try:
        changes = list(w.objects.changes(w.objects.tree_of(old), w.objects.tree_of(new)))
        staged = _staged(repository, old)
        to_record = _to_record(w, repository, staged, changes)
        gone = {path for path, _, now in changes if now is None}
        begun = (path for path, was, _ in changes if was is None and path not in to_record.keys() | staged.keys())
        if blockers := {blocker for path in begun if (blocker := _in_the_way(repository.root, path, gone))}:
            return f"{first_few(sorted(blockers), _MOST_NAMED)} would be overwritten: move it away"
        return _merge_trees(w, repository, to_record, (old, new))
    except GitError as error:
        return _first_line(error)


def _refresh(repository: Repository) -> None:
    """Have Git look at files that only seem to be changed."""
    with suppress(GitError):
        repository.run("update-index", "-q", "--ignore-submodules", "--refresh")


def _first_line(error: GitError) -> str:
    return error.stderr.partition("\n")[0].removeprefix("error: ") or str(error)


def _why_not_now(repository: Repository) -> str:
    if operation := operation_in_progress(repository):
        return f"{operation} is in progress: finish or abort it"
    if repository.programs_in_tree:
        return f"{next(iter(repository.programs_in_tree))} runs a program of the checkout: git reset --hard"
    lock = index_lock(repository)
    return f"{lock} is held: remove it if Git does not run there any more" if lock.exists() else ""


def _merge_trees(
    w: Workspace, repository: Repository, to_record: Mapping[str, Entry | None], trees: tuple[str, str]
) -> str:  # fmt: skip
    """Record entries in the person's index and merge two trees into it and the files; gives why Git would refuse that,
    then nothing was touched."""
    rows = [f"{now.mode} {now.oid}\t{path}\0" if now else f"0 {repository.null_oid}\t{path}\0"
            for path, now in to_record.items()]  # fmt: skip
    stdin = "".join(rows).encode("utf-8", "surrogateescape")
    record = ("update-index", "--add", "--replace", "-z", "--index-info")
    scratch = repository.checkout_dir / "index-sync"
    scratch.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(repository.git_dir / "index", scratch)  # its time, too: by that Git knows which files to read
    try:
        repository.run(*record, stdin=stdin, index=scratch)
        if why := _why_refused(repository, scratch, trees):
            return why
    finally:
        scratch.unlink(missing_ok=True)
    repository.run(*record, stdin=stdin)
    w.milestone("index_recorded")
    repository.run("read-tree", "-m", "-u", *trees)
    w.milestone("checkout_followed")
    _refresh(repository)
    return ""


def _why_refused(repository: Repository, index: Path, trees: tuple[str, str]) -> str:
    """Why Git would not merge two trees into an index and the files, and what to type; "" if it would."""
    try:
        repository.run("read-tree", "-n", "-m", "-u", *trees, index=index)
    except GitError as error:
        return (f"your changes are in the way ({_first_line(error)}); do not commit them as they are, that undoes "
                "Ralphy's work. Bring them along: "
                f"git diff-index -p --binary {trees[0][:10]} > ../mine.patch && git reset --hard && "
                "{ git apply --3way --whitespace=nowarn ../mine.patch; git reset -q; }")  # fmt: skip
    return ""


def _to_record(
    w: Workspace, repository: Repository, staged: Mapping[str, Entry | None], changes: Changes
) -> dict[str, Entry | None]:  # fmt: skip
    """The new entries of what the merge is not to write, so that the index has to know them before: files that are as
    the new commit has them (a merge was killed, or it is the person's own work), and documents, which Ralphy lays out.
    """
    entries = {}
    for path, was, now in changes:
        is_live = _is_live(w, repository, path, now or was)
        if staged.get(path, was) == now or _is_theirs(w, path, staged, is_live=is_live):
            continue
        if is_live or _holds(w, repository, path, now):
            entries[path] = now
    return entries


def _is_theirs(w: Workspace, path: str, staged: Mapping[str, Entry | None], *, is_live: bool) -> bool:
    """Has a person staged something of their own at a path? A version of a document that Ralphy knows is none."""
    entry, name = staged.get(path), path.removeprefix(f"{w.feature.path}/")
    return path in staged and not (is_live and entry and is_known_version(w, name, entry.oid))


def _staged(repository: Repository, commit: str) -> dict[str, Entry | None]:
    """Path -> the index's entry, where it differs from the commit; None for what was removed."""
    rows = os.fsdecode(repository.run("diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", commit))
    parts = rows.split("\0")
    entries: dict[str, Entry | None] = {}
    for about, path in zip(parts[::2], parts[1::2], strict=False):
        _, mode, _, oid, kind = about.split(" ")
        entries[path] = None if kind.startswith("D") else Entry(mode, oid)
    return entries


def _is_live(w: Workspace, repository: Repository, path: str, entry: Entry | None) -> bool:
    """Is it a document that Ralphy lays out in this checkout itself?"""
    prefix = f"{w.feature.path}/"
    is_here = repository.git_dir == w.repository.git_dir and path.startswith(prefix)
    is_file = entry is not None and entry.mode in (_PLAIN, _EXECUTABLE)
    return is_here and is_file and is_document(w, path.removeprefix(prefix))


def _holds(w: Workspace, repository: Repository, path: str, entry: Entry | None) -> bool:
    """Is this version in the working tree?"""
    at = repository.root / path
    if entry is None:
        return not os.path.lexists(at)
    data = read_regular(at) if entry.mode in (_PLAIN, _EXECUTABLE) else None
    if data is None or w.objects.blob_id(data) != entry.oid:
        return False
    return bool(at.stat().st_mode & stat.S_IXUSR) == (entry.mode == _EXECUTABLE)


def _in_the_way(root: Path, path: str, gone: Collection[str]) -> str:
    """What stands where a new file belongs, and Git would overwrite or refuse; ignored files count, too."""
    for above in list(Path(path).parents)[-2::-1]:
        at = root / above
        if os.path.lexists(at) and (at.is_symlink() or not at.is_dir()):
            return "" if str(above) in gone else str(above)
    at = root / path
    if not os.path.lexists(at):
        return ""
    if at.is_symlink() or not at.is_dir():
        return path
    inside = (f"{path}/{one.path}" for one in walk(at) if not one.is_folder)
    return next((name for name in inside if name not in gone), "")


def _undone(w: Workspace, before: str, tip: str) -> dict[str, Entry | None]:
    """What Ralphy had changed while a checkout was behind, and the new tip has as it was before that."""
    entries: dict[str, Entry | None] = {}
    tree = w.objects.tree_of(tip)
    for old in filter(None, (_origin(w, repository) for repository in checkouts_on_branch(w))):
        if not _has_ancestor(w, old, before):
            continue  # the checkout is ahead: what it has is the person's
        for path, was, now in w.objects.changes(w.objects.tree_of(old), w.objects.tree_of(before)):
            if w.objects.at(tree, path) == was:
                entries[path] = now
    return entries


def _has_ancestor(w: Workspace, commit: str, of: str) -> bool:
    try:
        return bool(commit and of) and w.checkout.has_ancestor(commit, of)
    except GitError:  # a commit that is gone
        return False


def _report_once(w: Workspace, repository: Repository, text: str) -> None:
    noted = read_note(_behind_file(repository))
    if noted.get("reported") != text:
        w.say(text)
        write_note(_behind_file(repository), {**noted, "reported": text})


def _origin(w: Workspace, repository: Repository) -> str:
    """The commit that a checkout on the branch is still at, as it was noted; "" if it follows."""
    noted = read_note(_behind_file(repository))
    return str(noted.get("old") or "") if noted.get("branch") == w.feature_branch else ""


def _known_tips(w: Workspace) -> list[str]:
    """Where Ralphy has left the branch, and where it was about to move it."""
    noted = read_note(_tip_file(w))
    if noted.get("branch") != w.feature_branch:
        return []
    return [str(noted[name]) for name in ("tip", "next") if noted.get(name)]


def _tip_file(w: Workspace) -> Path:
    return w.repository.state_dir / "tips" / f"{w.feature.name}.json"


def _behind_file(repository: Repository) -> Path:
    return repository.checkout_dir / "behind.json"
