"""What a runner's output says of its tests: which have run, which have failed, and whether there were none.

It is read of runners that Ralphy cannot ask for a report. A runner that names each test is believed only when the names
are as many as its own summary says: output is bounded, and what was cut must not look like tests that are gone. Then,
and of runners that name none, the numbers count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ralphy.checks.listing import FAILED, OUTCOMES, PASSED, SKIPPED, XFAILED, Listing

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TIME = r"(?: \(?[\d.]+ ?m?s\)?)?"
_UNITTEST = r"^([\w.]+ \([\w.]+\))(?:\n(?![\w.]+ \([\w.]+\)).*?|.*?)"  # the first line of a docstring may follow
# unittest counts each part of a test that failed (`subTest`), below the test's own line
_SUBTEST = re.compile(r"^  (\w+ \([\w.]+\)) .*\.\.\. (?:FAIL|ERROR)$", re.M)
# of node, what closes a suite looks like a test of its name
_SUITE = re.compile(
    rf"^ *▶ (.+?){_TIME}$|^ *(?:not )?ok \d+ - (.+)\n( +)---\n(?:\3(?!\.\.\.)[^\n]*\n)*?\3type: 'suite'$", re.M
)
_OF_CTEST = r"^ *\d+/\d+ Test +#\d+: (.+?) \.{2,}"
_FAILED = (
    # pytest's short summary; a parameter may hold spaces, unittest's last line `FAILED (failures=1)` is none
    re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?|\S+\.\w+)(?: - .*)?$", re.M),
    re.compile(r"^(?:FAIL|ERROR): (\S+ \([^)]+\))", re.M),  # unittest
    re.compile(r"^[ \t]*--- FAIL: (\S+)", re.M),  # go test
    re.compile(r"^test (.+?) \.\.\. FAILED", re.M),  # cargo test
    re.compile(r"^ *● (?!Console$|Deprecation Warning|Validation Warning)(.+)$", re.M),  # jest
    re.compile(rf"^ *(?:×|FAIL)\s+(\S.*?){_TIME}$", re.M),  # vitest
    re.compile(rf"^ *✖ (?!failing tests:)(.+?){_TIME}$", re.M),  # node --test
    re.compile(r"^ *not ok \d+(?: -)? (?!.*# (?:TODO|SKIP))(.+)$", re.M | re.I),  # TAP
    re.compile(rf"{_OF_CTEST} *\*\*\*(?!Skipped|Not Run \(Disabled\))", re.M),
    re.compile(r"^\[ +FAILED +\] (\S+) \(\d+ ms\)$", re.M),  # googletest
)
_MOST_FAILED = 500
_NONE_RAN = 5  # pytest's exit code when it collected nothing, and that of unittest since Python 3.12
_SAYS_NONE_RAN = re.compile(r"^(?:Ran 0 tests in |=* ?no tests ran in )", re.M)
_Patterns = Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class CheckRunner:
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
    CheckRunner(
        "cargo test",
        re.compile(r"^test result: .*$", re.M),
        _patterns(passed=r"(\d+) passed", failed=r"(\d+) failed", skipped=r"(\d+) ignored"),
        _patterns(passed=r"^test (.+?) \.\.\. ok$", failed=r"^test (.+?) \.\.\. FAILED$",
                       skipped=r"^test (.+?) \.\.\. ignored"),
        is_summed=True,
    ),
    CheckRunner(
        "go test -v",
        re.compile(r"^(?:=== RUN|[ \t]*--- (?:PASS|FAIL|SKIP): ).*$", re.M),
        _patterns(passed=r"--- (PASS)", failed=r"--- (FAIL)", skipped=r"--- (SKIP)"),
        _patterns(passed=r"^[ \t]*--- PASS: (\S+)", failed=r"^[ \t]*--- FAIL: (\S+)",
                       skipped=r"^[ \t]*--- SKIP: (\S+)"),
        is_summed=True,
    ),
    CheckRunner(
        "vitest",
        re.compile(r"^ *Tests +\d.*\(\d+\)$", re.M),
        _COUNTS,
        _patterns(passed=rf"^ *✓ (.+? > .+?){_TIME}$", failed=rf"^ *(?:×|✗) (.+? > .+?){_TIME}$",
                       skipped=r"^ *↓ (.+? > .+?)$"),
    ),
    CheckRunner(
        "jest",
        re.compile(r"^Tests: .*\d+ total$", re.M),
        _COUNTS,
        _patterns(passed=rf"^ *✓ (.+?){_TIME}$", failed=rf"^ *✕ (.+?){_TIME}$",
                       skipped=r"^ *[○✎] (?:skipped |todo )?(.+)$"),
    ),
    CheckRunner(
        "node --test",
        re.compile(r"^(?:ℹ|#) (?:pass|fail|skipped|todo) \d+$", re.M),
        _patterns(passed=r"pass (\d+)", failed=r"fail (\d+)", skipped=r"(?:skipped|todo) (\d+)"),
        _patterns(passed=rf"^ *(?:✔|ok \d+ -) (?!.* # (?:SKIP|TODO))(.+?){_TIME}$",
                       failed=rf"^ *(?:✖|not ok \d+ -) (?!failing tests:|.* # (?:SKIP|TODO))(.+?){_TIME}$",
                       skipped=rf"^ *(?:﹣|✔|✖|⚠|(?:not )?ok \d+ -) (.+?){_TIME} # (?:SKIP|TODO).*$"),
        is_summed=True,
    ),
    CheckRunner(
        "unittest",
        re.compile(r"^Ran \d+ tests? in .*$|^(?:OK|FAILED)(?: \(.*\))?$", re.M),
        _patterns(passed=r"Ran (\d+)", failed=r"(?:failures|errors)=(\d+)", skipped=r"skipped=(\d+)",
                       xfailed=r"expected failures=(\d+)"),
        _patterns(passed=rf"{_UNITTEST} \.\.\. ok$", failed=rf"{_UNITTEST} \.\.\. (?:FAIL|ERROR)$",
                       skipped=rf"{_UNITTEST} \.\.\. skipped", xfailed=rf"{_UNITTEST} \.\.\. expected failure$"),
    ),
    CheckRunner(
        "maven",
        re.compile(r"^(?:\[\w+\] +)?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+ *$", re.M),
        _patterns(passed=r"Tests run: (\d+)", failed=r"(?:Failures|Errors): (\d+)", skipped=r"Skipped: (\d+)"),
        {},
        is_summed=True,
    ),
    CheckRunner(
        "ctest",
        re.compile(r"^ *\d+/\d+ Test +#\d+: .+? \.{2,}.*$", re.M),
        _patterns(passed=r" (Passed) ", failed=r"\*\*\*(?!Skipped|Not Run \(Disabled\))(\w+)",
                       skipped=r"\*\*\*(Skipped|Not Run \(Disabled\))"),
        _patterns(passed=rf"{_OF_CTEST} +Passed ", failed=rf"{_OF_CTEST} *\*\*\*(?!Skipped|Not Run \(Disabled\))",
                       skipped=rf"{_OF_CTEST} *\*\*\*(?:Skipped|Not Run \(Disabled\))"),
        is_summed=True,
    ),
    CheckRunner(
        "googletest",
        re.compile(r"^\[ +(?:OK|FAILED|SKIPPED) +\] \S+ \(\d+ ms\)$", re.M),
        _patterns(passed=r"(OK) ", failed=r"(FAILED)", skipped=r"(SKIPPED)"),
        _patterns(passed=r"^\[ +OK +\] (\S+) \(", failed=r"^\[ +FAILED +\] (\S+) \(",
                       skipped=r"^\[ +SKIPPED +\] (\S+) \("),
        is_summed=True,
    ),
    CheckRunner(
        "pytest",
        re.compile(r"^=* ?\d+ (?:passed|failed|skipped|xfailed).* in [\d.]+s.*$", re.M),
        _patterns(passed=r"(\d+) (?:passed|xpassed)", failed=r"(\d+) (?:failed|errors?)", skipped=r"(\d+) skipped",
                       xfailed=r"(\d+) xfailed"),
        {},
    ),
)  # fmt: skip


def read_output(output: str) -> Listing | None:
    """What a runner's output says of its tests, or None if no runner that is known wrote it."""
    plain = _plain(output)
    for runner in RUNNERS:
        lines = runner.summary.findall(plain)
        if lines:
            return _listing(runner, plain, lines)
    return None


