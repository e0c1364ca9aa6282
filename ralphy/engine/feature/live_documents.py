"""The live documents: what is committed of a feature's folder stands in the checkout's folder on every branch.

Ralphy never switches the checkout's branch, so Git lays the documents out only where the feature's branch is checked
out. Elsewhere Ralphy does, and `.git/info/exclude` keeps `git status` clean. What another branch or an old commit that
is checked out tracks itself stands there as that commit has it, so that switching and merging go on working. A file
with any other version is a person's edit, unless Ralphy knows the version: it wrote or adopted it.
See docs/decisions/037-documents-are-a-view.md.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from pathlib import Path

from ralphy.engine.feature.features import prd_at
from ralphy.engine.feature.ignored_files import files_not_ignored
from ralphy.engine.feature.persons_git import is_index_locked, is_index_written, operation_in_progress
from ralphy.engine.workspace.workspace import Workspace, is_private
from ralphy.files.atomic import replace_if
from ralphy.files.notes import read_note, write_note
from ralphy.files.read import read_regular, signature
from ralphy.files.tree_walk import children, link_on_the_way, walk
from ralphy.git import commands as git
from ralphy.git.objects import TREE
from ralphy.pipeline.model import Status
from ralphy.text.first_few import first_few
from ralphy.text.json_coerce import mapping_of, text_of
from ralphy.text.strict_json import dump

_FILE_MODES = ("100644", "100755")
_CONFLICT = re.compile(rb"^<{7} .*^={7}\r?$.*^>{7} ", re.M | re.S)
_PAUSE_S, _TRIES = 0.03, 5
_TICK_NS = 20_000_000  # the clock of a file system: a change in the same tick would look like none
_MOST_VERSIONS = 8  # of a document, for edits that began with an earlier one
_PRD = "prd.json"


class _State(Enum):
    CURRENT = "what is to stand there"
    GONE = "not there"
    OLD = "a version of Ralphy's that is to be replaced"
    AWAY = "a version of Ralphy's, where the commit that is checked out has its own"
    EDIT = "edited by a person"


class Broken(StrEnum):
    """Why an edit cannot be taken over as it is, in the words for people."""

    CONFLICT = "has conflict markers"
    EMPTY = "is empty"
    ODD = "is not a plain file"


@dataclass(slots=True)
class _Note:
    """What Ralphy knows of the documents in a checkout, in a small file of its state folder.

    `head` is what HEAD said when they were laid out last. `ours` are the versions (blob ids) that a file may hold
    without being an edit: written last, about to be written, or adopted. `earlier` are former ones, newest first.
    """

    path: Path
    head: str = ""
    ours: dict[str, list[str]] = field(default_factory=dict)
    earlier: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, w: Workspace) -> _Note:
        path = w.repository.checkout_dir / f"documents-{w.feature.name}.json"
        noted = read_note(path)
        ours, earlier = dict(mapping_of(noted.get("ours"))), dict(mapping_of(noted.get("earlier")))
        return cls(path, text_of(noted.get("head")), ours, earlier)

    def accept(self, name: str, oid: str) -> None:
        """This version is no edit (any more)."""
        self.ours[name] = [oid, *(old for old in self.ours.get(name, ()) if old != oid)][:_MOST_VERSIONS]

    def settle(self, name: str, oid: str) -> None:
        """The file holds this version, and no other of Ralphy's; "": there is no file."""
        former = dict.fromkeys((*self.ours.pop(name, ()), *self.earlier.get(name, ())))
        self.earlier[name] = [old for old in former if old != oid][:_MOST_VERSIONS]
        if oid:
            self.ours[name] = [oid]

    def versions(self, name: str) -> list[str]:
        """What a person's edit of a document can have begun with, the newest first."""
        return [*self.ours.get(name, ()), *self.earlier.get(name, ())]

    def save(self) -> None:
        """A version that is about to be written is noted before: after a kill it is not taken for an edit."""
        noted = {"head": self.head, "ours": self.ours, "earlier": self.earlier}
        write_note(self.path, noted, durable=False)


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
class _Document:
    """A document in the folder: `oid` is the version that the file holds, "" for none; `target` the one that is to
    stand there."""

    name: str
    state: _State
    target: str
    oid: str = ""
    data: bytes | None = None
    broken: Broken | None = None

    @property
    def is_due(self) -> bool:
        return self.state in (_State.GONE, _State.OLD, _State.AWAY)


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
    """Bring the folder's documents up to the branch's `tip`, if there is one. Edits stay, and are found by `edited`."""
    note, head = _Note.of(w), _head_text(w)
    documents = _all_judged(w, tip, note) if tip else None
    if documents is None:
        return Laid()
    due = [one for one in documents if one.is_due]
    had = [one.name for one in due if one.state is _State.GONE and one.name in note.ours]
    missing = tuple(had) if note.head == head else ()
    for one in due:
        if one.target:
            note.accept(one.name, one.target)
    if due:
        note.save()
        w.milestone("documents_noted")
    written = tuple(one.name for one in due if _bring(w, one))
    w.milestone("documents_laid_out")
    for one in documents:
        if one.name in written or one.state is _State.CURRENT:
            note.settle(one.name, one.target)
    note.head = head
    note.save()
    back = tuple(one.name for one in due if one.state is _State.AWAY and one.name in written)
    return Laid(written, missing, back)


