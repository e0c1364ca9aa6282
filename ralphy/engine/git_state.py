"""Git's state around a run: what an agent did to configuration, hooks, refs and stash is put back and kept.

So are the settings of Ralphy itself, the person's own among them.
It is remembered before the run, in `git-state.json` too, and the journal's line of the run names the digest of that
file. After the run nothing of git's is asked before the files that steer it are as they were. A person may work in
the repository meanwhile: what git's log of a ref does not call the agent's stands (see `forgery`), and where that
cannot be told, both are kept.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphy.config.load import user_file
from ralphy.config.trust import deciding_files
from ralphy.engine.control import set_aside
from ralphy.engine.forgery import log_of
from ralphy.engine.git_refs import STASH, Changed, judged_with_the_run, open_branches, put_refs_back
from ralphy.engine.land import read_intent
from ralphy.engine.ref_mend import make_way
from ralphy.engine.workspace import Workspace
from ralphy.errors import Conflict, EnvironmentProblem
from ralphy.files.atomic import read_regular, replace_file, signature
from ralphy.git import commands as git
from ralphy.git import steering_files, untouched
from ralphy.git.commands import Repository
from ralphy.git.config_text import origins
from ralphy.git.hook_files import unseen_hooks
from ralphy.git.modules import steering_paths
from ralphy.git.ref_files import can_be_head
from ralphy.git.run_lock import holder
from ralphy.git.steering_files import OPEN, GitFiles
from ralphy.system.door import here


@dataclass(slots=True)
class GitState:
    """What was there before a run: the files, every ref, the log of the stash, HEAD; and a word for `untouched`."""

    files: GitFiles = field(default_factory=GitFiles)
    refs: Mapping[str, str] = field(default_factory=dict)
    stash: tuple[str, ...] = ()
    head: str = ""
    packs: frozenset[str] = frozenset()
    word: str = field(default_factory=lambda: secrets.token_hex(16))


def take(w: Workspace, branch: str) -> tuple[GitState, dict[str, Any]]:
    """Remember Git's state as it is now, on the disk too; gives its digest and that of its word, for the journal.

    `branch` is the one that the run works on: it is not put back, so what is on the disk can do without it, and
    is the same from story to story.
    """
    r, files = w.repository, w.checkout.git_files
    personal = steering_files.personal_paths(w.env)
    own = steering_files.repository_paths(r.root, r.git_dir, r.common_dir)
    hooks, folders = _hooks_in_the_tree(w)
    deciding = deciding_files(r.root, w.env, user_file(w.env))
    settings = steering_files.with_targets([*deciding, str(w.feature.private / "config.yaml")])
    inner, closed = steering_paths(r, w.checkout.modules)
    closed = [f"{r.common_dir}/hooks", *folders, *closed]
    files.take([*own, *_included(w, own, personal), *hooks, *inner, *settings], personal, closed)
    _agree_with_others(w, files)
    is_fresh = bool(w.history.open_run) and w.checkout.refs_known_at == w.checkout.refs.moves
    found = w.checkout.all_refs.found if is_fresh else w.checkout.all_refs.read()
    state = GitState(files, found, _stash(r), _head_text(r), _packs(r))
    moving = judged_with_the_run(w, branch)
    refs = {ref: oid for ref, oid in state.refs.items() if ref not in moving}
    seen = (files.kept, files.mine, files.folders, refs, state.stash, state.head)
    if seen != w.checkout.git_seen:
        data = steering_files.encoded({**files.dumped(), "refs": refs, "stash": state.stash, "head": state.head})
        if steering_files.digest_of(data) != w.checkout.git_record:
            w.checkout.git_record = steering_files.write_record(r.checkout_dir, data)
        w.checkout.git_seen = seen
    return state, {"git": w.checkout.git_record, "word": steering_files.digest_of(state.word.encode())}


def begin(w: Workspace, state: GitState) -> None:
    """From here on a dead Ralphy leaves something to put back, and what outlives it notes what the run left alone."""
    folder = w.repository.checkout_dir
    (folder / untouched.MARK).unlink(missing_ok=True)
    (folder / OPEN).touch()
    marks, beside = git.operation_paths(w.repository)
    branches = map(str, branch_files(w.repository, git.head_of(w.repository)[0]))
    paths = (
        *state.files.kept,
        *state.files.folders,
        _stash_log(w.repository),
        *marks,
        *beside,
        *branches,
        head_file(w),
    )
    w.supervisor.become(untouched.order(str(folder), state.word, paths))


def _included(w: Workspace, own: Sequence[str], personal: Sequence[str]) -> list[str]:
    """Further files that git reads its configuration from, or would if they were there. Asked once, and again when
    the configuration changed."""
    steer = [path for path in (*own, *personal) if path.endswith(("config", "worktree"))]
    known = w.checkout.included
    if known is None or known[0] != tuple(map(signature, (*steer, *known[1]))):
        rows = w.repository.run("config", "--list", "--show-origin", "-z")
        named = steering_files.with_targets(origins(rows, str(w.repository.root), w.env.get("HOME", "")))
        found = tuple(path for path in named if path not in own and path not in personal and _can_change(path))
        known = w.checkout.included = (tuple(map(signature, (*steer, *found))), found)
    return [path for path in known[1] if path not in own]


def _can_change(path: str) -> bool:
    return os.access(path, os.W_OK) or not os.path.lexists(path)


def _hooks_in_the_tree(w: Workspace) -> tuple[list[str], list[str]]:
    """Hooks that a person's commits run from the working tree, and that no candidate shows."""
    folder = w.checkout.hooks_folder
    if folder == w.repository.common_dir / "hooks":
        return [], []
    head = git.head_of(w.repository)[1]
    tree = w.objects.tree_of(head) if head else ""
    return unseen_hooks(w.repository.root, folder, lambda path: w.objects.at(tree, path) is not None)


