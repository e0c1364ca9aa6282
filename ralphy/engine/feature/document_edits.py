"""A person's edits of the live documents become commits of their own, and what Ralphy is about to land goes on top.

prd.json is merged by stories (`ralphy.documents.prd_merge`), progress.txt and other texts by lines; where that cannot
be done Ralphy's new version stands, and the person's is in its own commit and in `.ralphy/set-aside`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from ralphy.documents.prd_merge import began_with, merge, stories_gone
from ralphy.documents.prd_reader import check_prd
from ralphy.engine.feature.features import prd_at, prd_of
from ralphy.engine.feature.live_documents import Broken, Edits
from ralphy.engine.workspace.set_aside import free_place
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import InvalidInput
from ralphy.files.atomic import replace_file
from ralphy.git.commands import GitError
from ralphy.pipeline.model import Document, Prd
from ralphy.pipeline.stories import canonical
from ralphy.text.strict_json import dump

_PRD, _LOG = "prd.json", "progress.txt"


@dataclass(frozen=True, slots=True)
class MergedEdits:
    """`adoption` is a commit of its own on the tip; `files` is what was to be landed, on top of that.

    `waits` are edits that a person has to look at first, each with the reason; `lost` the stories that are gone from
    prd.json by one of these. `aside` are a person's versions that could not be merged. `messages` are for that person.
    """

    adoption: Mapping[str, bytes] = field(default_factory=dict)
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    waits: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    aside: Mapping[str, bytes] = field(default_factory=dict)
    messages: tuple[str, ...] = ()


def merge_edits(w: Workspace, tip: str, edits: Edits, files: Mapping[str, bytes | None]) -> MergedEdits:
    """Merge a person's edits with the tip, and with the documents that are to be landed on it; writes nothing.

    Before there is a branch `tip` is "": the edits are all that the folder holds, and become the branch's first commit.
    """
    texts = {name: _adopted_text(w, tip, name, edits) for name in edits.files if name != _PRD}
    adoption = {name: edits.files[name] if merged is None else merged for name, merged in texts.items()}
    waits: dict[str, str] = dict(edits.broken)
    lost: tuple[str, ...] = ()
    messages = tuple(f"{name}: replaced by your version, which began with another one: git log -p {w.feature_branch}"
                     for name, merged in texts.items() if merged is None)  # fmt: skip
    if edits.broken.get(_PRD) is Broken.EMPTY:
        lost = tuple(story["id"] for story in _document(w, tip).get("userStories", ()))
    if _PRD in edits.files:
        data, why, lost, clashes = _adopted_prd(w, tip, edits)
        messages = (*messages, *clashes)
        adoption |= {} if why else {_PRD: data}
        waits |= {_PRD: why} if why else {}
    adoption = {name: data for name, data in adoption.items() if data != _at(w, tip, name)}
    on_top: dict[str, bytes | None] = {}
    aside: dict[str, bytes] = {}
    for name, new in files.items():
        on_top[name] = new
        if name in adoption and new is not None and new != adoption[name]:
            merged = _on_top(w, tip, name, new, adoption[name])
            on_top[name] = new if merged is None else merged
            if merged is None:
                aside[name] = edits.files[name]
                clash = f"{name}: your version and Ralphy's cannot be merged; yours is in .ralphy/set-aside"
                messages = (*messages, clash)
    return MergedEdits(adoption, on_top, waits, lost, aside, messages)


def keep_aside(w: Workspace, merged: MergedEdits) -> None:
    """Write the versions that could not be merged into `.ralphy/set-aside`."""
    for name, data in merged.aside.items():
        replace_file(free_place(w, name), data)


def _adopted_prd(w: Workspace, tip: str, edits: Edits) -> tuple[bytes, str, tuple[str, ...], tuple[str, ...]]:
    """(prd.json with the person's changes, why it has to wait, stories that are gone, what to say)."""
    where = w.feature.in_repository(_PRD)
    try:
        person = check_prd(edits.files[_PRD], where)
    except InvalidInput as error:
        return b"", str(error), (), ()
    if _at(w, tip, _PRD) is None and not edits.bases.get(_PRD):  # the first one, as the person has written it
        return _canonical(person), "", (), ()
    ralphy = _document(w, tip)
    base = _base(w, edits, person) or ralphy
    if gone := stories_gone(base, ralphy, person):
        return b"", f"has lost {', '.join(gone)}", gone, ()
    merged = merge(base, ralphy, person)
    try:
        document = check_prd(dump(merged.document), where)
    except InvalidInput as error:
        return b"", f"does not fit what Ralphy recorded meanwhile: {error}", (), ()
    return _canonical(document), "", (), tuple(f"{where}: {clash}" for clash in merged.clashes)


def _base(w: Workspace, edits: Edits, person: Document) -> Document | None:
    """The version that the person has edited: one of those that stood in the folder."""
    versions = [prd_of(w.checkout, oid, w.feature.path) for oid in edits.bases.get(_PRD, ())]
    candidates = [prd.raw for prd in versions if prd]
    return candidates[began_with(person, candidates)] if candidates else None


def _adopted_text(w: Workspace, tip: str, name: str, edits: Edits) -> bytes | None:
    """The branch's text with the person's changes, which can have begun with another version; None if both changed the
    same lines."""
    base, new = next((w.objects.read(oid) for oid in edits.bases.get(name, ())), None), _at(w, tip, name)
    if base is None or new is None or base == new:
        return edits.files[name]
    return _merged_text(w, name, base, new, edits.files[name])


def _on_top(w: Workspace, tip: str, name: str, new: bytes, adopted: bytes) -> bytes | None:
    """Ralphy's new version of a document with what the adopted edit changed; None if both change the same."""
    if name != _PRD:
        return _merged_text(w, name, _at(w, tip, name) or b"", new, adopted)
    merged = merge(_document(w, tip), orjson.loads(new), orjson.loads(adopted))
    try:
        return _canonical(check_prd(dump(merged.document), w.feature.in_repository(name)))
    except InvalidInput:
        return None


def _merged_text(w: Workspace, name: str, base: bytes, new: bytes, adopted: bytes) -> bytes | None:
    """The three merged by lines; None if both changed the same lines of a document that is not a log."""
    sides = {"base": base, "new": new, "adopted": adopted}
    paths = {side: w.repository.checkout_dir / f"merge-{w.feature.name}-{side}" for side in sides}
    try:
        for side, data in sides.items():
            replace_file(paths[side], data, durable=False)
        union = ("--union",) if name == _LOG else ()
        return w.repository.run("merge-file", "-p", *union, *(str(paths[side]) for side in ("new", "base", "adopted")))
    except GitError:  # its code is the number of conflicts
        return None
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


def _at(w: Workspace, commit: str, name: str) -> bytes | None:
    return w.objects.read(f"{commit}:{w.feature.in_repository(name)}") if commit else None


def _document(w: Workspace, commit: str) -> Document:
    """prd.json as a commit has it; one without stories if it has none, or an invalid one."""
    prd = prd_at(w.checkout, commit, w.feature.path)
    return prd.raw if prd else {"userStories": []}


def _canonical(document: Document) -> bytes:
    return dump(canonical(Prd.of(document)).raw)
