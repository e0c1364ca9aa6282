"""What doctor looks at, as rows: a name, the look, and what an error of it means.

No look asks anything, and each is bounded in time. One that finds nothing worth a line gives None.
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
    state: Health = Health.OK
    repair: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look. `config` has the defaults if the settings cannot be read."""

    repository: Repository
    config: Config
    env: Mapping[str, str]
    has_settings: bool = True


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """`on_error` is what an error of the look is, None if that is left to another one; `fix` stands for its hint."""

    name: str
    find: Callable[[Place], DoctorFinding | None]
    on_error: Health | None = Health.FAIL
    fix: str = ""
    needs_settings: bool = False


def findings(looks: Sequence[DoctorCheck], place: Place) -> Iterator[tuple[str, DoctorFinding]]:
    """What each look finds, by its name."""
    for look in looks:
        if finding := _finding_of(look, place):
            yield look.name, finding


def _finding_of(look: DoctorCheck, place: Place) -> DoctorFinding | None:
    if look.needs_settings and not place.has_settings:  # of which the finding "settings" tells
        return None
    try:
        return look.find(place)
    except (RalphyError, OSError) as error:
        return of_error(error, look.on_error, look.fix) if look.on_error else None


def of_error(error: RalphyError | OSError, state: Health = Health.FAIL, fix: str = "") -> DoctorFinding:
    return DoctorFinding(str(error), getattr(error, "hint", "") or fix, state)


def warn(message: str, fix: str) -> DoctorFinding:
    return DoctorFinding(message, fix, Health.WARN)


def fail(message: str, fix: str) -> DoctorFinding:
    return DoctorFinding(message, fix, Health.FAIL)
