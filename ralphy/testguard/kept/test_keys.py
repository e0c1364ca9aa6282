"""Which tests ran: by what identifies one, whatever its parameters and wherever its runner stands."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ralphy.checks.listing import FAILED, PASSED, Listing

if TYPE_CHECKING:
    from ralphy.testguard.read.test_parser import Case

RAN = (PASSED, FAILED)
# Entries of a runner that stand for several tests: what they stood for is known by the text of the tests.
_FOR_SEVERAL = frozenset(("setUpModule", "setUpClass"))
_GO_SUBTEST = re.compile(r"(?:Test|Fuzz|Example)\w*/")


@dataclass(frozen=True, slots=True)
class Key:
    """A test without its parameters: where the runner says it lies ("" if it does not), and its name."""

    path: str
    name: str

    @classmethod
    def of(cls, test: str) -> Key:
        base = test.partition("[")[0] if not test.startswith("[") else test
        path, mark, inner = base.partition("::")
        if not mark or "." not in path.rsplit("/", 1)[-1]:
            return cls("", test.partition("/")[0] if _GO_SUBTEST.match(test) else test)
        return cls(path, inner.replace("::", "."))

    def is_at(self, path: str) -> bool:
        """Does a path of the repository mean this file? The runner may stand in a folder of its own."""
        return bool(self.path) and (path == self.path or path.endswith(f"/{self.path}"))

    def means(self, case: Case) -> bool:
        if self.path:
            return self.name == case.name and self.is_at(case.path)
        return self.short == case.short

    @property
    def own_name(self) -> str:
        """The name without the module that holds it, which doctests have before theirs."""
        parts = self.path.removesuffix(".py").removesuffix("/__init__").split("/")
        modules = (".".join(parts[begin:]) for begin in range(len(parts)))
        return next((self.name[len(m) :] for m in modules if f"{self.name}.".startswith(f"{m}.")), self.name)

    @property
    def is_for_several(self) -> bool:
        """Is it a whole module or class that was skipped, and no test?"""
        return bool(self.path) and (not self.own_name or self.short in _FOR_SEVERAL or "ModuleSkipped" in self.name)

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1] if self.path else last_part(self.name)


def last_part(name: str) -> str:
    """A test's own name, without the suites, modules or classes around it."""
    for mark in (" > ", " › ", "::"):
        name = name.rsplit(mark, 1)[-1]
    return name.strip()


@dataclass(slots=True)
class Runs:
    """How often each test ran and how often not, by key; a parametrised one once for each case."""

    ran: Counter[Key] = field(default_factory=Counter)
    out: Counter[Key] = field(default_factory=Counter)
    names: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    short: dict[str, list[Key]] = field(default_factory=lambda: defaultdict(list))
    paths: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, listing: Listing) -> Runs:
        runs = cls()
        for test, outcome in listing.tests.items():
            key = Key.of(test)
            (runs.ran if outcome in RAN else runs.out)[key] += 1
            runs.names[key].append(test)
        for key in runs.names:
            runs.short[key.short].append(key)
            runs.paths.add(key.path)
        return runs

    def total(self, key: Key) -> int:
        """How often a test is listed, whether it ran or not."""
        return self.ran[key] + self.out[key]

    def times(self, case: Case) -> int:
        """How often a written test ran."""
        return sum(self.ran[key] for key in self.short.get(case.short, ()) if key.means(case))

    def has_file(self, path: str) -> bool:
        """Is any test of a file of the repository listed? The runner may stand in a folder of its own."""
        return path in self.paths or any(place and path.endswith(f"/{place}") for place in self.paths)

    def is_listed(self, case: Case) -> bool:
        """Is a written test listed, by its name or with the whole of its module or class?"""
        return any(key.means(case) or (key.is_for_several and key.is_at(case.path)) for key in self._about(case))

    def _about(self, case: Case) -> list[Key]:
        return [*self.short.get(case.short, ()), *(key for key in self.out if key.is_for_several)]
