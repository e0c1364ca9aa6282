"""Can the checks still say no? They are run on tests that are made to fail, and must turn red.

That is asked when a story changed what runs the tests, or what reports on them: by running, so that no list of ways to
swallow a failure has to be complete. A check that names no tests and stays green is asked on broken code as well;
one that stayed green there before the story, too, never said no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.lane_use.trial import Told, try_tree
from ralphy.engine.workspace.changes import files_of, shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.lanes.probe import spoiled_files, spoiled_tree
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.read.test_parser import Case
from ralphy.testguard.read.text_test_parser import has_tests_beside_code
from ralphy.testguard.spoil.spoiled_tests import deaf, spoiled
from ralphy.testguard.substance import is_test

_MOST_FILES = 2_000
_MOST_BYTES = 2_000_000
_Spoil = Callable[[str], tuple[str, list[Case]]]


def deaf_checks(w: Workspace, candidate: Candidate, results: Sequence[CheckResult]) -> Iterator[Finding]:
    """A finding for each green check that does not turn red where it must."""
    commands = {check.name: check for check in w.checks}
    ways: list[_Spoil] = [lambda tree: _with_spoiled_tests(w, tree, results),
                          lambda tree: (_with_spoiled_sources(w, tree), [])]  # fmt: skip
    for result in results:
        check = commands.get(result.name)
        if check and result.is_green:
            w.say(f"  check {check.name} is run on tests that are made to fail")
            found = _by_name(w, candidate, check, result, ways[0])
            yield from _as_a_whole(w, candidate, check, ways) if found is None else found


def can_hear_tests(w: Workspace, candidate: Candidate, results: Sequence[CheckResult]) -> bool:
    """Does a green check turn red when the tests are made to fail? One that does not runs none of them, as a linter."""
    commands = {check.name: check for check in w.checks}
    tree, _ = _with_spoiled_tests(w, candidate.tree, results)
    asked = (_ask(w, commands[one.name], tree) for one in results if one.is_green and one.name in commands)
    return any(told is not None and not told.is_green for told in asked)


def _by_name(
    w: Workspace, candidate: Candidate, check: Check, result: CheckResult, spoil: _Spoil
) -> list[Finding] | None:
    """What a check says of its tests that are made to fail; None if it names none of them."""
    tree, cases = spoil(candidate.tree)
    if not (result.listing and any(Key.of(test).means(case) for case in cases for test in result.listing.tests)):
        return None
    told = _ask(w, check, tree)
    if told is None:
        return [Finding(Kind.EDITED, f"check {check.name} comes to no end on tests that are made to fail")]
    passing = deaf(result.listing, told.listing, cases) if told.listing else []
    if passing:
        return [Finding(Kind.RUNNER, f"{test} passes although it is made to fail") for test in passing]
    is_deaf = [Finding(Kind.RUNNER, f"check {check.name} passes although its tests are made to fail")]
    return is_deaf if told.is_green else []


def _as_a_whole(w: Workspace, candidate: Candidate, check: Check, ways: Sequence[_Spoil]) -> list[Finding]:
    """What a check that names no tests says of them, and of sources that cannot work, if it said no before."""
    for spoil in ways:
        now = _ask(w, check, spoil(candidate.tree)[0])
        if now and not now.is_green:
            continue
        before = _ask(w, check, spoil(candidate.green)[0])
        if before and not before.is_green:
            return [Finding(Kind.RUNNER, f"check {check.name} passes on broken code since the story")]
    return []


def _ask(w: Workspace, check: Check, tree: str) -> Told | None:
    return try_tree(w, tree, check, argv(check), "probe")


def _with_spoiled_sources(w: Workspace, tree: str) -> str:
    paths = [path for path, _ in files_of(w, tree)]
    excluded = (w.config.project.features_dir,)
    return spoiled_tree(w.objects, tree, spoiled_files(paths, [check.run for check in w.checks], excluded))


def _with_spoiled_tests(w: Workspace, tree: str, results: Sequence[CheckResult]) -> tuple[str, list[Case]]:
    """The tree with tests that fail, and which tests these are."""
    places = {Key.of(test).path for result in results if result.listing for test in result.listing.tests} - {""}
    found: list[Case] = []
    texts: dict[str, bytes] = {}
    modes: dict[str, str] = {}
    for path, entry in files_of(w, tree):
        if not (is_test(path) or path in places or has_tests_beside_code(path)) or len(texts) >= _MOST_FILES:
            continue
        data = w.objects.read(entry.oid) if entry.mode.startswith("100") else None
        text, cases = spoiled(shown(path), data) if data and len(data) <= _MOST_BYTES else (b"", [])
        if cases:
            found += cases
            texts[path], modes[path] = text, entry.mode
    oids = w.objects.write_blobs(texts)
    return w.objects.graft(tree, {path: Entry(modes[path], oid) for path, oid in oids.items()}), found
