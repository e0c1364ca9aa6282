"""Code of a story that looks made for its tests alone: what it answers, what it reads, and who calls it.

Of Python the syntax tree is read (`suspicious_python`), of JavaScript, TypeScript, Go, Java and Rust the text
(`suspicious_text`). What cannot be honest is certain; the rest is for a reader.
"""

from __future__ import annotations

from collections.abc import Iterable

from ralphy.testguard.substance import FileChange, is_manifest, is_test
from ralphy.testguard.written.suspicion import Surroundings, Suspicion
from ralphy.testguard.written.suspicious_python import of_python
from ralphy.testguard.written.suspicious_text import is_known, of_text


def suspicions(changes: Iterable[FileChange], around: Surroundings) -> list[Suspicion]:
    """What looks made for the tests in a story's changes, the certain first."""
    code = [change for change in changes if _is_product(change)]
    texts = {change.path: (change.new or b"").decode("utf-8", "replace") for change in code}
    found: list[Suspicion] = []
    for change in code:
        if change.path.endswith(".py"):
            found += of_python(change, around, texts)
        elif is_known(change.path):
            found += of_text(change, around, texts)
    return sorted(dict.fromkeys(found), key=lambda one: (not one.is_certain, one.path, one.line))


def _is_product(change: FileChange) -> bool:
    """Is it a changed file that may hold the product's code?"""
    return change.new is not None and not is_test(change.path) and not is_manifest(change.path)
