"""Spoiled lines: something else, never nothing else, and never what is no code."""

from __future__ import annotations

import pytest

from ralphy.testguard.spoil.mutants import mutants_of


@pytest.mark.parametrize(
    ("path", "line", "spoiled"),
    [
        ("a.py", "if a == b:\n    pass", "if a != b:"),
        ("a.py", "x = a + b", "x = a - b"),
        ("a.py", "if not a:\n    pass", "if a:"),
        ("a.py", "x = 10", "x = 11"),
        ("a.py", "x = 'a == b' or c", "x = 'a == b' and c"),
        ("a.go", "if n < 10 {", "if n >= 10 {"),
        ("a.js", "return a === b // ==", "return a !== b // =="),
        ("a.rs", "let ok = a && b;", "let ok = a || b;"),
    ],
)
def test_a_line_gets_one_usual_change(path: str, line: str, spoiled: str) -> None:
    found = mutants_of(path, line.encode())

    assert [(one.line, one.new) for one in found] == [(1, spoiled)]
    assert found[0].spoiled(line.encode()).decode().splitlines() == [spoiled, *line.splitlines()[1:]]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", '"""10 == 10\n\n1 + 1\n"""'),
        ("a.py", "# 1 == 2"),
        ("a.py", "import a1\nfrom b import c"),
        ("a.py", "@retry(3)\ndef a(): ..."),
        ("a.js", "/* 1 == 2\n 3 < 4 */ // 1 + 1"),
        ("a.ts", "let names: Map<string, number>"),
        ("a.c", "char *name;"),
        ("a.py", 'name = "it\'s 1 == 1"'),
        ("a.bin", "\udcff"),
    ],
)
def test_what_is_no_code_is_left_alone(path: str, text: str) -> None:
    assert mutants_of(path, text.encode("utf-8", "surrogateescape")) == []


def test_python_that_could_not_be_parsed_is_no_mutant() -> None:
    assert mutants_of("a.py", b"x = 1\ny = (2\n") == []
