"""The language of a rehearsed story's code, and its test, which passes with the code and fails without it.

The test is written beside existing tests, and for their runner. It imports the code when it runs, so that without the
code the test fails, and not its whole file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ralphy.rehearsal.tools import text_of

# {name} of the function and its file, and {story} are filled in; {up} leads from the test's folder to the root.
_PYTHON = '''"""{story}, as a rehearsal writes it."""


def {name}() -> str:
    """Name the story that this stands for."""
    return "{story}"
'''
_PYTEST = """import runpy
from pathlib import Path


def test_{name}() -> None:
    source = Path(__file__).resolve().parents[{up}] / "rehearsal" / "{name}.py"
    assert runpy.run_path(str(source))["{name}"]() == "{story}"
"""
_UNITTEST = """import runpy
import unittest
from pathlib import Path


class Test_{name}(unittest.TestCase):
    def test_{name}(self) -> None:
        source = Path(__file__).resolve().parents[{up}] / "rehearsal" / "{name}.py"
        self.assertEqual(runpy.run_path(str(source))["{name}"](), "{story}")
"""
_JAVASCRIPT = """// {story}, as a rehearsal writes it.
%sfunction {name}(who) {{
  return `{story} for ${{who}}`;
}}
"""
_MODULE_CODE = _JAVASCRIPT % "export "
_COMMON_CODE = _JAVASCRIPT % "" + "exports.{name} = {name};\n"
_JAVASCRIPT_TEST = """
test("{name} names its story", async () => {{
  const {{ {name} }} = %s("{up}rehearsal/{name}.js");
  assert.equal({name}("you"), "{story} for you");
}});
"""
_MODULE_TEST = 'import assert from "node:assert";\n' + _JAVASCRIPT_TEST % "await import"
_COMMON_TEST = 'const assert = require("node:assert");\n' + _JAVASCRIPT_TEST % "require"
# Folders without tests of the project's own.
_SKIPPED = ("node_modules", "__pycache__", "venv", "docs", "rehearsal", "acceptance")


class StoryLanguage(NamedTuple):
    """The templates of a story's code and its test; without a `test_file` there is no test."""

    suffix: str = ".py"
    code: str = _PYTHON
    test_file: str = ""
    test: str = ""
    up: str = ""


def language_of(root: Path) -> StoryLanguage:
    """The language of the repository at `root`; Python without a test if it is unknown."""
    paths = list(_files(root))
    return _python(root, paths) or _javascript(root, paths) or StoryLanguage()


def _files(root: Path) -> Iterator[Path]:
    """The files below `root`, in order, relative to it, outside of hidden folders and those without tests."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        yield from (Path(folder, name).relative_to(root) for name in sorted(names))


def _python(root: Path, paths: list[Path]) -> StoryLanguage | None:
    tests = [path for path in paths if path.match("test_*.py")]
    if not tests and "pytest" not in text_of(root / "pyproject.toml"):
        return None
    folder = tests[0].parent if tests else Path("tests")
    is_unittest = bool(tests) and "unittest.TestCase" in text_of(root / tests[0])
    test = _UNITTEST if is_unittest else _PYTEST
    return StoryLanguage(test_file=f"{folder}/test_{{name}}.py", test=test, up=str(len(folder.parts)))


def _javascript(root: Path, paths: list[Path]) -> StoryLanguage | None:
    scripts = [path for path in paths if path.suffix in (".js", ".mjs", ".cjs", ".ts")]
    tests = [path for path in scripts if ".test." in path.name or path.parent.name in ("test", "__tests__")]
    try:
        package = json.loads(text_of(root / "package.json") or "{}")
    except ValueError:
        return None
    runner = _javascript_runner(root, tests, package)
    if not runner:
        return None
    folder = tests[0].parent if tests else Path("test")
    is_module = runner == "vitest" or package.get("type") == "module"
    code, test = (_MODULE_CODE, _MODULE_TEST) if is_module else (_COMMON_CODE, _COMMON_TEST)
    if runner == "vitest":
        test = 'import {{ test }} from "vitest";\n' + test
    elif runner == "node":
        test = ('import test from "node:test";\n' if is_module else 'const test = require("node:test");\n') + test
    return StoryLanguage(".js", code, f"{folder}/{{name}}.test.js", test, "../" * len(folder.parts) or "./")


def _javascript_runner(root: Path, tests: list[Path], package: dict[str, object]) -> str:
    """The runner of the tests: vitest, jest or node; "" for any other."""
    used = json.dumps([package.get(name) for name in ("scripts", "dependencies", "devDependencies")])
    for runner in ("vitest", "jest"):
        if runner in used:
            return runner
    first = text_of(root / tests[0]) if tests else ""
    return "node" if "node --test" in used or "node:test" in first else ""
