"""What stands around the tests: runner configuration, hooks, recipes and scripts. Which changes must be asked about?

Whether a check can still say no is asked by running it on tests that are made to fail. Here is which changes ask for
that, and what a reader of the diff should know of them. Only a file that takes a part of the runner's place speaks for
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ralphy.checks.reachability import MAKEFILES, Reach, Read, reach_of
from ralphy.checks.recipes import SETTINGS, added_lines, recipes_of
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.edited_tests import only_adds
from ralphy.testguard.kept.runner_settings import is_mixed, runner_part
from ralphy.testguard.substance import is_test


@dataclass(frozen=True)
class Surroundings:
    """`commands` are the checks in words; `configs` the configurations of pytest and make before, by path.

    `is_listed` says that the tests are compared by name, so that what leaves some out is seen anyway; `read` gives the
    text of a file before, or None; `moved` names configurations of pytest that are none any more.
    """

    commands: Sequence[Sequence[str]] = ()
    configs: Mapping[str, str] = field(default_factory=dict)
    is_listed: bool = False
    read: Read = lambda _: None
    moved: frozenset[str] = frozenset()

    @cached_property
    def reached(self) -> Reach:
        """What the checks ran before."""
        return reach_of(self.commands, self.read)


# pytest's configurations in the order in which it takes them, with what makes one of the file
PYTEST_CONFIGS = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": r"^\[tool\.pytest",
    "tox.ini": r"^\[pytest\]",
    "setup.cfg": r"^\[tool:pytest\]",
}
_SHADOWS = re.compile(
    r"(?:src/)?(?:(?:sitecustomize|usercustomize|pytest|_pytest|pluggy|unittest|nose|nose2|tox|coverage)"
    r"(?:\.py|/__init__\.py)|[^/]*\.pth|(?:.*/)?site-packages/.*\.pth)|(?:.*/)?(?:sitecustomize|usercustomize)\.py"
)
_PTH_CHARACTERS = 64 * 1024  # Python's own are short; weights of models have the same ending
_PTH_IMPORT = re.compile(r"(?:^|[\r\n])import[ \t]")
_ENCODING = re.compile(r"\bworking-tree-encoding=(\S+)", re.I)
# Words by which code reaches for its runner, or notices that it is under test.
_NOTICES = re.compile(
    r"\bPYTEST_\w+|['\"](?:_?pytest|unittest)\w*['\"]\s*(?:not\s+)?in\s|\bos\._exit\b|\batexit\b.*\bexit|\bjunitxml\b"
    r"|\bralphy\W?reports|\bJEST_WORKER_ID\b|\bVITEST\b|\bNODE_TEST_CONTEXT\b|NODE_ENV\W{1,8}test\b|\btesting\.Testing\(\)"
    r"|\bflag\.Lookup\(\s*\"test|\bcfg!\(test\)|\bprocess\.(?:reallyExit|exitCode|on\(\s*['\"]exit)|\bsurefire\b"
    r"|\b(?:process\.exit|os\.Exit|System\.exit|process::exit)\(\s*0\s*\)|['\"]org\.junit\b",
)
# Words by which what stands beside the tests bends them: what a failure is, how it is reported, who reports it.
_BENDS = re.compile(
    r"\bdef pytest_(?:runtest|pyfunc|sessionfinish|exception|report_test|cmdline|unconfigure|itemcollected)\w*"
    r"|\b(?:force_result|force_exception|wasxfail|exitstatus|TestReport|failureException|_callTest)\b"
    r"|\b_pytest\.(?:runner|reports|outcomes|assertion|python)\b|\bsetattr\(\s*(?:unittest|pytest|builtins|item|rep)"
    r"|\b(?:TestCase|Item|Function|TestResult)\.(?!maxDiff|longMessage)\w+\s*=[^=]|\bbuiltins\W{1,6}AssertionError"
    r"|\b(?:assert|expect)\b['\"]?\)?\.\w+\s*=[^=>]|\bfunc TestMain\("
    r"|\b(?:global|globalThis)\.(?:expect|assert|test|it)\b|\bexpect\s*=[^=]"
)
# What a product has no business with, but for assertions of its own.
_IMPORTS = re.compile(
    r"^\s*(?:import|from)\s+(?:unittest|_?pytest)\b|\brequire\(\s*['\"](?:node:)?(?:assert|test)\b"
    r"|^import .*\borg\.junit\b"
    r"|\bfrom\s+['\"](?:node:(?:assert|test)|vitest|chai|@jest/globals)\b|^\s*(?:import\s+)?\"testing\"",
    re.M,
)
_OUTCOME = re.compile(r"\boutcome\b")
_LEAVES_OUT = re.compile(
    r"\bpytest_(?:collection|ignore_collect|collect_file|pycollect|configure)\w*|\bcollect_ignore\w*|\bload_tests\b"
    r"|^//go:build|^#!?\[cfg\(",
    re.M,
)
# Tests in Go that are compiled on another system alone, by the name of their file.
_ELSEWHERE = re.compile(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|netbsd|openbsd|plan9|solaris|wasip1|windows)(?:_\w+)?_test\.go$"
)
_DATA = re.compile(
    r"\.(?:txt|md|json\w*|ya?ml|toml|xml|html?|csv|tsv|snap|golden|expected|out|png|jpe?g|gif|svg|pdf|bin|gz)$"
)
# Programs that run the recipes of a file, and that file.
_RECIPES = {
    "just": ("justfile", "Justfile", ".justfile"), "task": ("Taskfile.yml", "Taskfile.yaml"), "nox": ("noxfile.py",),
    "tox": ("tox.ini",), "pre-commit": (".pre-commit-config.yaml",), "rake": ("Rakefile",), "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
}  # fmt: skip
_SOURCES = (".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".go", ".rs", ".java", ".kt", ".sh")


def weaker(path: str, old: str | None, new: str | None, around: Surroundings) -> list[Finding]:
    """What a reader should know of a change of a file (None: it was not, or is not, there) around the tests."""
    found = [*_shadow(path, old, new), *_pytest_config(path, old, new, around), *_attributes(path, old, new)]
    found += [*_settings(path, old, new, around), *_recipes(path, old, new, around), *_words(path, old, new, around)]
    if old is not None and old != new and is_run(path, around) and not is_test(path):
        found.append(Finding(Kind.EDITED, path))
    return list(dict.fromkeys(found))


def may_deafen(path: str, old: str | None, new: str | None, around: Surroundings) -> bool:
    """May a check be unable to say no after this change? Then it is asked."""
    if path.endswith(".py") and (path.rpartition("/")[2] == "conftest.py" or "pytest_plugins" in (new or "")):
        return not only_adds((old or "").encode(), (new or "").encode())
    if weaker(path, old, new, around):
        return True
    is_followed = _name(path) in (*MAKEFILES, "package.json") or path.endswith(".mk")
    return not is_followed and runner_part(path, old) != runner_part(path, new)


def untold(path: str, *, is_gone: bool) -> Finding:
    """What a change of a file among the tests means where no check names its tests, and nobody reads its language."""
    if is_gone and not _DATA.search(path):
        return Finding(Kind.REMOVED, f"{path} (a file of tests)")
    return Finding(Kind.EDITED, f"{path} (no check names its tests)")


def matters(path: str, around: Surroundings) -> bool:
    """Does anything here ask for what is in the file?"""
    return path.endswith((*_SOURCES, ".pth", ".gitattributes", ".json")) or runner_part(path, "") is not None or (
        is_run(path, around))  # fmt: skip


def is_pytest_config(path: str, text: str) -> bool:
    mark = PYTEST_CONFIGS.get(_name(path))
    return mark is not None and bool(re.search(mark, text, re.M))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _shadow(path: str, old: str | None, new: str | None) -> Iterator[Finding]:
    is_one = old is None and new is not None and _SHADOWS.fullmatch(path)
    if is_one and (not path.endswith(".pth") or _is_pth(new or "")):
        yield Finding(Kind.RUNNER, f"{path} replaces a part of the runner")


def _is_pth(text: str) -> bool:
    """May Python read it as a list of its paths, and of lines to run?"""
    return bool(_PTH_IMPORT.search(text)) or ("\0" not in text and len(text) < _PTH_CHARACTERS)


def _pytest_config(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    is_new = new is not None and is_pytest_config(path, new) and (old is None or not is_pytest_config(path, old))
    over = [known for known in around.configs if is_new and known != path and _precedes(path, known, around)]
    over = [known for known in over if known not in around.moved]
    if over:
        yield Finding(Kind.RUNNER, f"{path} overrides {over[0]}")


def _precedes(path: str, known: str, around: Surroundings) -> bool:
    """Does pytest take a configuration instead of one that it knew? One further in may come first."""
    order = list(PYTEST_CONFIGS)
    if _name(known) not in order:
        return False
    if _folder(path) == _folder(known):
        return order.index(_name(path)) < order.index(_name(known))
    return not around.is_listed


def _attributes(path: str, old: str | None, new: str | None) -> Iterator[Finding]:
    """Another encoding of source: what is committed would not be what was tested."""
    for line in added_lines(old or "", new or "") if _name(path) == ".gitattributes" else ():
        if (found := _ENCODING.search(line)) and not found[1].lower().startswith(("utf-16", "utf-32")):
            yield Finding(Kind.RUNNER, f"{path} makes Git commit different text than was tested ({line.strip()[:80]})")


def _settings(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """The runner's own settings, where no name of a test would be missed, or where they cannot be told from others."""
    if old is None or runner_part(path, old) == runner_part(path, new) or path.endswith(".mk"):
        return
    is_recipe = _name(path) in (*MAKEFILES, "package.json")
    if is_mixed(path) or not (is_recipe or around.is_listed):
        yield Finding(Kind.EDITED, path)


