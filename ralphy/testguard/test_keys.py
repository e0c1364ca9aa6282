"""What identifies a test, whatever its parameters and wherever its runner stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ralphy.checks.listing import FAILED, PASSED

if TYPE_CHECKING:
    from ralphy.testguard.test_files import WrittenTest

RAN = (PASSED, FAILED)
# Entries of a runner that stand for several tests.
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

    def means(self, test: WrittenTest) -> bool:
        if self.path:
            return self.name == test.name and self.is_at(test.path)
        return self.short == test.short

    @property
    def is_for_several(self) -> bool:
        """Is it a whole module or class, and no test?"""
        module = self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        is_module = not self.name or f".{module}".endswith(f".{self.name}")
        return bool(self.path) and (is_module or self.short in _FOR_SEVERAL or "ModuleSkipped" in self.name)

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1] if self.path else last_part(self.name)


def last_part(name: str) -> str:
    """A test's own name, without the suites, modules or classes around it."""
    for mark in (" > ", " › ", "::"):
        name = name.rsplit(mark, 1)[-1]
    return name.strip()
