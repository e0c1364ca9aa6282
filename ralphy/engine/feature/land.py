"""Landing: one commit is the transaction that holds code, prd.json, progress.txt and the story's document.

The protocol: write the objects, record the intent, move the refs by compare-and-swap, replace the files,
note the end. A kill at any point leaves either the old state or the new one; a restart completes an
intent only if its commit is the branch's tip, and never reads the log to complete stories.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

import orjson

from ralphy.documents import progress
from ralphy.documents.feature_folder import IGNORE_TEXT
from ralphy.engine.feature import documents
from ralphy.engine.feature.checkout_sync import (
    Moved,
    expect,
    follow,
    moved_by_person,
    record_branch_tip,
)
from ralphy.engine.feature.document_edits import MergedEdits, keep_aside, merge_edits
from ralphy.engine.feature.documents import committed_prd
from ralphy.engine.feature.ignored_files import exclude
from ralphy.engine.feature.live_documents import (
    Edits,
    Laid,
    edited,
    ids_of,
    lay_out,
    note_ours,
    removed_here,
)
from ralphy.engine.feature.persons_git import operation_in_progress, wait_for_index, wait_for_operation
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import BranchMoved, Conflict
from ralphy.files.atomic import replace_file, replace_if
from ralphy.files.notes import read_note
from ralphy.git import commands as git
from ralphy.git.ledger import commit_with_trailer
from ralphy.git.objects import Entry
from ralphy.git.signing import CommitText, sign_commit, write_commit
from ralphy.pipeline.events import Landed
from ralphy.pipeline.model import Prd, Snapshot, Story, Tree
from ralphy.pipeline.stories import warnings_of
from ralphy.pipeline.verification import is_unverified
from ralphy.text.first_few import first_few
from ralphy.text.json_coerce import count_of, mapping_of, number_of, text_of
from ralphy.text.strict_json import dump

_LOG = "progress.txt"
_MOST_NAMED = 5
_NEW_LOG = "# Ralphy Progress Log\nStarted: {}\n\n## Codebase Patterns\n\n---\n"


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit to be made on the feature's branch.

    `tree` is the code to commit (a whole tree with the control files of its parent); `files` are the
    control files in their new form (None removes one), by their name in the feature folder; `parent` is what the
    commit follows, and where the branch is expected to be; `end` is the run's last line for the journal.
    """

    subject: str
    trailers: Sequence[tuple[str, str]]
    tree: str
    parent: str
    files: Mapping[str, bytes | None]
    end: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""


def chore(
    w: Workspace, event: str, subject: str, parent: str, files: Mapping[str, bytes | None], *, tree: str = "",
    end: Mapping[str, Any] | None = None, body: str = "",
) -> NewCommit:  # fmt: skip
    """A commit of Ralphy's own: of documents alone, unless `tree` has another code."""
    trailers = [("Ralphy-Event", event), *([("Ralphy-Run", end["run"])] if end else [])]
    subject, tree = f"chore({w.feature.name}): {subject}", tree or w.objects.tree_of(parent)
    return NewCommit(subject, trailers, tree, parent, files, end or {}, body)


def land(w: Workspace, new: NewCommit) -> str:
    """Make the commit and move the branch to it; gives its id. Raises Conflict if the branch moved meanwhile.

    What a person changed in the documents since they were looked at becomes a commit of its own, below this one.
    progress.txt gets the name of the last story's commit.
    """
    if operation := wait_for_operation(w):  # what lands meanwhile, its end would undo
        raise Conflict(f"{operation} is in progress: finish or abort it", hint="then run it again; nothing is lost")
    lay_out(w, new.parent)  # what a person committed and has checked out is not an edit
    edits = edited(w, new.parent) if not w.unsandboxed_agent_running(new.end.get("run")) else Edits()
    merged = merge_edits(w, new.parent, edits, {**new.files, **_with_last_commit(w, new)})
    return _commit_and_move(w, new, edits, merged)


