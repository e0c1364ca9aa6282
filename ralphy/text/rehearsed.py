"""Marks for a rehearsal: REHEARSAL stands beside the models and costs of the scripted stand-in wherever they appear."""

from __future__ import annotations

MARK = "REHEARSAL"
FREE_TRY = "export RALPHY_AGENT_COMMAND=ralphy-rehearsal"
NOTE = f"{MARK}: a scripted stand-in took the place of the agent; its models and costs are fictitious"


def marked(model: str, is_rehearsed: bool) -> str:
    """The name of a model as the journal and people have it."""
    return f"{model} {MARK}" if is_rehearsed else model


def marked_words(words: str, is_rehearsed: bool) -> str:
    """Words about time and money; the mark stands behind them in parentheses."""
    return f"{words} ({MARK})" if is_rehearsed else words


def is_marked(model: object) -> bool:
    """Is it the model of a rehearsed run, as the journal has it?"""
    return isinstance(model, str) and model.endswith(f" {MARK}")
