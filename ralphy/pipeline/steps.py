"""The pipeline as a table: who makes what, and which gate comes after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.config.values import Config


@dataclass(frozen=True, slots=True)
class Step:
    """A row: `gate` (or "") opens when its `output` is there; `phase` is the word that status has for it."""

    name: str
    output: str
    gate: str
    phase: str
    waiting_phase: str


SPEC = Step("spec", "SPEC.md", "spec", "SPECIFICATION", "AWAITING_SPEC_VALIDATION")
STORY = Step("story", "", "", "IMPLEMENTATION", "IMPLEMENTATION")
QA = Step("qa", "QA_REPORT.md", "qa", "QA", "AWAITING_QA_VALIDATION")
PR = Step("pr", "PR.md", "", "PR", "PR")
SPLIT = Step("split", "stories.json", "", "IMPLEMENTATION", "IMPLEMENTATION")
STEPS = (SPEC, STORY, SPLIT, QA, PR)
BY_NAME = {step.name: step for step in STEPS}

# step -> its field of `timeouts`
TIMEOUT_OF = {
    "spec": "specification",
    "story": "implementation",
    "qa": "qa",
    "pr": "pr",
    "split": "specification",
}

# A draft that does not validate goes back to the step's agent this often.
MENDS = 3

# A draft that splits a story gets one more chance: after that a person is asked.
SPLIT_RUNS = 2

# So many runs that end at the size of their context say that the story is too large: the second had a smaller prompt.
MOST_TOO_LARGE = 2


def model_for(config: Config, step: str, attempt: int = 1, wanted: str = "") -> str:
    """The model of a run: the story's own wish, else the step's; attempts climb the ladder."""
    if wanted:
        return wanted
    ladder: Sequence[str] = {
        "spec": (config.models.specification,),
        "story": config.models.implementation,
        "qa": (config.models.qa,),
        "pr": (config.models.pr,),
        "split": config.models.implementation[-1:],
    }[step]
    return ladder[min(attempt, len(ladder)) - 1]


def active_limit_s(config: Config, step: str) -> float:
    """How many seconds of active time a step may take in all."""
    limit: float = getattr(config.timeouts, TIMEOUT_OF[step])
    return limit