def _agree_with_others(w: Workspace, files: GitFiles) -> None:
    """Where another checkout has a run that lives, what it remembered is the truth about the files that are shared."""
    for folder in at_work(w):
        record = steering_files.read_record(folder, lambda _: True)
        for path, kept in (GitFiles.loaded(record).kept if record and "files" in record else {}).items():
            if path in files.kept:
                files.kept[path] = kept


def at_work(w: Workspace) -> list[Path]:
    """The folders of other checkouts of this repository in which a Ralphy works now."""
    own = w.repository.checkout_dir
    try:
        found = [Path(entry.path) for entry in os.scandir(own.parent) if entry.name != own.name]
    except OSError:
        return []
    return [folder for folder in found if holder(folder / "lock")]


def put_files_back(w: Workspace, state: GitState, spared: Collection[str] = ()) -> list[str]:
    """Undo what was done to the files that steer git, but for those that are `spared`; gives their names. No git is
    asked for anything here.

    Raises EnvironmentProblem if the repository itself has gone.
    """
    led = [path for path in state.files.changed(spared) if path == f"{w.repository.root}/.git"]
    _put_back(w, state, led)  # where it is a file or a link, Git's own folder is found by it
    _require_repository(w)
    changed = state.files.changed(spared)
    _put_back(w, state, changed)
    changed = [*led, *changed]
    for path in _begun_by_the_run(w, spared):
        set_aside(w, Path(path))
        changed.append(path)
    if read_intent(w):  # nothing is landed while an agent works: whoever wrote that, it was not Ralphy
        set_aside(w, w.intent)
        changed.append(str(w.intent))
    if not can_be_head(_head_text(w.repository)) and state.head:
        if not (w.repository.git_dir / "HEAD").is_file():
            set_aside(w, w.repository.git_dir / "HEAD")
        replace_file(w.repository.git_dir / "HEAD", f"{state.head}\n".encode())
        changed.append(str(w.repository.git_dir / "HEAD"))
    if changed:  # what was started meanwhile may have read what is gone now
        w.checkout.refs.close()
        w.checkout.blobs.close()
        w.checkout.objects.close()
    return [shown(w, path) for path in changed]


