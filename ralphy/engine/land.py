"""Landing: one commit is the transaction that holds code, prd.json, progress.txt and the story's document.

The protocol: write the objects, record the intent, move the refs by compare-and-swap, replace the files,
note the end. A kill at any point leaves either the old state or the new one; a restart completes an
intent only if its commit is the branch's tip, and never reads the log to complete stories.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ralphy.engine.workspace import Workspace
from ralphy.errors import Conflict
from ralphy.files.atomic import name_file, read_regular, write_beside
from ralphy.git import commands as git
from ralphy.git.objects import Entry
from ralphy.pipeline.model import Prd, Tree

Refs = Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit to be made on the feature's branch.

    `tree` is the code to commit (a whole tree with the control files of its parent); `files` are the
    control files in their new form (None removes one), by their name in the feature folder; `tip` is where
    the branch is expected to be, `parent` what the commit follows; `end` is the run's last line for the journal,
    `prd` is what the new prd.json says.
    """

    subject: str
    trailers: Sequence[tuple[str, str]]
    tree: str
    parent: str
    tip: str
    files: Mapping[str, bytes | None]
    refs: Refs = ()
    end: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    prd: Prd | None = None


def land(w: Workspace, landing: Landing) -> str:
    """Make the commit and move the branch to it; gives its id. Raises Conflict if the branch moved meanwhile."""
    paths = {w.feature.in_repository(name): data for name, data in landing.files.items()}
    staged: dict[str, Path] = {}
    try:
        with w.objects.together():
            entries = {path: _blob(w, data) for path, data in paths.items()}
            commit = _write_commit(w, landing, w.objects.graft(landing.tree, entries))
        w.milestone("objects_written")
        _move(w, landing, commit, staged)
    except BaseException as error:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
        _give_up(w, error)
        raise
    _name_files(w, landing.files, staged)
    if landing.prd and landing.files.get("prd.json"):
        w.store.adopt(landing.prd, landing.files["prd.json"] or b"")
    w.milestone("files_replaced")
    finish_intent(w, landing.end)
    return commit


def _move(w: Workspace, landing: Landing, commit: str, staged: dict[str, Path]) -> None:
    """Record the intent, move the refs; meanwhile the files are `staged`."""
    end = dict(landing.end)
    write_intent(w, {"commit": commit, "branch": w.feature_branch, "files": list(landing.files), "end": end})
    w.milestone("intent_recorded")
    moves = ((f"refs/heads/{w.feature_branch}", commit, landing.tip), *landing.refs)
    w.checkout.refs.move(moves, meanwhile=lambda: _stage(w, landing.files, staged))
    w.milestone("refs_moved")


def _give_up(w: Workspace, error: BaseException) -> None:
    """After a Conflict nothing has moved. After an interruption the refs may have, and the intent stays to tell."""
    if isinstance(error, Conflict):
        clear_intent(w)
    else:
        w.checkout.refs.close()


def _blob(w: Workspace, data: bytes | None) -> Entry | None:
    return None if data is None else Entry("100644", w.objects.write("blob", data))


def _write_commit(w: Workspace, landing: Landing, tree: str) -> str:
    w.objects.persist(tree)
    who = f"{w.checkout.identity} {int(w.clock())} +0000"
    trailers = "\n".join(f"{name}: {value}" for name, value in landing.trailers)
    message = "\n\n".join(part for part in (landing.subject, landing.body, trailers) if part)
    header = [f"tree {tree}", f"parent {landing.parent}", f"author {who}", f"committer {who}"]
    return w.objects.write("commit", ("\n".join(header) + f"\n\n{message}\n").encode("utf-8", "replace"))


def _stage(w: Workspace, files: Mapping[str, bytes | None], staged: dict[str, Path]) -> None:
    """Write the control files beside their places, where they differ."""
    for name, data in files.items():
        path = w.feature.file(name)
        if data is not None and read_regular(path) != data:
            staged[name] = write_beside(path, data, durable=name == "prd.json")


def _name_files(w: Workspace, files: Mapping[str, bytes | None], staged: Mapping[str, Path]) -> None:
    """Put what was staged into its place, and take away what is to go."""
    for name, data in files.items():
        path = w.feature.file(name)
        if data is None:
            path.unlink(missing_ok=True)
        elif name in staged:
            name_file(path, staged[name])


def write_intent(w: Workspace, intent: Mapping[str, Any]) -> None:
    """Record what is about to be moved, in place: a torn intent is none, for nothing has moved before it is whole.

    Its flush is that of the objects too: they were written out before, as in git's batch mode.
    """
    w.intent.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(w.intent, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(orjson.dumps(intent))
        while rest:  # a short write says that the disk is all but full: the next one fails
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clear_intent(w: Workspace) -> None:
    """Forget the intent; the file stays, so that the next one need not be made durable as a name."""
    if w.intent.exists():
        os.truncate(w.intent, 0)


def read_intent(w: Workspace) -> dict[str, Any]:
    """The intent that has not been finished, or {}: one of a run is finished when the journal has the run's end."""
    noted = read_regular(w.intent)
    if not noted:
        return {}
    try:
        intent = orjson.loads(noted)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(intent, dict):
        return {}
    run = (intent.get("end") or {}).get("run")
    open_run = w.history.open_run.get("run") if w.history.open_run else None
    return intent if run is None or run == open_run else {}


def finish_intent(w: Workspace, end: Mapping[str, Any]) -> None:
    """Note the run's end in the journal; what has no run is simply forgotten.

    Neither needs to be durable: an intent whose end was lost with the power is completed once more, to the same.
    """
    if not end:
        clear_intent(w)
    elif w.history.open_run and w.history.open_run.get("run") == end.get("run"):
        w.record("end", durable=False, **end)
    w.milestone("end_recorded")


def complete_intent(w: Workspace) -> bool:
    """Finish what had been recorded before a crash, if its commit is the tip; False if it was never reached."""
    intent = read_intent(w)
    head = git.resolve(w.repository, f"refs/heads/{intent.get('branch')}") if intent else ""
    if not intent or intent.get("commit") != head:
        clear_intent(w)
        return False
    files = {name: w.objects.read(f"{head}:{w.feature.in_repository(name)}") for name in intent["files"]}
    staged: dict[str, Path] = {}
    _stage(w, files, staged)
    _name_files(w, files, staged)
    finish_intent(w, intent["end"])
    return True


def begin_branch(w: Workspace, before: Tree, subject: str, tree: str) -> str:
    """Make the feature's branch with a first commit of `tree`; no checkout moves."""
    landing = Landing(subject, [("Ralphy-Event", f"branch {w.feature.name}")], tree, before.head, before.behind, {})
    with w.objects.together():
        commit = _write_commit(w, landing, tree)
    w.milestone("objects_written")
    w.checkout.refs.move(((f"refs/heads/{w.feature_branch}", commit, before.behind),))
    w.milestone("branch_made")
    return commit
