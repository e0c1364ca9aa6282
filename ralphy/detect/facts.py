"""The facts in a repository's files about its stack: dependencies, sections, scripts, tests.

Reads are bounded in depth, number and size, and no linked folder is entered. A manifest that cannot be parsed is a
note, no error.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ralphy.detect.rules import SKIPPED_FOLDERS, Language
from ralphy.errors import InvalidInput
from ralphy.files.read import read_input

MAX_ENTRIES = 2_000
MAX_BYTES = 256 * 1024
_MAX_TEST_FILES = 20
_MAX_DOTS = 100
_TOKEN = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.@/-]*")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_INI_LINE = re.compile(r"(?m)^(?:\[([^\]\n]{1,80})\]|([A-Za-z_][\w-]{0,40})[ \t]*[=:])")
_UNITTEST = re.compile(r"(?m)^\s*(import unittest\b(?!\.mock)|from unittest import (?!mock\b))")
_PYTEST = re.compile(r"(?m)^\s*(import|from) pytest\b")
_TEST_FILE = re.compile(r"[.](?:test|spec)[.][cm]?[jt]sx?$|(?:^|/)__tests__/[^/]+[.][cm]?[jt]sx?$")
_BUN_TEST = re.compile(r"""from\s*["']bun:test["']""")
_NODE_TEST_FILE = re.compile(r".[.]test[.][cm]?js")
_NODE_TEST = re.compile(r"""(from|require\()\s*["']node:test["']""")
_NODE_RUNNERS = frozenset(("jest", "vitest", "mocha", "ava", "tap", "jasmine", "uvu", "@playwright/test", "cypress"))
_WATCHES = re.compile(
    r"--watch(?:All)?\b(?!=false)|\bnodemon\b|\b(?:vitest|jest) (?:watch|dev)\b"
    r"|\bng test\b(?!.*--(?:watch=false|no-watch))|\breact-scripts test\b(?!.*--watchAll=false)"
    # Without a subcommand, vitest watches.
    r"|^vitest(?= *$| +-)(?!.* --(?:run|watch=false|no-watch)\b)"
)
_WATCHING = re.compile(r" (?:--watch(?:All)?|watch|dev)(?= |$)")
_RUNNERS_THAT_END = {  # the beginning of a script that watches, and of its form that ends
    "vitest": "vitest run --reporter=verbose",
    "jest": "jest",
    "mocha": "mocha",
    "react-scripts test": "react-scripts test --watchAll=false",
    "ng test": "ng test --watch=false",
}
_REFERENCES = re.compile(r"""["']references["']\s*:\s*\[\s*\{""")  # tsconfig.json may have comments
_OWN_CHECKERS = frozenset(("svelte", "astro"))  # whose files tsc cannot read
_SHELL = re.compile(r"[&|;<>$`'\"\\]")
_WRITES = re.compile(r"--(fix|write)\b")
_PLACEHOLDER = "no test specified"
_CTEST = re.compile(r"(?im)^\s*(enable_testing|include)\s*\(\s*(CTest\s*)?\)")


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The sorted relative paths under a root, two levels deep."""

    root: Path
    names: tuple[str, ...]

    def has(self, pattern: str) -> bool:
        """Does a path or a glob pattern exist? A path is looked up directly, patterns among the listed names."""
        if "*" not in pattern:
            return (self.root / pattern).exists()
        return any(fnmatchcase(name, pattern) and name.count("/") == pattern.count("/") for name in self.names)

    def read(self, name: str) -> str:
        """The text of a file; "" if it is missing, too large or no regular file."""
        try:
            data = read_input(self.root / name, MAX_BYTES)
        except InvalidInput:
            return ""
        return data.decode("utf-8", "replace") if data else ""


@dataclass(frozen=True, slots=True)
class Facts:
    """`manager` is the package manager that the manifest names; `notes` say what cannot be used, and why.

    `ends` has the scripts that watch, but have a form that ends.
    """

    deps: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    scripts: Mapping[str, str] = field(default_factory=dict)
    tests: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict)
    ends: frozenset[str] = frozenset()
    manager: str = ""
    notes: tuple[str, ...] = ()


def look(root: Path) -> ProjectFiles:
    """The names in the root and in its folders, at most MAX_ENTRIES; linked and hidden folders are left out."""
    top = sorted(islice(_entries(root), MAX_ENTRIES))
    folders = [name for name, is_folder in top if is_folder and _is_own(name)]
    inner = chain.from_iterable(((f"{folder}/{name}", _) for name, _ in _entries(root / folder)) for folder in folders)
    below = islice(inner, MAX_ENTRIES - len(top))
    return ProjectFiles(root, (*(name for name, _ in top), *sorted(name for name, _ in below)))


def gather(tree: ProjectFiles, language: Language) -> Facts:
    """The facts in the manifests of a language."""
    return _READERS[language.reader](tree, language)


def _entries(folder: Path) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry.name, entry.is_dir(follow_symlinks=False)
    except OSError:
        return


def _is_own(folder: str) -> bool:
    return not folder.startswith(".") and folder not in SKIPPED_FOLDERS


def _words_facts(tree: ProjectFiles, language: Language) -> Facts:
    """Every word of the manifests counts as a dependency, since they are programs."""
    manifests = [name for marker in language.markers for name in tree.names if fnmatchcase(name, marker)]
    return Facts(deps=_tokens(tree, manifests[:5]))


def _tokens(tree: ProjectFiles, names: Iterable[str]) -> frozenset[str]:
    return frozenset(word.lower() for name in names for word in _TOKEN.findall(tree.read(name)))


def _python_facts(tree: ProjectFiles, _: Language) -> Facts:
    project, notes = _toml(tree, "pyproject.toml")
    pipfile, more = _toml(tree, "Pipfile")
    ini = ("setup.cfg", "tox.ini", "mypy.ini", ".mypy.ini", "pytest.ini")
    lists = [name for name in tree.names if fnmatchcase(name, "requirements*.txt") or name.startswith("requirements/")]
    deps = {
        *_project_requirements(project),
        *_table(pipfile, "packages"),
        *_table(pipfile, "dev-packages"),
        *_requirements(line for name in lists[:10] for line in tree.read(name).splitlines()),
        *_tokens(tree, ("setup.py", "setup.cfg")),
    }
    tables = {*_dotted(project), *(name for file in ini for name in _ini_names(tree.read(file)))}
    tests = frozenset(_python_tests(tree))
    start = "" if not tree.has("tests") or tree.has("tests/__init__.py") else " -s tests"
    return Facts(
        deps=frozenset(name.lower().replace("_", "-") for name in deps),
        tables=frozenset(tables),
        tests=tests,
        words={"discover": f"discover{start}"},
        notes=notes + more,
    )


def _project_requirements(project: Mapping[str, Any]) -> Iterator[str]:
    """Names from every table that lists dependencies: PEP 621, PEP 735, poetry, pdm, uv."""
    tool = _table(project, "tool")
    poetry = _table(tool, "poetry")
    for groups in (
        {"": _table(project, "project").get("dependencies")},
        _table(_table(project, "project"), "optional-dependencies"),
        _table(project, "dependency-groups"),
        _table(_table(tool, "pdm"), "dev-dependencies"),
        {"": _table(tool, "uv").get("dev-dependencies")},
    ):
        for listed in groups.values():
            yield from _requirements(listed if isinstance(listed, list) else ())
    for table in (poetry, *(group for group in _table(poetry, "group").values() if isinstance(group, dict))):
        yield from _table(table, "dependencies")
        yield from _table(table, "dev-dependencies")


def _requirements(lines: Iterable[object]) -> Iterator[str]:
    for line in lines:
        match = _REQUIREMENT.match(line) if isinstance(line, str) else None
        if match:
            yield match[1]


def _ini_names(text: str) -> Iterator[str]:
    section = ""
    for header, key in _INI_LINE.findall(text):
        section = header or section
        yield header or f"{section}.{key}"


def _python_tests(tree: ProjectFiles) -> Iterator[str]:
    files = [
        name for name in tree.names if fnmatchcase(name.rpartition("/")[2], "test_*.py") or name.endswith("_test.py")
    ]
    if files or tree.has("tests"):
        yield "any"
    for name in files[:_MAX_TEST_FILES]:
        text = tree.read(name)
        if _PYTEST.search(text):
            yield "pytest"
        if _UNITTEST.search(text):
            yield "unittest"


def _node_facts(tree: ProjectFiles, _: Language) -> Facts:
    package, notes = _json(tree, "package.json")
    tables = ("dependencies", "devDependencies", "peerDependencies")
    named = package.get("packageManager")
    written = _table(package, "scripts")
    scripts, unusable = _usable_scripts(written)
    deps = frozenset(name for table in tables for name in _table(package, table))
    ending = "" if "test" in scripts else _form_that_ends(written.get("test"), deps)
    return Facts(
        deps=deps,
        scripts=scripts,
        tests=frozenset(_node_tests(tree, deps)),
        tables=frozenset(("tsconfig.json",) if (types := _type_checker(tree, deps)) else ()),
        words={"ending": ending, "types": types},
        ends=frozenset(("test",) if ending else ()),
        manager=named.partition("@")[0] if isinstance(named, str) else "",
        notes=notes + unusable,
    )


def _node_tests(tree: ProjectFiles, deps: AbstractSet[str]) -> Iterator[str]:
    """The runners of the test files: vitest, jest, bun:test, `node:test` if they import it.

    `any` stands for test files without another runner, which `node --test` runs.
    """
    files = [name for name in tree.names if _TEST_FILE.search(name)]
    yield from (runner for runner in ("vitest", "jest") if files and runner in deps)
    if any(_BUN_TEST.search(tree.read(name)) for name in files[:_MAX_TEST_FILES]):
        yield "bun:test"
    named = [name for name in tree.names if name.endswith((".js", ".mjs", ".cjs")) and "test" in name.lower()]
    if any(_NODE_TEST.search(tree.read(name)) for name in named[:_MAX_TEST_FILES]):
        yield "node:test"
    if any(_NODE_TEST_FILE.search(name) for name in named) and not deps & _NODE_RUNNERS:
        yield "any"


def _usable_scripts(scripts: Mapping[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Scripts that end by themselves and change no files, and notes about the others."""
    usable: dict[str, str] = {}
    notes: list[str] = []
    for name, text in scripts.items():
        if not isinstance(text, str) or _PLACEHOLDER in text:
            continue
        if _WATCHES.search(text):
            notes.append(f'script "{name}" watches and never ends: not a check')
        elif name.startswith("lint") and _WRITES.search(text):
            notes.append(f'script "{name}" changes files: not a check')
        else:
            usable[name] = text
    return usable, tuple(notes[:10])


def _type_checker(tree: ProjectFiles, deps: AbstractSet[str]) -> str:
    """The command that checks types by tsconfig.json; "" without the compiler, or where it cannot read the sources."""
    if not tree.has("tsconfig.json") or "typescript" not in deps or deps & _OWN_CHECKERS:
        return ""
    # A file that only refers to others has no files of its own: --noEmit would check nothing.
    how = "--build" if _REFERENCES.search(tree.read("tsconfig.json")) else "--noEmit"
    return f"{'vue-tsc' if 'vue-tsc' in deps else 'tsc'} {how}"


def _form_that_ends(script: object, deps: AbstractSet[str]) -> str:
    """The command in place of a test script that watches; "" if there is no known one."""
    text = " ".join(script.split()) if isinstance(script, str) else ""
    if not _WATCHES.search(text) or _SHELL.search(text):
        return ""
    plain = _WATCHING.sub("", text)
    for start, form in _RUNNERS_THAT_END.items():
        if plain == start or plain.startswith(f"{start} "):
            headless = " --browsers=ChromeHeadless" if start == "ng test" and "karma" in deps else ""
            return f"{form}{headless}{plain.removeprefix(start)}"
    return ""


def _cargo_facts(tree: ProjectFiles, _: Language) -> Facts:
    cargo, notes = _toml(tree, "Cargo.toml")
    names = ("dependencies", "dev-dependencies", "build-dependencies")
    parents = (cargo, _table(cargo, "workspace"))
    deps = frozenset(key for parent in parents for name in names for key in _table(parent, name))
    tables = frozenset(_dotted(cargo))
    return Facts(deps, tables, words={"workspace": " --workspace" if "workspace" in tables else ""}, notes=notes)


def _composer_facts(tree: ProjectFiles, _: Language) -> Facts:
    composer, notes = _json(tree, "composer.json")
    deps = frozenset((*_table(composer, "require"), *_table(composer, "require-dev")))
    folder = next((name for name in ("tests", "test") if tree.has(name)), "")
    tests = frozenset(("phpunit",) if folder and "phpunit/phpunit" in deps else ())
    scripts = dict.fromkeys(_table(composer, "scripts"), "")
    return Facts(deps, scripts=scripts, tests=tests, words={"tests": folder}, notes=notes)


def _cmake_facts(tree: ProjectFiles, language: Language) -> Facts:
    """`preset`: a workflow preset has a test step; `ctest`: CMakeLists.txt enables tests; `none`: it does not."""
    preset = next(_workflows_that_test(_json(tree, "CMakePresets.json")[0]), "")
    lists = tree.read("CMakeLists.txt")
    tests = {"preset"} if preset else {"ctest"} if _CTEST.search(lists) else {"none"} if lists else set()
    return replace(_words_facts(tree, language), tests=frozenset(tests), words={"preset": shlex.quote(preset)})


def _workflows_that_test(presets: Mapping[str, Any]) -> Iterator[str]:
    for preset in _rows(presets, "workflowPresets"):
        if any(step.get("type") == "test" for step in _rows(preset, "steps")):
            yield str(preset.get("name"))


def _rows(parent: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    rows = parent.get(key)
    return (row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict))


_READERS: Mapping[str, Callable[[ProjectFiles, Language], Facts]] = {
    "words": _words_facts,
    "python": _python_facts,
    "node": _node_facts,
    "cargo": _cargo_facts,
    "composer": _composer_facts,
    "cmake": _cmake_facts,
}


def _json(tree: ProjectFiles, name: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    return _parsed(tree, name, "JSON", json.loads)


def _toml(tree: ProjectFiles, name: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    def loads(text: str) -> Any:
        # Time and memory of tomllib grow with the square of a dotted key's length.
        if any(line.count(".") > _MAX_DOTS for line in text.splitlines()):
            raise ValueError(name)
        return tomllib.loads(text)

    return _parsed(tree, name, "TOML", loads)


def _parsed(
    tree: ProjectFiles, name: str, kind: str, loads: Callable[[str], Any]
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    text = tree.read(name).removeprefix("\ufeff")
    if not text:
        return {}, ((f"{name} is empty, too large or not a file",) if tree.has(name) else ())
    try:
        document = loads(text)
    except (ValueError, RecursionError):
        document = None
    return (document, ()) if isinstance(document, dict) else ({}, (f"{name} cannot be read as {kind}",))


def _table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = parent.get(key)
    return table if isinstance(table, dict) else {}


def _dotted(table: Mapping[str, Any], prefix: str = "", depth: int = 3) -> Iterator[str]:
    """The names of tables and keys, as `tool.mypy.files`."""
    for key, value in table.items():
        yield f"{prefix}{key}"
        if depth > 1 and isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.", depth - 1)
