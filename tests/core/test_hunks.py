"""The parts of a change: each stands for itself, and all of them together are the change."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ralphy.testguard.read import test_parser
from ralphy.testguard.read.test_parser import parsed
from ralphy.testguard.spoil import statements
from ralphy.testguard.spoil.hunks import Hunk, hunks_of, without_all
from ralphy.testguard.substance import FileChange

_OLD = b"def a():\n    return 1\n"
_LINES = st.lists(st.sampled_from([b"a = 1\n", b"b = 2\n", b"\n", b"def f():\n", b"    return 3\n", b"# said\n"]))


Tree = dict[str, "Tree"]
PAY = b'''\
def pay(amount, rate):
    """Pays."""
    if amount < 0:
        raise ValueError(amount)
    elif amount == 0:
        log.info("nothing")
    else:
        amount += 1
    for _ in range(3):
        with lock:
            amount += 1
    try:
        return amount / rate
    except ZeroDivisionError:
        return None
'''
PAY_JS = b"""\
/** Pays. */
function pay(amount, rates) {
  if (amount < 0) throw new Error("no {");
  for (const rate of rates) {
    if (rate > 1 && list(rate)) {
      amount *= rate;
    } else {
      amount += 1;
    }
  }
  try {
    return send(amount);
  } catch (error) {
    return 0;
  }
}
"""
PAY_GO = b"""\
func Pay(amount int) (int, error) {
\tif paid, err := send(amount); err != nil {
\t\treturn 0, err
\t}
\tfor amount > 10 {
\t\tamount -= 10
\t}
\treturn amount, nil
}
"""
PAY_RS = b"""\
fn pay(amount: i64) -> i64 {
    if amount < 0 {
        return 0;
    }
    amount
}

