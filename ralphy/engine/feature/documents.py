"""A feature's documents as its work stands on them: the branch's, and before there is a branch, those in the folder.

What a person changed in the checkout's folder is adopted first, as a commit of its own (`gate.adopt`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

import orjson

from ralphy.documents.feature_folder import artifact_digest, artifact_names, read_artifact
from ralphy.documents.prd_reader import check_prd
from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.feature.document_edits import MergedEdits, merge_edits
from ralphy.engine.feature.features import prd_at
from ralphy.engine.feature.live_documents import edited, left_to_git
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import InvalidInput
from ralphy.files.read import read_regular
from ralphy.git.objects import TREE
from ralphy.pipeline.acceptance import DOCUMENT, SEALED
from ralphy.pipeline.model import Artifact, Lost, Prd, Tree
from ralphy.text.strict_json import dump

_MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents at one moment. `tip` is the branch's, "" before there is one; `merged` has a person's edits."""

    tip: str
    merged: MergedEdits = field(default_factory=MergedEdits)

    @property
    def edited(self) -> tuple[str, ...]:
        """The names of what a person changed and the branch does not have; nothing before there is one."""
        return tuple(self.merged.adoption) if self.tip else ()


def look_at(w: Workspace) -> Documents:
    """The documents now; nothing is written."""
    tip = work_tip(w)
    if not tip:
        return Documents("")
    edits = edited(w, tip)
    return Documents(tip, merge_edits(w, tip, edits, {}) if edits else MergedEdits())


def sealed_place(w: Workspace, name: str) -> Path | None:
    """Where a document lies that no agent may read, in Ralphy's own folder; None for all that are committed."""
    is_sealed = name == DOCUMENT and w.config.acceptance.tests == SEALED
    return w.repository.state_dir / "sealed" / f"{w.feature.name}.md" if is_sealed else None


def place_of(w: Workspace, name: str) -> Path:
    """Where a person finds a document."""
    return sealed_place(w, name) or w.feature.file(name)


def shown_at(w: Workspace, name: str) -> str:
    """The same, as people read it."""
    place, root = place_of(w, name), w.repository.root
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else str(place)


def read(w: Workspace, name: str, tip: str = "") -> bytes | None:
    """A document; None if there is none."""
    if sealed := sealed_place(w, name):
        return read_regular(sealed, _MOST_BYTES)
    at = tip or work_tip(w)
    if not at:
        return read_regular(w.feature.file(name), _MOST_BYTES)
    entry = w.objects.at(w.objects.tree_of(at), w.feature.in_repository(name))
    return w.objects.read(entry.oid) if entry and entry.mode != TREE else None


def text(w: Workspace, name: str, tip: str = "") -> str:
    """A document as text, "" if there is none."""
    return (read(w, name, tip) or b"").decode("utf-8", "replace")


def to_read(w: Workspace, name: str) -> bytes:
    """A document for a person to read: the folder's, unless that is left to Git."""
    tip = work_tip(w)
    is_elsewhere = name in left_to_git(w, tip)
    return (read(w, name, tip) if is_elsewhere else read_regular(place_of(w, name), _MOST_BYTES)) or b""


def artifacts(w: Workspace, tip: str) -> dict[str, Artifact]:
    """The artifacts that are there, by name. One that the folder has as the branch does is as old as that file."""
    return {name: artifact for name in artifact_names() if (artifact := _artifact(w, name, tip))}


def _artifact(w: Workspace, name: str, tip: str) -> Artifact | None:
    here = read_artifact(place_of(w, name))
    if not tip or sealed_place(w, name):
        return here
    data = read(w, name, tip)
    if not data or not data.strip():
        return None
    digest = artifact_digest(data)
    return here if here and here.digest == digest else Artifact(digest, 0)


def committed_prd(w: Workspace, commit: str) -> Prd:
    """prd.json as a commit has it, in canonical form; no stories if it has none."""
    if prd := prd_at(w.checkout, commit, w.feature.path):
        return prd
    path = w.feature.in_repository("prd.json")
    data = w.objects.read(f"{commit}:{path}") if commit else None
    return Prd.of({"userStories": []} if data is None else check_prd(data, f"{commit[:10]}:{path}"))


def written_prd(w: Workspace, prd: Prd) -> bytes:
    """The bytes of prd.json for a commit: readers who find them there need not check a thousand stories again."""
    data = dump(prd.raw)
    w.checkout.keep_prd(w.objects.blob_id(data), Prd.of(orjson.loads(data)))
    return data


def all_of_the_folder(w: Workspace) -> Mapping[str, bytes]:
    """What the folder holds before there is a branch, by name: it becomes the first commit."""
    return edited(w, "").files


def lost_stories(w: Workspace, docs: Documents, tree: Tree) -> Lost | None:
    """What a person's prd.json has no more: all stories, or some that are completed; None if nothing is, or if it was
    meant.

    Taking out a story that is not completed is an edit of the plan; committing that confirms it.
    """
    path, meant = w.feature.in_repository("prd.json"), w.history.started_over
    if docs.merged.lost and tree.head != meant:
        return Lost(path, tree.feature_branch, docs.merged.lost)
    if not docs.tip or committed_prd(w, docs.tip).stories:
        return None
    return _last_landed_story(w, path, tree.head, meant)


def with_way_back(w: Workspace, error: InvalidInput, tip: str) -> InvalidInput:
    """An error of a prd.json that cannot be read, with how to get the last commit's, if that one has stories."""
    path = w.feature.in_repository("prd.json")
    if not committed_prd(w, tip).stories:
        return error
    way = (
        f"`git show {quote(f'{w.feature_branch}:{path}')} > {quote(path)}` brings back the last one that was committed"
    )
    return InvalidInput(error.what, where=error.where, hint=f"{error.hint}; {way}" if error.hint else way)


def _last_landed_story(w: Workspace, path: str, head: str, meant: str) -> Lost | None:
    """The last story that landed on the branch, where no commit holds a plan any more."""
    since = [f"^{meant}"] if meant and w.objects.read(meant) is not None else []
    form = "--format=%h %(trailers:key=Ralphy-Story,valueonly)"
    row = w.repository.text("log", "-1", form, f"--grep=^Ralphy-Story: {w.feature.name}/", head, *since, "--").split()
    return Lost(path, row[0], (row[1].rpartition("/")[2],)) if len(row) > 1 else None
