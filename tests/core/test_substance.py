"""Which changes are work: white space, comments and documents alone are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.testguard.substance import FileChange, digest_of, why_no_work, why_unsafe

SPACE = "only white space or comments changed"
DOCUMENTS = "only documents changed"


def change(path: str, old: str | None, new: str | None, mode: str = "100644") -> FileChange:
    return FileChange(path, None if old is None else old.encode(), None if new is None else new.encode(), mode)


# path, before, after
NO_WORK = {
    "python comment": ("a.py", "x = 1\n", "# one\nx = 1  # two\n"),
    "python white space": ("a.py", "x = [1,2]\n", "x = [\n    1,\n    2,\n]\n"),
    "python type comment": ("a.py", "x = 1\n", "x = 1  # type: ignore\n"),
    "python stub": ("a.pyi", "x: int\n", "# one\nx: int\n"),
    "an empty module": ("pkg/__init__.py", None, ""),
    "a module of comments": ("new.py", None, "# to be written\n"),
    "an empty module goes": ("pkg/__init__.py", "\n", None),
    "javascript comment": ("a.js", "f();\n", "// calls f\nf();  // so\n"),
    "javascript block comment": ("a.ts", "f();\n", "/**\n * Calls f.\n */\nf();\n"),
    "blank lines in go": ("a.go", "package a\n\nfunc f() {}\n", "package a\nfunc f() {}\n\n\n"),
    "rust indentation": ("a.rs", "fn f() {\n    g();\n}\n", "fn f() {\n  g();\n}\n"),
    "shell comment": ("run.sh", "#!/bin/sh\nmake\n", "#!/bin/sh\n# first\n  make # all\n"),
    "yaml comment": ("ci.yaml", "a: 1\nb: 2\n", "# first\na: 1 # one\n\nb: 2   \n"),
    "toml comment": ("pyproject.toml", "[a]\n", "[a] # b\n"),
    "makefile comment": ("Makefile", "a:\n\tb\n", "# c\na:\n\tb\n"),
    "dockerfile comment": ("docker/Dockerfile", "FROM a\n", "# b\nFROM a\n"),
    "sql comment": ("a.sql", "select 1;\n", "-- one\nselect  1;\n"),
    "trailing white space anywhere": ("data.json", '{"a": 1}', '{"a": 1} \n'),
    "line endings": ("a.c", "f();\ng();\n", "f();\r\ng();\r\n"),
}
WORK = {
    "python": ("a.py", "x = 1\n", "x = 2\n"),
    "python docstring": ("a.py", '"""Old."""\n', '"""New."""\n'),
    "python string that looks like a comment": ("a.py", 'x = """\n# a\n"""\n', 'x = """\n# b\n"""\n'),
    "python indentation": ("a.py", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n"),
    "python that does not parse": ("a.py", "x = (\n", "x = (  # a\n"),
    "python with a null byte": ("a.py", "x\0", "y\0"),
    "yaml indentation": ("ci.yml", "a:\n  b:\n    c: 1\n", "a:\n  b:\n  c: 1\n"),
    "yaml hash in a text": ("ci.yml", 'a: "x # y"\n', 'a: "x # z"\n'),
    "yaml hash in a word": ("ci.yml", "a: b#c\n", "a: b#d\n"),
    "makefile tab": ("Makefile", "a:\n\tb\n", "a:\n    b\n"),
    "javascript url": ("a.js", 'f("http://a")\n', 'f("http://b")\n'),
    "javascript text": ("a.js", "f(`a // b`)\n", "f(`a // c`)\n"),
    "css id": ("a.css", "a { color: #fff }\n", "a { color: #000 }\n"),
    "a glob is no comment": ("a.js", 'g("src/**/*.ts")\n', 'g("lib/**/*.ts")\n'),
    "code behind a block comment": ("a.c", "/* x */ f();\n", "/* x */ g();\n"),
    "an unclosed block comment": ("a.c", "/* x\nf();\n", "/* x\ng();\n"),
    "the program that runs a script": ("run.sh", "#!/bin/sh\nmake\n", "#!/bin/bash\nmake\n"),
    "the python that runs a script": ("a.py", "#!/usr/bin/python2\nf()\n", "#!/usr/bin/python3\nf()\n"),
    "what ruby obeys": ("a.rb", "f\n", "# frozen_string_literal: true\nf\n"),
    "what a build of an image obeys": ("Dockerfile", "FROM a\n", "# syntax=docker/dockerfile:1\nFROM a\n"),
    "white space inside of a text": ("a.js", 'x = "a  b"\n', 'x = "a b"\n'),
    "no comment in a style sheet": ("a.css", "a {}\n", "a {}\n// b { color: red }\n"),
    "a binary file": ("a.png", "\x89PNG\n\0\x01 \x02", "\x89PNG\n\0\x01\x0b\x02"),
    "what the go compiler obeys": ("a.go", "//go:embed a\n", "//go:embed b\n"),
    "a new file": ("a.go", None, "package a\n"),
    "a deleted file": ("a.go", "package a\n", None),
    "json": ("data.json", '{"a": 1}', '{"a": 2}'),
    "no ending": ("script", "a\n", "b\n"),
    "a hash where none is a comment": ("script", "# a\n", "# b\n"),
    "cmake is code": ("src/CMakeLists.txt", "a()\n", "b()\n"),
    "requirements are code": ("requirements.txt", "a\n", "a==1\n"),
    "more requirements": ("requirements/dev-requirements.txt", "a\n", "b\n"),
}
PAPERS = {
    "markdown": ("docs/a.md", "a", "b"),
    "upper case": ("README.MD", "a", "b"),
    "text": ("notes.txt", None, "a"),
    "a readme without an ending": ("README", "a", "b"),
    "a licence": ("sub/LICENSE", None, "MIT"),
    "its mode": ("docs/a.md", None, None),
}


