"""What an untrusted program may not leave behind: one way to put it back for agents, checks, the hook and `setup`.

Before one starts, Git's state and the control files are remembered; when it has ended, what is different goes back, and
what was found is kept. Git is asked for nothing before the files that steer it are as they were.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ralphy.engine import git_state, submodules
from ralphy.engine.control import Remembered, mend_folders, set_markers_aside
from ralphy.engine.forgery import drop_locks, person_left
from ralphy.engine.git_refs import Changed
from ralphy.engine.other_features import OtherFeatures
from ralphy.engine.walls import walls
from ralphy.engine.workspace import Workspace
from ralphy.files.atomic import signature
from ralphy.git import commands as git
from ralphy.git import untouched
from ralphy.git.steering_files import digest_of


@dataclass(slots=True)
class Before:
    """What was there before a program that works on `branch`; `noted` is what the journal has to say of it."""

    branch: str
    state: git_state.GitState
    noted: Mapping[str, Any]
    control: Remembered = field(default_factory=Remembered)
    others: OtherFeatures = field(default_factory=OtherFeatures)
    began: float = 0.0
    tip: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def take(cls, w: Workspace, branch: str) -> Before:
        submodules.note(w)
        return cls(branch, *git_state.take(w, branch))

    def begin(self, w: Workspace) -> None:
        """From here on the program may run: what a dead Ralphy leaves can be put back by its successor."""
        w.checkout.git_word = self.state.word
        git_state.begin(w, self.state)
        files = (*git_state.branch_files(w.repository, self.branch), git_state.head_file(w))
        self.tip = {str(path): signature(path) for path in files}

    def note_end(self, w: Workspace) -> None:
        """Nothing of the program lives any more: whoever moves the branch from here on is no agent."""
        left = [path for path, seen in self.tip.items() if signature(path) == seen]
        with suppress(OSError):
            untouched.mark(str(w.repository.checkout_dir), self.state.word, left)
            w.supervisor.stay()

    def remember_control(self, w: Workspace) -> None:
        """The control files, too; the program starts now."""
        self.control.take(w)
        if walls(w).agent is None:  # else they were read-only, and what changed there is a person's
            self.others.take(w)
        self.began = time.time()

    def put_steering_back(self, w: Workspace) -> list[str]:
        """What steers Git, and its locks; until then git is asked for nothing."""
        steering = git_state.put_files_back(w, self.state)
        drop_locks(w, self.branch, self.began)
        return [*steering, *git_state.set_packs_aside(w, self.state)]

    def put_control_back(self, w: Workspace) -> list[str]:
        return [*mend_folders(w), *set_markers_aside(w), *self.control.put_back(w), *self.others.put_back(w)]


def tell(w: Workspace, by: str, back: list[str], changed: Changed) -> tuple[str, ...]:
    """Say and note what was put back, and what may be somebody else's and stands; gives the latter."""
    if back:
        during = "the run" if by == "agent" else by
        w.say(f"changed during {during} and put back: {', '.join(back)}")
        w.record("put_back", durable=False, by=by, what=back)
    stand = [] if walls(w).agent else list(changed.stand)
    if stand:
        w.say(f"{', '.join(stand)}: changed during the run, possibly by the agent; Git's log says by you, so it stands")
        w.record("stands", durable=False, by=by, what=stand)
    return tuple(stand)


@contextmanager
def put_back_after(w: Workspace, by: str) -> Iterator[None]:
    """Around a check, the hook or `setup`: whatever it does to Git's state is undone, its own commits too.

    The control files go back where an agent's code is being judged, and no sandbox kept them read-only.
    """
    before = Before.take(w, git.head_of(w.repository)[0])
    _note(w, before)
    before.begin(w)
    before.remember_control(w)
    try:
        yield
    finally:
        before.note_end(w)
        back = before.put_steering_back(w)
        _head_back(w, before.branch)
        changed = git_state.put_back(w, before.state, judged=())
        is_judged = w.history.open_run is not None and walls(w).checks is None
        tell(w, by, [*back, *changed.back, *(before.put_control_back(w) if is_judged else ())], changed)


def _note(w: Workspace, before: Before) -> None:
    """The journal knows what can be put back after a kill: by the open run's own line, if nothing differs from that."""
    run = w.history.open_run or {}
    if run.get("git") == before.noted["git"] and run.get("word") == digest_of(w.checkout.git_word.encode()):
        before.state.word = w.checkout.git_word
        return
    w.record("guard", durable=False, checkout=w.repository.checkout_dir.name, **before.noted)


def _head_back(w: Workspace, branch: str) -> None:
    if branch and git.head_of(w.repository)[0] != branch and not person_left(w, branch):
        w.repository.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        w.say(f"HEAD was moved by a check; it is back on {branch}")
