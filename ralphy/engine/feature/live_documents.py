"""The live documents: what is committed of a feature's folder stands in the checkout's folder on every branch.

Ralphy never switches the checkout's branch, so Git lays the documents out only where the feature's branch is checked
out. Elsewhere Ralphy does, and `.git/info/exclude` keeps `git status` clean. A file that differs from the branch's tip
is a person's edit, unless Ralphy wrote it or Git did: then it holds what HEAD's commit has. What another branch or an
old commit that is checked out tracks itself is left as Git has it, and put back when the branch has what Ralphy or a
person wrote there, so that switching and merging go on working.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from pathlib import Path

from ralphy.engine.feature.document_record import Record, Signature, blob_id, is_old, read_record
from ralphy.engine.feature.ignored_files import files_not_ignored
from ralphy.engine.workspace.workspace import Workspace, is_private
from ralphy.files.atomic import write_beside
from ralphy.files.read import read_regular, signature
from ralphy.files.tree_walk import children, link_on_the_way, walk
from ralphy.git import commands as git
from ralphy.git.objects import TREE

_FILE_MODES = ("100644", "100755")
_CONFLICT = re.compile(rb"^<{7} .*^={7}\r?$.*^>{7} ", re.M | re.S)
_FRESH_S, _PAUSE_S, _TRIES = 0.05, 0.03, 5
_DEAD_LOCK_S = 10.0  # an index.lock that is older belongs to no switch of branches that goes on


class _Kind(Enum):
    SAME = "as the tip has it"
    SHOWN = "what people are shown in its place"
    STALE = "an older version of Ralphy's"
    LEFT = "as the commit that is checked out has it"
    IN_BRANCH = "on the branch, where the commit that is checked out has its own"
    MISSING = "not there"
    EDIT = "edited by a person"
    ODD = "no plain file"


class Broken(StrEnum):
    """Why an edit cannot be taken over as it is, in the words for people."""

    CONFLICT = "has conflict markers"
    EMPTY = "is empty"
    ODD = "is not a plain file"


@dataclass(frozen=True, slots=True)
class Laid:
    """`written` were brought up; `missing` of these were gone, and no switch of branches explains that.

    `back` of these are as the commit that is checked out has them again.
    """

    written: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edits:
    """What a person has changed: the bytes by the document's name, and the versions (blob ids) it can have begun with,
    the likeliest first.

    `broken` documents cannot be taken over as they are, each with the reason.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    bases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    broken: Mapping[str, Broken] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.files or self.broken)

    def but(self, waits: Collection[str]) -> dict[str, bytes]:
        """The files that do not wait."""
        return {name: data for name, data in self.files.items() if name not in waits}


@dataclass(frozen=True, slots=True)
class _FileState:
    """A document in the folder: `oid` is the version that the file holds, `want` the one that is to stand there, "" for
    none."""

    name: str
    kind: _Kind
    oid: str = ""
    want: str = ""
    data: bytes | None = None
    stat: Signature = ()


def documents_at(w: Workspace, commit: str) -> dict[str, str]:
    """Name -> blob id of the documents that a commit has; links, markers and other private files do not count."""
    folder = w.objects.at(w.objects.tree_of(commit), w.feature.path) if commit else None
    if folder is None or folder.mode != TREE:
        return {}
    changes = w.objects.changes("", folder.oid)
    return {name: new.oid for name, _, new in changes if new and new.mode in _FILE_MODES and is_document(w, name)}


def is_tracked_here(w: Workspace, name: str) -> bool:
    """Does the commit that is checked out have the document?"""
    return name in documents_at(w, git.head_of(w.repository))


def removed_here(w: Workspace) -> dict[str, str]:
    """Name -> blob id of the documents that the commit that is checked out has, and the folder has not."""
    here = documents_at(w, git.head_of(w.repository))
    return {name: oid for name, oid in here.items() if not os.path.lexists(w.feature.file(name))}


def left_to_git(w: Workspace, tip: str) -> tuple[str, ...]:
    """The documents of the branch of which the commit that is checked out has a version of its own, prd.json first."""
    there, here = documents_at(w, tip), documents_at(w, _elsewhere(w, tip)) if tip else {}
    names = [name for name, oid in here.items() if there.get(name, oid) != oid]
    return tuple(sorted(names, key=lambda name: (name != "prd.json", name)))


