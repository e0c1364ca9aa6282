"""Does a change do anything? White space, comments and documents alone are not work."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ralphy.testguard.test_files import parsed

_LANGUAGES = """py pyx pyi js jsx mjs cjs ts tsx mts cts go rs java kt scala groovy clj cljs c h cc cpp cxx hpp hh m mm
    cs fs vb swift dart php rb ex exs erl hrl hs ml mli elm lua pl pm r jl nim zig cr d v sol cu f90 f95 pas ada adb ads
    sql"""
CODE = tuple(f".{ending}" for ending in _LANGUAGES.split())  # what a shell runs is none
DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".org", ".pdf")
_DOCUMENT_NAMES = ("readme", "license", "licence", "copying", "notice", "authors", "changelog", "contributing")
# Text by its ending, yet read by a program.
_NO_DOCUMENT = re.compile(r"(?:^|/)(?:cmakelists|robots|(?:[\w.-]*[_-])?(?:requirements|constraints)[\w.-]*)\.txt$")
_PYTHON = (".py", ".pyi", ".pyw")
_HASH = (".rb", ".sh", ".bash", ".yaml", ".yml", ".toml", ".mk", ".r", ".pl", ".ex", ".exs", ".cfg", ".ini", ".tf",
         ".cmake", "makefile", "dockerfile", "gemfile", "rakefile", ".gitignore", ".env", *_PYTHON)  # fmt: skip
_SLASH = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".java",
          ".kt", ".swift", ".cs", ".scala", ".php", ".dart", ".scss", ".proto", ".gradle", ".zig")  # fmt: skip
_DASH = (".sql", ".lua", ".hs", ".elm")
_INDENTED = (".yaml", ".yml", ".mk", ".pug", ".sass", ".haml", "makefile", *_PYTHON)  # it means something there
_MARKS = {**dict.fromkeys(_HASH, b"#"), **dict.fromkeys(_SLASH, b"//"), **dict.fromkeys(_DASH, b"--")}
_BLOCK = re.compile(rb"^[ \t]*/\*", re.M)
# Comments that a program obeys.
_DIRECTIVE = re.compile(
    rb"#!|# *(?:syntax|escape) *=|# *(?:frozen_string_literal|encoding|-\*-)|//go:|// *(?:\+build|@ts-)"
)
_STRING_MARKS = (b"'", b'"', b"`")
_TEST_NAME = re.compile(r"(?:^|[._-])(?:conf)?(?:tests?|spec)(?:[._-]|$)|(?:Tests?|Spec)\.\w+$")
_MANIFESTS = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|requirements[^/]*\.(?:txt|in)|Pipfile|tox\.ini|pytest\.ini|conftest\.py"
    r"|package\.json|tsconfig[^/]*\.json|(?:jest|vitest|vite|babel)\.config\.[^/]+|Cargo\.toml|go\.(?:mod|sum|work)"
    r"|pom\.xml|build\.gradle(?:\.kts)?|settings\.gradle(?:\.kts)?|Gemfile|composer\.json|mix\.exs|Package\.swift"
    r"|(?:GNU)?[Mm]akefile|CMakeLists\.txt|justfile|Taskfile\.ya?ml|[^/]*\.(?:lock|csproj|sln)|package-lock\.json"
    r"|pnpm-lock\.yaml|npm-shrinkwrap\.json|bun\.lockb|\.python-version|\.nvmrc|\.tool-versions)$"
)
_TEST_FOLDERS = ("test", "tests", "__tests__", "spec", "testdata")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after; None where it was not, or is no longer, there. Modes are git's octal strings."""

    path: str
    old: bytes | None
    new: bytes | None
    mode: str = "100644"


def digest_of(changes: Iterable[FileChange]) -> str:
    """What tells a change from others, whatever code it is made on: its files, and the lines that came and went."""
    rows = []
    for change in sorted(changes, key=lambda one: one.path):
        old, new = (Counter((data or b"").splitlines()) for data in (change.old, change.new))
        went, came = (sorted(lines.elements()) for lines in (old - new, new - old))
        rows.append((change.path, change.mode, change.old is None, change.new is None, went, came))
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:32]


