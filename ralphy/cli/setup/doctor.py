"""doctor: check what a night needs, and say how to fix what is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.setup import environment, programs
from ralphy.cli.setup.checks import checks_run
from ralphy.cli.setup.findings import DoctorFinding, Health, Place, findings_of, of_error
from ralphy.cli.setup.hindrances import hindrances
from ralphy.config.values import Config
from ralphy.errors import EnvironmentProblem, ExitCode, NotFound, RalphyError
from ralphy.processes.program_paths import root_around
from ralphy.text.counted import counted


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
    named_findings = [(name, _repaired(one) if fix else one) for name, one in _all_findings(call)]
    healths = {name: one.health for name, one in named_findings}
    if checks and healths.get("lock") is not Health.WARN and Health.FAIL not in healths.values():
        named_findings += checks_run(call)
    problems, warnings = (sum(one.health is bad for _, one in named_findings) for bad in (Health.FAIL, Health.WARN))
    lines = [line for name, one in named_findings for line in _lines(name, one)]
    total = f"\n{counted(problems, 'problem')}, {counted(warnings, 'warning')}"
    rows = [
        {"name": name, "state": one.health.value, "said": one.message, "fix": one.fix} for name, one in named_findings
    ]
    code = ExitCode.ENVIRONMENT if problems else ExitCode.DONE
    return call.output.answer("doctor", "\n".join([*lines, total]), code, checks=rows)


def _repaired(finding: DoctorFinding) -> DoctorFinding:
    """The finding after its repair, if it has one."""
    if finding.repair is None:
        return finding
    try:
        return DoctorFinding(f"fixed: {finding.repair()}")
    except (RalphyError, OSError) as error:
        return replace(finding, message=f"{finding.message}; not fixed: {error}")


def _lines(name: str, finding: DoctorFinding) -> Iterator[str]:
    message = finding.message.replace("\n", f"\n{'':<17}")
    yield f"{finding.health.value:<5} {name:<10} {message}"
    if finding.fix:
        yield f"{'':<16} fix: {finding.fix}"


def _all_findings(call: Invocation) -> Iterator[tuple[str, DoctorFinding]]:
    yield from programs.programs(os.environ, root_around(str(call.directory)))
    try:
        repository = call.repository()
    except (NotFound, EnvironmentProblem) as error:
        yield "repository", of_error(error)
        return
    try:
        place = Place(repository, call.settings().config, os.environ)
    except RalphyError as error:
        yield "settings", of_error(error, fix="ralphy validate")
        place = Place(repository, Config(), os.environ, has_settings=False)
    yield from findings_of(programs.CHECKS, place)
    yield from hindrances(place)
    yield from findings_of(environment.CHECKS, place)
