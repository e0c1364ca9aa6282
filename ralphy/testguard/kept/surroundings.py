"""What stands around the tests: which changed files may keep a check from saying no.

Whether it still can is asked by running it on tests that are made to fail, after a change of anything that is neither
code, nor a test, nor a document. In code and tests a few words by which they reach for their runner ask for that, too.
Only a file that takes a part of the runner's place speaks for itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.substance import is_test

# Files that are the runner's, or what runs it.
_RUNNERS = re.compile(
    r"(?:^|/)(?:\.?pytest\.ini|tox\.ini|(?:jest|vitest|vite|playwright|karma|cypress|ava)\.config\.\w+|\.mocharc(?:\.\w+)?"
    r"|(?:GNU)?[Mm]akefile|[^/]*\.mk|\.?[Jj]ustfile|Taskfile(?:\.dist)?\.ya?ml|noxfile\.py|Rakefile|\.npmrc"
    r"|\.cargo/config(?:\.toml)?|\.mvn/[^/]*|surefire[^/]*|junit-platform\.properties|\.bazelrc|phpunit\.xml(?:\.dist)?)$"
)
_SHADOWS = re.compile(
    r"(?:src/)?(?:(?:sitecustomize|usercustomize|pytest|_pytest|pluggy|unittest|nose|nose2|tox|coverage)"
    r"(?:\.py|/__init__\.py)|(?:.*/)?site-packages/.*\.pth)|(?:.*/)?(?:sitecustomize|usercustomize)\.py"
)
_ENCODING = re.compile(r"\bworking-tree-encoding=(\S+)", re.I)
# Words by which code reaches for its runner, or notices that it is under test.
_NOTICES = re.compile(
    r"\bPYTEST_\w+|['\"](?:_?pytest|unittest)\w*['\"]\s*(?:not\s+)?in\s"
    r"|\bsys\.modules(?:\.get\(|\[)\s*['\"](?:_?pytest|unittest)\b|\bos\._exit\b|\batexit\b.*\bexit|\bjunitxml\b"
    r"|\bralphy\W?reports|\bJEST_WORKER_ID\b|\bVITEST\b|\bNODE_TEST_CONTEXT\b|NODE_ENV\W{1,8}test\b|\btesting\.Testing\(\)"
    r"|\bflag\.Lookup\(\s*\"test|\bcfg!\(test\)|\bprocess\.(?:reallyExit|exitCode|on\(\s*['\"]exit)|\bsurefire\b"
    r"|\b(?:process\.exit|os\.Exit|System\.exit|process::exit)\(\s*0\s*\)|['\"]org\.junit\b",
)
# Words by which what stands beside the tests bends them: what a failure is, how it is reported, which tests there are.
_BENDS = re.compile(
    r"\b(?:def pytest_|pytest_plugins|force_result|force_exception|wasxfail|TestReport|failureException|_callTest)"
    r"|\b_pytest\.|\bsetattr\(\s*(?:unittest|pytest|builtins|item|rep)|\bbuiltins\W{1,6}AssertionError"
    r"|\b(?:TestCase|Item|Function|TestResult)\.(?!maxDiff|longMessage)\w+\s*=[^=]|\b(?:assert|expect)\b['\"]?\)?\.\w+\s*=[^=>]"
    r"|\bfunc TestMain\(|\b(?:global|globalThis)\.(?:expect|assert|test|it)\b|\bexpect\s*=[^=]"
    r"|\bcollect_ignore\w*|\bload_tests\b|^//go:build|^#!?\[cfg\(",
    re.M,
)
# What a product has no business with, but for assertions of its own.
_IMPORTS = re.compile(
    r"^\s*(?:import|from)\s+(?:unittest|_?pytest)\b|\brequire\(\s*['\"](?:node:)?(?:assert|test)\b"
    r"|^import .*\borg\.junit\b"
    r"|\bfrom\s+['\"](?:node:(?:assert|test)|vitest|chai|@jest/globals)\b|^\s*(?:import\s+)?\"testing\"",
    re.M,
)
# Tests in Go that are compiled on another system alone, by the name of their file.
_ELSEWHERE = re.compile(r"_(?:android|darwin|freebsd|ios|js|netbsd|openbsd|plan9|solaris|windows)(?:_\w+)?_test\.go$")
_CODE = (".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".go", ".rs", ".java", ".kt", ".rb",
         ".php", ".c", ".cc", ".cpp", ".h", ".hpp", ".cs", ".swift", ".scala", ".ex", ".sql", ".lua")  # fmt: skip
_SHOWN = (".md", ".rst", ".adoc", ".html", ".css", ".scss", ".svg", ".png", ".jpg", ".gif", ".pdf")
_DATA = re.compile(
    r"\.(?:txt|md|json\w*|ya?ml|toml|xml|html?|csv|tsv|snap|golden|expected|out|png|jpe?g|gif|svg|pdf|bin|gz)$"
)


def around(path: str, old: str | None, new: str | None, named: Collection[str]) -> list[Finding]:
    """What a reader should know of a changed file (None: it was not, or is not, there); `named` are the words of the
    checks' commands."""
    found = list(_attributes(path, old, new))
    if old is None and new is not None and _SHADOWS.fullmatch(path):
        found.append(Finding(Kind.RUNNER, f"{path} replaces a part of the runner"))
    if words := _words(path, old, new):
        said = ", ".join(dict.fromkeys(" ".join(word.split()) for word in words[:3]))
        found.append(Finding(Kind.EDITED, f"{path} notices or changes how tests are run ({said})"))
    if old != new and is_run(path, named):
        found.append(Finding(Kind.EDITED, path))
    return found


