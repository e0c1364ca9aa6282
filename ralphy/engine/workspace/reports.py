"""What the runners report of their tests: asked for from outside, without a change of the check's command.

pytest takes options from its environment. Its report goes into a folder that is made for this run alone, so that no
earlier process knows its name. Of other runners the output is read.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType

from ralphy.checks.listing import Listing, parse_junit
from ralphy.files import temporary
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import remove

_MOST_BYTES = 64 * 1024 * 1024
_REFUSED = "--junitxml"  # what pytest names when a project has switched its reports off


class Reports:
    """A folder for the reports of a series of checks, made for the first, gone afterwards; `owner` is the checkout's
    token."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def __enter__(self) -> Reports:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if "_folder" in self.__dict__:
            remove(self._folder)

    @cached_property
    def _folder(self) -> Path:
        return temporary.make("reports", self._owner)

    @property
    def folder(self) -> str:
        return str(self._folder)

    def environment(self, env: Mapping[str, str], check: str) -> dict[str, str]:
        """`env`, in which pytest writes a report wherever in the check it is called."""
        options = shlex.join([f"{_REFUSED}={self._path(check)}", "-o", "junit_family=xunit1"])
        return {**env, "PYTEST_ADDOPTS": options}

    def read(self, check: str, folder: str) -> Listing | None:
        """What pytest reported in that check, which ran in a `folder`; None if it reported nothing."""
        data = read_regular(self._path(check), _MOST_BYTES)
        listing = parse_junit(data) if data else None
        return listing.below(folder) if listing else None

    def _path(self, check: str) -> Path:
        return self._folder / f"{check}.xml"


def is_refused(code: int | None, output: str) -> bool:
    """Did pytest not know the option? Then the check is run as it stands."""
    return code == 4 and "unrecognized arguments" in output and _REFUSED in output