#[cfg(test)]
mod tests {
    #[test]
    fn pays() {
        if true { assert_eq!(super::pay(1), 1); }
    }
}
"""


def places(old: bytes | None, new: bytes, path: str = "m.py") -> list[str]:
    return [hunk.place for hunk in hunks_of(FileChange(path, old, new))]


def tree(new: bytes, path: str, old: bytes = b"") -> Tree:
    def of(parts: Iterable[Hunk]) -> Tree:
        return {part.place.partition(":")[2]: of(part.within) for part in parts}

    return of(hunks_of(FileChange(path, old, new)))


def without(new: bytes, path: str, place: str) -> bytes:
    """A new file without one of its parts, at whatever depth."""
    open_ = list(hunks_of(FileChange(path, None, new)))
    for part in open_:
        if part.place == f"{path}:{place}":
            return part.taken_back(new)
        open_ += part.within
    raise AssertionError(place)


def test_functions_that_are_added_one_behind_the_other_are_parts_of_their_own() -> None:
    new = _OLD + b"\n\ndef b():\n    x = 2\n\n    return x\n\n\ndef c():\n    return 3\n"
    assert places(_OLD, new) == ["m.py:5-8", "m.py:11-12"]


def test_comments_docstrings_and_annotations_are_no_parts() -> None:
    said = b'"""What it is."""\ndef a() -> int:\n    # one\n    return 1\n'
    assert places(_OLD, said) == []
    assert places(_OLD, _OLD.replace(b"return 1", b"return 2")) == ["m.py:2"]


def test_a_line_before_many_equal_ones_is_a_part_alone() -> None:
    assert places(b"f()\n" * 300, b"g()\n" + b"f()\n" * 300) == ["m.py:1"]


def test_a_part_that_is_taken_back_leaves_what_was_there() -> None:
    new = b"def a():\n    return 2\n\n\ndef b():\n    return 3\n"
    first, second = hunks_of(FileChange("m.py", _OLD, new))
    assert b"return 1" in first.taken_back(new)
    assert b"def b" in first.taken_back(new)
    assert ast.unparse(ast.parse(second.taken_back(new))) == "def a():\n    return 2\n\ndef b():\n    pass"


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


def test_new_python_is_asked_from_inside() -> None:
    inner: Tree = {"3-4": {}, "8": {}, "9-11": {"10-11": {}}, "14-15": {}}
    assert tree(PAY, "m.py") == {"1-15": inner}
    assert tree(b"x = 1\n\n\n" + PAY, "m.py", b"x = 1\n") == {"4-18": tree(b"\n\n\n" + PAY, "m.py")["4-18"]}
    assert b'def pay(amount, rate):\n    """Pays."""\n    ' in without(PAY, "m.py", "1-15")
    assert b"    if amount < 0:\n        pass\n    elif" in without(PAY, "m.py", "3-4")
    assert b"    except ZeroDivisionError:\n        raise\n" in without(PAY, "m.py", "14-15")
    assert b"range(3):\n        pass\n    try" in without(PAY, "m.py", "10-11")


def test_what_says_nothing_is_no_part_and_every_other_leaves_python() -> None:
    silent = b"def a(x):\n    if x:\n        log.info(x)\n    try:\n        x += 1\n    except E:\n        raise\n"
    assert tree(silent, "m.py") == {"1-7": {}}
    assert tree(b"class A:\n    y = 1\n\n    def b(self):\n        raise NotImplementedError\n", "m.py") == {"1-5": {}}
    for module in (test_parser, statements):
        found = list(statements.without_each("m.py", Path(str(module.__file__)).read_bytes()))
        assert found and all(parsed(data) for _, _, data in found)


def test_new_code_with_braces_is_asked_from_inside_and_still_compiles() -> None:
    inner: Tree = {"3": {}, "4-10": {"5-7": {}, "7-9": {}}, "13-15": {}}
    assert tree(PAY_JS, "m.js") == {"2-16": inner}
    assert b"rates) { if (true) { return undefined; }" in without(PAY_JS, "m.js", "2-16")
    assert b'if ( false && (amount < 0) ) throw new Error("no {");' in without(PAY_JS, "m.js", "3")
    assert b"if ( true || (rate > 1 && list(rate)) ) {" in without(PAY_JS, "m.js", "7-9")
    assert b"of rates) { if (true) { break; }\n" in without(PAY_JS, "m.js", "4-10")
    assert b"catch (error) { if (true) { throw error; }\n" in without(PAY_JS, "m.js", "13-15")
    assert tree(b"class A {\n  pay(told = () => {}) {}\n  free() { return 0; }\n}\n", "m.js") == {"1-4": {"3": {}}}
    assert tree(PAY_GO, "m.go") == {"1-9": {"2-4": {}, "5-7": {}}}
    assert b"(_ int, _ error) { if true { return };" in without(PAY_GO, "m.go", "1-9")
    assert b"send(amount); false && (err != nil) {" in without(PAY_GO, "m.go", "2-4")
    assert b"for amount > 10 { if (true) { break; }" in without(PAY_GO, "m.go", "5-7")
    assert tree(PAY_RS, "m.rs") == {"1-6": {"2-4": {}}}
    assert b"-> i64 { if true { return Default::default(); }\n" in without(PAY_RS, "m.rs", "1-6")


def test_a_function_before_one_that_begins_or_ends_alike_is_new_as_a_whole() -> None:
    old = b"@a\ndef one(x):\n    y = x\n    return y\n\n\n@a\ndef two(x):\n    z = x\n    w = z\n    return y\n"
    new = old.replace(b"@a\ndef two", b"@a\ndef new(x):\n    if x:\n        x = 2\n    return y\n\n\n@a\ndef two")
    assert tree(new, "m.py", old) == {"7-11": {"9-10": {}}}


@given(old=_LINES, new=_LINES)
def test_taking_back_every_part_from_the_end_gives_the_old_program(old: list[bytes], new: list[bytes]) -> None:
    before, data = b"".join(old), b"".join(new)
    data = without_all(list(hunks_of(FileChange("m.txt.c", before, data))), data)
    assert _program(data) == _program(before)


def _program(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if line.strip()]
