"""Which tests a runner says have failed: read from its output, so that a red baseline can be named."""

from __future__ import annotations

import re

_PATTERNS = (
    re.compile(r"^(?:FAILED|ERROR) ([^\s]+(?:::[^\s]+)*)", re.M),  # pytest's short summary
    re.compile(r"^(?:FAIL|ERROR): (\S+ \([^)]+\))", re.M),  # unittest
    re.compile(r"^\s*--- FAIL: (\S+)", re.M),  # go test
    re.compile(r"^test (\S+) \.\.\. FAILED", re.M),  # cargo test
    re.compile(r"^\s*● (.+)$", re.M),  # jest
    re.compile(r"^\s*(?:×|FAIL)\s+(\S.*?)(?: \d+ ?ms)?$", re.M),  # vitest
    re.compile(r"^not ok \d+ - (.+)$", re.M),  # TAP, node --test
)
_MOST = 500


def failing_tests(output: str) -> tuple[str, ...]:
    """The names of the failing tests, in order and once each; empty when the runner names none."""
    for pattern in _PATTERNS:
        names = pattern.findall(output)
        if names:
            return tuple(dict.fromkeys(name.strip() for name in names))[:_MOST]
    return ()
