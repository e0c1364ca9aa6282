"""The reactor: reconcile, and when there is nothing to do, wait for files, for a time, or for a person.

Levels, not edges: whatever the event was, the folder is looked at as a whole.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ralphy.documents.feature_folder import Feature, listed
from ralphy.documents.prd_reader import USUAL_BASES
from ralphy.documents.request_queue import folder_of, made_folder
from ralphy.engine.feature.lane_tree import begun_at, tip_of
from ralphy.engine.feature.live_documents import edited
from ralphy.engine.housekeeping import tidy
from ralphy.engine.reconcile import reconcile
from ralphy.engine.runs.prompt import warm_prompts
from ralphy.engine.wakeups import RESYNC_S, Wakeups, signature_of
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.set_aside import drop_leftovers
from ralphy.engine.workspace.waiting import seconds_left, tell_waiting
from ralphy.engine.workspace.workspace import Workspace, repository_token
from ralphy.errors import ExitCode, RalphyError
from ralphy.files import temporary
from ralphy.files.atomic import read_regular, replace_file, signature
from ralphy.git.run_lock import Lock
from ralphy.pipeline.decision import Halt, Rest, Wait
from ralphy.pipeline.events import HeldUp, Listener, Said

_GIT_S, _LEFT_BEHIND_S = 0.05, 10.0
_PLACES = ("heads", "remotes/origin")  # a merge into the base closes a feature, and may free the checkout for another
_WATCH_RESYNC_S = 30.0  # a look at a thousand folders is not free; events make it rarely needed
Ask = Callable[[Wait], None]
Take = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Patience:
    """What is waited for: people at gates, and limits of the provider."""

    gates: bool
    limits: bool = True


@dataclass(frozen=True, slots=True)
class Dialogue:
    """How a person at the terminal is asked, and how the typed answer is taken: False ends the waiting."""

    ask: Ask
    take: Take


def run_feature(w: Workspace, patience: Patience, dialogue: Dialogue | None = None) -> Rest:
    """Drive one feature until a rest that is not waited for; what has piled up meanwhile is packed at the end."""
    repair_torn_files(w)
    rest = _driven(w, patience, dialogue)
    tidy(w)
    return rest


def _driven(w: Workspace, patience: Patience, dialogue: Dialogue | None) -> Rest:
    rest = reconcile(w)
    if not _is_waited_for(rest, patience):
        return rest
    with Wakeups([w.feature.folder, made_folder(w.repository.state_dir, w.feature.name)]) as wakeups:
        while True:
            before = signature_of(w.repository, w.feature)  # before the look: what comes after it must end the wait
            rest = reconcile(w)
            if not _is_waited_for(rest, patience):
                return rest
            if signature_of(w.repository, w.feature) == before and not _hold(w, rest, before, wakeups, dialogue):
                return rest


def _is_waited_for(rest: Rest, patience: Patience) -> bool:
    if not isinstance(rest, Wait) or rest.story:  # whoever drives it asks after each story
        return False
    if rest.until is not None:
        return patience.limits
    return patience.gates


def _hold(w: Workspace, rest: Rest, before: int, wakeups: Wakeups, dialogue: Dialogue | None) -> bool:
    """Wait until something is different: a file, the time, or a word at the terminal. False: nobody wants to wait."""
    assert isinstance(rest, Wait)
    if rest.exit_code != ExitCode.ENVIRONMENT:  # without room on the disk, nothing can be made ready
        get_ready(w)
    asks = dialogue is not None and (bool(rest.gate) or rest.until is not None) and sys.stdin.isatty()
    if asks and dialogue:
        dialogue.ask(rest)
    while True:
        seconds = RESYNC_S
        if rest.until is not None:
            left = seconds_left(w, rest.until)
            if left <= 0:
                w.session = replace(w.session, waited=rest.until)
                return True
            seconds = min(left, tell_waiting(w, rest, left))
        _, line = wakeups.wait(seconds, terminal=asks)
        if line and dialogue and not dialogue.take(line):
            return False
        if signature_of(w.repository, w.feature) != before:
            return True


def get_ready(w: Workspace) -> None:
    """What the next act will need is made ready while a person reads: the index, the templates."""
    w.checkout.refs.warm()
    warm_prompts(w)
    edited(w, begun_at(w))
    _ = w.checkout.identity


Opened = Callable[[Feature], Workspace]


def watch_all(checkout: Checkout, features_dir: str, opened: Opened, listener: Listener) -> None:
    """Drive all features of a repository until interrupted; one checkout has one owner.

    The `listener` hears what is about no feature that could be opened.
    """
    folder = checkout.repository.root / features_dir
    folder.mkdir(parents=True, exist_ok=True)
    lock = Lock(checkout.repository.checkout_dir / "lock", "watch")
    requests = made_folder(checkout.repository.state_dir)
    watching = Watching(checkout, features_dir, opened, listener)
    with lock, Wakeups([folder, requests], resync_s=_WATCH_RESYNC_S) as wakeups:
        number = len(list(listed(checkout.repository.root, features_dir)))
        listener(Said(at=time.time(), text=f"watching {features_dir}/ ({number} features)"))
        changed: set[str] | None = None
        while True:
            while watching.is_git_at_work():
                wakeups.wait(_GIT_S)
                changed = None
            watching.look(changed)
            gc.collect()  # before the freeze, which would keep garbage for good
            gc.freeze()  # what is known of a thousand features need not be walked through at each collection
            changed = watching.features_of(wakeups.wait(watching.seconds_to_next())[0]) or None


def held_up(feature: Feature, error: RalphyError) -> HeldUp:
    """The event of an error that keeps one of several features from being worked on."""
    return HeldUp(at=time.time(), feature=feature.name, message=str(error), hint=error.hint,
                  exit_code=int(error.exit_code))  # fmt: skip


class Watching:
    """What is known of each feature between two looks: where it rested, and what its folder looked like."""

    def __init__(self, checkout: Checkout, features_dir: str, opened: Opened, listener: Listener) -> None:
        self._checkout = checkout
        self._repository = checkout.repository
        self._features_dir = features_dir
        self._opened = opened
        self._listener = listener
        self._open: dict[str, Workspace] = {}
        self._seen: dict[str, int] = {}
        self._rests: dict[str, Rest | str] = {}
        self._head: tuple[tuple[int, ...] | None, ...] | None = None
        refs = ("packed-refs", *(f"refs/{where}/{base}" for where in _PLACES for base in USUAL_BASES))
        self._branches = [self._repository.git_dir / "HEAD", *(self._repository.common_dir / ref for ref in refs)]

    def is_git_at_work(self) -> bool:
        """Is somebody's git in the middle of a switch or a commit? An old lock is one that was left behind."""
        try:
            lock = (self._repository.git_dir / "index.lock").stat()
        except OSError:
            return False
        return time.time() - lock.st_mtime < _LEFT_BEHIND_S

    def features_of(self, paths: Collection[str]) -> set[str]:
        """The names of the features that these paths belong to."""
        return {name for path in paths if (name := self._feature_of(path))}

    def _feature_of(self, path: str) -> str:
        for folder in (self._repository.root / self._features_dir, folder_of(self._repository.state_dir)):
            if Path(path).is_relative_to(folder) and (below := Path(path).relative_to(folder).parts):
                return below[0]
        return ""

    def look(self, names: set[str] | None) -> None:
        """Reconcile what has changed: the named features, or all when nothing is named."""
        head = tuple(signature(path) for path in self._branches)
        everything, self._head = head != self._head, head
        self._forget_what_is_gone()
        waiting: Workspace | None = None
        for feature in self._candidates(None if everything else names):
            now = signature_of(self._repository, feature)
            if everything or self._is_due(feature.name) or self._seen.get(feature.name) != now:
                waiting = self._reconcile(feature) or waiting
                self._seen[feature.name] = now  # not as it is afterwards: what came meanwhile is looked at again
        if waiting:  # the lanes can be ready for one feature alone: of a thousand, the last
            get_ready(waiting)

    def _forget_what_is_gone(self) -> None:
        for name in [name for name, w in self._open.items() if not w.feature.folder.is_dir()]:
            self._open.pop(name)
            self._seen.pop(name, None)
            self._rests.pop(name, None)

    def _candidates(self, names: set[str] | None) -> Iterator[Feature]:
        root = self._repository.root
        if names is None:
            return listed(root, self._features_dir)
        return (f for name in sorted(names) if (f := self._one(root, name)))

    def _one(self, root: Path, name: str) -> Feature | None:
        if name in self._open:
            return self._open[name].feature
        return next((f for f in listed(root, self._features_dir) if f.name == name), None)

    def _reconcile(self, feature: Feature) -> Workspace | None:
        """Drive a feature until a rest; gives its workspace if it waits at a gate."""
        try:
            if feature.name not in self._open:
                opened = self._opened(feature)
                repair_torn_files(opened)
                self._open[feature.name] = opened
            workspace = self._open[feature.name]
            rest = reconcile(workspace)
            workspace.store.forget()  # of a thousand features that wait, one will be asked for
        except RalphyError as error:
            if self._rests.get(feature.name) != str(error):
                self._listener(held_up(feature, error))
            self._rests[feature.name] = str(error)
            return None
        self._rests[feature.name] = rest
        return workspace if isinstance(rest, Wait) and rest.gate else None

    def _is_due(self, name: str) -> bool:
        rest = self._rests.get(name)
        if rest is not None and name not in self._open:
            return True  # it could not be opened, for what stands in another folder perhaps
        if isinstance(rest, Halt) and rest.exit_code == ExitCode.BREAKER_OPEN:
            return True  # its cool-down ends, or somebody resets it; neither shows in the folder
        if not isinstance(rest, Wait) or rest.until is None or seconds_left(self._open[name], rest.until) > 0:
            return False
        workspace = self._open[name]
        workspace.session = replace(workspace.session, waited=rest.until)
        return True

    def seconds_to_next(self) -> float:
        """How long until a limit's time has come; the resync tick at the most."""
        waits = [(self._open[n], r) for n, r in self._rests.items() if isinstance(r, Wait) and r.until]
        left = [(w, r, seconds_left(w, r.until)) for w, r in waits if r.until]
        ticks = (min(left_s, tell_waiting(w, r, left_s)) for w, r, left_s in left)
        return max(0.0, min([_WATCH_RESYNC_S, *ticks]))


def repair_torn_files(w: Workspace) -> None:
    """Remove leftovers of writing, and restore torn ends; a line is said for each."""
    drop_leftovers(w)
    temporary.sweep(repository_token(w.repository), w.repository.state_dir)
    torn = w.journal.drop_torn_line()
    if torn:
        w.say(f"warning: the journal's last line was torn: {torn} bytes of it are ignored")
    _restore_log(w)


def _restore_log(w: Workspace) -> None:
    """progress.txt that ends in the middle of a line is put back from the last commit, which has all of it."""
    path = w.feature.file("progress.txt")
    there = read_regular(path)
    if there is None or there.endswith(b"\n"):
        return
    head = tip_of(w)
    whole = w.objects.read(f"{head}:{w.feature.in_repository('progress.txt')}") if head else None
    if whole is not None and len(there) < len(whole) and whole.startswith(there.rstrip(b"\0")):
        replace_file(path, whole)
        w.say(f"warning: progress.txt was torn: its last {len(whole) - len(there)} bytes are restored")
