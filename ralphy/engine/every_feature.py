"""Every open feature, one after the other, until each of them waits or is done.

While one feature is worked on, a person may approve another, or write the PRD.md of a new one: so the features are gone
through again until nothing was done for any of them. All of them share what bounds a night: agent runs, dollars, the
time to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ralphy.documents.feature_folder import Feature
from ralphy.errors import ExitCode
from ralphy.pipeline.decision import Rest
from ralphy.pipeline.model import Session


@dataclass(frozen=True, slots=True)
class FeatureTurn:
    """The result of one feature: where it rests, what of the night is used up, and whether anything was done."""

    rest: Rest
    session: Session
    has_acted: bool


Drive = Callable[["Feature", Session], FeatureTurn]


def run_every(open_now: Callable[[], Sequence[Feature]], drive: Drive, session: Session) -> dict[str, Rest]:
    """Drive the features that are `open_now`, round by round; gives where each of them rests, by name."""
    rests: dict[str, Rest] = {}
    sessions: dict[str, Session] = {}
    has_acted = True
    while has_acted and not session.stop_asked:
        has_acted = False
        for feature in open_now():
            turn = drive(feature, _with_spent(sessions.get(feature.name, session), session))
            rests[feature.name], sessions[feature.name] = turn.rest, turn.session
            session, has_acted = _with_spent(session, turn.session), has_acted or turn.has_acted
            if session.stop_asked:
                break
    return rests


def _with_spent(session: Session, by: Session) -> Session:
    """The session, with what all features share as another one has left it."""
    return replace(session, runs=by.runs, cost_usd=by.cost_usd, fatal=by.fatal, troubles=by.troubles,
                   stop_asked=by.stop_asked)  # fmt: skip


def exit_code_of(rests: Iterable[Rest]) -> int:
    """What a night ends with: the first failure, else 10 if a feature waits, else 0."""
    codes = [rest.exit_code for rest in rests if rest.exit_code != ExitCode.DONE]
    return next((code for code in codes if code != ExitCode.WAITING), codes[0] if codes else ExitCode.DONE)
