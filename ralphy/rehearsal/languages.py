"""The language that a rehearsed story is written in, and the test that comes with it: green with the story's code, red
without it.

A test stands beside those that are there, and is written as they are. It looks for the code when it runs: without it
the test fails, not the file that it is in.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ralphy.rehearsal import files

# {name} of the function, {slug} and {story} are filled in; {source} leads to the code.
_PYTHON = '''

def {name}() -> str:
    """Name the story that this stands for."""
    return "{story}"
'''
_PYTEST = """

def test_{name}() -> None:
    source = {source}
    assert runpy.run_path(str(source))["{name}"]() == "{story}"
"""
_UNITTEST = """

class Test_{name}(unittest.TestCase):
    def test_{name}(self) -> None:
        source = {source}
        self.assertEqual(runpy.run_path(str(source))["{name}"](), "{story}")
"""
_COMMON_JS = """
function {name}(who) {{
  return `{story} for ${{who}}`;
}}
exports.{name} = {name};
"""
_MODULE_JS = """
export function {name}(who) {{
  return `{story} for ${{who}}`;
}}
"""
_JS_TEST = """
test("{name} names its story", async () => {{
  const {{ {name} }} = {source};
  assert.equal({name}("you"), "{story} for you");
}});
"""
# Folders without tests of the project's own.
_SKIPPED = ("node_modules", "__pycache__", "venv", "docs", "rehearsal", "acceptance")


class Language(NamedTuple):
    """How a story's code and its test are written: `function` and `test` are added to files that start with `begin`
    and `begin_test`. Without a `file` there is no test.
    """

    suffix: str = ".py"
    begin: str = '"""{story}, as a rehearsal writes it."""\n'
    function: str = _PYTHON
    file: str = ""
    begin_test: str = ""
    test: str = ""
    source: str = ""


def language_of(root: str) -> Language:
    """The language of the repository at `root`; Python without a test for one that is not known."""
    paths = list(files.below(root, _SKIPPED))
    return _python(root, paths) or _javascript(root, paths) or Language()


def _python(root: str, paths: list[str]) -> Language | None:
    tests = [path for path in paths if path.endswith(".py") and _last(path).startswith("test_")]
    if not tests and "pytest" not in files.read_or_empty(files.join(root, "pyproject.toml")):
        return None
    folder = _folder(tests[0]) if tests else "tests"
    is_unittest = bool(tests) and "unittest.TestCase" in files.read_or_empty(files.join(root, tests[0]))
    up = len(folder.split("/")) if folder else 0
    imports = ["import runpy", *(["import unittest"] if is_unittest else []), "from pathlib import Path", ""]
    return Language(
        file=files.join(folder, "test_{slug}.py"),
        begin_test="\n".join(imports),
        test=_UNITTEST if is_unittest else _PYTEST,
        source=f'Path(__file__).resolve().parents[{up}] / "rehearsal" / "{{slug}}.py"',
    )


def _javascript(root: str, paths: list[str]) -> Language | None:
    tests = [path for path in paths if ".test." in _last(path) or _folder(path).split("/")[-1] in ("test", "__tests__")]
    tests = [path for path in tests if path.endswith((".js", ".mjs", ".cjs", ".ts"))]
    package, runner = _package(root, tests)
    if not runner:
        return None
    folder = _folder(tests[0]) if tests else "test"
    is_module = runner == "vitest" or package.get("type") == "module"
    path = f"{'../' * len(folder.split('/')) if folder else './'}rehearsal/{{slug}}.js"
    names = {"vitest": ("vitest", "{ test }"), "node": ("node:test", "test")}
    used = [*([names[runner]] if runner in names else []), ("node:assert", "assert")]  # jest's test is there already
    said = 'import {1} from "{0}";' if is_module else 'const {1} = require("{0}");'
    return Language(
        suffix=".js",
        begin="// {story}, as a rehearsal writes it.\n",
        function=_MODULE_JS if is_module else _COMMON_JS,
        file=files.join(folder, "{slug}.test.js"),
        begin_test="".join(f"{said.format(*one)}\n" for one in used),
        test=_JS_TEST,
        source=f'await import("{path}")' if is_module else f'require("{path}")',
    )


def _package(root: str, tests: list[str]) -> tuple[dict[str, object], str]:
    """(package.json, which of the runners that are known here runs the tests)."""
    try:
        read = json.loads(files.read_or_empty(files.join(root, "package.json")) or "{}")
    except ValueError:
        read = None
    package = read if isinstance(read, dict) else {}
    said = json.dumps([package.get(name) for name in ("scripts", "dependencies", "devDependencies")])
    if found := next((runner for runner in ("vitest", "jest") if runner in said), ""):
        return package, found
    first = files.read_or_empty(files.join(root, tests[0])) if tests else ""
    return package, "node" if "node --test" in said or "node:test" in first else ""


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
