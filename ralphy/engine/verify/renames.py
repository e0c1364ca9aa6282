"""Which files of tests are as they were, but for names that the story gave to its code?"""

from __future__ import annotations

from ralphy.engine.verify.case import Case, Change
from ralphy.testguard.kept.new_names import NewNames
from ralphy.testguard.substance import is_manifest, is_test


def renames_only(c: Case) -> frozenset[str]:
    """The paths of the files of tests that only follow new names."""
    code = [one for one in c.changes if not (is_test(one.path) or is_manifest(one.path))]
    names = NewNames.of((one.name, one.old_text, one.new_text) for one in code)
    return frozenset(one.path for one in c.changes if _explains(names, one))


def _explains(names: NewNames, change: Change) -> bool:
    old, new = change.old_text, change.new_text
    return old is not None and new is not None and names.explain(old, new)
