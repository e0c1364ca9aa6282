"""The hunks of a change: each stands for itself, and all of them together are the change."""

from __future__ import annotations

import ast
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from ralphy.testguard.hunks import Hunk, hunks_of, is_changed_code
from ralphy.testguard.substance import FileChange

_OLD = b"def a():\n    return 1\n"
_LINES = st.lists(st.sampled_from(["a = 1\n", "b = 2\n", "\n", "def f():\n", "    return 3\n", "# said\n"]))
RUST = b"""\
fn pay(amount: i64) -> i64 {
    amount
}

#[cfg(test)]
mod tests {
    #[test]
    fn pays() {
        assert_eq!(super::pay(1), 1);
    }
}
"""


def hunks(old: bytes | None, new: bytes, path: str = "m.py") -> list[Hunk]:
    before, after = ((data or b"").decode().splitlines(keepends=True) for data in (old, new))
    return list(hunks_of(FileChange(path, old, new), "".join(unified_diff(before, after, n=0)).encode()))


def places(old: bytes | None, new: bytes, path: str = "m.py") -> list[str]:
    return [hunk.place for hunk in hunks(old, new, path)]


def test_blocks_that_are_added_one_behind_the_other_are_hunks_of_their_own() -> None:
    new = _OLD + b"\n\ndef b():\n    x = 2\n\n    return x\n\n\ndef c():\n    return 3\n"
    assert places(_OLD, new) == ["m.py:5-8", "m.py:11-12"]


def test_comments_and_docstrings_are_left_out() -> None:
    said = b'"""What it is."""\ndef a():\n    # one\n    return 1\n'
    assert places(_OLD, said) == []
    assert places(None, b'"""What it is."""\n\nfrom __future__ import annotations\n\n' + _OLD) == ["m.py:5-6"]
    assert places(_OLD, _OLD.replace(b"return 1", b"return 2")) == ["m.py:2"]


def test_a_hunk_that_is_taken_back_leaves_what_was_there() -> None:
    new = b"def a():\n    return 2\n\n\ndef b():\n    return 3\n"
    first, second = hunks(_OLD, new)
    assert b"return 1" in first.taken_back(new) and b"def b" in first.taken_back(new)
    assert ast.unparse(ast.parse(second.taken_back(new))) == "def a():\n    return 2"


def test_what_leaves_no_program_when_it_is_taken_back_is_left_out() -> None:
    assert places(_OLD, b"def a():\n    if True:\n        return 1\n") == ["m.py:2-3"]
    assert places(b"x = 1\ny = 2\n", b"x = (1,\n\n2)\ny = 2\n") == []


def test_what_is_taken_away_is_a_hunk_and_tests_of_rust_are_none() -> None:
    assert places(_OLD, b"") == ["m.py:1"]
    assert places(None, RUST, "m.rs") == ["m.rs:1-3"]


def test_tests_manifests_links_and_bytes_have_no_hunks() -> None:
    code = b"def test_a(): assert 1\n"
    assert is_changed_code(FileChange("a.py", None, code))
    for change in (FileChange("tests/test_a.py", None, code), FileChange("pyproject.toml", None, b"[project]\n"),
                   FileChange("logo.png", None, b"\0\1"), FileChange("a.py", None, b"b.py", "120000"),
                   FileChange("a.py", code, None, "")):  # fmt: skip
        assert not is_changed_code(change)


@given(old=_LINES, new=_LINES)
def test_taking_back_every_hunk_from_the_end_gives_the_old_program(old: list[str], new: list[str]) -> None:
    before, data = "".join(old).encode(), "".join(new).encode()
    for hunk in reversed(hunks(before, data, "m.txt.c")):
        data = hunk.taken_back(data)
    assert _program(data) == _program(before)


def _program(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if line.strip()]
