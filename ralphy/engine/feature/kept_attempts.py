"""Attempts that are kept: a commit of Ralphy's own under a ref, numbered on, never overwritten.

Where the journal has no line about a story, the refs say how many attempts it had: a wiped journal gives no more.
"""

from __future__ import annotations

import re

from ralphy.agents.protocol import Outcome
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.commands import NOBODY, GitError
from ralphy.git.signing import CommitText, write_commit
from ralphy.pipeline.history import StoryHistory
from ralphy.pipeline.model import Prd


def private_commit(w: Workspace, tree: str, parent: str, message: str) -> str:
    """Write a commit of Ralphy's own, which no branch has; gives its id. It is on the disk when this returns."""
    text = CommitText((parent,), NOBODY, int(w.clock()), f"{message}\n")
    return write_commit(w.repository, tree, text)


def attempt_numbers(w: Workspace, story: str) -> list[int]:
    """The numbers under which attempts at a story are kept."""
    rows = w.repository.text("for-each-ref", "--format=%(refname)", f"refs/ralphy/{w.feature.name}/{story}").split()
    return [int(row.rsplit("-", 1)[1]) for row in rows if "/attempt-" in row and row.rsplit("-", 1)[1].isdigit()]


def next_number(w: Workspace, story: str, attempt: int) -> int:
    """The attempt count resets after a redo, and a limit costs none: kept ones are numbered on, never overwritten."""
    return max([attempt - 1, *attempt_numbers(w, story)]) + 1


_FORM = "--format=%(objectname) %(refname) %(contents:subject)"
_ATTEMPT = re.compile(r"([0-9a-f]+) refs/ralphy/[^/]+/([^/]+)/attempt-(\d{1,9}) .* attempt (\d{1,9}): (\w+)")
_COUNTED = {outcome.value for outcome in Outcome if outcome.costs_an_attempt}
_CUT_OFF = {Outcome.DIED.value: "Ralphy or the machine died", Outcome.STOPPED.value: "it was stopped"}


def read_attempts_in_refs(w: Workspace, prd: Prd) -> None:
    """Fill in `history.in_refs`, once, if there is an open story that the journal does not know."""
    if w.history.in_refs is None and any(s.is_open and s.id not in w.history.stories for s in prd.stories):
        w.history.in_refs = _by_story(w)


def _by_story(w: Workspace) -> dict[str, StoryHistory]:
    mine = f"refs/ralphy/{w.feature.name}"
    try:
        lines = w.repository.text("for-each-ref", _FORM, mine).splitlines()
    except GitError:  # a ref without its object: prd.json's word stands alone
        return {}
    histories: dict[str, StoryHistory] = {}
    for row in sorted((m.groups() for line in lines if (m := _ATTEMPT.fullmatch(line))), key=lambda row: int(row[2])):
        commit, story, _, counted_as, outcome = row
        past = histories.setdefault(story, StoryHistory())
        past.tree, past.cut_off = commit, _CUT_OFF.get(outcome, "")
        past.deaths += outcome == Outcome.DIED.value
        if outcome in _COUNTED:
            past.attempts = max(past.attempts, int(counted_as))
    return histories
