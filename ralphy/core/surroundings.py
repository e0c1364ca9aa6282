"""What stands around the tests: runner configuration, hooks, recipes and scripts. Which changes make checks greener?

What a change does to the list of tests is seen there (`ralphy.core.tests_kept`). Here is what such a list does not
show: another program in the runner's place, outcomes rewritten, a recipe that swallows failures. Where no runner lists
its tests, also what leaves tests out. Only what weakens is said; markers, plugins and warnings are honest work.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ralphy.core.cases import parsed
from ralphy.core.findings import Finding, Kind
from ralphy.core.recipes import added_lines, is_greener, recipes_of
from ralphy.core.substance import is_test


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`commands` are the checks in words; `configs` the runner's configurations before, by path.

    `is_listed` says that the tests are compared by name, so that what leaves some out is seen anyway.
    """

    commands: Sequence[Sequence[str]] = ()
    configs: Mapping[str, str] = field(default_factory=dict)
    is_listed: bool = False


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
# Names that decide on outcomes, or that reach for the report; what a hook is called comes after them.
_REWRITING = frozenset(("outcome", "exitstatus", "wasxfail", "force_result", "force_exception", "_exit", "xmlpath"))
_REPLACING = frozenset(("pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_cmdline_main", "pytest_runtestloop"))
_LEAVING_OUT = frozenset(("pytest_collection_modifyitems", "pytest_ignore_collect", "pytest_collect_file",
                          "pytest_pycollect_makeitem", "collect_ignore", "collect_ignore_glob"))  # fmt: skip
_REPORT = ("PYTEST_ADDOPTS", "junitxml", "ralphy-reports")


def weaker(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """What a change of a file (None: it was not, or is not, there) does to the checks' surroundings."""
    for applies, rule in _RULES:
        if applies(path):
            yield from rule(path, old, new, around)
    if new is not None or old is not None:
        yield from _named(path, old or "", new or "", around)


def matters(path: str, around: Surroundings) -> bool:
    """Does any rule ask for what is in the file?"""
    return any(applies(path) for applies, _ in _RULES) or any(_names(words, path) for words in around.commands)


def is_pytest_config(path: str, text: str) -> bool:
    mark = PYTEST_CONFIGS.get(_name(path))
    return mark is not None and bool(re.search(mark, text, re.M))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _shadow(path: str, old: str | None, new: str | None, _: Surroundings) -> Iterator[Finding]:
    if old is None and new is not None and (not path.endswith(".pth") or _is_pth(new)):
        yield Finding(Kind.RUNNER, f"{path} takes the place of a part of the runner")


def _is_pth(text: str) -> bool:
    """May Python read it as a list of its paths, and of lines to run?"""
    return bool(_PTH_IMPORT.search(text)) or ("\0" not in text and len(text) < _PTH_CHARACTERS)


def _pytest_config(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    is_new = new is not None and is_pytest_config(path, new) and (old is None or not is_pytest_config(path, old))
    over = [known for known in around.configs if is_new and known != path and _precedes(path, known, around)]
    if over:
        yield Finding(Kind.RUNNER, f"{path} takes precedence over {over[0]}")
    elif not around.is_listed and (old is not None or around.configs):
        yield from _narrowed(path, old or "", new or "")


def _precedes(path: str, known: str, around: Surroundings) -> bool:
    """Does pytest take a configuration instead of one that it knew? One further in may come first."""
    order = list(PYTEST_CONFIGS)
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
    """What a conftest or a plugin does to outcomes and collection that it did not do before."""
    if _name(path) != "conftest.py" and "def pytest_" not in (new or ""):
        return
    now, was = _deeds(new or ""), _deeds(old or "")
    wanted = _REWRITING | _REPLACING | (frozenset() if around.is_listed else _LEAVING_OUT)
    gained = sorted(name for name, times in (now - was).items() if name in wanted or name in _REPORT)
    if gained:
        yield Finding(Kind.RUNNER, f"{path} has a hand in what pytest runs or reports ({', '.join(gained[:5])})")


def _deeds(text: str) -> Counter[str]:
    """What a Python file assigns, calls, and which hooks it defines; and the names of the report that it knows."""
    tree = parsed(text.encode("utf-8", "replace")) if text else None
    found: Counter[str] = Counter()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Attribute) and (isinstance(node.ctx, ast.Store) or node.attr in _CALLED):
            found[node.attr] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] += node.id in _LEAVING_OUT
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("pytest_"):
            found[node.name] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(word for word in _REPORT if word in node.value)
        found.update(word for word in _by_name(node) if word in _REWRITING)
    return found