def _with_last_commit(w: Workspace, new: NewCommit) -> dict[str, bytes]:
    """progress.txt, if the entry of the story that landed last can name its commit now."""
    before = documents.text(w, _LOG, new.parent)
    run = progress.run_without_commit(before)
    commit = commit_with_trailer(w.repository, "Ralphy-Run", run, new.parent) if run else ""
    if not commit:
        return {}
    log = (new.files.get(_LOG) or b"").decode() or before
    return {_LOG: progress.with_commit(log, run, commit).encode()}


def _commit_and_move(w: Workspace, new: NewCommit, edits: Edits, merged: MergedEdits) -> str:
    """Commit what a person changed meanwhile, then what is new, move the branch there, and show it; gives the
    commit."""
    adopted, old = ids_of(w, edits.but(merged.waits)), new.parent
    try:
        parent, tree = _adoption(w, new, merged)
        commit = _write_commit(w, replace(new, parent=parent), w.objects.graft(tree, _entries(w, merged.files)))
        w.milestone("objects_written")
        write_intent(w, {"commit": commit, "branch": w.feature_branch, "end": dict(new.end), "adopted": adopted})
        w.milestone("intent_recorded")
        _move(w, old, commit)
        w.milestone("refs_moved")
    except Conflict:  # nothing has moved; after anything else the refs may have, and the intent stays to tell
        clear_intent(w)
        raise
    if adopted:
        w.milestone("edits_adopted")
    note_ours(w, adopted)
    laid = lay_out(w, commit)
    w.milestone("files_replaced")
    follow(w, old, commit)
    keep_aside(w, merged)
    for sentence in merged.messages:
        w.say(sentence)
    _tell_of_back(w, laid)
    finish_intent(w, new.end)
    return commit


def _tell_of_back(w: Workspace, laid: Laid) -> None:
    """Say which of a person's edits the checkout does not show any more."""
    if laid.back:
        names = first_few(laid.back, _MOST_NAMED)
        w.say(f"{names}: your change is committed on {w.feature_branch}; the checkout has the version of its own "
              "branch again")  # fmt: skip


def _move(w: Workspace, old: str, commit: str) -> None:
    expect(w, old, commit)
    w.checkout.refs.move(((f"refs/heads/{w.feature_branch}", commit, old),))


