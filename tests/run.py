"""Run the tests, then each test that failed once more, alone: one that passes then is flaky, and is named at the end.

    python -m tests.run [--flakes N] [arguments of pytest]

A few flaky tests leave the run green, so that finished work lands; each is a defect for the next change to mend. Where
more than N (3) tests fail, nothing is asked again. All random examples of a run come from one seed, which is printed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import click
import pytest

FLAKES = 3
SEED = "--hypothesis-seed"


@dataclass(eq=False)  # pytest puts its plugins into a set
class Outcomes:
    """A pytest plugin: how many tests passed or were skipped, which failed, and whether all could be collected."""

    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    uncollected: bool = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
        self.passed += report.passed and report.when == "call"
        self.skipped += report.skipped

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.uncollected |= report.failed


def main(argv: Sequence[str]) -> int:
    options, arguments = parser().parse_known_args(argv)
    seed = next((word.partition("=")[2] for word in arguments if word.startswith(f"{SEED}=")), "")
    if not seed:
        seed = str(random.SystemRandom().randrange(10**9))
        arguments.append(f"{SEED}={seed}")
    outcomes = Outcomes()
    code = int(pytest.main(arguments, plugins=[outcomes]))
    if code != pytest.ExitCode.TESTS_FAILED or outcomes.uncollected or len(outcomes.failed) > options.flakes:
        return code
    flaky = [test for test in outcomes.failed if passes_alone(test, seed)]
    return report(outcomes, flaky, seed)


def passes_alone(test: str, seed: str) -> bool:
    """Run one test in a process of its own. Hypothesis tries the example that failed before any other."""
    click.echo(f"\nrunning {test} again, alone")
    return subprocess.run([sys.executable, "-m", "pytest", "-q", f"{SEED}={seed}", test], check=False).returncode == 0


def report(outcomes: Outcomes, flaky: list[str], seed: str) -> int:
    """Name flaky and failed tests, then the closing line; 0 if all that failed were flaky."""
    failed = [test for test in outcomes.failed if test not in flaky]
    click.echo()
    for test in flaky:
        click.echo(f"FLAKY {test} failed in the run and passed alone (seed {seed})")
    for test in failed:
        click.echo(f"FAILED {test} (seed {seed})")
    counts = {"failed": len(failed), "passed": outcomes.passed, "flaky": len(flaky), "skipped": outcomes.skipped}
    click.echo(", ".join(f"{count} {word}" for word, count in counts.items() if count))
    return int(bool(failed))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.run", description=__doc__, allow_abbrev=False)
    made.add_argument(
        "--flakes", type=int, default=FLAKES, metavar="N", help="at most so many flaky tests (default: 3)"
    )
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