@pytest.mark.parametrize("name", NO_WORK)
def test_white_space_and_comments_are_no_work(name: str) -> None:
    path, old, new = NO_WORK[name]
    assert why_no_work([change(path, old, new)]) == SPACE
    assert why_no_work([change(path, new, old)]) == SPACE


@pytest.mark.parametrize("name", [*WORK, *PAPERS])
def test_a_change_of_meaning_is_work_but_for_documents(name: str) -> None:
    path, old, new = {**WORK, **PAPERS}[name]
    assert why_no_work([change(path, old, new)]) == (DOCUMENTS if name in PAPERS else "")


def test_one_change_that_counts_is_enough_of_the_mode_too_and_bytes_are_compared_as_they_are() -> None:
    assert why_no_work([]) == "nothing changed"
    papers, spaces = change("a.md", "a", "b"), change("a.py", "x\n", "x  \n")
    assert why_no_work([papers, spaces]) == "only documents and white space or comments changed"
    assert why_no_work([papers, spaces, change("b.py", None, "x = 1\n")]) == ""
    assert why_no_work([FileChange("run.sh", None, None, "100755")]) == ""
    old, new = b"\x89PNG\r\n\x1a\n\x00\xff", b"\x89PNG\r\n\x1a\n\x00\xfe"
    assert why_no_work([FileChange("logo.png", old, new)]) == ""
    assert why_no_work([FileChange("a.py", old, new)]) == ""


@settings(deadline=None)
@given(st.sampled_from(["a.py", "a.js", "a.yml", "Makefile", "a.sql", "a", "a.json"]), st.binary(), st.binary())
def test_no_bytes_break_the_comparison(path: str, old: bytes, new: bytes) -> None:
    assert why_no_work([FileChange(path, old, new)]) in ("", SPACE)
    assert why_no_work([FileChange(path, old, old)]) == SPACE


@pytest.mark.parametrize("text", ["/*\n" * 60_000, "x // '" * 50_000, "(" * 50_000, "#" * 500_000])
def test_a_file_made_to_be_slow_is_compared_in_no_time(text: str) -> None:
    began = time.process_time()
    for path in ("a.js", "a.py", "a.sh"):
        why_no_work([change(path, text, f"{text}x")])
    assert time.process_time() - began < 5.0


OUT = [("a", "/etc/passwd"), ("a", ".."), ("a", "../b"), ("d/a", "../../b"), ("d/e/a", "../../../b"), ("a", "./../b"),
       ("a", "b/../../c"), ("a", "b/.."), ("d/a", "b/../c")]  # b may be a link to the root itself  # fmt: skip
WITHIN = [("a", "b"), ("a", "b/c"), ("d/a", "../b"), ("d/e/a", "../../b/c"), ("a", "./b"), ("a", "")]


def test_links_out_of_the_repository_and_nested_repositories_are_refused_and_nothing_else() -> None:
    for path, target in OUT:
        assert why_unsafe(path, "120000", target.encode()) == f"{path} is a link out of the repository"
    for path, target in WITHIN:
        assert (path, target, why_unsafe(path, "120000", target.encode())) == (path, target, "")
    assert why_unsafe("vendor/lib", "160000") == "vendor/lib is a nested repository"
    assert [why_unsafe("a", mode, b"/etc/passwd") for mode in ("100644", "100755")] == ["", ""]


def test_the_digest_of_a_change_is_the_one_that_earlier_landings_have_recorded() -> None:
    assert digest_of([change("a.py", "a\n", "b\n")]) == "bd6222415bbae2fd1ba96fa90f427b51"