def commit_documents(
    w: Workspace, s: Snapshot, event: str, subject: str, *, prd: Prd | None = None,
    files: Mapping[str, bytes | None] | None = None, story: str = "", end: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """Commit documents on the feature's branch, with the end of the run that made them; gives the commit.

    Before there is a branch they are written as files, prd.json last: it says what was answered. Then it gives "".
    """
    changed = {**(files or {}), **({"prd.json": dump(prd.raw)} if prd else {})}
    if s.tree.is_on_branch:
        about = f"{w.feature.name}/{story}" if story else w.feature.name
        return land(w, chore(w, f"{event} {about}", subject, s.tree.head, changed, end=end))
    written = {name: data for name, data in changed.items() if data is not None}
    note_ours(w, ids_of(w, written))
    for name, data in written.items():
        if name != "prd.json":
            replace_file(w.feature.file(name), data)
    w.milestone("artifact_written")
    if prd:
        w.store.save(prd)
        w.milestone("stories_written")
    if end:
        w.record("end", **end)
    return ""


def ensure_folder_files(w: Workspace) -> None:
    """The feature folder's own .gitignore, .gitattributes and log, if nobody has written them.

    The log is there before the first story: a revert of the story that brought it would conflict with all later ones.
    """
    texts = {
        ".gitignore": IGNORE_TEXT,
        ".gitattributes": "progress.txt merge=union\n",
        "progress.txt": _NEW_LOG.format(w.iso_now),
    }
    files = {name: text.encode() for name, text in texts.items() if not w.feature.file(name).exists()}
    if files:
        note_ours(w, ids_of(w, files))
    for name, data in files.items():
        replace_file(w.feature.file(name), data, durable=False)


def _adoption(w: Workspace, new: NewCommit, merged: MergedEdits) -> tuple[str, str]:
    """(the parent, the tree) to land on, with a commit of what a person changed meanwhile, if there is any."""
    if not merged.adoption:
        return new.parent, new.tree
    tree = w.objects.graft(w.objects.tree_of(new.parent), _entries(w, merged.adoption))
    return _write_commit(w, _by_hand(w, new.parent), tree), w.objects.graft(new.tree, _entries(w, merged.adoption))


def _by_hand(w: Workspace, parent: str, body: str = "") -> NewCommit:
    """The commit of what a person changed in the documents."""
    return chore(w, f"adopted {w.feature.name}", "changes by hand", parent, {}, body=body)


def adopt_edits(w: Workspace, tip: str, body: str) -> None:
    """Commit what a person changed in the documents, if anything can be: here it is all that lands, above nothing."""
    edits = edited(w, tip)
    merged = merge_edits(w, tip, edits, {})
    if merged.adoption:
        _commit_and_move(w, _by_hand(w, tip, body), edits, replace(merged, files=merged.adoption, adoption={}))


def tip_taken_up(w: Workspace) -> str:
    """The branch's tip, wherever a person has moved it. Tells of a rewritten branch, and lands again what a commit from
    a stale checkout undid."""
    while moved := moved_by_person(w):
        if moved.undone:
            try:
                _bring_back(w, moved)
            except BranchMoved:
                if git.resolve(w.repository, f"refs/heads/{w.feature_branch}") == moved.tip:
                    raise
            continue
        if moved.how:
            w.say(f"{w.feature_branch} {moved.how}; continuing from {moved.tip[:10]}")
        record_branch_tip(w, moved.tip)
    return git.resolve(w.repository, f"refs/heads/{w.feature_branch}")


def _bring_back(w: Workspace, moved: Moved) -> None:
    """A person committed from a checkout that was behind: what that undid of Ralphy's work is landed again."""
    tree = w.objects.graft(w.objects.tree_of(moved.tip), moved.undone)
    names = first_few(moved.undone, 5)
    body = f"The commit {moved.tip[:10]} was made in a checkout that was behind, and undid: {names}"
    subject = "bring back what a stale checkout undid"
    land(w, chore(w, f"brought back {w.feature.name}", subject, moved.tip, {}, tree=tree, body=body))
    w.say(f"{body}; it is back")


def _entries(w: Workspace, files: Mapping[str, bytes | None]) -> dict[str, Entry | None]:
    oids = w.objects.write_blobs({name: data for name, data in files.items() if data is not None})
    return {w.feature.in_repository(name): Entry("100644", oids[name]) if name in oids else None for name in files}


def _write_commit(w: Workspace, new: NewCommit, tree: str) -> str:
    trailers = "\n".join(f"{name}: {value}" for name, value in new.trailers)
    message = "\n\n".join(part for part in (new.subject, new.body, trailers) if part)
    text = CommitText((new.parent,), w.checkout.identity, int(w.clock()), f"{message}\n")
    is_signed = w.config.git.sign == "auto" and w.checkout.signs_commits
    return sign_commit(w.repository, tree, text) if is_signed else write_commit(w.repository, tree, text)


def write_intent(w: Workspace, intent: Mapping[str, Any]) -> None:
    """Record in place what is about to be moved. A torn intent does not count: nothing moves before it is whole."""
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
    intent = read_note(w.intent)
    run = (intent.get("end") or {}).get("run")
    return intent if run is None or w.history.is_open(run) else {}


def finish_intent(w: Workspace, end: Mapping[str, Any]) -> None:
    """Note the run's end in the journal; what has no run is simply forgotten.

    Neither needs to be durable: an intent whose end was lost with the power is completed once more, to the same.
    """
    if not end:
        clear_intent(w)
    elif w.history.is_open(end.get("run")):
        w.record("end", durable=False, **end)
    w.milestone("end_recorded")


def complete_intent(w: Workspace) -> bool:
    """Finish what had been recorded before a crash, if its commit is the tip; False if it was never reached."""
    intent = read_intent(w)
    head = git.resolve(w.repository, f"refs/heads/{intent.get('branch')}") if intent else ""
    if not intent or intent.get("commit") != head:
        clear_intent(w)
        return False
    note_ours(w, intent.get("adopted", {}))
    lay_out(w, head)
    record_branch_tip(w, head)
    end = intent["end"]
    story = w.history.begun(end.get("run")).get("story")
    finish_intent(w, end)
    if end.get("landed") and story:
        w.emit(landed_event(committed_prd(w, head).story(str(story)), head))
    return True


def landed_event(story: Story, commit: str) -> Landed:
    """The event of a story that is committed, from its evidence."""
    evidence = mapping_of(story.raw.get("evidence"))
    runs = mapping_of(evidence.get("check_runs"))
    return Landed(
        story=story.id,
        title=story.title,
        commit=commit,
        run=text_of(evidence.get("run")),
        attempt=count_of(story.execution.get("attempts")),
        cost_usd=number_of(evidence.get("cost_usd")) or 0.0,
        verified=not is_unverified(story),
        flagged=tuple(warnings_of(story)),
        whole_runs=count_of(runs.get("whole")),
        narrowed_runs=count_of(runs.get("narrowed")),
        red_first=count_of(mapping_of(mapping_of(evidence.get("tests")).get("red_first")).get("number")),
    )


def _refuse_ignored(w: Workspace, head: str, edits: Edits) -> None:
    """Raises Conflict for a folder that git ignores: what a person changes in it would not be committed."""
    prd = w.feature.in_repository("prd.json")
    is_known = "prd.json" in edits.files.keys() | edits.broken.keys()
    if w.store.exists and not is_known and w.objects.at(w.objects.tree_of(head), prd) is None:
        raise Conflict("is ignored by git, so the feature's state cannot be committed", where=w.feature.path,
                       hint=f"`git check-ignore -v {quote(prd)}` names the rule to remove")  # fmt: skip


def begin_branch(w: Workspace, before: Tree, prd: Prd) -> str:
    """Make the feature's branch with a first commit of the folder's documents; no checkout moves."""
    busy = operation_in_progress(w.repository) if wait_for_index(w.repository) else "a change of the index (index.lock)"
    if busy:
        raise Conflict(f"{busy} is in progress, and the documents of a new feature are read from the checkout",
                       where=w.feature.path, hint="finish it or abort it")  # fmt: skip
    edits, gone = edited(w, ""), removed_here(w)
    _refuse_ignored(w, before.head, edits)
    files: dict[str, bytes | None] = {**dict.fromkeys(gone), **edits.files}
    if "prd.json" in files or prd.stories:
        files["prd.json"] = dump(prd.raw)
    start = chore(w, f"branch {w.feature.name}", f"start of {before.feature_branch}", before.head, files)
    commit = written_commit(w, start)
    w.milestone("objects_written")
    exclude(w.repository, f"{w.feature.path}/")
    _move(w, before.behind, commit)
    w.milestone("branch_made")
    note_ours(w, ids_of(w, edits.files))
    for name, oid in gone.items():
        replace_if(w.feature.file(name), w.objects.read(oid), lambda content: content is None)
    _tell_of_back(w, lay_out(w, commit))
    record_branch_tip(w, commit)
    return commit


def written_commit(w: Workspace, new: NewCommit) -> str:
    """Write the commit, for no branch yet; gives its id."""
    return _write_commit(w, new, w.objects.graft(new.tree, _entries(w, new.files)))
