"""The parts of a change: each stands for itself, and all of them together are the change."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from ralphy.testguard.hunks import hunks_of, without_all
from ralphy.testguard.substance import FileChange

_OLD = b"def a():\n    return 1\n"
_LINES = st.lists(st.sampled_from([b"a = 1\n", b"b = 2\n", b"\n", b"def f():\n", b"    return 3\n", b"# said\n"]))


def places(old: bytes | None, new: bytes, path: str = "m.py") -> list[str]:
    return [hunk.place for hunk in hunks_of(FileChange(path, old, new))]


def test_functions_that_are_added_one_behind_the_other_are_parts_of_their_own() -> None:
    new = _OLD + b"\n\ndef b():\n    x = 2\n\n    return x\n\n\ndef c():\n    return 3\n"
    assert places(_OLD, new) == ["m.py:5-10", "m.py:11-12"]


def test_comments_docstrings_and_annotations_are_no_parts() -> None:
    said = b'"""What it is."""\ndef a() -> int:\n    # one\n    return 1\n'
    assert places(_OLD, said) == []
    assert places(_OLD, _OLD.replace(b"return 1", b"return 2")) == ["m.py:2"]


def test_a_part_that_is_taken_back_leaves_what_was_there() -> None:
    new = b"def a():\n    return 2\n\n\ndef b():\n    return 3\n"
    first, second = hunks_of(FileChange("m.py", _OLD, new))
    assert b"return 1" in first.taken_back(new)
    assert b"def b" in first.taken_back(new)
    assert ast.dump(ast.parse(second.taken_back(new))) == ast.dump(ast.parse(b"def a():\n    return 2\n"))


def test_what_leaves_no_program_when_it_is_taken_back_is_no_part() -> None:
    new = b"def a():\n    if True:\n        return 1\n"
    assert places(_OLD, new) == ["m.py:2-3"]
    assert places(b"def a():\n    return 1\n", b"x = (\n    1,\n)\ndef a():\n    return 1\n") == ["m.py:1-3"]
    assert places(b"x = 1\ny = 2\n", b"x = (1,\n\n2)\ny = 2\n") == []


def test_tests_manifests_and_bytes_have_no_parts() -> None:
    assert places(None, b"def test_a(): assert 1\n", "tests/test_a.py") == []
    assert places(None, b"[project]\n", "pyproject.toml") == []
    assert places(None, b"\0\1", "logo.png") == []
    assert places(_OLD, b"", "m.py") == ["m.py:1"]


@given(old=_LINES, new=_LINES)
def test_taking_back_every_part_from_the_end_gives_the_old_program(old: list[bytes], new: list[bytes]) -> None:
    before, data = b"".join(old), b"".join(new)
    data = without_all(list(hunks_of(FileChange("m.txt.c", before, data))), data)
    assert _program(data) == _program(before)


def _program(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if line.strip()]
