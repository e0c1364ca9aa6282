"""The life of a feature: open, in work, published, merged. Everything that lists or skips features asks here.

A feature may stand in up to three places: in the checkout, at the tip of its branch, and on the base branch. Which of
them is the newest depends on where the checkout stands and on whether the branch is merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralphy.pipeline.model import Prd


class Life(Enum):
    """`open` has no branch yet, or waits to be resumed from the base; a `merged` feature is closed."""

    OPEN = "open"
    IN_WORK = "in_work"
    REJECTED = "rejected"
    PUBLISHED = "published"
    MERGED = "merged"

    @property
    def is_open(self) -> bool:
        """Is there anything left to do for Ralphy?"""
        return self in (Life.OPEN, Life.IN_WORK)


@dataclass(frozen=True, slots=True)
class Places:
    """prd.json of one feature in each place; None where it is not.

    `is_live` says that the copy in the checkout is the feature's own, and none that belongs to what is checked out.
    `prefers_base` says that the checkout is on another feature's branch, whose copy of this one is as old as that
    branch. `is_in_base` says that all of the branch's work is in the base, `code` is the tip's tree without the feature
    folder, `is_rejected` that a person's rejection stands.
    """

    here: Prd | None = None
    branch: Prd | None = None
    base: Prd | None = None
    is_checked_out: bool = False
    is_live: bool = False
    prefers_base: bool = False
    is_in_base: bool = False
    code: str = ""
    is_rejected: bool = False

    @property
    def has_open_branch(self) -> bool:
        """Is there a branch with work that the base does not have?"""
        return self.is_checked_out or (self.branch is not None and not self.is_in_base)


def newest(p: Places) -> Prd | None:
    """The prd.json that counts."""
    if p.is_checked_out:
        return p.here
    if p.has_open_branch:
        return p.here if p.is_live and p.here else p.branch
    return ((p.base or p.here) if p.prefers_base else (p.here or p.base)) or p.branch


def life_of(p: Places) -> Life:
    """Where a feature stands between its PRD.md and the merge."""
    prd = newest(p)
    if prd is None or not is_done(prd):
        return Life.REJECTED if p.is_rejected else Life.IN_WORK if p.has_open_branch else Life.OPEN
    if _is_merged(p, prd):
        return Life.MERGED
    if _published_code(prd) and (not p.has_open_branch or p.code in ("", _published_code(prd))):
        return Life.PUBLISHED
    return Life.REJECTED if p.is_rejected else Life.IN_WORK if p.has_open_branch else Life.OPEN


def is_done(prd: Prd) -> bool:
    """Are there stories, all of them completed?"""
    return bool(prd.stories) and all(story.is_completed for story in prd.stories)


def _is_merged(p: Places, prd: Prd) -> bool:
    """An ancestor of the base, or squashed into it with its prd.json."""
    if not _has_worked_on(prd):
        return False
    if p.is_in_base:
        return True
    if p.base is None or not is_done(p.base):
        return False
    return not p.has_open_branch or holds_work(p.base, prd, p.code)


def _has_worked_on(prd: Prd) -> bool:
    """Did Ralphy do it? A list that was imported with every story completed is still to be reviewed."""
    return bool(prd.pr) or any(story.raw.get("evidence") for story in prd.stories)


def holds_work(base: Prd, prd: Prd, code: str) -> bool:
    """Does the base's prd.json tell of the work of a branch, whose tip has this code and `prd`?

    It may have been reformatted or edited since: its stories and the published code tell.
    """
    published, same_stories = _published_code(prd), {s.id for s in base.stories} == {s.id for s in prd.stories}
    is_same = same_stories and bool(published) and _published_code(base) == published
    return is_done(base) and is_same and code in ("", published)


def _published_code(prd: Prd) -> str:
    return str(prd.pr.get("code") or "")


def is_rejected(prd: Prd, digest_of: Callable[[str], str]) -> bool:
    """Does a person's rejection stand? It is of exactly one content of the document at the gate that `digest_of` takes.

    `ralphy redo` answers it: what is handed in then waits for a person, even if it is the same.
    """
    answer = prd.gate_verdicts[-1] if prd.gate_verdicts else None
    if answer is None or answer.verdict != "rejected" or answer.answered:
        return False
    return answer.digest.partition("+")[0] == digest_of(answer.gate)