def _by_name(node: ast.AST) -> Iterator[str]:
    """The attributes that a node reaches by their names: with setattr and its like, or in a `__dict__`."""
    inner: Sequence[ast.AST] = ()
    if isinstance(node, ast.Call):
        is_meant = _called(node) in _BY_NAME or (isinstance(node.func, ast.Attribute) and _is_dict(node.func.value))
        inner = node.args if is_meant else ()
    elif isinstance(node, ast.Subscript) and _is_dict(node.value):
        inner = (node.slice,)
    for part in (part for found in inner for part in ast.walk(found)):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _is_dict(node: ast.AST) -> bool:
    """`x.__dict__` or `vars(x)`."""
    is_vars = isinstance(node, ast.Call) and _called(node) == "vars"
    return is_vars or (isinstance(node, ast.Attribute) and node.attr == "__dict__")


_BY_NAME = frozenset(("setattr", "getattr", "delattr", "__setattr__", "__getattribute__"))
_CALLED = frozenset(("force_result", "force_exception", "_exit", "xmlpath"))


def _package(path: str, old: str | None, new: str | None, _: Surroundings) -> Iterator[Finding]:
    """Scripts of package.json that checks call, by their name; a first test script is honest."""
    before, after = recipes_of("package.json", old or ""), recipes_of("package.json", new or "")
    for name, text in before.items():
        if not name.startswith(("test", "pretest", "posttest", "jest", "vitest")) or after.get(name) == text:
            continue
        if "no test specified" in text:
            continue
        yield _edited(f"{path}: {name}", text, after.get(name, ""))


def _make(path: str, old: str | None, new: str | None, around: Surroundings) -> Iterator[Finding]:
    """The recipes that checks call with make, and what those build on."""
    called = [word for words in around.commands if _name(words[0]) in ("make", "gmake") for word in words[1:]]
    if old is None or not any(_name(words[0]) in ("make", "gmake") for words in around.commands):
        return
    before, after = recipes_of("Makefile", old, called), recipes_of("Makefile", new or "", called)
    for name, text in before.items():
        if after.get(name) != text:
            yield _edited(f"{path}: {name}", text, after.get(name, ""))


def _cargo(path: str, old: str | None, new: str | None, _: Surroundings) -> Iterator[Finding]:
    if re.search(r"^[ \t]*(?:runner|test|t)[ \t]*=", "\n".join(added_lines(old or "", new or "")), re.M):
        yield Finding(Kind.RUNNER, f"{path} sets what runs the tests")


def _named(path: str, old: str, new: str, around: Surroundings) -> Iterator[Finding]:
    """A file that a check names in its command."""
    if old and any(_names(words, path) for words in around.commands) and not is_test(path):
        yield _edited(path, old, new)


def _names(words: Sequence[str], path: str) -> bool:
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    return any(word.removeprefix("./") == path for word in words) or ("-m" in words and module in words)


def _edited(what: str, old: str, new: str) -> Finding:
    return Finding(Kind.RUNNER if is_greener(old, new) else Kind.EDITED, what)


_Rule = Callable[[str, "str | None", "str | None", Surroundings], Iterator[Finding]]
_RULES: tuple[tuple[Callable[[str], bool], _Rule], ...] = (
    (lambda path: bool(_SHADOWS.fullmatch(path) or _CUSTOMISES.search(path)), _shadow),
    (lambda path: _name(path) in PYTEST_CONFIGS, _pytest_config),
    (lambda path: path.endswith(".py") and is_test(path), _python_hooks),
    (lambda path: bool(_JS_CONFIG.search(path)), _js_config),
    (lambda path: _name(path) == "package.json", _package),
    (lambda path: _name(path) in ("Makefile", "makefile", "GNUmakefile") or path.endswith(".mk"), _make),
    (lambda path: path.startswith(".cargo/config"), _cargo),
)