def why_no_work(changes: Iterable[FileChange]) -> str:
    """Why the changes do not count as work on code; "" if at least one of them does."""
    kinds = set()
    for change in changes:
        kind = _kind(change)
        if kind == "code":
            return ""
        kinds.add(kind)
    return f"only {' and '.join(sorted(kinds))} changed" if kinds else "nothing changed"


def _kind(change: FileChange) -> str:
    if _is_document(change.path.lower()):
        return "documents"
    if change.old is None and change.new is None:
        return "code"
    old, new = _meaning(change.path, change.old or b""), _meaning(change.path, change.new or b"")
    return "white space or comments" if old == new else "code"


def _is_document(path: str) -> bool:
    name = path[path.rfind("/") + 1 :]
    return name in _DOCUMENT_NAMES or (path.endswith(DOCUMENTS) and not _NO_DOCUMENT.search(path))


def _meaning(path: str, data: bytes) -> object:
    """What is left of a file when its white space and comments are taken away; docstrings are code."""
    if b"\0" in data:
        return data
    name = path[path.rfind("/") + 1 :].lower()
    ending = name[name.rfind(".") :] if "." in name else name
    if ending in _PYTHON:
        tree = parsed(data)
        return data if tree is None else (data[:2] == b"#!" and data.splitlines()[0], ast.dump(tree))
    mark = _MARKS.get(ending, b"")
    if mark == b"//" or ending == ".css":
        data = _without_blocks(data)
    lines = (without_comment(line, mark) if mark else line for line in data.splitlines())
    plain = (line.rstrip() if ending in _INDENTED else _squeezed(line) for line in lines)
    return [line for line in plain if line.strip()]


def _squeezed(line: bytes) -> bytes:
    """With single spaces; white space in a line that holds a string may be a part of it."""
    return line.strip() if any(mark in line for mark in _STRING_MARKS) else b" ".join(line.split())


def _without_blocks(data: bytes) -> bytes:
    """Without the comments that begin a line and end with */, whatever stands behind them."""
    head, *parts = _BLOCK.split(data)
    return b"".join([head, *(part.partition(b"*/")[2] if b"*/" in part else part for part in parts)])


def without_comment(line: bytes, mark: bytes) -> bytes:
    """The line up to a mark after white space, unless the mark stands inside of a string."""
    at = 0
    while (at := line.find(mark, at)) >= 0:
        before = line[:at]
        is_mark = not before[-1:].strip() and not _DIRECTIVE.match(line, at)
        if is_mark and not any(before.count(quote) % 2 for quote in _STRING_MARKS):
            return before
        at += len(mark)
    return line


def is_test(path: str) -> bool:
    """Is it a file of tests, by its name or its folder?"""
    *folders, name = path.split("/")
    return any(folder.lower() in _TEST_FOLDERS for folder in folders) or bool(_TEST_NAME.search(name))


def is_manifest(path: str) -> bool:
    """Does a file say what is installed, or how: a manifest, a lock file, the configuration of a runner?"""
    return _MANIFESTS.search(path) is not None


def why_unsafe(path: str, mode: str, target: bytes = b"") -> str:
    """Why a changed entry may not be committed: a nested repository or a link out of this one."""
    if mode == "160000":
        return f"{path} is a nested repository"
    if mode == "120000" and _leaves(path, target.decode("utf-8", "replace")):
        return f"{path} is a link out of the repository"
    return ""


def _leaves(path: str, target: str) -> bool:
    """Up past the root, or up again after a name: that name may be a link that leads up itself."""
    depth, is_down = path.count("/"), False
    for part in target.split("/"):
        if part == "..":
            depth -= 1
            if is_down or depth < 0:
                return True
        elif part not in (".", ""):
            is_down = True
    return target.startswith("/")
