"""What stands around the tests: runner configuration, hooks, recipes and scripts. Which changes make checks greener?

What a change does to the list of tests is seen there (`ralphy.testguard.tests_kept`). Here is what such a list does not
show: another program in the runner's place, outcomes rewritten, a recipe that swallows failures. Where no runner lists
its tests, also what leaves tests out. Only what weakens is said; markers, plugins and warnings are honest work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ralphy.checks.reachability import MAKEFILES, Reach, Read, reach_of
from ralphy.checks.recipes import SETTINGS, added_lines, bends_make, is_greener, recipes_of
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.pytest_hooks import gained_hooks
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
    r"(?:\.py|/__init__\.py)|[^/]*\.pth|(?:.*/)?site-packages/.*\.pth)"
)
_PTH_CHARACTERS = 64 * 1024  # Python's own are short; weights of models have the same ending
_PTH_IMPORT = re.compile(r"(?:^|[\r\n])import[ \t]")
_CUSTOMISES = re.compile(r"(?:^|/)(?:sitecustomize|usercustomize)\.py$")
_NARROWING_KEY = re.compile(
    r"^\s*[\"']?(addopts|testpaths|python_files|python_classes|python_functions|norecursedirs|testMatch|testRegex"
    r"|testPathIgnorePatterns|roots|include|exclude)[\"']?\s*[=:](.*)$",
    re.M,
)
_NARROWING_WORD = re.compile(
    r"--ignore|--deselect|(?<!\w)-[km]\b|--co\b|--collect-only|(?<!\w)-p[ =]?no:|--lf\b|--sw\b"
)
_JS_CONFIG = re.compile(r"(?:^|/)(?:jest|vitest|vite)\.config\.[cm]?[jt]s$|(?:^|/)\.mocharc\.\w+$")
_ENCODING = re.compile(r"\bworking-tree-encoding=(\S+)", re.I)
# Programs that run the recipes of a file, and that file.
_RECIPES = {
    "just": ("justfile", "Justfile", ".justfile"), "task": ("Taskfile.yml", "Taskfile.yaml"), "nox": ("noxfile.py",),
    "tox": ("tox.ini",), "pre-commit": (".pre-commit-config.yaml",), "rake": ("Rakefile",), "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
}  # fmt: skip


def weaker(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """What a change of a file (None: it was not, or is not, there) does to the checks' surroundings."""
    for applies, rule in _RULES:
        if applies(path):
            yield from rule(path, old, new, around)
    if new is not None or old is not None:
        yield from _named(path, old or "", new or "", around)


def matters(path: str, around: Surroundings) -> bool:
    """Does any rule ask for what is in the file?"""
    return any(applies(path) for applies, _ in _RULES) or _is_run(path, around)


def is_pytest_config(path: str, text: str) -> bool:
    mark = PYTEST_CONFIGS.get(_name(path))
    return mark is not None and bool(re.search(mark, text, re.M))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _shadow(path: str, old: str | None, new: str | None, _: Surroundings) -> Iterator[Finding]:
    if old is None and new is not None and (not path.endswith(".pth") or _is_pth(new)):
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
    elif not around.is_listed and (old is not None or any(_name(known) in PYTEST_CONFIGS for known in around.configs)):
        yield from _narrowed(path, old or "", new or "")


def _precedes(path: str, known: str, around: Surroundings) -> bool:
    """Does pytest take a configuration instead of one that it knew? One further in may come first."""
    order = list(PYTEST_CONFIGS)
    if _name(known) not in order:
        return False
    if _folder(path) == _folder(known):
        return order.index(_name(path)) < order.index(_name(known))
    return not around.is_listed


def _narrowed(path: str, old: str, new: str) -> Iterator[Finding]:
    """Settings that leave tests out, where the effect cannot be seen."""
    before = dict(_NARROWING_KEY.findall(old))
    for key, value in _NARROWING_KEY.findall(new):
        was = before.get(key)
        if value == was:
            continue
        words = Counter(_NARROWING_WORD.findall(value)) - Counter(_NARROWING_WORD.findall(was or ""))
        if words or (key != "addopts" and was is not None) or key in ("norecursedirs", "testPathIgnorePatterns"):
            yield Finding(Kind.RUNNER, f"{path} sets {key} to {value.strip()[:80]}")