def _recipes(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """The recipes of make and the scripts of package.json that checks reach; a first test script is honest."""
    if _name(path) == "package.json":
        before, after = recipes_of("package.json", old or ""), recipes_of("package.json", new or "")
        for name, text in before.items():
            is_reached = name in SETTINGS or name in around.reached.scripts
            if is_reached and after.get(name) != text and "no test specified" not in text:
                yield Finding(Kind.EDITED, f"{path}: {name}")
    elif _name(path) in MAKEFILES or path.endswith(".mk"):
        yield from _make(path, old, new, around)


def _make(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """The recipes that checks reach with make, what those build on, and what holds for all of them."""
    called = sorted(around.reached.targets)
    hidden = _hidden_by(path, around) if old is None and new is not None else ""
    if not called or (old is None and not hidden):
        return
    was = old or around.configs.get(hidden, "")
    before, after = recipes_of("Makefile", was, called), recipes_of("Makefile", new or "", called)
    elsewhere = [text for name, text in after.items() if name not in before]
    for name, text in before.items():
        if after.get(name) != text and (name in after or text not in elsewhere):
            yield Finding(Kind.EDITED, f"{path}: {name}")
    if any(re.match(r"\s*(?:export|override|include|-include|\.?[A-Z]\w*FLAGS|SHELL|\.[A-Z]+)\b", line)
           for line in added_lines(was, new or "")):  # fmt: skip
        yield Finding(Kind.EDITED, f"{path}: what holds for every recipe")


def _hidden_by(path: str, around: Surroundings) -> str:
    """The makefile that make takes no more once there is one at this path."""
    name = _name(path)
    lower = MAKEFILES[MAKEFILES.index(name) + 1 :] if name in MAKEFILES else ()
    below = (f"{path[: len(path) - len(name)]}{other}" for other in lower)
    return next((other for other in below if other in around.configs), "")


def _words(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """New words by which code notices its runner, or bends it."""
    if not path.endswith(_SOURCES) or new is None:
        return
    added = "\n".join(added_lines(old or "", new))
    has_hooks = "def pytest_" in new
    is_beside = is_test(path) or has_hooks
    asked = (
        (_NOTICES, True),
        (_BENDS, is_beside),
        (_IMPORTS, not is_beside),
        (_OUTCOME, has_hooks),
        (_LEAVES_OUT, is_beside and not around.is_listed),
    )
    words = [found[0].strip() for pattern, applies in asked if applies for found in pattern.finditer(added)]
    words += [found[0] for found in [_ELSEWHERE.search(path)] if found and old is None and not around.is_listed]
    if words:
        said = ", ".join(dict.fromkeys(" ".join(word.split()) for word in words[:3]))
        yield Finding(Kind.EDITED, f"{path} notices or changes how tests are run ({said})")


def is_run(path: str, around: Surroundings) -> bool:
    """Does a check run this file, as a program or for its recipes?"""
    programs = {_name(word) for words in around.commands for word in words}
    is_recipe = any(path in files for program, files in _RECIPES.items() if program in programs)
    return is_recipe or path in around.reached.files or any(_names(words, path) for words in around.commands)


def _names(words: Sequence[str], path: str) -> bool:
    """Does `python -m` name this module?"""
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    return "-m" in words and module in words
