"""The reactor: reconcile, and when there is nothing to do, wait for files, for a time, or for a person.

Levels, not edges: whatever the event was, the folder is looked at as a whole.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ralphy.documents.feature_folder import Feature, listed
from ralphy.documents.prd_reader import USUAL_BASES
from ralphy.engine.feature.branch_tip import tip_of
from ralphy.engine.feature.persons_git import wait_for_index
from ralphy.engine.housekeeping import tidy
from ralphy.engine.reconcile import reconcile, repair_of_prd
from ralphy.engine.wakeups import Wakeups, signature_of
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.set_aside import drop_leftovers
from ralphy.engine.workspace.waiting import seconds_left, tell_waiting
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode, InvalidInput, RalphyError
from ralphy.files import temporary
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular, signature
from ralphy.git.run_lock import Lock
from ralphy.pipeline.decision import Halt, Rest, Wait
from ralphy.pipeline.events import HeldUp, Listener, Said
from ralphy.text.tone import WAITING

_LOOK_S = 1.0  # how often the folder of one feature that waits is looked at
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
    rest: Rest | None = None
    while True:
        before = signature_of(w.feature)  # before the look: what comes after it must end the wait
        try:
            rest = reconcile(w)
        except InvalidInput as error:
            repair = repair_of_prd(w, error)
            if rest is None or repair is None:
                raise
            rest = repair
            w.say(rest.reason, WAITING)
        if not _is_waited_for(rest, patience):
            break
        if signature_of(w.feature) == before and not _wait(w, rest, before, dialogue):
            break
    tidy(w)
    return rest


def _is_waited_for(rest: Rest, patience: Patience) -> bool:
    if not isinstance(rest, Wait) or rest.story:  # its driver asks after each story
        return False
    if rest.until is not None:
        return patience.limits
    return patience.gates


def _wait(w: Workspace, rest: Rest, before: int, dialogue: Dialogue | None) -> bool:
    """Wait until something is different: a file, the time, or a word at the terminal. False: nobody wants to wait."""
    assert isinstance(rest, Wait)
    asks = dialogue is not None and (bool(rest.gate) or rest.until is not None) and sys.stdin.isatty()
    if asks and dialogue:
        dialogue.ask(rest)
    while signature_of(w.feature) == before:
        seconds = _LOOK_S
        if rest.until is not None:
            left = seconds_left(w, rest.until)
            if left <= 0:
                w.session = replace(w.session, waited=rest.until)
                return True
            seconds = min(seconds, left, tell_waiting(w, rest, left))
        typed, _, _ = select.select([sys.stdin] if asks else [], [], [], seconds)
        line = sys.stdin.readline() if typed else ""
        if line and dialogue and not dialogue.take(line):
            return False
    return True


Opened = Callable[[Feature], Workspace]


def watch_all(checkout: Checkout, features_dir: str, opened: Opened, listener: Listener) -> None:
    """Drive all features of a repository until interrupted; one checkout has one owner.

    The `listener` hears what is about no feature that could be opened.
    """
    folder = checkout.repository.root / features_dir
    folder.mkdir(parents=True, exist_ok=True)
    lock = Lock(checkout.repository.checkout_dir / "lock", "watch")
    watching = Watching(checkout, features_dir, opened, listener)
    with lock, Wakeups([folder], resync_s=_WATCH_RESYNC_S) as wakeups:
        number = len(list(listed(checkout.repository.root, features_dir)))
        listener(Said(at=time.time(), text=f"watching {features_dir}/ ({number} feature{'' if number == 1 else 's'})"))
        while True:
            wait_for_index(checkout.repository)
            watching.look()
            wakeups.wait(watching.seconds_to_next())


def held_up(feature: Feature, error: RalphyError) -> HeldUp:
    """The event of an error that keeps Ralphy from working on one of several features."""
    return HeldUp(at=time.time(), feature=feature.name, message=str(error), hint=error.hint,
                  exit_code=int(error.exit_code))  # fmt: skip


@dataclass(slots=True)
class _Watched:
    """What is known of a feature between two looks: what its folder looked like, the workspace if it could be opened,
    and where it rested, or the error that held it up."""

    feature: Feature
    workspace: Workspace | None = None
    signature: int | None = None
    rest: Rest | str = ""

    @property
    def wait(self) -> tuple[Workspace, Wait, float] | None:
        """The workspace, the wait for a time that it rests on, and how long that is; None if it rests on none."""
        if self.workspace is None or not isinstance(self.rest, Wait) or self.rest.until is None:
            return None
        return self.workspace, self.rest, seconds_left(self.workspace, self.rest.until)

    def is_due(self) -> bool:
        """Is there something to look at that does not show in its folder?"""
        if self.workspace is None:
            return True  # it could not be opened, for what stands in another folder perhaps
        if isinstance(self.rest, Halt) and self.rest.exit_code == ExitCode.BREAKER_OPEN:
            return True  # its cool-down ends, or somebody resets it
        if self.wait is None or self.wait[2] > 0:
            return False
        self.workspace.session = replace(self.workspace.session, waited=self.wait[1].until or 0.0)
        return True


class Watching:
    """The features of a repository, each looked at again when something about it has changed."""

    def __init__(self, checkout: Checkout, features_dir: str, opened: Opened, listener: Listener) -> None:
        self._repository = checkout.repository
        self._features_dir = features_dir
        self._opened = opened
        self._listener = listener
        self._watched: dict[str, _Watched] = {}
        self._head: tuple[tuple[int, ...] | None, ...] | None = None
        refs = ("packed-refs", *(f"refs/{where}/{base}" for where in _PLACES for base in USUAL_BASES))
        self._branches = [self._repository.git_dir / "HEAD", *(self._repository.common_dir / ref for ref in refs)]

    def look(self) -> None:
        """Reconcile the features that have changed, or all when the base has moved."""
        head = tuple(signature(path) for path in self._branches)
        everything, self._head = head != self._head, head
        for feature in listed(self._repository.root, self._features_dir):
            self._watched.setdefault(feature.name, _Watched(feature))
        self._watched = {name: one for name, one in sorted(self._watched.items()) if one.feature.folder.is_dir()}
        for one in self._watched.values():
            now = signature_of(one.feature)
            if everything or one.is_due() or one.signature != now:
                self._drive(one)
                one.signature = now  # not as it is afterwards: what came meanwhile is looked at again

    def _drive(self, one: _Watched) -> None:
        """Drive a feature until a rest."""
        try:
            if one.workspace is None:
                workspace = self._opened(one.feature)
                repair_torn_files(workspace)
                one.workspace = workspace
            one.rest = reconcile(one.workspace)
            one.workspace.store.forget()  # of a thousand features that wait, one will be asked for
        except RalphyError as error:
            if one.rest != str(error):
                self._listener(held_up(one.feature, error))
            one.rest = str(error)

    def seconds_to_next(self) -> float:
        """How long until a limit's time has come; the resync tick at the most."""
        waits = [wait for one in self._watched.values() if (wait := one.wait)]
        return max(0.0, min([_WATCH_RESYNC_S, *(min(left, tell_waiting(w, rest, left)) for w, rest, left in waits)]))


def repair_torn_files(w: Workspace) -> None:
    """Remove leftovers of writing, and restore torn ends, with a warning for each."""
    drop_leftovers(w)
    temporary.sweep(w.repository.token, w.repository.state_dir)
    torn = w.journal.close_torn_line()
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
