"""A case: a candidate before its judges, what it changes, what they found so far, and the way to have checks run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import Claim
from ralphy.checks.listing import Listing
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.hooks import Hooked
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.lane_use.trial import try_tree, words_for
from ralphy.engine.verify.baseline_records import known_tests, listed, tests_of
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.pipeline.events import Purpose
from ralphy.pipeline.model import Story
from ralphy.testguard.findings import Finding, orders, sentences
from ralphy.testguard.red_first import RedFirst
from ralphy.testguard.substance import FileChange, is_test
from ralphy.testguard.test_files import WrittenTest, assertions_in, tests_in
from ralphy.testguard.test_keys import Key
from ralphy.text.plain_text import as_utf8

# Words of a command that runs tests; `mvn test-compile` and `gradle testClasses` only compile them.
_TESTS = re.compile(r"test(?!-compile|Classes)")

_MOST_BYTES = 500_000  # of a file; what is larger is no source
MOST_REWRITTEN = 2_000  # files of a tree that is made to fail, or hollow


@dataclass(frozen=True, slots=True)
class AcceptanceResult:
    """What the acceptance tests said: `rows` for the evidence, `refused` the criteria whose tests did not pass, `lines`
    a sentence on each of these for the next attempt, `flags` what a reader should know."""

    rows: Sequence[dict[str, Any]] = ()
    refused: Sequence[str] = ()
    lines: Sequence[str] = ()
    flags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`failure` says why an attempt does not count ("" if it does); `question` is what a person must answer.

    `goes_on` says that the tree is worth keeping for the next attempt (heal in place), `lacks_report` that nothing
    else is wrong with it, `is_unproved` that no test could tell the difference. `tests` is what the evidence says of
    them, `acceptance` what the acceptance tests said.
    """

    outcome: Outcome
    failure: str = ""
    digest: str = ""
    checks: Sequence[CheckResult] = ()
    warnings: Sequence[str] = ()
    question: str = ""
    goes_on: bool = False
    candidate: Candidate | None = None
    tests: Mapping[str, Any] = field(default_factory=dict)
    acceptance: AcceptanceResult = field(default_factory=AcceptanceResult)
    lacks_report: bool = False
    is_unproved: bool = False

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.SUCCEEDED and not self.failure


@dataclass(frozen=True, slots=True)
class Change(FileChange):
    """A changed file with its entries in both trees (None: it is not there). Without bytes where it is a link, too
    large for source, or only its mode changed."""

    was: Entry | None = None
    now: Entry | None = None

    @property
    def name(self) -> str:
        """The path as text."""
        return as_utf8(self.path)

    @property
    def old_text(self) -> str | None:
        return None if self.old is None else self.old.decode("utf-8", "replace")

    @property
    def new_text(self) -> str | None:
        return None if self.new is None else self.new.decode("utf-8", "replace")


def changes_of(w: Workspace, candidate: Candidate) -> Iterator[Change]:
    """What a candidate changes, file by file."""
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        is_mode = was is not None and now is not None and was.oid == now.oid
        old, new = (None if is_mode else source_of(w, entry) for entry in (was, now))
        yield Change(path, old, new, now.mode if now else "", was, now)


def source_of(w: Workspace, entry: Entry | None) -> bytes | None:
    """The bytes of a file that is neither a link nor too large for source."""
    data = w.objects.read(entry.oid) if entry and entry.mode.startswith("100") else None
    return data if data is not None and len(data) <= _MOST_BYTES else None


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """The files that listings name tests in; a runner in a folder of its own names the end of a path."""

    paths: frozenset[str]

    @classmethod
    def of(cls, listings: Iterable[Listing | None]) -> ListedFiles:
        return cls(frozenset(Key.of(test).path for one in listings if one for test in one.tests) - {""})

    def has(self, path: str) -> bool:
        parts = path.split("/")
        return any("/".join(parts[number:]) in self.paths for number in range(len(parts)))


