"""`python -m bench.mutants [N]`: is it noticed when one point of what decides, judges or lands is wrong?

Each mutant is one random change, in a copy of the repository, against the tests that concern its module: one after the
other, the fastest first, until one fails.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
# A module (or a folder of them), and the files of tests that are to notice; the first row that fits counts.
TESTS = (
    ("ralphy/pipeline/decide.py", "core/test_decide core/test_side_by_side core/test_breaker core/test_termination"),
    ("ralphy/pipeline/preconditions.py", "core/test_decide core/test_side_by_side core/test_readiness "
                                         "core/test_breaker engine/test_breaker"),
    ("ralphy/pipeline/gates.py", "core/test_decide core/test_termination engine/test_gates"),
    ("ralphy/testguard/surroundings.py", "core/test_surroundings"),
    ("ralphy/testguard/test", "core/test_tests_kept engine/test_kept"),
    ("ralphy/testguard/hollow", "core/test_hollow"),
    ("ralphy/testguard/hunks.py", "core/test_hunks"),
    ("ralphy/testguard/substance.py", "core/test_substance core/test_hunks"),
    ("ralphy/testguard/suspicions.py", "core/test_suspicious"),
    ("ralphy/testguard", "core/test_tests_kept core/test_surroundings engine/test_kept engine/test_red_first"),
    ("ralphy/engine/verify/acceptance.py", "engine/test_acceptance"),
    ("ralphy/engine/verify/flakes.py", "engine/test_flakes"),
    ("ralphy/engine/verify/parts.py", "engine/test_parts cli/test_prove"),
    ("ralphy/engine/verify/baseline", "engine/test_baseline engine/test_failing_checks engine/test_red_first"),
    ("ralphy/engine/verify/startable.py", "cli/test_doctor engine/test_baseline"),
    ("ralphy/engine/verify/suspicious_code.py", "engine/test_suspicious_code"),
    ("ralphy/engine/verify/verify.py", "engine/test_verdicts engine/test_claims engine/test_unverified "
                                       "engine/test_hooks engine/test_flakes engine/test_red_first"),
    ("ralphy/engine/verify/own_tests.py", "engine/test_red_first engine/test_kept"),
    ("ralphy/engine/verify/hollow_trees.py", "engine/test_red_first engine/test_kept"),
    ("ralphy/engine/verify/idle_tests.py", "engine/test_red_first engine/test_kept"),
    ("ralphy/engine/verify/failures_reported.py", "engine/test_red_first engine/test_kept"),
    ("ralphy/engine/verify", "engine/test_old_tests engine/test_skipped_tests engine/test_cheats engine/test_kept"),
    ("ralphy/engine/feature/land.py", "engine/test_live_documents engine/test_moved_at_landing engine/test_recovery "
                                      "engine/test_crash_points engine/test_beside_a_person "
                                      "engine/test_documents_of_main engine/test_checkout_sync engine/test_gates"),
)  # fmt: skip
_OTHER = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.In: ast.NotIn, ast.Is: ast.IsNot}
_OPERATORS = {**_OTHER, **{other: one for one, other in _OTHER.items()}}
# Tests that take so many times as long as without a mutant come to no end: then it is noticed.
_PATIENCE, _LEAST_S = 3.0, 120.0


@dataclass(frozen=True, slots=True)
class Mutant:
    """The bytes from `begin` to `end` of a file become `text`."""

    path: str
    line: int
    begin: int
    end: int
    text: str

    def applied_to(self, data: bytes) -> bytes:
        return data[: self.begin] + self.text.encode() + data[self.end :]

    def as_diff(self, data: bytes) -> str:
        return f"{self.path}:{self.line}\n    - {data[self.begin : self.end].decode()}\n    + {self.text}"


def mutants_of(path: str, data: bytes) -> Iterator[Mutant]:
    """All mutants of a module. None of types, docstrings, what only a checker of types reads, parts of a text that
    people read, and `milestone`, at which only tests do something."""
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, text in _changes(ast.parse(data)):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or 1) - 1]
        yield Mutant(path, node.lineno, begin, end + (node.end_col_offset or 0), text)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """(a place, what stands there instead)."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = ast.Compare(node.left, [_OPERATORS[type(node.ops[0])]()], node.comparators)
        yield node, f"({ast.unparse(other)})"
    elif isinstance(node, ast.BoolOp):
        yield node, f"({ast.unparse(ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values))})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        others = [not node.value] if isinstance(node.value, bool) else [node.value + 1, node.value - 1]
        yield from ((node, f"({other})") for other in others)
    elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
        yield node, "return None"
    elif isinstance(node, ast.Raise | ast.AugAssign) or _is_bare_call(node):
        yield node, "pass"
    if isinstance(node, ast.If | ast.IfExp | ast.While) and "TYPE_CHECKING" not in ast.unparse(node.test):
        yield node.test, f"(not ({ast.unparse(node.test)}))"
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                is_searched = isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr)
                yield from _changes(child) if is_searched else ()