def show_documents(w: Workspace, tip: str) -> None:
    """Lay the documents out, and tell which of them were gone."""
    if missing := lay_out(w, tip).missing:
        w.say(f"{first_few(missing, 5)}: removed from {w.feature.path}; restored from {w.feature_branch}")


def edited(w: Workspace, tip: str) -> Edits:
    """What a person changed in the folder and Ralphy has not adopted; writes nothing."""
    note = _Note.of(w)
    changed = [one for one in _all_judged(w, tip, note) or () if one.state is _State.EDIT]
    if not changed:
        return Edits()
    there, here = documents_at(w, tip), documents_at(w, _elsewhere(w, tip))
    return Edits(
        {one.name: one.data for one in changed if one.data is not None and not one.broken},
        {
            one.name: [oid for oid in (here.get(one.name), there.get(one.name), *note.versions(one.name)) if oid]
            for one in changed
        },
        {one.name: one.broken for one in changed if one.broken},
    )


def ids_of(w: Workspace, files: Mapping[str, bytes]) -> dict[str, str]:
    """The versions that these are, as `note_ours` takes them."""
    return {name: w.objects.blob_id(data) for name, data in files.items()}


def note_ours(w: Workspace, versions: Mapping[str, str]) -> None:
    """These versions are not edits (any more): a person's in a commit, or what Ralphy is about to write without one."""
    note = _Note.of(w)
    for name, oid in versions.items():
        note.accept(name, oid)
    note.save()


def is_document(w: Workspace, name: str) -> bool:
    """Can a file of the folder, by its name in it, be one that is committed?"""
    parts = name.lower().split("/")
    return not is_private(w, w.feature.in_repository(name)) and not {"", ".", "..", ".git"} & set(parts)


def is_known_version(w: Workspace, name: str, oid: str) -> bool:
    """Did Ralphy write or adopt this version of a document, now or before?"""
    return oid in _Note.of(w).versions(name)


def _bring(w: Workspace, one: _Document) -> bool:
    """Write or remove one document; False if a person or Git was quicker."""
    path = w.feature.file(one.name)
    data = w.objects.read(one.target) if one.target else None
    if one.target and data is None:
        return False
    return replace_if(path, data, lambda content: one.oid == ("" if content is None else _ids(w, content)[0]))


def _all_judged(w: Workspace, tip: str, note: _Note) -> list[_Document] | None:
    """The documents, each judged; None while a person's Git is at work: what it is laying out would look like edits.

    Where all are as Ralphy knows them nothing can be mistaken. Else they are looked at again, until no switch of
    branches went on meanwhile. After a few looks only a lock counts: an index that is written often stops nothing.
    """
    if operation_in_progress(w.repository):
        return None
    documents: list[_Document] = []
    for _ in range(_TRIES):
        head = _head_text(w)
        documents = list(_judged_one_by_one(w, tip, note))
        if all(one.state in (_State.CURRENT, _State.OLD) for one in documents):
            return documents
        if head == _head_text(w) and not is_index_written(w.repository):
            return documents
        time.sleep(_PAUSE_S)
    return None if is_index_locked(w.repository) else documents


def _judged_one_by_one(w: Workspace, tip: str, note: _Note) -> Iterator[_Document]:
    wanted, tracked = _wanted(w, tip), documents_at(w, _elsewhere(w, tip))
    known = {*wanted, *tracked, *note.ours}
    for name in sorted(known | _others(w, known)):
        want = wanted.get(name, "")
        ours = {want, *note.ours.get(name, ())} if tip else set[str]()
        if one := _judged(w, name, want, tracked.get(name, ""), ours):
            yield one


