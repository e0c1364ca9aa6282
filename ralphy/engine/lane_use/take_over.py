"""The candidate out of a lane: the code that an agent left there, on top of the last green tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ralphy.engine.workspace.changes import is_control
from ralphy.git.objects import GITLINK
from ralphy.lanes.changes_in_lane import TakeLimits, Taken
from ralphy.lanes.git_inside import LaneProblem
from ralphy.testguard.substance import FileChange, why_unsafe
from ralphy.text.first_few import first_few
from ralphy.text.plain_text import as_utf8
from ralphy.text.tone import BAD, WAITING

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.git.objects import Entry
    from ralphy.lanes.lane import Lane


def candidate_from(w: Workspace, lane: Lane, green: str, laid_out: str) -> Candidate:
    """The code in a lane as a candidate; `laid_out` is the tree that was put there, `green` the last green one.

    If the lane was removed or damaged since then, the candidate is `green` itself, and refused.
    """
    try:
        taken = _taken(w, lane, laid_out)
    except LaneProblem as problem:
        w.say(f"what the run changed in lane {lane.name} is lost: {problem.what}", BAD)
        refused = f"the lane was removed or damaged during the run: {problem.what}"
        return Candidate(green, w.code_of(green), green, (), refused=refused)
    changes = w.objects.changes(green, taken.tree)
    tree = w.objects.graft(green, {path: new for path, _, new in changes if _is_code(w, path)})
    files = tuple(path for path, _, _ in w.objects.changes(green, tree))
    pointers = [f"{as_utf8(path)} is a pointer of Git LFS to content that nobody has: write the file itself"
                for path in lane.missing_lfs_content(green, tree)]  # fmt: skip
    refused = next(iter([*pointers, *map(as_utf8, taken.refused)]), "") or _why_unsafe(w, green, tree)
    modules = tuple(f"{as_utf8(path)}/ (a submodule)" for path in taken.modules)
    if modules:
        w.say(f"not taken: {first_few(modules, 5)}", WAITING)
    return Candidate(tree, w.code_of(tree), green, files, (*map(as_utf8, taken.control), *modules), refused)


def _taken(w: Workspace, lane: Lane, laid_out: str) -> Taken:
    """The tree in the lane. If Git was killed, it runs once more."""
    with suppress(LaneProblem):
        return lane.take_over(laid_out, _limits(w))
    return lane.take_over(laid_out, _limits(w))


def _limits(w: Workspace) -> TakeLimits:
    limits = w.config.limits
    excluded = tuple(path.rstrip("/") for path in (w.config.project.features_dir, w.feature.path, ".ralphy"))
    return TakeLimits(limits.max_file_mb, limits.max_new_files, excluded)


def taken_from(w: Workspace, lane: Lane, candidate: Candidate) -> Candidate:
    """The candidate as a hook has changed it in its lane."""
    after = candidate_from(w, lane, candidate.green, candidate.tree)
    return replace(after, tampered=candidate.tampered, stands=candidate.stands)


def _is_code(w: Workspace, path: str) -> bool:
    return not is_control(w, path) and not w.is_other_feature(path)


def _why_unsafe(w: Workspace, green: str, tree: str) -> str:
    """Why a link or a submodule in the tree may not be committed; "" if all may."""
    for path, old, new in w.objects.changes(green, tree):
        if new and new.mode in ("120000", GITLINK):
            why = why_unsafe(path, new.mode, (w.objects.read(new.oid) or b"") if new.mode == "120000" else b"")
            if why:
                return as_utf8(why)
        if old and old.mode == GITLINK and old != new:
            return f"{as_utf8(path)} is a submodule: a story cannot change it"
    return ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`tree` is the whole tree with the control files of `green`; `code` its id without the feature folder.

    `files` are the changed code files, as Git names them. `tampered` are control files that the agent had changed,
    `refused` is why it may not be committed at all; `stands` are refs and files outside that changed during the run,
    perhaps by the agent.
    """

    tree: str
    code: str
    green: str
    files: tuple[str, ...]
    tampered: tuple[str, ...] = ()
    refused: str = ""
    stands: tuple[str, ...] = ()


def file_changes(w: Workspace, green: str, tree: str) -> Iterator[FileChange]:
    """The changed files with their contents, one at a time."""
    for path, old, new in w.objects.changes(green, tree):
        before = w.objects.read(old.oid) if old and old.mode != GITLINK else None
        after = w.objects.read(new.oid) if new and new.mode != GITLINK else None
        if old and new and old.oid == new.oid:
            before, after = None, None  # only the mode changed: that is a change of code
        yield FileChange(path, before, after, new.mode if new else "")


def candidate_of(w: Workspace, commit: str) -> Candidate:
    """A commit's code as a candidate on top of the tree of its parent."""
    return committed(w, f"{commit}^", commit)


def committed(w: Workspace, base: str, head: str) -> Candidate:
    """The code committed since `base` as a candidate, within the limits of a lane."""
    green, limits = w.objects.tree_of(base), _limits(w)
    files: dict[str, Entry | None] = {}
    refused, added = list[str](), list[str]()
    for path, old, new in w.objects.changes(green, w.objects.tree_of(head)):
        if path.startswith(".ralphy/"):
            refused.insert(0, f"{path} is changed: settings are a person's, undo it")
        if not _is_code(w, path):
            continue
        files[path] = new
        added += [] if old or not new else [path]
        size = len(w.objects.read(new.oid) or b"") if new and new.mode != GITLINK else 0
        refused.append(limits.why_too_big(path, size))
    refused.append(limits.why_too_many(added))
    tree = w.objects.graft(green, files)
    why = as_utf8(next(filter(None, refused), "")) or _why_unsafe(w, green, tree)
    return Candidate(tree, w.code_of(tree), green, tuple(sorted(files)), refused=why)