def _is_bare_call(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Is it a call whose result nobody uses?"""
    return type(node) is ast.Expr and type(node.value) is ast.Call and ".milestone(" not in ast.unparse(node)


def tests_of(path: str) -> list[str]:
    """The files of tests that are to notice a change of a module."""
    names = next((names for start, names in TESTS if path.startswith(start)), "")
    return [f"tests/{name}.py" for name in names.split()]


def fastest_first(place: Path, tests: Sequence[str]) -> tuple[list[str], float]:
    """The ids of the tests in these files, and how many seconds they took in all. SystemExit if one fails there."""
    report = place / "report.xml"
    if is_noticed(place, [*tests, f"--junitxml={report}"]):
        raise SystemExit(f"these tests fail without a mutant: {' '.join(tests)}")
    cases = [case for case in ElementTree.parse(report).iter("testcase") if case.find("skipped") is None]  # noqa: S314
    cases.sort(key=lambda case: float(case.get("time", 0)))
    ids = [f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}" for case in cases]
    return ids, sum(float(case.get("time", 0)) for case in cases)


def is_noticed(place: Path, tests: Sequence[str], most_s: float = 3600.0) -> bool:
    """Does a test fail there, or do they take more than this many seconds?"""
    env = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--hypothesis-profile=fast", *tests]
    quiet = subprocess.DEVNULL  # a pipe would wait for what a test leaves running
    with subprocess.Popen(words, cwd=place, env=env, stdout=quiet, stderr=quiet, start_new_session=True) as ran:
        try:
            return ran.wait(most_s) != 0
        except subprocess.TimeoutExpired:
            os.killpg(ran.pid, signal.SIGKILL)
            return True


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("number", nargs="?", type=int, default=20, metavar="N", help="how many mutants (20)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed has the same mutants (1)")
    parser.add_argument("--only", default="", metavar="PART", help="of modules whose path has this in it")
    options = parser.parse_args(words)
    names = (path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("ralphy/**/*.py")))
    every = [one for name in names if options.only in name and tests_of(name)
             for one in mutants_of(name, (ROOT / name).read_bytes())]  # fmt: skip
    chosen = random.Random(options.seed).sample(every, min(options.number, len(every)))  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder) / "copy"
        shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(".git", ".venv", ".cache", "build", "__pycache__"))
        survivors = _survivors(place, sorted(chosen, key=lambda one: one.path))
    noticed = f"{len(chosen) - len(survivors)} of {len(chosen)} mutants noticed; there are {len(every)}"
    sys.stdout.write("\n".join([*survivors, noticed, ""]))
    return 0


def _survivors(place: Path, chosen: Sequence[Mutant]) -> list[str]:
    """What no test noticed."""
    survivors, passing = list[str](), dict[tuple[str, ...], tuple[list[str], float]]()
    for number, one in enumerate(chosen, 1):
        tests, file = tuple(tests_of(one.path)), place / one.path
        if tests not in passing:
            passing[tests] = fastest_first(place, tests)
        ids, took_s = passing[tests]
        data = file.read_bytes()
        file.write_bytes(one.applied_to(data))
        noticed = is_noticed(place, ids, _LEAST_S + _PATIENCE * took_s)
        file.write_bytes(data)
        sys.stderr.write(f"{number} of {len(chosen)}: {'noticed' if noticed else 'SURVIVED'} {one.as_diff(data)}\n")
        survivors += [] if noticed else [one.as_diff(data)]
    return survivors


if __name__ == "__main__":
    sys.exit(main())
