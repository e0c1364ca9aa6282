"""The tone of a sentence (success, failure, a wait), for the code that prints it in colour."""

from __future__ import annotations

from typing import Final

GOOD: Final = "good"
BAD: Final = "bad"
WAITING: Final = "waiting"
FAINT: Final = "faint"
STRONG: Final = "strong"

# A story's status -> its sign and its tone, wherever it is shown.
OF_STATUS: Final = {
    "completed": ("✓", GOOD),
    "failed": ("✗", BAD),
    "blocked": ("-", WAITING),
    "in_progress": ("…", STRONG),
    "pending": ("·", FAINT),
}


class Toned(str):
    """A sentence with a tone; it is a plain `str` to all other code."""

    tone: str

    def __new__(cls, text: str, tone: str) -> Toned:
        toned = super().__new__(cls, text)
        toned.tone = tone
        return toned


def tone_of(text: str) -> str:
    """The tone of a sentence; "" if it has none."""
    return getattr(text, "tone", "")
