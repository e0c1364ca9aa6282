"""doctor: do the checks pass where a story's will run, and fail on broken code?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ralphy.cli.options import Invocation
from ralphy.cli.setup.ground import Finding, Ground, fail, ok, warn
from ralphy.cli.setup.programs import workspace_of
from ralphy.engine.lane_use.checks import run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.verify.baseline import require_real_checks
from ralphy.errors import RalphyError
from ralphy.git.commands import head_of
from ralphy.git.run_lock import Lock

if TYPE_CHECKING:
    from ralphy.engine.lane_use.checks import CheckResult
    from ralphy.engine.workspace.workspace import Workspace

_MOST_LINES = 10


def checks_run(call: Invocation) -> Iterator[Finding]:
    """Run the checks once on HEAD in the clean lane, and once on broken code, where they must fail."""
    head = head_of(call.repository())[1]
    if not head:
        yield warn("checks", "not run: there is no commit yet", "git add --all && git commit")
        return
    call.output.note("running the checks once (--no-checks leaves that out)")
    try:
        with _alone(call) as w:
            tree = w.objects.tree_of(head)
            lay_out_clean(w, tree, head)
            results = run_checks(w, "baseline", until_red=False)
            yield from map(_finding, results)
            if any(result.is_green for result in results):
                require_real_checks(w, tree, results)
                yield ok("probe", "the checks catch broken code")
    except (RalphyError, OSError) as error:
        yield fail("checks", str(error), getattr(error, "hint", ""))


def _finding(result: CheckResult) -> Finding:
    name = f"run {result.name}"
    if result.is_green:
        return ok(name, f"green in {result.seconds:.1f} s: {result.run}")
    end = "".join(f"\n{'':<17}{line}" for line in result.output.strip().splitlines()[-_MOST_LINES:])
    return fail(
        name,
        f"{result.failure()}{end}",
        "in a new clone, install the dependencies first; else make it green, or: ralphy loop --accept-red",
    )


@contextmanager
def _alone(call: Invocation) -> Iterator[Workspace]:
    """The workspace of a loop without a feature, while nobody else works in this checkout."""
    repository = call.repository()
    call.require_trusted(repository)
    ground = Ground(repository, call.settings(repository).config, os.environ)
    with workspace_of(ground) as (w, _), Lock(w.repository.checkout_dir / "lock", "doctor"):
        yield w
