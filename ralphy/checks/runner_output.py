"""Which tests a runner says have run: read from its output, for runners that Ralphy cannot ask for a report.

A runner that names each test is believed only when the names are as many as its own summary says: output is bounded,
and what was cut must not look like tests that are gone. Then, and of runners that name none, the numbers count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ralphy.checks.listing import FAILED, OUTCOMES, PASSED, SKIPPED, XFAILED, Listing

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TIME = r"(?: \(?[\d.]+ ?m?s\)?)?"
_UNITTEST = r"^(\w+ \([\w.]+\))(?:\n(?!\w+ \([\w.]+\)).*?|.*?)"  # the first line of a docstring may follow
# of node, what closes a suite looks like a test of its name
_SUITE = re.compile(
    rf"^ *▶ (.+?){_TIME}$|^ *(?:not )?ok \d+ - (.+)\n( +)---\n(?:\3(?!\.\.\.)[^\n]*\n)*?\3type: 'suite'$", re.M
)
_Patterns = Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Runner:
    """`summary` finds the lines that count, `counts` the numbers in them, `names` the lines of single tests.

    With `is_summed`, there is a summary for each part, and all count; else the last one does.
    """

    name: str
    summary: re.Pattern[str]
    counts: _Patterns
    names: _Patterns
    is_summed: bool = False


def _patterns(**rows: str) -> _Patterns:
    return {outcome: re.compile(pattern, re.M) for outcome, pattern in rows.items()}


# jest and vitest count in the same words.
_COUNTS = _patterns(passed=r"(\d+) passed", failed=r"(\d+) failed", skipped=r"(\d+) (?:skipped|todo)")
RUNNERS = (
    Runner(
        "cargo test",
        re.compile(r"^test result: .*$", re.M),
        _patterns(passed=r"(\d+) passed", failed=r"(\d+) failed", skipped=r"(\d+) ignored"),
        _patterns(passed=r"^test (.+?) \.\.\. ok$", failed=r"^test (.+?) \.\.\. FAILED$",
                  skipped=r"^test (.+?) \.\.\. ignored"),
        is_summed=True,
    ),
    Runner(
        "go test -v",
        re.compile(r"^(?:=== RUN|[ \t]*--- (?:PASS|FAIL|SKIP): ).*$", re.M),
        _patterns(passed=r"--- (PASS)", failed=r"--- (FAIL)", skipped=r"--- (SKIP)"),
        _patterns(passed=r"^[ \t]*--- PASS: (\S+)", failed=r"^[ \t]*--- FAIL: (\S+)",
                  skipped=r"^[ \t]*--- SKIP: (\S+)"),
        is_summed=True,
    ),
    Runner(
        "vitest",
        re.compile(r"^ *Tests +\d.*\(\d+\)$", re.M),
        _COUNTS,
        _patterns(passed=rf"^ *✓ (.+? > .+?){_TIME}$", failed=rf"^ *(?:×|✗) (.+? > .+?){_TIME}$",
                  skipped=r"^ *↓ (.+? > .+?)$"),
    ),
    Runner(
        "jest",
        re.compile(r"^Tests: .*\d+ total$", re.M),
        _COUNTS,
        _patterns(passed=rf"^ *✓ (.+?){_TIME}$", failed=rf"^ *✕ (.+?){_TIME}$",
                  skipped=r"^ *[○✎] (?:skipped |todo )?(.+)$"),
    ),
    Runner(
        "node --test",
        re.compile(r"^(?:ℹ|#) (?:pass|fail|skipped|todo) \d+$", re.M),
        _patterns(passed=r"pass (\d+)", failed=r"fail (\d+)", skipped=r"(?:skipped|todo) (\d+)"),
        _patterns(passed=rf"^ *(?:✔|ok \d+ -) (?!.* # (?:SKIP|TODO))(.+?){_TIME}$",
                  failed=rf"^ *(?:✖|not ok \d+ -) (?!failing tests:|.* # (?:SKIP|TODO))(.+?){_TIME}$",
                  skipped=rf"^ *(?:﹣|✔|✖|⚠|(?:not )?ok \d+ -) (.+?){_TIME} # (?:SKIP|TODO).*$"),
        is_summed=True,
    ),
    Runner(
        "unittest",
        re.compile(r"^Ran \d+ tests? in .*$|^(?:OK|FAILED)(?: \(.*\))?$", re.M),
        _patterns(passed=r"Ran (\d+)", failed=r"(?:failures|errors)=(\d+)", skipped=r"skipped=(\d+)",
                  xfailed=r"expected failures=(\d+)"),
        _patterns(passed=rf"{_UNITTEST} \.\.\. ok$", failed=rf"{_UNITTEST} \.\.\. (?:FAIL|ERROR)$",
                  skipped=rf"{_UNITTEST} \.\.\. skipped", xfailed=rf"{_UNITTEST} \.\.\. expected failure$"),
    ),
    Runner(
        "pytest",
        re.compile(r"^=* ?\d+ (?:passed|failed|skipped|xfailed).* in [\d.]+s.*$", re.M),
        _patterns(passed=r"(\d+) (?:passed|xpassed)", failed=r"(\d+) (?:failed|errors?)", skipped=r"(\d+) skipped",
                  xfailed=r"(\d+) xfailed"),
        {},
    ),
)  # fmt: skip


def read_output(output: str) -> Listing | None:
    """What a runner's output says of its tests, or None if no runner that is known wrote it."""
    plain = _COLOURS.sub("", output).replace("\r\n", "\n")
    for runner in RUNNERS:
        lines = runner.summary.findall(plain)
        if lines:
            return _listing(runner, plain, lines)
    return None


