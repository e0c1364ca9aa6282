"""Red first: which tests pass with a story's code, and fail without it?

The idea is SWE-bench's FAIL_TO_PASS: a test that passes on the code of before as well cannot tell the difference, and
nor can one that passes there as soon as the new names exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ralphy.checks.listing import FAILED, PASSED
from ralphy.testguard.substance import is_manifest, is_test
from ralphy.testguard.test_files import WrittenTest, tests_beside_code
from ralphy.testguard.test_keys import Key


@dataclass(frozen=True, slots=True)
class RedFirst:
    """`tests` (or whole `checks`, which name none) fail without the story's code and pass with it; `blind` tests are
    the story's own, and pass without it as well. Without it means: the new `functions` exist, and do nothing. `hidden`
    says which failures were not heard there."""

    tests: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def is_proof(self) -> bool:
        return bool(self.tests or self.checks)

    @property
    def how(self) -> str:
        """What blind tests pass in spite of, as a sentence says it."""
        if not self.functions:
            return "without the story's code"
        name = self.functions[0].rpartition(".")[2] if len(self.functions) == 1 else ""
        return f"although {f'{name}() does' if name.isidentifier() else 'the new functions do'} nothing"


def goes_along(path: str) -> bool:
    """Does a changed file belong to the tests or to what runs them, so that it is laid over the code of before?"""
    return is_test(path) or is_manifest(path)


def with_tests_of(path: str, old: bytes, new: bytes) -> bytes | None:
    """A file as it was, with the tests that stand beside its code now; None if there are none."""
    was, now = (data.decode("utf-8", "replace") for data in (old, new))
    tests = now[tests_beside_code(path, now) :]
    return f"{was[: tests_beside_code(path, was)].rstrip()}\n\n{tests}".encode() if tests else None


def compared(
    now: Mapping[str, str],
    without: Mapping[str, str],
    there: Sequence[str],
    own: Sequence[WrittenTest],
    new: Collection[str] = (),
    *,
    is_red: bool,
) -> RedFirst:
    """What the tests of a green check (`now`) say on the code of before.

    `there` are those that pass and stand in the files that the story changed, or are `new`: only ran with the story,
    and may be written elsewhere, as a class inherits them. One of these that is missing counts as red if its file, or
    the whole check, could not be run. `own` are the tests that the story wrote or edited.
    """
    broken = {Key.of(test).path for test, outcome in without.items()
              if outcome == FAILED and Key.of(test).is_for_several}  # fmt: skip
    ran = {Key.of(test).path for test in without} - broken - {""}
    missing = {test for test in there if test not in without and is_red and Key.of(test).path not in ran}
    passing = [test for test, outcome in now.items() if outcome == PASSED]
    red = [test for test in passing if without.get(test) == FAILED or test in missing]
    green = [test for test in passing if without.get(test) == PASSED]
    return RedFirst(tuple(red), (), tuple(test for test in green if test in new or any(map(Key.of(test).means, own))))
