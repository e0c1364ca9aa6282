"""Marks for a rehearsal: REHEARSAL stands beside the models and costs of the scripted stand-in wherever they appear."""

from __future__ import annotations

MARK = "REHEARSAL"
FREE_TRY = "export RALPHY_AGENT_COMMAND=ralphy-rehearsal"
NOTE = f"{MARK}: a scripted stand-in took the place of the agent; its models and costs are fictitious"


def marked(text: str, is_rehearsed: bool) -> str:
    """The text, with the mark behind it if it is about a rehearsal."""
    return f"{text} {MARK}" if is_rehearsed else text


def is_marked(model: object) -> bool:
    """Is it the model of a rehearsed run, as the journal has it?"""
    return isinstance(model, str) and model.endswith(f" {MARK}")
