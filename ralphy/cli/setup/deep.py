"""doctor --deep: of lines that are spoiled one at a time, how many do the checks notice?"""

from __future__ import annotations

import os

from ralphy.cli.options import Invocation
from ralphy.cli.setup.ground import Finding, Ground, fail, ok, warn
from ralphy.cli.setup.programs import workspace_of
from ralphy.errors import RalphyError

_SECONDS = 100.0
_ENOUGH = 0.8  # of the lines
_MOST_NAMED = 10


def lines_noticed(call: Invocation) -> Finding:
    """Spoil lines of HEAD's code until the time is over."""
    from ralphy.engine.verify.deep import noticed
    from ralphy.git.run_lock import Lock

    repository = call.repository()
    call.require_trusted(repository)
    ground = Ground(repository, call.settings(repository).config, os.environ)
    blind, number = [], 0
    try:
        with workspace_of(ground) as (w, _), Lock(w.repository.checkout_dir / "lock", "doctor"):
            for mutant, is_noticed in noticed(w, w.repository.text("rev-parse", "HEAD"), _SECONDS):
                number += 1
                blind += [] if is_noticed else [mutant]
                call.output.say(f"  {mutant.place} as {mutant.new!r}: {'noticed' if is_noticed else 'not noticed'}")
    except (RalphyError, OSError) as error:
        return fail("deep", str(error), getattr(error, "hint", ""))
    if not number:
        return warn("deep", "no line of a known language could be spoiled in time", "")
    said = f"the checks notice {number - len(blind)} of {number} spoiled lines"
    rows = "".join(f"\n{'':<17}blind at {one.place}: {one.new}" for one in blind[:_MOST_NAMED])
    if number - len(blind) >= _ENOUGH * number:
        return ok("deep", said + rows)
    return warn("deep", said + rows, "add tests for these lines: an agent's mistake there would land")