def failing_tests(output: str) -> tuple[str, ...]:
    """The names of the failing tests, in order and once each; empty when the runner names none."""
    plain = _plain(output)
    named = next(filter(None, (pattern.findall(plain) for pattern in _FAILED)), [])
    return tuple(dict.fromkeys(name.strip() for name in named))[:_MOST_FAILED]


def ran_none(argv: Sequence[str], code: int | None, output: str, listing: Listing | None) -> bool:
    """Did a check that ended with this code find nothing to run, and did nothing else fail in it?

    Its words alone say little: one of several suites may be empty, and an agent's test may print them. So the code has
    to be one that runners end with then, and nothing may tell of a test that ran. Where pytest is called, its code
    says it, also where it is told to be quiet.
    """
    is_pytest = any(word.rpartition("/")[2] in ("pytest", "py.test") for word in argv)
    if code not in (0, _NONE_RAN) or not (_SAYS_NONE_RAN.search(output) or (code and is_pytest)):
        return False
    has_run = listing is not None and listing.ran > 0
    return not has_run and not failing_tests(output) and not counts_tests_that_ran(output)


def counts_tests_that_ran(output: str) -> bool:
    """Does a summary of some runner, also one before the last, count a test that ran?"""
    plain, ran = _plain(output), {PASSED, FAILED}
    return any(_counts(runner, [line]).keys() & ran for runner in RUNNERS for line in runner.summary.findall(plain))


