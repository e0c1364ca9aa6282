"""doctor: whether everything a night needs is there, and what to do where it is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.setup import ground, programs
from ralphy.cli.setup.checks import checks_run
from ralphy.cli.setup.ground import State, ok
from ralphy.cli.setup.hindrances import hindrances
from ralphy.errors import EnvironmentProblem, ExitCode, NotFound, RalphyError
from ralphy.processes.program_paths import root_around

if TYPE_CHECKING:
    from ralphy.cli.setup.ground import Finding, Ground


@click.command("doctor")
@click.option("--fix", is_flag=True, help="Do what is safe: create missing files of `ralphy init`, renew the schemas.")
@click.option("--checks/--no-checks", default=True, show_default=True, help="Run the checks once, in a lane.")
@with_options
def doctor(call: Invocation, fix: bool, checks: bool) -> int:
    """Looks at programs, login, repository, remote, clock, disk and file watching: ok, warn or fail. Costs nothing, and
    changes nothing of yours without --fix. Ends with 5 if a check fails.

    Every check runs once on the committed code, where a story's checks will run, and once on broken code, where they
    must fail: --no-checks leaves that out.
    """
    findings = [_mended(finding) if fix else finding for finding in _findings(call)]
    is_free = all(finding.state is State.OK for finding in findings if finding.name == "lock")
    if checks and is_free and not any(finding.state is State.FAIL for finding in findings):
        findings += checks_run(call)
    failed = [finding for finding in findings if finding.state is State.FAIL]
    warned = [finding for finding in findings if finding.state is State.WARN]
    lines = [line for finding in findings for line in _lines(finding)]
    total = f"\n{_counted(len(failed), 'problem')}, {_counted(len(warned), 'warning')}"
    rows = [{"name": f.name, "state": f.state.value, "said": f.said, "fix": f.fix} for f in findings]
    code = ExitCode.ENVIRONMENT if failed else ExitCode.DONE
    return call.output.answer("doctor", "\n".join([*lines, total]), code, checks=rows)


def _mended(finding: Finding) -> Finding:
    """The finding after its fix, where that is safe; else as it is."""
    if finding.mend is None:
        return finding
    try:
        return ok(finding.name, f"fixed: {finding.mend()}")
    except (RalphyError, OSError) as error:
        return replace(finding, said=f"{finding.said}; not fixed: {error}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.state.value:<5} {finding.name:<10} {finding.said}"
    if finding.fix:
        yield f"{'':<16} fix: {finding.fix}"


def _findings(call: Invocation) -> Iterator[Finding]:
    yield from programs.programs(os.environ, root_around(call.where))
    try:
        found = call.repository()
    except (NotFound, EnvironmentProblem) as error:
        yield ground.Finding("repository", ground.State.FAIL, str(error), error.hint)
        return
    yield ground.Finding("repository", ground.State.OK, str(found.root))
    at: Ground
    try:
        settings = call.settings(found)
        at = ground.Ground(found, settings.config, os.environ)
    except RalphyError as error:
        yield ground.Finding("settings", ground.State.FAIL, str(error), error.hint or "ralphy validate")
        at = ground.Ground(found, None, os.environ)
    yield from programs.project(at)
    yield from hindrances(at)
    yield from ground.surroundings(at)