def lay_out(w: Workspace, tip: str) -> Laid:
    """Bring the folder's documents up to the branch's `tip`. Edits stay, and are found by `edited`."""
    record = _record(w)
    head = _head_text(w)
    if record.tip == tip and record.head == head and _is_untouched(w, record):
        return Laid()
    states = _settled(w, tip, record)
    if states is None:
        return Laid()
    due = [one for one in states if one.kind in (_Kind.STALE, _Kind.MISSING, _Kind.IN_BRANCH)]
    had = [one.name for one in due if one.kind is _Kind.MISSING and one.name in record.files]
    missing = tuple(had) if record.head == head else ()
    for one in due:
        if one.want:
            record.accept(one.name, one.want)
    if due:
        record.save()  # before the files: after a kill they are known
        w.milestone("documents_noted")
    written = tuple(one.name for one in due if _bring(w, one))
    w.milestone("documents_laid_out")
    _note(w, record, states, written)
    record.tip, record.head = tip, head
    record.save()
    return Laid(written, missing, tuple(one.name for one in due if one.kind is _Kind.IN_BRANCH and one.name in written))


def edited(w: Workspace, tip: str) -> Edits:
    """What a person changed in the folder and Ralphy has not adopted; writes nothing."""
    record = _record(w)
    states = _settled(w, tip, record)
    if states is None:
        return Edits()
    changed = [one for one in states if one.kind is _Kind.EDIT]
    there, here = documents_at(w, tip), documents_at(w, _elsewhere(w, tip))
    broken = {one.name: why for one in changed if (why := _why_broken(one))}
    broken |= {one.name: Broken.ODD for one in states if one.kind is _Kind.ODD}
    return Edits(
        {one.name: one.data for one in changed if one.data is not None and one.name not in broken},
        {
            one.name: [oid for oid in (here.get(one.name), there.get(one.name), *record.versions(one.name)) if oid]
            for one in changed
        },
        broken,
    )


def write_preview(w: Workspace, data: bytes) -> None:
    """Write a prd.json that no commit has, for people to see, until `lay_out` brings the committed one back.

    Nothing is written where the commit that is checked out tracks it: Git would refuse to switch branches. The version
    is kept for an edit that begins with it.
    """
    name = "prd.json"
    tip = git.resolve(w.repository, f"refs/heads/{w.feature_branch}")
    instead = documents_at(w, tip).get(name, ""), blob_id(data, w.repository.object_format)
    if w.preview == instead or is_tracked_here(w, name):
        return
    w.objects.write_blobs({name: data})
    record = _record(w)
    record.accept(name, instead[1])
    record.save()
    w.preview = instead
    path = w.feature.file(name)
    if replace_if(path, data, lambda content: content is None or record.is_ours(name, _ids(w, content))):
        record.note(name, instead[1], ())
        record.save()


def ids_of(w: Workspace, files: Mapping[str, bytes]) -> dict[str, str]:
    """The versions that these are, as `note_ours` takes them."""
    return {name: blob_id(data, w.repository.object_format) for name, data in files.items()}


def note_ours(w: Workspace, versions: Mapping[str, str]) -> None:
    """These versions are not edits (any more): a person's in a commit, or what Ralphy is about to write without one."""
    record = _record(w)
    for name, oid in versions.items():
        record.accept(name, oid)
    record.save()


def is_document(w: Workspace, name: str) -> bool:
    """Can a file of the folder, by its name in it, be one that is committed?"""
    parts = name.lower().split("/")
    return not is_private(w, w.feature.in_repository(name)) and not {"", ".", "..", ".git"} & set(parts)


def is_known_version(w: Workspace, path: str, oid: str) -> bool:
    """Did Ralphy write or adopt this version of a document, now or before?"""
    record, name = _record(w), path.removeprefix(f"{w.feature.path}/")
    return record.is_ours(name, (oid,)) or oid in record.versions(name)


