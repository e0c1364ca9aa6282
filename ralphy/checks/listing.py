"""What a check said of its tests: each by name with what became of it, or at least how many there are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

PASSED, FAILED, SKIPPED, XFAILED = "passed", "failed", "skipped", "xfailed"
OUTCOMES = (PASSED, FAILED, SKIPPED, XFAILED)
_RANK = {FAILED: 3, PASSED: 2, XFAILED: 1, SKIPPED: 0}
_MOST_OF_A_NAME = 500
_INHERITED = re.compile(r"(\w+(?:\.[^\WA-Z]\w*)*)\.[A-Z].*")  # a module, and a class in it


@dataclass(frozen=True, slots=True)
class Listing:
    """`tests` gives each test's outcome by name; without names, `counts` alone say how many there were of each.

    `reasons` says why a test was skipped, where the runner tells.
    """

    tests: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, tests: Mapping[str, str], reasons: Mapping[str, str] | None = None) -> Listing:
        return cls(tests, dict(Counter(tests.values())), reasons or {})

    def below(self, folder: str) -> Listing:
        """The same, of a check that ran in a folder of the repository: names that begin with a file begin with it."""
        if not folder:
            return self
        tests = {name_below(folder, name): outcome for name, outcome in self.tests.items()}
        return Listing(tests, self.counts, {name_below(folder, name): why for name, why in self.reasons.items()})

    @property
    def ran(self) -> int:
        return self.counts.get(PASSED, 0) + self.counts.get(FAILED, 0)

    @property
    def collected(self) -> int:
        return sum(self.counts.values())

    def summary(self) -> dict[str, int]:
        """The counts, as they stand in the evidence."""
        return {"collected": self.collected, **{name: self.counts[name] for name in OUTCOMES if self.counts.get(name)}}


def name_below(folder: str, test: str) -> str:
    """A test's name as it is from the repository's root; `folder` is where its runner ran, "" the root itself."""
    return f"{folder}/{test}" if folder and test.partition("::")[0].endswith(".py") else test


def number_of_tests(evidence: Mapping[str, Any]) -> str:
    """How many tests ran before a story and with it, and how many of them failed without it; "" if no runner counted
    them."""
    tests = evidence.get("tests")
    after = tests.get("after") if isinstance(tests, Mapping) else None
    if not isinstance(tests, Mapping) or not isinstance(after, Mapping):
        return ""
    before, number = tests.get("before"), after.get("collected", 0)
    were = before.get("collected", 0) if isinstance(before, Mapping) else None
    out = sum(int(after.get(name) or 0) for name in ("skipped", "xfailed"))
    proof = tests.get("red_first")
    red = int(proof.get("number") or 0) if isinstance(proof, Mapping) else 0
    counts = f"{number} test{'' if number == 1 else 's'}{', as before' if were == number else ''}"
    counts = counts if were in (None, number) else f"{were} → {number} tests"
    counts += f" ({out} skipped)" if out else ""
    return counts + (f", {red} failed without the story" if red else "")


def parse_junit(data: bytes) -> Listing | None:
    """The tests of a JUnit report as pytest writes it (xunit1), or None if it is none."""
    if b"<!" in data[:1000].replace(b"<!--", b""):  # no document type, so no entities
        return None
    try:
        root = ElementTree.fromstring(data)  # noqa: S314 - what could expand was refused above
    except (ElementTree.ParseError, ValueError, RecursionError):
        return None
    tests: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for case in root.iter("testcase"):
        name, outcome = _name(case.attrib), _outcome(case)
        if not name:  # a test in which the session was ended (`pytest.exit`): it did not pass
            continue
        if _RANK[outcome] >= _RANK.get(tests.get(name, ""), -1):
            tests[name] = outcome
        skipped = case.find("skipped")
        if skipped is not None:
            reasons[name] = str(skipped.get("message") or "")[:200]
    return Listing.of(tests, reasons)


def _name(case: Mapping[str, str]) -> str:
    """pytest's own id: path::Class::name."""
    path, name, owner = case.get("file", ""), case.get("name", ""), case.get("classname", "")
    if not path:
        return "::".join(part for part in (owner, name) if part)[:_MOST_OF_A_NAME]
    module = re.sub(r"\.\w+$", "", path).replace("/", ".").replace("\\", ".")
    inherited = _INHERITED.fullmatch(owner)
    if inherited and not owner.startswith(module):  # the file is that of the class that the test was inherited from
        path, module = f"{inherited[1].replace('.', '/')}.py", inherited[1]
    inner = owner.removeprefix(module).strip(".") if owner.startswith(module) else ""
    return "::".join(part for part in (path, *inner.split("."), name) if part)[:_MOST_OF_A_NAME]


def _outcome(case: Any) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED
    skipped = case.find("skipped")
    if skipped is None:
        return PASSED
    return XFAILED if "xfail" in str(skipped.get("type")) else SKIPPED


def merged(listings: Sequence[Listing]) -> Listing:
    """What several checks said together: a test that ran in one of them ran."""
    tests: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for listing in listings:
        reasons |= listing.reasons
        for name, outcome in listing.tests.items():
            if _RANK[outcome] >= _RANK.get(tests.get(name, ""), -1):
                tests[name] = outcome
    counts = Counter(tests.values())
    for listing in listings:
        counts += Counter() if listing.tests else Counter(listing.counts)
    return Listing(tests, dict(counts), reasons)
