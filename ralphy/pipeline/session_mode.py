"""Are the stories done in a person's session of Claude Code, or by agents of their own? Chosen by size, and said."""

from __future__ import annotations

from ralphy.config.values import STRICT, Config
from ralphy.errors import Conflict
from ralphy.pipeline.forecast import expected
from ralphy.pipeline.model import Snapshot
from ralphy.text.durations import span

HOOK, SCRIPT = "hook", "script"
_MOST_STORIES = 10
_MOST_SECONDS = 2 * 3600.0


def mode_of(s: Snapshot, config: Config, wanted: str = "") -> tuple[str, str]:
    """(mode, why): what is asked for, else hook for fewer than ten stories that take less than two hours.

    Raises Conflict where a session is asked for, and the settings ask for a sandbox: a session has none.
    """
    if config.safety.level == STRICT or config.safety.sandbox == "bwrap":
        why = "the settings (safety) ask for a sandbox, and a session of Claude Code has none"
        if wanted == HOOK:
            raise Conflict(why, hint=f"ralphy loop {s.feature}")
        return SCRIPT, why
    if wanted:
        return wanted, "you asked for it"
    left = sum(story.is_open for story in s.prd.stories)
    seconds = sum(expected(s, left, left).seconds) / 2
    what = f"{left} {'story is' if left == 1 else 'stories are'} left, about {span(seconds)} of work"
    if left >= _MOST_STORIES or seconds >= _MOST_SECONDS:
        return SCRIPT, f"{what}: too much for one session, which takes fewer than {_MOST_STORIES} and under 2 h"
    return HOOK, f"{what}: it fits into one session"
