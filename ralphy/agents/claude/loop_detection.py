"""Recognises repetition: the output of tools, without what differs from run to run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from ralphy.agents.claude.activity import shorten
from ralphy.text.json_coerce import mapping_of, text_of

ERROR_LINES = 10
TAIL_CHARS = 4096

# What differs between two outputs of one error. Plain numbers stay: "11 failed" after "12 failed" is another error.
_VARYING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]"), ""),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?"), "<time>"),
    (re.compile(r"\b0x[0-9a-fA-F]+"), "<address>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|min|minutes?)\b"), "<duration>"),
    (re.compile(r"(?i)\b(pid|process|line|port)([ =:#]{1,3})\d+"), r"\1\2<number>"),
    (re.compile(r"(?<=[\w)\]]):\d+(?::\d+)?\b"), ":<line>"),
    (re.compile(r"\[\d+\]"), "[<number>]"),
    (re.compile(r"/tmp/[^\s'\":]+"), "/tmp/<path>"),  # noqa: S108 - a pattern, no file
)


def result_text(block: Mapping[str, Any]) -> str:
    """The end of a tool's output."""
    content = block.get("content")
    if isinstance(content, list):
        content = "\n".join(text_of(mapping_of(part).get("text")) or digest_of(part) for part in content)
    return text_of(content)[-TAIL_CHARS:]


def output_key(text: str) -> str:
    """A digest, equal for two outputs that differ only in times, addresses, and numbers of lines and processes."""
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return _digest(text)


def error_key(text: str) -> str:
    """The same digest of an error's last lines."""
    return output_key("\n".join(text.splitlines()[-ERROR_LINES:]))


def last_line(text: str) -> str:
    """The last line that is not empty, fit for display."""
    return next((line for line in map(shorten, reversed(text.splitlines())) if line), "")


def digest_of(value: object) -> str:
    """A digest, equal for equal values; "" for one that is nested too deep."""
    try:
        return _digest(repr(value))
    except RecursionError:
        return ""


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
