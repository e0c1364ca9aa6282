"""doctor: can the checks be started, do they pass where a story's will run, and do they fail on broken code?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from ralphy.cli.options import Invocation
from ralphy.cli.setup.findings import DoctorFinding, Place, fail, of_error, warn
from ralphy.config.load import with_stack
from ralphy.detect.stack import detect, example_check
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.verify.baseline import require_real_checks, run_all
from ralphy.engine.verify.startable import missing, without_feature
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import RalphyError
from ralphy.git.commands import head_of
from ralphy.git.run_lock import Lock
from ralphy.scaffold.config_template import check_line

_MOST_LINES = 10


def workspace_of(place: Place) -> AbstractContextManager[tuple[Workspace, Path]]:
    """A workspace without a feature, opened as a loop would."""
    stack = detect(place.repository.root, prefer=place.config.stack.language)
    return without_feature(place.repository, place.config, with_stack(place.config, stack.checks), place.env)


def checks_known(place: Place) -> DoctorFinding:
    """The checks, and whether their programs exist; one that `setup` or an earlier check may create is a warning."""
    with workspace_of(place) as (w, _):
        checks, lacking = w.checks, list(missing(w))
    if not checks and not lacking:
        example = check_line(example_check(detect(place.repository.root, prefer=place.config.stack.language).language))
        return warn("none detected: stories land unverified", f"add a line to .ralphy/config.yaml, such as: {example}")
    if not lacking:
        return DoctorFinding("; ".join(f"{check.name}: {check.run}" for check in checks))
    reasons = "; ".join(one.why for one in lacking)
    if all(one.may_come for one in lacking):
        return warn(f"{reasons} (yet)", "nothing, if `setup` or an earlier check creates it")
    return fail(reasons, "install it (or run it with the project's own: .venv/bin/…), or change checks: or setup: in "
                ".ralphy/config.yaml")  # fmt: skip


def checks_run(call: Invocation) -> Iterator[tuple[str, DoctorFinding]]:
    """Run the pre-commit hook and the checks once on HEAD, as a loop does before it pays an agent, and once on broken
    code, where they must fail."""
    repository = call.repository()
    head = head_of(repository)
    if not head:
        yield "checks", warn("not run: there is no commit yet", "git add --all && git commit")
        return
    call.output.note("running the checks once (--no-checks leaves that out)")
    try:
        call.require_trusted()
        place = Place(repository, call.settings().config, os.environ)
        with workspace_of(place) as (w, _), Lock(repository.checkout_dir / "lock", "doctor"):
            results = run_all(w, head)
            yield from ((f"run {result.name}", _of_run(result)) for result in results)
            if any(result.is_green for result in results):
                require_real_checks(w, w.objects.tree_of(head), results)
                yield "probe", DoctorFinding("the checks catch broken code")
    except (RalphyError, OSError) as error:
        yield "checks", of_error(error)


def _of_run(result: CheckResult) -> DoctorFinding:
    if result.is_green:
        return DoctorFinding(f"green in {result.seconds:.1f} s: {result.run}")
    end = "".join(f"\n{'':<17}{line}" for line in result.output.strip().splitlines()[-_MOST_LINES:])
    fix = "in a new clone, install the dependencies first; else make it green, or: ralphy loop --accept-red"
    return fail(f"{result.failure()}{end}", fix)
