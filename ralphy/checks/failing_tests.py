"""Which tests a runner says have failed: read from its output, so that a red baseline can be named."""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TIME = r"(?: \(?[\d.]+ ?m?s\)?)?"

_PATTERNS = (
    # pytest's short summary; a parameter may hold spaces, unittest's last line `FAILED (failures=1)` is none
    re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?|\S+\.\w+)(?: - .*)?$", re.M),
    re.compile(r"^(?:FAIL|ERROR): (\S+ \([^)]+\))", re.M),  # unittest
    re.compile(r"^[ \t]*--- FAIL: (\S+)", re.M),  # go test
    re.compile(r"^test (.+?) \.\.\. FAILED", re.M),  # cargo test
    re.compile(r"^ *● (?!Console$|Deprecation Warning|Validation Warning)(.+)$", re.M),  # jest
    re.compile(rf"^ *(?:×|FAIL)\s+(\S.*?){_TIME}$", re.M),  # vitest
    re.compile(rf"^ *✖ (?!failing tests:)(.+?){_TIME}$", re.M),  # node --test
    re.compile(r"^ *not ok \d+(?: -)? (?!.*# (?:TODO|SKIP))(.+)$", re.M | re.I),  # TAP
)
_MOST = 500


def failing_tests(output: str) -> tuple[str, ...]:
    """The names of the failing tests, in order and once each; empty when the runner names none."""
    plain = _COLOURS.sub("", output).replace("\r\n", "\n")
    for pattern in _PATTERNS:
        names = pattern.findall(plain)
        if names:
            return tuple(dict.fromkeys(name.strip() for name in names))[:_MOST]
    return ()