def _put_back(w: Workspace, state: GitState, paths: Sequence[str]) -> None:
    """Set aside what is there now, and make it as it was."""
    for path in paths:
        if not state.files.is_mode_alone(path):
            set_aside(w, Path(path), shown(w, path).replace("/", "__").lstrip("."))
            if state.files.was_too_large(path):
                w.say(f"{shown(w, path)} was too large to be kept and cannot be put back: install it again")
        state.files.put_back(path)


def set_packs_aside(w: Workspace, state: GitState) -> list[str]:
    """Packs that came with the run, and whose index lies about what they hold: Git would believe it."""
    new = sorted(_packs(w.repository) - state.packs)
    lying = [name for name in new if not _is_true(w.repository, name)]
    for name in lying:
        for path in (w.repository.common_dir / "objects" / "pack").glob(f"{name}.*"):
            set_aside(w, path)
    if new:
        w.checkout.objects.close()
    return [f".git/objects/pack/{name}.pack" for name in lying]


def _packs(r: Repository) -> frozenset[str]:
    try:
        there = [entry.name for entry in os.scandir(r.common_dir / "objects" / "pack")]
    except OSError:
        return frozenset()
    return frozenset(name.partition(".")[0] for name in there if name.endswith((".pack", ".idx")))


def _is_true(r: Repository, name: str) -> bool:
    try:
        r.run("verify-pack", str(r.common_dir / "objects" / "pack" / f"{name}.idx"))
    except EnvironmentProblem:
        return False
    return True


def _begun_by_the_run(w: Workspace, spared: Collection[str]) -> list[str]:
    """The notes of a merge, rebase, bisect … that was begun in the run: no run begins within one."""
    places = git.operation_paths(w.repository)
    marks, beside = ([path for path in paths if path not in spared and os.path.lexists(path)] for paths in places)
    return [*marks, *beside] if marks else []


def put_back(w: Workspace, state: GitState, judged: Collection[str] | None = None) -> Changed:
    """The refs and the stash, once the files are right. The run is over with that.

    `judged` are refs whose commits are judged with the run; those of the open run if nothing is said.
    """
    busy = at_work(w)
    spared = {head_of_checkout(w.repository, folder.name) for folder in busy}
    spared |= open_branches(w) if judged is None else set(judged)
    changed = put_refs_back(w, state.refs, state.stash, spared, others_at_work=bool(busy))
    w.checkout.refs_known_at = -1 if changed.back else w.checkout.refs.moves
    (w.repository.checkout_dir / OPEN).unlink(missing_ok=True)
    return changed


def is_open(w: Workspace) -> bool:
    """Did a Ralphy die while something ran that may have changed Git's state?"""
    return (w.repository.checkout_dir / OPEN).exists()


def put_back_after_kill(w: Workspace) -> None:
    """The same for a run that died with its Ralphy. Raises Conflict if what was remembered cannot be trusted."""
    folder = w.repository.checkout_dir
    if not is_open(w):
        return
    if not is_there(w):
        w.record("journal_lost")  # somebody has wiped it since: the missing journal is no sign of a replaced .git
    run = w.history.open_run or {}
    notes = (run, w.history.guard or {})
    known = {str(note["git"]) for note in notes if note.get("git")}
    record = steering_files.read_record(folder, lambda digest: not known or digest in known)
    if record is None:
        raise Conflict(
            "what was noted of Git's state before the last run has been changed",
            where=str(folder / steering_files.RECORD),
            hint=f"look at .git/config and .git/hooks yourself, then: rm {folder / OPEN}",
        )  # fmt: skip
    state = _loaded(record)
    spared = left_alone(w)
    later = sorted(set(state.files.changed()) - set(state.files.changed(spared)))
    if _stash_log(w.repository) in spared and _stash(w.repository) != state.stash:
        later.append(STASH)
        state.stash = _stash(w.repository)
    if later:
        w.say(f"changed when the run was over, and left as it is: {', '.join(shown(w, path) for path in later)}")
    back = [*_found_before(w), *put_files_back(w, state, spared), *put_back(w, state).back]
    if back:
        w.say(f"changed during the run and put back: {', '.join(dict.fromkeys(back))}")
        w.record("put_back", durable=False, by="agent", what=list(dict.fromkeys(back)))


