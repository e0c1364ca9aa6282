"""Landing: one commit is the transaction that holds code, prd.json, progress.txt and the story's document.

The protocol: write the objects, record the intent, move the refs by compare-and-swap, replace the files,
note the end. A kill at any point leaves either the old state or the new one; a restart completes an
intent only if its commit is HEAD (ruling 12), and never reads the log to complete stories.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from ralphy.adapters import git
from ralphy.adapters.files import read_regular, replace_file
from ralphy.adapters.objects import Entry
from ralphy.engine.workspace import Workspace

Refs = Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit to be made on the feature's branch.

    `tree` is the code to commit (a whole tree with the control files of its parent); `files` are the
    control files in their new form (None removes one), by their name in the feature folder; `tip` is where
    the branch is expected to be, `parent` what the commit follows; `end` is the run's last line for the journal.
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


def land(w: Workspace, landing: Landing) -> str:
    """Make the commit and move the branch to it; gives its id. Raises Conflict if the branch moved meanwhile."""
    paths = {w.feature.in_repository(name): data for name, data in landing.files.items()}
    entries = {path: _blob(w, data) for path, data in paths.items()}
    tree = w.objects.graft(landing.tree, entries)
    commit = _write_commit(w, landing, tree)
    w.milestone("objects_written")
    intent = {
        "commit": commit,
        "branch": w.feature_branch,
        "files": list(landing.files),
        "end": dict(landing.end),
    }
    replace_file(w.intent, orjson.dumps(intent))
    w.milestone("intent_recorded")
    refresh = _start_index(w, entries)
    try:
        ref = f"refs/heads/{w.feature_branch}"
        git.move_refs(w.repository, ((ref, commit, landing.tip), *landing.refs))
    except BaseException:
        refresh.kill()
        refresh.communicate()
        w.intent.unlink(missing_ok=True)
        w.index_is_ready = False
        raise
    w.milestone("refs_moved")
    _write_files(w, landing.files)
    w.milestone("files_replaced")
    git.finish(refresh)
    git.install_index(w.repository, w.index)
    finish_intent(w, landing.end)
    w.clean_at = commit
    return commit


def _blob(w: Workspace, data: bytes | None) -> Entry | None:
    return None if data is None else Entry("100644", w.objects.write("blob", data))


def _write_commit(w: Workspace, landing: Landing, tree: str) -> str:
    who = f"{_identity(w)} {int(w.clock())} +0000"
    trailers = "\n".join(f"{name}: {value}" for name, value in landing.trailers)
    message = "\n\n".join(part for part in (landing.subject, landing.body, trailers) if part)
    header = [f"tree {tree}", f"parent {landing.parent}", f"author {who}", f"committer {who}"]
    return w.objects.write("commit", ("\n".join(header) + f"\n\n{message}\n").encode("utf-8", "replace"))


def _identity(w: Workspace) -> str:
    """`Name <address>` as git knows the user; asked once."""
    if not w.identity:
        try:
            w.identity = w.repository.text("var", "GIT_COMMITTER_IDENT").rsplit(" ", 2)[0]
        except git.GitError:
            w.identity = "Ralphy <ralphy@localhost>"
    return w.identity


def _start_index(w: Workspace, entries: Mapping[str, Entry | None]) -> subprocess.Popen[bytes]:
    """Bring the new control files into Ralphy's index, beside the moving of the refs."""
    zero = "0" * (64 if w.repository.object_format == "sha256" else 40)
    rows = [f"{e.mode} {e.oid}\t{path}" if e else f"0 {zero}\t{path}" for path, e in entries.items()]
    process = w.repository.start("update-index", "-z", "--index-info", index=w.index)
    assert process.stdin
    process.stdin.write("\0".join([*rows, ""]).encode("utf-8", "surrogateescape"))
    process.stdin.flush()
    return process


def _write_files(w: Workspace, files: Mapping[str, bytes | None]) -> None:
    for name, data in files.items():
        path = w.feature.file(name)
        if data is None:
            path.unlink(missing_ok=True)
        elif read_regular(path) != data:
            replace_file(path, data, durable=name == "prd.json")


def finish_intent(w: Workspace, end: Mapping[str, Any]) -> None:
    """Write the run's end into the journal, then forget the intent."""
    if end and w.history.open_run and w.history.open_run.get("run") == end.get("run"):
        w.record("end", **end)
    w.milestone("end_recorded")
    w.intent.unlink(missing_ok=True)


def complete_intent(w: Workspace) -> bool:
    """After a crash: finish what had been recorded, if its commit is HEAD; False if it was never reached."""
    noted = read_regular(w.intent)
    try:
        intent = orjson.loads(noted or b"")
    except orjson.JSONDecodeError:
        intent = {}
    head = git.resolve(w.repository, f"refs/heads/{intent.get('branch')}") if intent else ""
    if not intent or intent.get("commit") != head:
        w.intent.unlink(missing_ok=True)
        return False
    if git.head_of(w.repository)[1] != head:
        _stand_on_branch(w)
    files = {name: w.objects.read(f"{head}:{w.feature.in_repository(name)}") for name in intent["files"]}
    _write_files(w, files)
    w.index_is_ready = False
    w.repository.run("read-tree", "--reset", "-u", head, index=w.index)
    git.install_index(w.repository, w.index)
    finish_intent(w, intent["end"])
    return True


def switch(w: Workspace, parent: str, subject: str, tree: str) -> str:
    """Make the feature's branch with a first commit of `tree` on `parent`, and stand on it."""
    trailers = [("Ralphy-Event", f"branch {w.feature.name}")]
    commit = _write_commit(w, Landing(subject, trailers, tree, parent, "", {}), tree)
    replace_file(w.intent, orjson.dumps({"commit": commit, "branch": w.feature_branch, "files": [], "end": {}}))
    w.milestone("branch_intent_recorded")
    git.move_refs(w.repository, ((f"refs/heads/{w.feature_branch}", commit, ""),))
    w.milestone("branch_made")
    _stand_on_branch(w)
    finish_intent(w, {})
    w.clean_at = commit
    return commit


def _stand_on_branch(w: Workspace) -> None:
    w.repository.run("symbolic-ref", "-m", "ralphy: switch", "HEAD", f"refs/heads/{w.feature_branch}")
    git.install_index(w.repository, w.index)
