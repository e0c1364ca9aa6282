"""What stands around the tests: what makes checks greener is said, honest work is not."""

from __future__ import annotations

import pytest

from ralphy.core.findings import Kind
from ralphy.core.surroundings import Surroundings, matters, weaker

JEST = '{"scripts": {"test": "jest"}}'
R, E = Kind.RUNNER, Kind.EDITED
MAKE = Surroundings([("make", "test")])
SCRIPT = Surroundings([("sh", "./check.sh")])
PYTEST = Surroundings([("pytest",)], {"pyproject.toml": "[tool.pytest.ini_options]\n"}, is_listed=True)
UNLISTED = Surroundings([("pytest",)], {"pytest.ini": "[pytest]\naddopts = -q\n"})
NPM = Surroundings([("npm", "test")])
MAKEFILE = "PY = python\n\ntest: unit\n\ttrue\n\nunit:\n\t$(PY) -m pytest\n\nclean:\n\trm -rf build\n"
REPORT = "def pytest_runtest_makereport(item, call):\n    rep = call.rep\n    rep.outcome = 'passed'\n"

CHANGES = [
    ("a new pytest.ini over pyproject", "pytest.ini", None, "[pytest]\n", PYTEST, [R]),
    ("a first pytest.ini", "pytest.ini", None, "[pytest]\naddopts = -q\n", Surroundings([("pytest",)]), []),
    ("a tox.ini below pyproject", "tox.ini", None, "[pytest]\n", PYTEST, []),
    ("a setup.cfg without pytest", "setup.cfg", None, "[flake8]\n", PYTEST, []),
    ("a marker", "pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q\nmarkers = slow\n", UNLISTED, []),
    ("coverage", "pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q --cov\n", UNLISTED, []),
    ("a -k unseen", "pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q -k add\n", UNLISTED, [R]),
    ("testpaths unseen", "pytest.ini", "[pytest]\ntestpaths = tests\n", "[pytest]\ntestpaths = a\n", UNLISTED, [R]),
    ("pytest.py", "pytest.py", None, "", PYTEST, [R]),
    ("sitecustomize in a folder", "tests/sitecustomize.py", None, "", PYTEST, [R]),
    ("a module of another name", "pytest_tools.py", None, "", PYTEST, []),
    ("an outcome is set", "conftest.py", None, REPORT, PYTEST, [R]),
    ("a report is kept", "conftest.py", None, REPORT.replace("rep.outcome = 'passed'", "item.rep = rep"), PYTEST, []),
    ("an outcome in a test", "tests/test_a.py", None, "def test_a():\n    order.outcome = 1\n", PYTEST, []),
    ("an outcome as before", "conftest.py", REPORT, REPORT + "\nX = 1\n", PYTEST, []),
    ("an outcome as data", "conftest.py", None, "import pytest\nA = {'outcome': 'accepted'}\n", PYTEST, []),
    ("an outcome by name", "conftest.py", None, "def f(rep):\n    setattr(rep, 'outcome', 'passed')\n", PYTEST, [R]),
    ("an outcome in __dict__", "conftest.py", None, "def f(rep):\n    rep.__dict__['outcome'] = 1\n", PYTEST, [R]),
    ("an outcome updated", "conftest.py", None, "def f(r):\n    vars(r).update({'outcome': 1})\n", PYTEST, [R]),
    ("a .pth", "ralphy.pth", None, "import os\n", PYTEST, [R]),
    ("a .pth of paths", "venv/lib/site-packages/a.pth", None, "../src\n", PYTEST, [R]),
    ("a padded .pth", "a.pth", None, "\0" + "#" * 70000 + "\nimport os\n", PYTEST, [R]),
    ("weights", "models/tiny.pth", None, "PK\x03\x04\0\0", PYTEST, []),
    ("weights at the root", "tiny.pth", None, "PK\x03\x04\0\0", PYTEST, []),
    ("the report's name", "tests/conftest.py", None, "import os\nos.environ['PYTEST_ADDOPTS'] = ''\n", PYTEST, [R]),
    ("items sorted, seen", "conftest.py", None, "def pytest_collection_modifyitems(items):\n    pass\n", PYTEST, []),
    ("items sorted, unseen", "conftest.py", None, "def pytest_collection_modifyitems(i):\n    pass\n", UNLISTED, [R]),
    ("a fixture", "conftest.py", None, "import pytest\n\n\n@pytest.fixture\ndef a():\n    return 1\n", UNLISTED, []),
    ("a recipe swallows", "Makefile", MAKEFILE, MAKEFILE.replace("pytest", "pytest || true"), MAKE, [R]),
    ("a recipe is edited", "Makefile", MAKEFILE, MAKEFILE.replace("-m pytest", "-m pytest -v"), MAKE, [E]),
    ("a variable is edited", "Makefile", MAKEFILE, MAKEFILE.replace("= python", "= echo"), MAKE, [E]),
    ("another recipe", "Makefile", MAKEFILE, MAKEFILE.replace("rm -rf", "rm -r"), MAKE, []),
    ("a recipe is emptied", "Makefile", MAKEFILE, MAKEFILE.replace("$(PY) -m pytest", "@echo ok"), MAKE, [R]),
    ("make plays no part", "Makefile", MAKEFILE, MAKEFILE.replace("-m pytest", ""), PYTEST, []),
    ("a script is edited", "check.sh", "pytest\n", "pytest -v\n", SCRIPT, [E]),
    ("a script swallows", "check.sh", "pytest\n", "pytest || true\n", SCRIPT, [R]),
    ("a script is emptied", "check.sh", "pytest\n", "", SCRIPT, [R]),
    ("a script gives up", "check.sh", "pytest\n", None, SCRIPT, [R]),
    ("another script", "build.sh", "make\n", "make all\n", SCRIPT, []),
    ("npm test is edited", "package.json", JEST, '{"scripts": {"test": "jest -i"}}', NPM, [E]),
    ("npm test says ok", "package.json", JEST, '{"scripts": {"test": "echo ok"}}', NPM, [R]),
    ("a first npm test", "package.json", "{}", JEST, NPM, []),
    ("npm's own text", "package.json", '{"scripts": {"test": "echo no test specified"}}', JEST,
     NPM, []),
    ("another npm script", "package.json", JEST,
     '{"scripts": {"test": "jest", "build": "tsc"}}', NPM, []),
    ("jest ignores", "jest.config.js", "m = {}\n", "m = {\n  testPathIgnorePatterns: ['a'],\n}\n", NPM, [R]),
    ("jest's timeout", "jest.config.js", "m = {}\n", "m = {\n  testTimeout: 5,\n}\n", NPM, []),
    ("cargo's runner", ".cargo/config.toml", None, '[target.x]\nrunner = "true"\n', NPM, [R]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "around", "found"), [row[1:] for row in CHANGES],
                         ids=[row[0] for row in CHANGES])  # fmt: skip
def test_a_change_around_the_tests(
    path: str, old: str | None, new: str | None, around: Surroundings, found: list[Kind]
) -> None:
    assert [finding.kind for finding in weaker(path, old, new, around)] == found
    assert matters(path, around) or not found