def tells_of_tests(output: str) -> bool:
    """Does any summary of any runner in it count a test that ran, also one before the last?"""
    plain = _COLOURS.sub("", output).replace("\r\n", "\n")
    return any(_adds_up(runner, lines) for runner in RUNNERS if (lines := runner.summary.findall(plain)))


def _adds_up(runner: Runner, lines: list[str]) -> bool:
    return any(_counts(runner, [line]).keys() & {PASSED, FAILED} for line in lines)


def _listing(runner: Runner, output: str, lines: list[str]) -> Listing:
    counts = _counts(runner, lines)
    tests: dict[str, str] = {}
    for outcome in OUTCOMES:
        pattern = runner.names.get(outcome)
        for name in pattern.findall(output) if pattern else ():
            tests[named(name.strip())] = outcome
    suites = {a or b for a, b, _ in _SUITE.findall(output)} if runner.name == "node --test" else set()
    for named_ones in ({name: tests[name] for name in tests if name not in suites}, tests):
        if named_ones and Counter(named_ones.values()) == counts:
            return Listing.of(named_ones)
    return Listing({}, dict(counts))


def named(name: str) -> str:
    """unittest's `test_a (tests.test_x.TestY.test_a)` as an id with a path; others as they are."""
    found = re.fullmatch(r"(\w+) \((\w[\w.]*)\)", name)
    if not found:
        return name.replace("\0", "")
    *module, owner = found[2].removesuffix(f".{found[1]}").split(".")
    return f"{'/'.join(module)}.py::{owner}::{found[1]}" if module else name


def _counts(runner: Runner, lines: list[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    # unittest's summary are two lines; of others a single one counts, the last.
    taken = lines if runner.is_summed else lines[-2:] if runner.name == "unittest" else lines[-1:]
    for outcome, pattern in runner.counts.items():
        for line in taken:
            counts[outcome] += sum(int(n) if n.isdigit() else 1 for n in pattern.findall(line))
    if runner.name == "unittest":  # its number of tests has all of them
        counts[PASSED] -= counts[FAILED] + counts[SKIPPED] + counts[XFAILED]
    return +counts
