"""The actions of the dashboard: approve, reject, answer, abort, and the documents to read."""

from __future__ import annotations

from ralphy.cli.dashboard.board import gate_of
from ralphy.cli.options import Invocation
from ralphy.cli.output import harmless
from ralphy.cli.run.clarifying import QUESTIONS, answer_in_questions
from ralphy.cli.run.dialogue import changes_of_the_code
from ralphy.cli.stories.gates import mark, stop
from ralphy.engine.feature.documents import to_read
from ralphy.engine.view.observe import observe
from ralphy.errors import Conflict, InvalidInput, NotFound

_MOST_SHOWN = 400_000


def approve(call: Invocation, feature: str, seen: str) -> str:
    """Approve what waits at the gate if its digest is still `seen`; gives a message."""
    name, gate = mark(call, feature, "APPROVED", "", seen)
    return f"approved {gate} of {name}"


def reject(call: Invocation, feature: str, remarks: str, seen: str) -> str:
    """Send back what waits at the gate, with remarks for its agent; this never ends a feature."""
    if not remarks.strip():
        raise InvalidInput("a rejection needs remarks: say what should change",
                           hint=f"to end the feature: ralphy reject {feature} --end")  # fmt: skip
    name, gate = mark(call, feature, "REJECTED", remarks.strip(), seen)
    return f"sent {gate} of {name} back with your remarks"


def answer(call: Invocation, feature: str, key: str, words: str) -> str:
    """Write an answer below the question of a story or step in QUESTIONS.md."""
    if not words.strip():
        raise InvalidInput("the answer is empty")
    with call.workspace(feature) as w:
        call.lay_out(w)
        if not answer_in_questions(w, {key: words}):
            raise Conflict(f"{key} has no open question in {w.feature.in_repository(QUESTIONS)}")
    return f"answered {key}"


def abort(call: Invocation, feature: str) -> str:
    """Stop the Ralphy that works on the feature; nothing is lost."""
    return f"stopping Ralphy (pid {stop(call, feature)})"


def document(call: Invocation, feature: str, name: str) -> str:
    """A document that waits at the feature's gate; `changes` is the patch of the code."""
    with call.workspace(feature) as w:
        gate = gate_of(w, observe(w))
        if gate and name == "changes" and gate["has_changes"]:
            return harmless(changes_of_the_code(w))[:_MOST_SHOWN]
        if not gate or name not in gate["documents"]:
            raise NotFound(f"{name} is not up for review", hint=f"ralphy why {feature}")
        return harmless(to_read(w, name).decode("utf-8", "replace"))[:_MOST_SHOWN]