def _bring(w: Workspace, one: _FileState) -> bool:
    """Write or remove one document; False if a person or Git was quicker."""
    path = w.feature.file(one.name)
    data = w.objects.read(one.want) if one.want else None
    if one.want and data is None:
        return False

    def is_expected(content: bytes | None) -> bool:
        return content is not None and _ids(w, content)[0] == one.oid

    return replace_if(path, data, is_expected if one.oid else lambda content: content is None)


def replace_if(path: Path, data: bytes | None, is_expected: Callable[[bytes | None], bool]) -> bool:
    """Put `data` at `path` (None removes it) if what is there is expected; an edit of the last moment is put back."""
    backup = path.with_name(f".{path.name}.was.tmp-{os.getpid()}")
    backup.unlink(missing_ok=True)
    if not is_expected(read_regular(path)):
        return False
    if not os.path.lexists(path):
        return data is None or _name_new(path, data)
    temporary = None if data is None else write_beside(path, data, durable=False)
    with suppress(OSError):  # without hard links, what was just looked at is all there is to go by
        os.link(path, backup)
    if temporary:
        temporary.replace(path)
    else:
        path.unlink()
    if not os.path.lexists(backup) or is_expected(read_regular(backup)):
        backup.unlink(missing_ok=True)
        return True
    backup.replace(path)
    return False


def _name_new(path: Path, data: bytes) -> bool:
    """A file where there is none; False if somebody made one meanwhile."""
    temporary = write_beside(path, data, durable=False)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _note(w: Workspace, record: Record, states: Sequence[_FileState], written: Sequence[str]) -> None:
    """What stands in the folder now."""
    for one in states:
        if one.name in written and not one.want:
            record.files.pop(one.name, None)
            record.also.pop(one.name, None)
        elif one.name in written or one.kind is _Kind.SAME:
            file_stat = signature(w.feature.file(one.name)) if one.name in written else one.stat
            record.note(one.name, one.want, file_stat if file_stat and is_old(file_stat) else ())
    record.left = {one.name: (one.oid, one.stat) for one in states if one.kind is _Kind.LEFT and is_old(one.stat)}


def _is_untouched(w: Workspace, record: Record) -> bool:
    return all(known and signature(w.feature.file(name)) == known for name, (_, known) in record.files.items())


def wait_for_git(w: Workspace) -> str:
    """Wait while a Git that lives writes the index; why the documents cannot be judged even then, or ""."""
    end = time.monotonic() + _DEAD_LOCK_S
    while _has_lock(w) and time.monotonic() < end:
        time.sleep(_PAUSE_S)
    return "a change of the index (index.lock)" if _has_lock(w) else git.operation_in_progress(w.repository)


def _settled(w: Workspace, tip: str, record: Record) -> list[_FileState] | None:
    """The documents as they are; None in the middle of a switch of branches or a merge, when they cannot be judged."""
    if git.operation_in_progress(w.repository):
        return None
    states: list[_FileState] = []
    for _ in range(_TRIES):
        head = _head_text(w)
        states = list(_look(w, tip, record))
        is_calm = not any(one.kind in (_Kind.EDIT, _Kind.MISSING, _Kind.IN_BRANCH) for one in states)
        if is_calm or (head == _head_text(w) and not _is_git_writing(w)):
            return states
        time.sleep(_PAUSE_S)
    return None if _has_lock(w) else states


def _is_git_writing(w: Workspace) -> bool:
    """Git writes files, then the index, then HEAD."""
    try:
        written = (w.repository.git_dir / "index").stat().st_mtime
    except OSError:
        written = 0.0
    return _has_lock(w) or 0 <= time.time() - written < _FRESH_S


def _has_lock(w: Workspace) -> bool:
    try:
        made = (w.repository.git_dir / "index.lock").stat().st_mtime
    except OSError:
        return False
    return time.time() - made < _DEAD_LOCK_S


