"""What stands around the tests: which changes speak for themselves, are said, or have the checks asked."""

from __future__ import annotations

import pytest

from ralphy.testguard.findings import Kind
from ralphy.testguard.kept.surroundings import around, may_deafen, untold

R, E, A = Kind.RUNNER, Kind.EDITED, None  # A: nothing is said, but the checks are asked
NAMED = frozenset(["sh", "./check.sh", "tools/lint.py", "-m", "checks.all"])
REPORT = "def pytest_runtest_makereport(item, call):\n    rep = call.rep\n    rep.outcome = 'passed'\n"
WRAPPER = (
    "@hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n"
    "    try:\n        return (yield)\n    except AssertionError:\n        {}\n"
)

CHANGES = [
    ("a new pytest.ini", "pytest.ini", None, "[pytest]\n", [E]),
    ("pytest.ini", "pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q -k add\n", [E]),
    ("a manifest", "pyproject.toml", "", "[tool.pytest.ini_options]\n", [A]),
    ("dependencies", "requirements.txt", "", "rich\n", [A]),
    ("pytest.py", "pytest.py", None, "", [R]),
    ("sitecustomize in a folder", "tests/sitecustomize.py", None, "", [R]),
    ("a module of another name", "pytest_tools.py", None, "", []),
    ("a .pth of paths", "venv/lib/site-packages/a.pth", None, "../src\n", [R]),
    ("weights", "models/tiny.pth", None, "PK\x03\x04\0\0", [A]),
    ("an outcome is set", "conftest.py", None, REPORT, [E]),
    ("a fixture", "conftest.py", None, "import pytest\n\n\n@pytest.fixture\ndef a():\n    return 1\n", [A]),
    ("an outcome in a test", "tests/test_a.py", None, "def test_a():\n    order.outcome = 1\n", []),
    ("the report's name", "tests/conftest.py", None, "import os\nos.environ['PYTEST_ADDOPTS'] = ''\n", [E]),
    ("a hook swallows", "conftest.py", None, WRAPPER.format("pass"), [E]),
    ("a hook replaces tests", "conftest.py", None, "def pytest_itemcollected(item):\n    item.obj = f\n", [E]),
    ("a runner is patched", "tests/test_a.py", None, "TestCase.assertEqual = f\n", [E]),
    ("a runner is set up", "tests/test_a.py", None, "unittest.TestCase.maxDiff = None\n", []),
    ("a hook in a plugin", "src/plug.py", None, REPORT, [E]),
    ("an outcome of an order", "src/order.py", None, "order.outcome = 'paid'\n", []),
    ("another encoding", ".gitattributes", None, "*.py working-tree-encoding=UTF-7\n", [R]),
    ("line ends", ".gitattributes", None, "* text=auto eol=lf\n*.rc working-tree-encoding=UTF-16LE\n", [A]),
    ("a recipe", "Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n", [E]),
    ("another makefile", "GNUmakefile", None, "lint:\n\t@echo ok\n", [E]),
    ("a script that a check names", "check.sh", "pytest\n", "pytest || true\n", [E]),
    ("a script that is gone", "check.sh", "pytest\n", None, [E]),
    ("a program that a check names", "tools/lint.py", "check()\n", "", [E]),
    ("a module that a check names", "checks/all.py", "check()\n", "", [E]),
    ("another script", "build.sh", "make\n", "make all\n", [A]),
    ("npm's scripts", "package.json", "{}", '{"scripts": {"test": "jest"}}', [A]),
    ("npm's shell", ".npmrc", None, "script-shell=/bin/true\n", [E]),
    ("jest ignores", "jest.config.js", "m = {}\n", "m = {\n  testPathIgnorePatterns: ['a'],\n}\n", [E]),
    ("a document", "docs/use.md", "a\n", "b\n", []),
    ("expected data", "tests/data/bill.txt", "1\n", "2\n", []),
    ("code", "src/a.py", "A = 1\n", "A = 2\n", []),
    ("code that looks for JUnit", "a/Pay.java", "", 'if (name.startsWith("org.junit")) {\n', [E]),
    ("code that looks for pytest", "src/a.py", "", "import sys\nA = 1 if sys.modules.get('pytest') else 0\n", [E]),
    ("code that looks for a module", "src/a.py", "", "import sys\nA = sys.modules.get('pytest_tools')\n", []),
    ("Go's tests for another system", "a/price_windows_test.go", None, "package a\n", [E]),
    ("Go's tests of windows", "a/windows_of_time_test.go", None, "package a\n", []),
    ("Go's main", "a/main_test.go", None, "func TestMain(m *testing.M) {\n}\n", [E]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "found"), [row[1:] for row in CHANGES],
                         ids=[row[0] for row in CHANGES])  # fmt: skip
def test_a_change_around_the_tests(path: str, old: str | None, new: str | None, found: list[Kind | None]) -> None:
    assert [finding.kind for finding in around(path, old, new, NAMED)] == [kind for kind in found if kind]
    assert may_deafen(path, old, new, NAMED) is bool(found)


@pytest.mark.parametrize(
    ("path", "is_gone", "kind"),
    [("tests/prices.bats", True, Kind.REMOVED), ("tests/prices.bats", False, E), ("tests/data/bill.txt", True, E)],
)
def test_only_a_file_of_tests_that_is_gone_takes_tests_away(path: str, is_gone: bool, kind: Kind) -> None:
    assert untold(path, is_gone=is_gone).kind is kind