def left_alone(w: Workspace) -> frozenset[str]:
    """The files that the last program had left alone when all of it had ended; none where nobody noted that."""
    words = {note.get("word") for note in (w.history.open_run, w.history.guard) if note}
    return untouched.untouched(str(w.repository.checkout_dir), lambda digest: digest in words)


def head_file(w: Workspace) -> str:
    return str(w.repository.git_dir / "HEAD")


def head_moved_later(w: Workspace) -> bool:
    """Had the last program left HEAD alone when it ended? Nobody knows where nobody noted it: then it counts as so."""
    left = left_alone(w)
    return not left or head_file(w) in left


def moved_later(w: Workspace, branch: str, since: float) -> bool:
    """Was a branch moved when nothing of the run was alive any more: after its end, as far as noted, or a reboot?"""
    files = branch_files(w.repository, branch)
    if {str(path) for path in files} <= left_alone(w):
        return True
    booted = here.booted_at()
    times = [found[4] / 1e9 for path in files if (found := signature(path))]
    return since < booted and bool(times) and max(times) > booted


def branch_files(r: Repository, branch: str) -> tuple[Path, Path]:
    """Where Git keeps a branch."""
    return r.common_dir / "refs" / "heads" / branch, r.common_dir / "packed-refs"


def _loaded(record: Mapping[str, Any]) -> GitState:
    if "files" not in record:
        return GitState()
    return GitState(GitFiles.loaded(record), record["refs"], tuple(record["stash"]), record["head"])


def _found_before(w: Workspace) -> list[str]:
    """What `mend_dead` found and put back before git was asked for anything."""
    folder = w.repository.checkout_dir / "found"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in found:
        set_aside(w, path)
    with suppress(OSError):
        folder.rmdir()
    return [shown(w, "/" + path.name.replace("__", "/")) for path in found]


def is_there(w: Workspace) -> bool:
    """Is the repository still there, with Ralphy's journal in it?"""
    return (w.repository.state_dir / "journal.jsonl").exists() and (w.repository.common_dir / "objects").is_dir()


def _require_repository(w: Workspace) -> None:
    r = w.repository
    if not is_there(w):
        raise EnvironmentProblem(
            "Git's own folder was removed or replaced while the agent worked: there is nothing to commit to",
            where=str(r.common_dir),
            hint="the working tree is as the agent left it; get .git back from a backup, or clone the remote beside it",
        )
    make_way(w, r.common_dir / "refs" / "heads")
    (r.common_dir / "refs" / "heads").mkdir(parents=True, exist_ok=True)


def shown(w: Workspace, path: str) -> str:
    """A path as people read it: from the checkout, with `.git` for the folder that git calls its own."""
    for folder, name in ((w.repository.common_dir, ".git"), (w.repository.root, "")):
        if path.startswith(f"{folder}/"):
            return f"{name}/{path.removeprefix(f'{folder}/')}".lstrip("/")
    home = w.env.get("HOME", "")
    return f"~/{path.removeprefix(f'{home}/')}" if home and path.startswith(f"{home}/") else path


def _head_text(r: Repository) -> str:
    return (read_regular(r.git_dir / "HEAD", 4096) or b"").decode("utf-8", "surrogateescape").strip()


def head_of_checkout(r: Repository, name: str) -> str:
    """The ref that HEAD stands on in a checkout, by its name among Ralphy's."""
    git_dir = r.common_dir if name == "main" else r.common_dir / "worktrees" / name.removeprefix("worktree-")
    text = (read_regular(git_dir / "HEAD", 4096) or b"").decode("utf-8", "surrogateescape").strip()
    return text.removeprefix("ref: ")


def _stash(r: Repository) -> tuple[str, ...]:
    return tuple(log_of(Path(_stash_log(r))))


def _stash_log(r: Repository) -> str:
    return f"{r.common_dir}/logs/{STASH}"
