"""start --fresh: start a feature from nothing, after a question."""

from __future__ import annotations

import sys

import click

from ralphy.cli.options import Invocation
from ralphy.engine.housekeeping import without_lanes
from ralphy.engine.person.from_nothing import is_begun, next_ref, require_possible, start_from_nothing, what_goes
from ralphy.errors import InvalidInput
from ralphy.text.first_few import first_few


def start_fresh(call: Invocation, feature: str | None, *, yes: bool) -> bool:
    """Save the feature under a ref, and leave only PRD.md; False if the person says no."""
    with call.edited(feature, "start over", review=False, starts_over=True) as (w, s):
        if not is_begun(w):
            return True
        require_possible(w, s)
        name, ref = s.feature, next_ref(w)
        if not yes and not sys.stdin.isatty():
            raise InvalidInput("--fresh asks for confirmation, and there is no terminal",
                               hint=f"confirm with --yes; to retry failed stories: ralphy reset {name}")  # fmt: skip
        done = sum(story.is_completed for story in s.prd.stories)
        call.output.note(f"{name} starts from nothing: only PRD.md stays, and the stories are planned again")
        call.output.note(f"  kept in {ref}: {done} of {len(s.prd.stories)} stories completed; "
                         f"{first_few(what_goes(w), 9)}")  # fmt: skip
        if not yes and not click.confirm(f"Start {name} from nothing?", err=True):
            call.output.note(f"Nothing has changed. To try failed stories again: ralphy reset {name}")
            return False
        ref, branch = start_from_nothing(w, s), w.feature_branch
        without_lanes(w)
        call.output.say(f"{name} starts from nothing; to bring back what was: git branch -f {branch} {ref}")
    call.look_again()
    return True
