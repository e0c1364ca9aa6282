"""The written tests of many files, to be asked which of them may be the one that is looked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ralphy.testguard.read.test_parser import Case


class Written:
    """Cases by their name, their body, and what they assert: a test that moved is found without reading all."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._named: dict[str, list[Case]] = defaultdict(list)
        self._bodies: dict[str, list[Case]] = defaultdict(list)
        self._asserting: dict[str, list[Case]] = defaultdict(list)
        self._shaped: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            self._named[case.short].append(case)
            self._bodies[case.body].append(case)
            for said in set(case.asserts):
                self._asserting[said].append(case)
            for shape in set(case.shapes):
                self._shaped[shape].append(case)

    def named(self, short: str) -> list[Case]:
        """The cases whose own name, without its class, is this one."""
        return self._named.get(short, [])

    def holding(self, lost: Case) -> list[Case]:
        """The cases that may hold all that `lost` asserted: they have its body, or its first assertion."""
        return [*self._bodies.get(lost.body, ()), *(self._asserting.get(lost.asserts[0], ()) if lost.asserts else ())]

    def resembling(self, lost: Case) -> list[Case]:
        """The cases that may be `lost` with other values: they have its name, or its first assertion's shape."""
        return [*self.named(lost.short), *(self._shaped.get(lost.shapes[0], ()) if lost.shapes else ())]