def _plain(output: str) -> str:
    return _COLOURS.sub("", output).replace("\r\n", "\n")


def _listing(runner: CheckRunner, output: str, lines: list[str]) -> Listing:
    parts = Counter(map(test_id, _SUBTEST.findall(output))) if runner.name == "unittest" else Counter[str]()
    counts = _counts(runner, lines, sum(parts.values()) - len(parts))
    tests: dict[str, str] = {}
    for outcome in OUTCOMES:
        pattern = runner.names.get(outcome)
        for name in pattern.findall(output) if pattern else ():
            tests[test_id(name.strip())] = outcome
    tests |= dict.fromkeys(parts, FAILED)
    suites = {a or b for a, b, _ in _SUITE.findall(output)} if runner.name == "node --test" else set()
    for named_ones in ({name: tests[name] for name in tests if name not in suites}, tests):
        if named_ones and Counter(named_ones.values()) == counts:
            return Listing.of(named_ones)
    return Listing({}, dict(counts))


def test_id(name: str) -> str:
    """unittest's `test_a (tests.test_x.TestY.test_a)` as an id with a path; others as they are."""
    match = re.fullmatch(r"(\w+) \((\w[\w.]*)\)", name)
    if not match:
        return name.replace("\0", "")
    *module, owner = match[2].removesuffix(f".{match[1]}").split(".")
    return f"{'/'.join(module)}.py::{owner}::{match[1]}" if module else name


def _counts(runner: CheckRunner, lines: list[str], twice: int = 0) -> Counter[str]:
    """The numbers of a summary; `twice` of the failures are further parts of tests that failed."""
    counts: Counter[str] = Counter({FAILED: -twice})
    # unittest's summary are two lines; of others a single one counts, the last.
    taken = lines if runner.is_summed else lines[-2:] if runner.name == "unittest" else lines[-1:]
    for outcome, pattern in runner.counts.items():
        for line in taken:
            counts[outcome] += sum(int(n) if n.isdigit() else 1 for n in pattern.findall(line))
    if runner.name in ("unittest", "maven"):  # their number of tests has all of them
        counts[PASSED] -= counts[FAILED] + counts[SKIPPED] + counts[XFAILED]
    return +counts