def _js_config(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    if old is not None and not around.is_listed:
        yield from _narrowed(path, old, new or "")


def _python_hooks(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """What a conftest, a plugin or a test does to outcomes and collection that it did not do before."""
    gained = gained_hooks(path, old or "", new or "", is_listed=around.is_listed)
    if gained:
        # who writes a plugin for pytest has hooks that decide on outcomes: that is flagged
        is_product = not is_test(path) and "def pytest_" in (old or "")
        said = f"{path} changes which tests run or what they report ({', '.join(gained[:5])})"
        yield Finding(Kind.EDITED if is_product else Kind.RUNNER, said)


def _package(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """Scripts of package.json that checks reach, and the settings of runners in it; a first test script is honest."""
    before, after = recipes_of("package.json", old or ""), recipes_of("package.json", new or "")
    for name, text in before.items():
        is_setting = name in SETTINGS
        if after.get(name) == text or not (is_setting or name in around.reached.scripts):
            continue
        if is_setting and name not in after:
            yield Finding(Kind.EDITED, f"{path}: {name}")  # they may stand in a file of their own now
        elif "no test specified" not in text:
            yield _edited(f"{path}: {name}", text, after.get(name, ""))


def _npmrc(path: str, old: str | None, new: str | None, _: Surroundings) -> Iterator[Finding]:
    if re.search(r"^\s*(?:script-shell|node-options)\s*=", "\n".join(added_lines(old or "", new or "")), re.M):
        yield Finding(Kind.RUNNER, f"{path} sets what runs the scripts")


def _make(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """The recipes that checks reach with make, and what those build on."""
    called = sorted(around.reached.targets)
    hidden = _hidden_by(path, around) if old is None and new is not None else ""
    if not called or (old is None and not hidden):
        return
    was = old or around.configs.get(hidden, "")
    if bends_make(was, new or ""):
        yield Finding(Kind.RUNNER, f"{path} changes how make runs every recipe")
    before, after = recipes_of("Makefile", was, called), recipes_of("Makefile", new or "", called)
    elsewhere = [text for name, text in after.items() if name not in before]
    for name, text in before.items():
        if after.get(name) != text and (name in after or text not in elsewhere):
            yield _edited(f"{path}: {name}", text, after.get(name, ""))


def _hidden_by(path: str, around: Surroundings) -> str:
    """The makefile that make takes no more once there is one at this path."""
    name = _name(path)
    lower = MAKEFILES[MAKEFILES.index(name) + 1 :] if name in MAKEFILES else ()
    below = (f"{path[: len(path) - len(name)]}{other}" for other in lower)
    return next((other for other in below if other in around.configs), "")


def _cargo(path: str, old: str | None, new: str | None, _: Surroundings) -> Iterator[Finding]:
    if re.search(r"^[ \t]*(?:runner|test|t)[ \t]*=", "\n".join(added_lines(old or "", new or "")), re.M):
        yield Finding(Kind.RUNNER, f"{path} sets what runs the tests")


def _attributes(path: str, old: str | None, new: str | None, _: Surroundings) -> Iterator[Finding]:
    """Another encoding of source: what is committed would not be what was tested."""
    for line in added_lines(old or "", new or ""):
        if (found := _ENCODING.search(line)) and not found[1].lower().startswith(("utf-16", "utf-32")):
            yield Finding(Kind.RUNNER, f"{path} makes Git commit different text than was tested ({line.strip()[:80]})")


def _named(path: str, old: str, new: str, around: Surroundings) -> Iterator[Finding]:
    """A file that a check runs: named in its command, or reached from there; or the recipes of a program in it."""
    if old and old != new and _is_run(path, around) and not is_test(path):
        yield _edited(path, old, new)


def _is_run(path: str, around: Surroundings) -> bool:
    programs = {_name(word) for words in around.commands for word in words}
    is_recipe = any(path in files for program, files in _RECIPES.items() if program in programs)
    return is_recipe or path in around.reached.files or any(_names(words, path) for words in around.commands)


def _names(words: Sequence[str], path: str) -> bool:
    """Does `python -m` name this module?"""
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    return "-m" in words and module in words


def _edited(what: str, old: str, new: str) -> Finding:
    return Finding(Kind.RUNNER if is_greener(old, new) else Kind.EDITED, what)


_Rule = Callable[[str, "str | None", "str | None", Surroundings], Iterator[Finding]]
_RULES: tuple[tuple[Callable[[str], bool], _Rule], ...] = (
    (lambda path: bool(_SHADOWS.fullmatch(path) or _CUSTOMISES.search(path)), _shadow),
    (lambda path: _name(path) in PYTEST_CONFIGS, _pytest_config),
    (lambda path: path.endswith(".py"), _python_hooks),
    (lambda path: bool(_JS_CONFIG.search(path)), _js_config),
    (lambda path: _name(path) == "package.json", _package),
    (lambda path: _name(path) == ".npmrc", _npmrc),
    (lambda path: _name(path) == ".gitattributes", _attributes),
    (lambda path: _name(path) in MAKEFILES or path.endswith(".mk"), _make),
    (lambda path: path.startswith(".cargo/config"), _cargo),
)
