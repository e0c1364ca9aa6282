"""What stands around the tests: which changes speak for themselves, are said, or have the checks asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralphy.testguard.findings import Kind
from ralphy.testguard.kept.runner_tampering import Surroundings, matters, may_deafen, weaker

JEST = '{"scripts": {"test": "jest"}}'
R, E, A = Kind.RUNNER, Kind.EDITED, None  # A: nothing is said, but the checks are asked
MAKE = Surroundings([("make", "test")])
SCRIPT = Surroundings([("sh", "./check.sh")])
PYTEST = Surroundings([("pytest",)], {"pyproject.toml": "[tool.pytest.ini_options]\n"}, is_listed=True)
UNLISTED = Surroundings([("pytest",)], {"pytest.ini": "[pytest]\naddopts = -q\n"})
NPM = Surroundings([("npm", "test")])
MAKEFILE = "PY = python\n\ntest: unit\n\ttrue\n\nunit:\n\t$(PY) -m pytest\n\nclean:\n\trm -rf build\n"
REPORT = "def pytest_runtest_makereport(item, call):\n    rep = call.rep\n    rep.outcome = 'passed'\n"
WRAPPER = (
    "@hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n"
    "    try:\n        return (yield)\n    except AssertionError:\n        {}\n"
)
SETUP = Surroundings([("pytest",)], {"setup.cfg": "[tool:pytest]\n"}, is_listed=True)
FILES = {
    "Makefile": "lint:\n\t./scripts/lint.sh\n\t$(PY) tools/lint.py src/a.py\n",
    "scripts/lint.sh": "#!/bin/sh\nset -e\n. scripts/inner.sh\n! grep 'TODO' src/a.py\nnpm run -s types\n",
    "scripts/inner.sh": "ruff check\n",
    "tools/lint.py": "check()\n",
    "src/a.py": "A = 1\n",
    "package.json": '{"scripts": {"types": "node types.js", "test": "jest"}}',
    "types.js": "check()\n",
}
LINT = Surroundings([("env", "CI=1", "make", "lint")], {"Makefile": FILES["Makefile"]}, read=FILES.get)
INNER = Surroundings([("sh", "-c", "cd . && make lint")], read=FILES.get)
TOX = Surroundings([("uv", "run", "tox", "-q")])

CHANGES = [
    ("a new pytest.ini over pyproject", "pytest.ini", None, "[pytest]\n", PYTEST, [R]),
    ("a first pytest.ini", "pytest.ini", None, "[pytest]\naddopts = -q\n", Surroundings([("pytest",)]), [A]),
    ("a tox.ini below pyproject", "tox.ini", None, "[pytest]\n", PYTEST, [A]),
    ("a setup.cfg without pytest", "setup.cfg", None, "[flake8]\n", PYTEST, [A]),
    ("a marker", "pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q\nmarkers = slow\n", UNLISTED, [E]),
    ("coverage", "pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q --cov\n", UNLISTED, [E]),
    ("a -k unseen", "pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q -k add\n", UNLISTED, [E]),
    ("testpaths unseen", "pytest.ini", "[pytest]\ntestpaths = tests\n", "[pytest]\ntestpaths = a\n", UNLISTED, [E]),
    ("pytest.py", "pytest.py", None, "", PYTEST, [R]),
    ("sitecustomize in a folder", "tests/sitecustomize.py", None, "", PYTEST, [R]),
    ("a module of another name", "pytest_tools.py", None, "", PYTEST, []),
    ("an outcome is set", "conftest.py", None, REPORT, PYTEST, [E]),
    ("a report is kept", "conftest.py", None, REPORT.replace("rep.outcome = 'passed'", "item.rep = rep"), PYTEST, [E]),
    ("an outcome in a test", "tests/test_a.py", None, "def test_a():\n    order.outcome = 1\n", PYTEST, []),
    ("an outcome as before", "conftest.py", REPORT, REPORT + "\nX = 1\n", PYTEST, []),
    ("an outcome as data", "conftest.py", None, "import pytest\nA = {'outcome': 'accepted'}\n", PYTEST, []),
    ("an outcome by name", "conftest.py", None, "def pytest_x(r):\n    setattr(r, 'outcome', 'passed')\n", PYTEST, [E]),
    ("an outcome in __dict__", "conftest.py", None, "def pytest_x(r):\n    r.__dict__['outcome'] = 1\n", PYTEST, [E]),
    ("an outcome updated", "conftest.py", None, "def pytest_x(r):\n    vars(r).update({'outcome': 1})\n", PYTEST, [E]),
    ("a .pth", "ralphy.pth", None, "import os\n", PYTEST, [R]),
    ("a .pth of paths", "venv/lib/site-packages/a.pth", None, "../src\n", PYTEST, [R]),
    ("a padded .pth", "a.pth", None, "\0" + "#" * 70000 + "\nimport os\n", PYTEST, [R]),
    ("weights", "models/tiny.pth", None, "PK\x03\x04\0\0", PYTEST, []),
    ("weights at the root", "tiny.pth", None, "PK\x03\x04\0\0", PYTEST, []),
    ("the report's name", "tests/conftest.py", None, "import os\nos.environ['PYTEST_ADDOPTS'] = ''\n", PYTEST, [E]),
    ("a hook swallows", "conftest.py", None, WRAPPER.format("pass"), PYTEST, [E]),
    ("a hook reports", "conftest.py", None, WRAPPER.format("raise"), PYTEST, [E]),
    ("a hook replaces tests", "conftest.py", None, "def pytest_itemcollected(item):\n    item.obj = f\n", PYTEST, [E]),
    ("a fixture has an obj", "conftest.py", None, "def made():\n    order.obj = f\n", PYTEST, []),
    ("a runner is patched", "tests/test_a.py", None, "TestCase.assertEqual = f\n", PYTEST, [E]),
    ("a runner is set up", "tests/test_a.py", None, "unittest.TestCase.maxDiff = None\n", PYTEST, []),
    ("an outcome in a plugin", "src/plug.py", None, REPORT, PYTEST, [E]),
    ("an outcome in the product", "src/plug.py", "def pytest_configure(): ...\n", REPORT, PYTEST, [E]),
    ("an option in a plugin", "src/plug.py", None, "def pytest_addoption(parser): ...\n", PYTEST, []),
    ("an outcome of a fixture", "conftest.py", None, "def order():\n    made.outcome = 1\n", PYTEST, []),
    ("what pytest is asked for", "tests/a.py", "A = 1\n", "A = 2\n", Surroundings([("pytest", "tests/a.py")]), []),
    ("an outcome of an order", "src/order.py", None, "order.outcome = 'paid'\n", PYTEST, []),
    ("a configuration is hidden", "pyproject.toml", "", "[tool.pytest.ini_options]\n", SETUP, [R]),
    ("a configuration moves", "pyproject.toml", "", "[tool.pytest.ini_options]\n",
     replace(SETUP, moved=frozenset(["setup.cfg"])), [A]),
    ("another encoding", ".gitattributes", None, "*.py working-tree-encoding=UTF-7\n", PYTEST, [R]),
    ("line ends", ".gitattributes", None, "* text=auto eol=lf\n*.rc working-tree-encoding=UTF-16LE\n", PYTEST, []),
    ("items sorted, seen", "conftest.py", None, "def pytest_collection_modifyitems(items):\n    pass\n", PYTEST, [A]),
    ("items sorted, unseen", "conftest.py", None, "def pytest_collection_modifyitems(i):\n    pass\n", UNLISTED, [E]),
    ("a fixture", "conftest.py", None, "import pytest\n\n\n@pytest.fixture\ndef a():\n    return 1\n", UNLISTED, []),
    ("a recipe swallows", "Makefile", MAKEFILE, MAKEFILE.replace("pytest", "pytest || true"), MAKE, [E]),
    ("a recipe is edited", "Makefile", MAKEFILE, MAKEFILE.replace("-m pytest", "-m pytest -v"), MAKE, [E]),
    ("a variable is edited", "Makefile", MAKEFILE, MAKEFILE.replace("= python", "= echo"), MAKE, [E]),
    ("another recipe", "Makefile", MAKEFILE, MAKEFILE.replace("rm -rf", "rm -r"), MAKE, []),
    ("a recipe is emptied", "Makefile", MAKEFILE, MAKEFILE.replace("$(PY) -m pytest", "@echo ok"), MAKE, [E]),
    ("make plays no part", "Makefile", MAKEFILE, MAKEFILE.replace("-m pytest", ""), PYTEST, []),
    ("a script is edited", "check.sh", "pytest\n", "pytest -v\n", SCRIPT, [E]),
    ("a script swallows", "check.sh", "pytest\n", "pytest || true\n", SCRIPT, [E]),
    ("a script is emptied", "check.sh", "pytest\n", "", SCRIPT, [E]),
    ("a script gives up", "check.sh", "pytest\n", None, SCRIPT, [E]),
    ("another script", "build.sh", "make\n", "make all\n", SCRIPT, []),
    ("npm test is edited", "package.json", JEST, '{"scripts": {"test": "jest -i"}}', NPM, [E]),
    ("npm test says ok", "package.json", JEST, '{"scripts": {"test": "echo ok"}}', NPM, [E]),
    ("a first npm test", "package.json", "{}", JEST, NPM, []),
    ("npm's own text", "package.json", '{"scripts": {"test": "echo no test specified"}}', JEST,
     NPM, []),
    ("another npm script", "package.json", JEST,
     '{"scripts": {"test": "jest", "build": "tsc"}}', NPM, []),
    ("a script behind make", "scripts/lint.sh", FILES["scripts/lint.sh"], "exit 0\n", LINT, [E]),
    ("a script behind a script", "scripts/inner.sh", "ruff check\n", "ruff check || true\n", LINT, [E]),
    ("a script behind sh -c", "scripts/inner.sh", "ruff check\n", "ruff check -q\n", INNER, [E]),
    ("a program behind make", "tools/lint.py", "check()\n", "", LINT, [E]),
    ("what it looks at", "src/a.py", "A = 1\n", "A = 2\n", LINT, []),
    ("npm behind make", "package.json", FILES["package.json"], FILES["package.json"].replace("node types.js", "true"),
     LINT, [E]),
    ("npm test not behind make", "package.json", FILES["package.json"], FILES["package.json"].replace("jest", "true"),
     LINT, []),
    ("a recipe behind env", "Makefile", FILES["Makefile"], FILES["Makefile"].replace("lint.sh", "lint.sh || true"),
     LINT, [E]),
    ("another shell", "Makefile", FILES["Makefile"], "SHELL = /bin/true\n" + FILES["Makefile"], LINT, [E]),
    ("bash", "Makefile", FILES["Makefile"], "SHELL := /usr/bin/env bash\n.SHELLFLAGS := -eu -o pipefail -c\n"
     "MAKEFLAGS += --no-builtin-rules -j4 -Otarget\n" + FILES["Makefile"], LINT, [E]),
    ("errors ignored", "Makefile", FILES["Makefile"], ".IGNORE:\n" + FILES["Makefile"], LINT, [E]),
    ("flags", "Makefile", FILES["Makefile"], "MAKEFLAGS += -ki\n" + FILES["Makefile"], LINT, [E]),
    ("another makefile", "GNUmakefile", None, "lint:\n\t@echo ok\n", LINT, [E]),
    ("a makefile below", "web/Makefile", None, "lint:\n\t@echo ok\n", LINT, []),
    ("house-keeping", "Makefile", FILES["Makefile"], FILES["Makefile"].replace(
        "lint:\n", "lint:\n\t-rm -rf build\n\t@mkdir -p build 2>/dev/null || true\n"), LINT, [E]),
    ("a needed recipe is renamed", "Makefile", "lint: a\n\na:\n\truff check\n", "lint: b\n\nb:\n\truff check\n",
     LINT, []),
    ("without assertions", "Makefile", MAKEFILE, MAKEFILE.replace("$(PY) -m", "$(PY) -O -m"), MAKE, [E]),
    ("tox", "tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = pytest -q\n", TOX, [E]),
    ("jest's settings move", "package.json", '{"scripts": {"test": "jest"}, "jest": {"a": 1}}', JEST, NPM, [E]),
    ("npm's watch is gone", "package.json", '{"scripts": {"test": "jest", "test:watch": "jest -w"}}', JEST, NPM, []),
    ("npm's shell", ".npmrc", None, "script-shell=/bin/true\n", NPM, [A]),
    ("npm's registry", ".npmrc", None, "registry=https://example.org\n", NPM, [A]),
    ("jest ignores", "jest.config.js", "m = {}\n", "m = {\n  testPathIgnorePatterns: ['a'],\n}\n", NPM, [E]),
    ("jest's timeout", "jest.config.js", "m = {}\n", "m = {\n  testTimeout: 5,\n}\n", NPM, [E]),
    ("code that looks for JUnit", "a/Pay.java", "", 'if (name.startsWith("org.junit")) {\n', MAKE, [E]),
    ("Go's tests for another system", "a/price_windows_test.go", None, "package a\n", MAKE, [E]),
    ("Go's tests of windows", "a/windows_of_time_test.go", None, "package a\n", MAKE, []),
    ("cargo's runner", ".cargo/config.toml", None, '[target.x]\nrunner = "true"\n', NPM, [A]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "around", "found"), [row[1:] for row in CHANGES],
                         ids=[row[0] for row in CHANGES])  # fmt: skip
def test_a_change_around_the_tests(
    path: str, old: str | None, new: str | None, around: Surroundings, found: list[Kind | None]
) -> None:
    assert [finding.kind for finding in weaker(path, old, new, around)] == [kind for kind in found if kind]
    assert may_deafen(path, old, new, around) is bool(found)
    assert matters(path, around) or not found