@dataclass
class Case:
    """What is judged, and what its judges have found so far.

    `known_red` tests failed before. `flagged` and `notes` do not speak against it, `evidence` is what the story records
    of its tests. `own` is what the story's own tests prove, `late` how many runs had come to no end before, `went_back`
    how often no test proved it.
    """

    w: Workspace
    story: Story
    result: AgentResult
    claim: Claim
    hooked: Hooked
    known_red: frozenset[str]
    went_back: int = 0
    checks: Sequence[CheckResult] = ()
    flagged: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    own: RedFirst | None = None
    acceptance: AcceptanceResult = field(default_factory=AcceptanceResult)
    late: int = field(default_factory=lambda: len(subject().late))

    @property
    def candidate(self) -> Candidate:
        """As the hook left it, once that was run."""
        return self.hooked.candidate

    @property
    def green(self) -> str:
        """The tree of the last green commit."""
        return self.candidate.green

    @property
    def tree(self) -> str:
        return self.candidate.tree

    def take(self, hooked: Hooked) -> None:
        """What the hook left is the candidate from here on."""
        self.hooked = hooked
        for name in ("changes", "written", "assertions"):
            self.__dict__.pop(name, None)

    @cached_property
    def changes(self) -> Sequence[Change]:
        """What the candidate changes; it is read once."""
        return list(changes_of(self.w, self.candidate))

    @cached_property
    def written(self) -> tuple[Sequence[WrittenTest], Sequence[WrittenTest]]:
        """The tests that are written in the changed files, as they were and as they are."""
        rows = [(tests_in(one.name, one.old or b""), tests_in(one.name, one.new or b"")) for one in self.changes]
        return [test for old, _ in rows for test in old], [test for _, new in rows for test in new]

    def is_changed(self, key: Key) -> bool:
        """Is the file changed that a test stands in?"""
        return any(key.is_at(change.name) for change in self.changes)

    @cached_property
    def assertions(self) -> Mapping[str, tuple[int, int]]:
        """How many assertions each changed file of tests held, and holds."""
        return {one.name: (assertions_in(one.name, one.old), assertions_in(one.name, one.new))
                for one in self.changes if is_test(one.path) or self.places.has(one.path)}  # fmt: skip

    @property
    def results(self) -> list[CheckResult]:
        return [*self.hooked.results, *self.checks]

    @cached_property
    def before(self) -> dict[str, Listing] | None:
        """The tests that the checks listed for the last green commit, by check; None if somebody edited that list."""
        return known_tests(self.w, self.w.code_of(self.green))

    @property
    def asks_for_proof(self) -> bool:
        """Are the story's tests run without its code?"""
        return self.w.config.verify.unproved != "off" and self.story.kind != "docs"

    @cached_property
    def command_words(self) -> frozenset[str]:
        """The words of the checks' commands: what stands there among the story's changes is run by a check."""
        return frozenset(word for check in self.w.checks for word in argv(check))

    @cached_property
    def places(self) -> ListedFiles:
        """The files that the checks, once they ran, name tests in."""
        return ListedFiles.of(listed(self.checks).values())

    @property
    def testing(self) -> list[tuple[Check, CheckResult]]:
        """The checks that can be asked again, with their results on the candidate."""
        return checks_with_tests(self.w, self.checks)

    def ask(
        self, tree: str, check: Check, purpose: Purpose, files: Collection[str] = (),
        over: Mapping[str, bytes] = MappingProxyType({}),
    ) -> CheckResult | None:  # fmt: skip
        """What a check tells of a tree, on these files of tests alone where its runner can be asked for them; None if
        it could not be run, or came to no end. `over` are files that are in no tree."""
        words = words_for(self.w, check, sorted(files)) or argv(check)
        return try_tree(self.w, tree, check, words, purpose, over)

    def tree_with(self, tree: str, files: Mapping[str, tuple[Entry, bytes]]) -> str:
        """A tree with other bytes in these files; the modes are those of the entries."""
        oids = self.w.objects.write_blobs({path: data for path, (_, data) in files.items()})
        return self.w.objects.graft(tree, {path: Entry(files[path][0].mode, oid) for path, oid in oids.items()})

    def weigh(self, findings: Sequence[Finding], *, only_flags: bool = False) -> Verdict | None:
        """The verdict of the findings that reject, by the setting of their kind; the others are flagged."""
        verify = self.w.config.verify
        rejected = [one for one in findings if not only_flags and getattr(verify, one.kind.value) == "reject"]
        self.flagged += [one for one in findings if one not in rejected]
        return self.no("; ".join(sentences(rejected)), orders(rejected), goes_on=True) if rejected else None

    def no(
        self, why: str, digest: str = "", *, outcome: Outcome = Outcome.REJECTED, goes_on: bool = False, asks: str = ""
    ) -> Verdict:
        """The verdict that ends the case."""
        return Verdict(outcome, why, digest or why, self.results, (), asks, goes_on, self.candidate, self.evidence,
                       self.acceptance)  # fmt: skip


def checks_with_tests(w: Workspace, results: Sequence[CheckResult]) -> list[tuple[Check, CheckResult]]:
    """The checks that run tests, with their results: green, or red by tests alone that are known or flaky; if no green
    one is known to run any, all green ones."""
    by_name = {check.name: check for check in w.checks}
    pairs = [(by_name[result.name], result) for result in results if result.name in by_name]
    green = [pair for pair in pairs if pair[1].is_green]
    run_tests = [pair for pair in green if pair[1].listing or any(map(_TESTS.search, argv(pair[0])))]
    return [*(run_tests or green), *(pair for pair in pairs if not pair[1].is_green and tests_of(pair[1]))]
