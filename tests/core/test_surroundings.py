"""What stands around the tests: which changes speak for themselves, are said, or have the checks asked."""

from __future__ import annotations

import pytest

from ralphy.testguard.findings import Kind
from ralphy.testguard.surroundings import around, could_hide_failures, unnamed_tests

R, E, A = Kind.RUNNER, Kind.EDITED, None  # A: nothing is said, but the checks are asked
NAMED = frozenset(["sh", "./check.sh", "tools/lint.py", "-m", "checks.all"])
REPORT = "def pytest_runtest_makereport(item, call):\n    rep = call.rep\n    rep.outcome = 'passed'\n"

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
    ("the report's name", "tests/conftest.py", None, "import os\nos.environ['PYTEST_ADDOPTS'] = ''\n", [A]),
    ("a runner is patched", "tests/__init__.py", None, "TestCase.assertEqual = f\n", [A]),
    ("a test patches its runner", "tests/test_a.py", None, "TestCase.assertEqual = f\ndef test_a():\n    f()\n", []),
    ("Go's main beside tests", "a_test.go", None, "func TestA() {\n}\nfunc TestMain(m *testing.M) {\n}\n", []),
    ("a test ends Go's runner", "a_test.go", None, "func init() {\n\tos.Exit(0)\n}\nfunc TestA() {\n}\n", []),
    ("code ends its runner", "src/a.js", None, "process.exit(0)\n", [E]),
    ("a runner is set up", "tests/test_a.py", None, "TestCase.maxDiff = None\n\n\ndef test_a():\n    f()\n", []),
    ("a folder becomes a package", "tests/__init__.py", None, "\n", []),
    ("a helper", "tests/building.py", "", "def a_cart():\n    return 1\n", [A]),
    ("a helper in a language whose tests have no known names", "spec/helper.rb", "", "def a\nend\n", []),
    ("a helper is gone", "tests/building.py", "A = 1\n", None, []),
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
    ("Go's main", "a/main_test.go", None, "func TestMain(m *testing.M) {\n}\n", [A]),
    ("Go's tests", "a/price_test.go", None, "func TestPrice(t *testing.T) {\n}\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "found"), [row[1:] for row in CHANGES],
                         ids=[row[0] for row in CHANGES])  # fmt: skip
def test_a_change_around_the_tests(path: str, old: str | None, new: str | None, found: list[Kind | None]) -> None:
    assert [finding.kind for finding in around(path, old, new, NAMED)] == [kind for kind in found if kind]
    assert could_hide_failures(path, old, new, NAMED) is bool(found)


@pytest.mark.parametrize(
    ("path", "is_gone", "kind"),
    [("tests/prices.bats", True, Kind.REMOVED), ("tests/prices.bats", False, E), ("tests/data/bill.txt", True, E)],
)
def test_only_a_file_of_tests_that_is_gone_takes_tests_away(path: str, is_gone: bool, kind: Kind) -> None:
    assert unnamed_tests(path, is_gone=is_gone).kind is kind