def _wanted(w: Workspace, tip: str) -> dict[str, str]:
    """Name -> blob id of the documents that people are shown of the branch."""
    wanted, preview = documents_at(w, tip), _preview(w, tip)
    if not preview:
        return wanted
    oid = w.objects.blob_id(preview)
    if w.objects.read(oid) is None:  # no commit has it
        w.objects.write_blob(preview)
    return {**wanted, _PRD: oid}


def _preview(w: Workspace, tip: str) -> bytes:
    """prd.json with the stories that agents work on now in progress; nothing while none is, and where the commit that
    is checked out tracks prd.json: Git would refuse to switch branches."""
    is_shown = bool(w.session.in_work) and not is_tracked_here(w, _PRD)
    prd = prd_at(w.checkout, tip, w.feature.path) if is_shown else None
    stories = [story.id for story in prd.stories if not story.is_completed] if prd else []
    at_work = w.session.stories_in_work.intersection(stories)
    if not prd or not at_work:
        return b""
    for story in at_work:
        prd = prd.with_story(story, status=Status.IN_PROGRESS.value)
    return dump(prd.raw)


def _judged(w: Workspace, name: str, want: str, tracked: str, ours: set[str]) -> _Document | None:
    """A document by the rule of decision record 037; None for one that is a person's to bring up: one that is staged,
    or was removed from what the commit that is checked out has."""
    path, target = w.feature.file(name), tracked or want
    is_behind_link = bool(link_on_the_way(w.repository.root, path))
    versions, data = ([], b"") if is_behind_link else _versions_in(w, path, target)
    if not versions and (is_behind_link or os.path.lexists(path)):
        return _Document(name, _State.EDIT, target, broken=Broken.ODD)
    if not versions:
        return _Document(name, _State.GONE, target) if want and not tracked else None
    if target in versions:
        return _Document(name, _State.CURRENT, target, versions[0])
    if ours.isdisjoint(versions):
        return _Document(name, _State.EDIT, target, versions[0], data, _why_broken(data, want))
    if tracked and _is_staged(w, name):
        return None
    return _Document(name, _State.AWAY if tracked else _State.OLD, target, versions[0])


def _versions_in(w: Workspace, path: Path, target: str) -> tuple[list[str], bytes]:
    """The versions (blob ids) that a file can be, and its bytes; no version if it is not there, or no plain file. One
    that held its `target` and has not changed since is not read again."""
    found, now = signature(path), time.time_ns()
    if found and w.checkout.read.get(path) == (found, target):
        return [target], b""
    data = read_regular(path)
    if data is None:
        return [], b""
    versions = _ids(w, data)
    if target in versions and found and now - max(found[3:]) > _TICK_NS:  # later changes show in the signature
        w.checkout.read[path] = found, target
    return versions, data


def _is_staged(w: Workspace, name: str) -> bool:
    """Has a person staged another version of a document than the commit that is checked out has?"""
    where = f":(top,literal){w.feature.in_repository(name)}"
    return bool(w.repository.run("diff-index", "--cached", "--name-only", "-z", "HEAD", "--", where))


def _ids(w: Workspace, data: bytes) -> list[str]:
    """The ids that the bytes can have in Git: as they are, and without the CR that Git writes by some settings."""
    forms = dict.fromkeys((data, data.replace(b"\r\n", b"\n")))
    return [w.objects.blob_id(form) for form in forms]


def _elsewhere(w: Workspace, tip: str) -> str:
    """The commit that is checked out, if it is not the feature's branch; else ""."""
    head = git.head_of(w.repository)
    return "" if head == tip or git.current_branch(w.repository) == w.feature_branch else head


def _others(w: Workspace, known: set[str]) -> set[str]:
    """Files in the folder that no commit has and that could be committed: Git is asked only if there are such."""
    shut = [f".ralphy/{one.name}" for one in children(w.feature.folder, w.feature.private) if one.name != "prompts"]
    files = (one for one in walk(w.feature.folder, frozenset(shut)) if stat.S_ISREG(one.stat.st_mode))
    new = {one.path for one in files if one.path not in known and is_document(w, one.path)}
    return new & files_not_ignored(w) if new else set()


def _why_broken(data: bytes, want: str) -> Broken | None:
    """Why an edit cannot be taken over as it is; None if it can."""
    if _CONFLICT.search(data):
        return Broken.CONFLICT
    return Broken.EMPTY if want and not data.strip() else None


def _head_text(w: Workspace) -> str:
    """Where HEAD is, and when it was written: a switch there and back is one, too."""
    return f"{git.head_of(w.repository)} {signature(w.repository.git_dir / 'HEAD')}"


def forget_documents(w: Workspace) -> None:
    """What lies in the folder from now on is a person's."""
    _Note.of(w).path.unlink(missing_ok=True)
