"""The checks of doctor as rows: a name, the function, and what an error of it means.

No check asks a question, and each is bounded in time. One that finds nothing worth a line gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ralphy.config.values import Config
from ralphy.errors import RalphyError
from ralphy.git.commands import Repository


class Health(Enum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """ok, warn (it works, but …) or fail (nothing will work); `fix` is the exact thing to do, "" when all is well.

    `repair` does it and says what it did, where that is safe: it replaces nothing of a person's.
    """

    message: str
    fix: str = ""
    health: Health = Health.OK
    repair: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What is examined. `config` has the defaults if the settings cannot be read."""

    repository: Repository
    config: Config
    env: Mapping[str, str]
    has_settings: bool = True


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """`on_error` is the health that an error of `find` means, None where another check reports it; `fix` is for an
    error without a hint."""

    name: str
    find: Callable[[Place], DoctorFinding | None]
    on_error: Health | None = Health.FAIL
    fix: str = ""
    needs_settings: bool = False


def findings_of(checks: Sequence[DoctorCheck], place: Place) -> Iterator[tuple[str, DoctorFinding]]:
    """(name, finding) of each check that has one."""
    for check in checks:
        if finding := _finding_of(check, place):
            yield check.name, finding


def _finding_of(check: DoctorCheck, place: Place) -> DoctorFinding | None:
    if check.needs_settings and not place.has_settings:  # the finding "settings" reports that
        return None
    try:
        return check.find(place)
    except (RalphyError, OSError) as error:
        return of_error(error, check.on_error, check.fix) if check.on_error else None


def of_error(error: RalphyError | OSError, health: Health = Health.FAIL, fix: str = "") -> DoctorFinding:
    return DoctorFinding(str(error), getattr(error, "hint", "") or fix, health)


def warn(message: str, fix: str) -> DoctorFinding:
    return DoctorFinding(message, fix, Health.WARN)


def fail(message: str, fix: str) -> DoctorFinding:
    return DoctorFinding(message, fix, Health.FAIL)