def may_deafen(path: str, old: str | None, new: str | None, named: Collection[str]) -> bool:
    """May a check be unable to say no after this change? Then it is asked."""
    is_plain = path.endswith((*_CODE, *_SHOWN)) or is_test(path)
    is_plain = is_plain and path.rpartition("/")[2] != "conftest.py"
    return not is_plain or is_run(path, named) or bool(around(path, old, new, named))


def is_run(path: str, named: Collection[str]) -> bool:
    """Does a check run this file, by its name or as the settings of its runner?"""
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    is_named = not is_test(path) and ({path, f"./{path}"} & set(named) or ("-m" in named and module in named))
    return bool(_RUNNERS.search(path) or is_named)


def untold(path: str, *, is_gone: bool) -> Finding:
    """What a change of a file among the tests means where no check names its tests, and nobody reads its language."""
    if is_gone and not _DATA.search(path):
        return Finding(Kind.REMOVED, f"{path} (a file of tests)")
    return Finding(Kind.EDITED, f"{path} (no check names its tests)")


def _attributes(path: str, old: str | None, new: str | None) -> Iterator[Finding]:
    """Another encoding of source: what is committed would not be what was tested."""
    for line in _added(old, new) if path.rpartition("/")[2] == ".gitattributes" else ():
        if (found := _ENCODING.search(line)) and not found[1].lower().startswith(("utf-16", "utf-32")):
            yield Finding(Kind.RUNNER, f"{path} makes Git commit different text than was tested ({line.strip()[:80]})")


def _words(path: str, old: str | None, new: str | None) -> list[str]:
    """New words by which code notices its runner, or bends it."""
    if not path.endswith(_CODE) or new is None:
        return []
    added = "\n".join(_added(old, new))
    is_beside = is_test(path) or "def pytest_" in new
    words = [found[0].strip() for pattern in (_NOTICES, _BENDS if is_beside else _IMPORTS)
             for found in pattern.finditer(added)]  # fmt: skip
    return [*words, *(found[0] for found in [_ELSEWHERE.search(path)] if found and old is None)]


def _added(old: str | None, new: str | None) -> list[str]:
    """The lines that `new` has and `old` has not."""
    return list((Counter((new or "").splitlines()) - Counter((old or "").splitlines())).elements())
