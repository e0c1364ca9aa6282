"""What stands around the tests: which changed files may keep a check from saying no.

Whether it still can is asked by running it on tests that are made to fail, after a change of anything that is neither
code, nor a test, nor a document, and of code that lies among the tests and holds none. A few words by which code that
is no test reaches for its runner ask for that, too. A file that replaces a part of the runner is rejected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.substance import CODE, is_test
from ralphy.testguard.test_files import is_readable, tests_in

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
# Words by which the product's code notices or ends its runner, writes the report in its place, or has an assertion
# library of its own.
_REACHES = re.compile(
    r"\bPYTEST_\w+|['\"](?:_?pytest|unittest)\w*['\"]\s*(?:not\s+)?in\s"
    r"|^[ \t]*(?:import|from)\s+(?:unittest|_?pytest)\b"
    r"|\bsys\.modules(?:\.get\(|\[)\s*['\"](?:_?pytest|unittest)\b|\bdef pytest_"
    r"|['\"]org\.junit\b|^import .*\borg\.junit\b"
    r"|\bJEST_WORKER_ID\b|\bVITEST\b|\bNODE_TEST_CONTEXT\b|NODE_ENV\W{1,8}test\b"
    r"|\brequire\(\s*['\"](?:node:)?(?:assert|test)\b"
    r"|\bfrom\s+['\"](?:node:(?:assert|test)|vitest|chai|@jest/globals)\b"
    r"|\btesting\.Testing\(\)|\bflag\.Lookup\(\s*\"test|^[ \t]*(?:import\s+)?\"testing\"|\bcfg!\(test\)"
    r"|\bos\._exit\b|\batexit\b.*\bexit|\bprocess\.(?:reallyExit|exitCode|on\(\s*['\"]exit)"
    r"|\b(?:process\.exit|os\.Exit|System\.exit|process::exit)\(\s*0\s*\)|\bjunitxml\b|\bralphy\W?reports|\bsurefire\b",
    re.M,
)
_HOOKS = re.compile(r"\bdef pytest_\w+")
_DOCUMENTS = (".md", ".rst", ".adoc", ".html", ".css", ".scss", ".svg", ".png", ".jpg", ".gif", ".pdf")
_DATA = re.compile(
    r"\.(?:txt|md|json\w*|ya?ml|toml|xml|html?|csv|tsv|snap|golden|expected|out|png|jpe?g|gif|svg|pdf|bin|gz)$"
)


def around(path: str, old: str | None, new: str | None, named: Collection[str]) -> list[Finding]:
    """What a reader should know of a changed file (None: it was not, or is not, there); `named` are the words of the
    checks' commands."""
    findings = list(_attributes(path, old, new))
    if old is None and new is not None and _SHADOWS.fullmatch(path):
        findings.append(Finding(Kind.RUNNER, f"{path} replaces a part of the runner"))
    if words := _words(path, old, new):
        findings.append(Finding(Kind.EDITED, f"{path} notices or changes how tests are run ({', '.join(words)})"))
    if old != new and is_run(path, named):
        findings.append(Finding(Kind.EDITED, path))
    return findings


def could_hide_failures(path: str, old: str | None, new: str | None, named: Collection[str]) -> bool:
    """May a check be unable to say no after this change? Then it is asked."""
    is_plain = path.endswith((*CODE, *_DOCUMENTS)) or is_test(path)
    return not is_plain or _is_helper(path, new) or is_run(path, named) or bool(around(path, old, new, named))


def _is_helper(path: str, new: str | None) -> bool:
    """Is it a conftest, or code that lies among the tests and holds none, as a helper does, or a package's module?"""
    if _is_conftest(path):
        return True
    has_text = bool(new and new.strip())
    return is_test(path) and is_readable(path) and has_text and not tests_in(path, (new or "").encode())


def _is_conftest(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py"


def is_run(path: str, named: Collection[str]) -> bool:
    """Does a check run this file, by its name or as the settings of its runner?"""
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    is_named = not is_test(path) and ({path, f"./{path}"} & set(named) or ("-m" in named and module in named))
    return bool(_RUNNERS.search(path) or is_named)


def unnamed_tests(path: str, *, is_gone: bool) -> Finding:
    """What a change of a file of tests means where no check names its tests, and its language is not read."""
    if is_gone and not _DATA.search(path):
        return Finding(Kind.REMOVED, f"{path} (a file of tests)")
    return Finding(Kind.EDITED, f"{path} (no check names its tests)")


def _attributes(path: str, old: str | None, new: str | None) -> Iterator[Finding]:
    """Another encoding of source: what is committed would not be what was tested."""
    for line in _added(old, new) if path.rpartition("/")[2] == ".gitattributes" else ():
        encoding = _ENCODING.search(line)
        if encoding and not encoding[1].lower().startswith(("utf-16", "utf-32")):
            yield Finding(Kind.RUNNER, f"{path} makes Git commit different text than was tested ({line.strip()[:80]})")


def _words(path: str, old: str | None, new: str | None) -> list[str]:
    """The first words by which added code, which is no test, reaches for its runner, or a conftest hooks into it."""
    is_conftest = _is_conftest(path)
    if not path.endswith(CODE) or (is_test(path) and not is_conftest):
        return []
    pattern = _HOOKS if is_conftest else _REACHES
    words = (" ".join(match[0].split()) for match in pattern.finditer("\n".join(_added(old, new))))
    return list(dict.fromkeys(words))[:3]


def _added(old: str | None, new: str | None) -> list[str]:
    """The lines that `new` has and `old` has not."""
    return list((Counter((new or "").splitlines()) - Counter((old or "").splitlines())).elements())
