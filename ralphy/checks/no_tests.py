"""Whether a check ran no tests at all: then it is neither red nor a proof."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralphy.checks.failing_tests import failing_tests
from ralphy.checks.listing import Listing
from ralphy.checks.runner_output import tells_of_tests

_NONE_RAN = 5  # pytest's exit code when it collected nothing, and that of unittest since Python 3.12
_PYTEST = frozenset({"pytest", "py.test"})
_WORDS = re.compile(r"^(?:Ran 0 tests in |=* ?no tests ran in )", re.M)


def ran_none(argv: Sequence[str], code: int | None, output: str, listing: Listing | None) -> bool:
    """Did a check that ended with this code find nothing to run, and did nothing else fail in it?

    Its words alone say little: one of several suites may be empty, and an agent's test may print them. So the code has
    to be one that runners end with then, and nothing may tell of a test that ran.
    """
    if code not in (0, _NONE_RAN) or not (_WORDS.search(output) or (code and _names_pytest(argv))):
        return False
    has_run = listing is not None and listing.ran > 0
    return not has_run and not failing_tests(output) and not tells_of_tests(output)


def _names_pytest(argv: Sequence[str]) -> bool:
    """Is pytest what is called? Then its code says it, also where it is told to be quiet."""
    return any(word.rpartition("/")[2] in _PYTEST for word in argv)