def _look(w: Workspace, tip: str, record: Record) -> Iterator[_FileState]:
    wanted, here = documents_at(w, tip), documents_at(w, _elsewhere(w, tip))
    for name in sorted({*wanted, *record.files, *here, *_others(w, {*wanted, *record.files, *here})}):
        want, tracked = wanted.get(name, ""), here.get(name, "")
        path = w.feature.file(name)
        file_stat = signature(path)
        known, known_stat = record.files.get(name, ("", ()))
        if file_stat and file_stat == known_stat and known == want:
            yield _FileState(name, _Kind.SAME, want, want, None, file_stat)
        elif file_stat and tracked != want and record.left.get(name) == (tracked, file_stat):
            yield _FileState(name, _Kind.LEFT, tracked, want, None, file_stat)
        elif link_on_the_way(w.repository.root, path) or (file_stat and not stat.S_ISREG(file_stat[0])):
            yield _FileState(name, _Kind.ODD, "", want)
        elif file_stat is None:
            kind = _Kind.MISSING if want and not tracked else _Kind.LEFT if tracked else _Kind.SAME
            if want or tracked:
                yield _FileState(name, kind, "", want)
        else:
            yield _judged(w, name, want, tracked, record, file_stat, is_begun=bool(tip))


def _judged(
    w: Workspace, name: str, want: str, tracked: str, record: Record, file_stat: Signature, *, is_begun: bool
) -> _FileState:
    data = read_regular(w.feature.file(name))
    if data is None:
        return _FileState(name, _Kind.ODD, "", want)
    ids = _ids(w, data)
    is_ours = want in ids or record.is_ours(name, ids)
    if want in ids and tracked in ("", want):
        return _FileState(name, _Kind.SAME, want, want, data, file_stat)
    if w.preview in [(want, oid) for oid in ids]:
        return _FileState(name, _Kind.SHOWN, ids[0], want, data, file_stat)
    if tracked in ids:
        return _FileState(name, _Kind.LEFT, tracked, want, data, file_stat)
    if tracked and is_begun and is_ours:
        kind = _Kind.LEFT if _is_staged(w, name) else _Kind.IN_BRANCH
        return _FileState(name, kind, ids[0], tracked, data, file_stat)
    is_back = not want and name not in record.files  # the branch took it out, and a person has brought it back
    kind = _Kind.STALE if is_ours and not tracked and not is_back else _Kind.EDIT
    return _FileState(name, kind, ids[0], want, data, file_stat)


def _is_staged(w: Workspace, name: str) -> bool:
    """Has a person staged another version of a document than the commit that is checked out has?"""
    where = f":(top,literal){w.feature.in_repository(name)}"
    return bool(w.repository.run("diff-index", "--cached", "--name-only", "-z", "HEAD", "--", where))


def _ids(w: Workspace, data: bytes) -> list[str]:
    """The ids that the bytes can have in Git: as they are, and without the CR that Git writes by some settings."""
    forms = dict.fromkeys((data, data.replace(b"\r\n", b"\n")))
    return [blob_id(form, w.repository.object_format) for form in forms]


def _elsewhere(w: Workspace, tip: str) -> str:
    """The commit that is checked out, if it is not the feature's branch; else ""."""
    head = git.head_of(w.repository)
    return "" if head == tip or git.current_branch(w.repository) == w.feature_branch else head


def _others(w: Workspace, known: set[str]) -> list[str]:
    """Files in the folder that no commit has and that could be committed: Git is asked only if there are such."""
    shut = [f".ralphy/{one.name}" for one in children(w.feature.folder, w.feature.private) if one.name != "prompts"]
    files = (one for one in walk(w.feature.folder, frozenset(shut)) if stat.S_ISREG(one.stat.st_mode))
    new = {one.path for one in files if one.path not in known and is_document(w, one.path)}
    return sorted(new & files_not_ignored(w)) if new else []


def _why_broken(one: _FileState) -> Broken | None:
    """Why an edit cannot be taken over as it is; None if it can."""
    if one.data is not None and _CONFLICT.search(one.data):
        return Broken.CONFLICT
    if one.data is not None and one.want and not one.data.strip():
        return Broken.EMPTY
    return None


def _head_text(w: Workspace) -> str:
    """Where HEAD is, and when it was written: a switch there and back is one, too."""
    return f"{git.head_of(w.repository)} {signature(w.repository.git_dir / 'HEAD')}"


def forget_documents(w: Workspace) -> None:
    """What lies in the folder from now on is a person's."""
    _record(w).path.unlink(missing_ok=True)


def _record(w: Workspace) -> Record:
    return read_record(w.repository.checkout_dir / f"documents-{w.feature.name}.json")
