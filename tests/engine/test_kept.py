"""What a story does to its tests and to what runs them is decided by running: many runners, cheats and honest work."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.engine.judged import Files, Repository
from tests.engine.pytested import CALC, PYPROJECT, TEST_FILE, TESTS

MORE = {"calc.py": f"{CALC}\n\ndef mul(a, b):\n    return a * b\n"}
PYTEST = f"{sys.executable} -m pytest"
BASE = {"calc.py": CALC, TEST_FILE: TESTS, "pyproject.toml": PYPROJECT}
WRAPPER = (
    "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n"
    "    try:\n        return (yield)\n"
)
REPORT = (
    "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    report = yield\n    {}\n    return report\n"
)
HOOKS: dict[str, tuple[Files, str]] = {
    "an outcome is set": ({"conftest.py": REPORT.format("report.outcome = 'passed'")}, "made to fail"),
    "an outcome is set by another name": (
        {"tests/conftest.py": REPORT.format("vars(report)['out' + 'come'] = 'passed'")}, "made to fail"),
    "a failure is swallowed": ({"conftest.py": f"{WRAPPER}    except AssertionError:\n        pass\n"}, "made to fail"),
    "a test is replaced": (
        {"conftest.py": "def pytest_itemcollected(item):\n    item.obj = lambda **_: None\n"}, "no longer runs"),
    "an assertion is replaced beside the tests": (
        {"tests/conftest.py": "import unittest as u\n\nfor name in ('assertEqual', 'assertTrue'):\n"
                              "    setattr(u.TestCase, name, lambda *a: None)\n"}, "made to fail"),
    "the runner leaves early": ({"conftest.py": "import atexit, os\n\natexit.register(os._exit, 0)\n"}, "made to fail"),
    "a plugin of the product's": (
        {"calc_plugin.py": REPORT.format("report.outcome = 'passed'"),
         "conftest.py": "pytest_plugins = ['calc_plugin']\n"}, "made to fail"),
    "a report is kept": ({"conftest.py": REPORT.format("item.report = report")}, ""),
    "a fixture for all": (
        {"tests/conftest.py": "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef here():\n    yield\n"}, ""),
    "markers, sorted tests and coverage": (
        {"conftest.py": "def pytest_collection_modifyitems(items):\n    items.sort(key=lambda item: item.name)\n",
         "pyproject.toml": PYPROJECT + "markers = ['unit']\n"}, ""),
    "a dependency": ({"pyproject.toml": f"[project]\nname = 'calc'\nversion = '1'\n\n{PYPROJECT}"}, ""),
}  # fmt: skip


def test_a_hook_may_do_what_it_likes_as_long_as_failures_are_heard(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, BASE)
    for name, (change, found) in HOOKS.items():
        failure = repository.judge({**MORE, **change}).failure
        assert found in failure if found else not failure, (name, failure)


RECIPE = f"test: unit\n\t@echo done\n\nunit:\n\tPYTHONPATH=. {PYTEST} -q tests\n\nclean:\n\trm -rf build\n"
RECIPES: dict[str, tuple[Files, str]] = {
    "or true": ({"Makefile": RECIPE.replace("-q tests", "-q tests || true")}, "made to fail"),
    "or an exit": ({"Makefile": RECIPE.replace("-q tests", "-q tests || exit $$((0))")}, "made to fail"),
    "a dash": ({"Makefile": RECIPE.replace("\tPYTHON", "\t-PYTHON")}, "made to fail"),
    "errors are ignored": ({"Makefile": f".IGNORE:\n{RECIPE}"}, "made to fail"),
    "another shell": ({"Makefile": f"SHELL = /bin/true\n{RECIPE}"}, "no longer reports"),
    "flags of the shell": (
        {"Makefile": f".SHELLFLAGS = -c 'eval \"$$0\"; true'\n{RECIPE}"},
        "no longer reports|made to",
    ),
    "flags of make": ({"Makefile": f"MAKEFLAGS += -i\n{RECIPE}"}, "made to fail"),
    "another makefile": ({"GNUmakefile": f"include Makefile\nunit:\n\t-{PYTEST} -q tests\n"}, "made to fail"),
    "without assertions": ({"Makefile": RECIPE.replace("-m pytest", "-O -m pytest")}, "made to fail"),
    "an option": ({"Makefile": RECIPE.replace("-q tests", "-q -x tests")}, ""),
    "another recipe": ({"Makefile": RECIPE.replace("build", "dist")}, ""),
}


def test_a_recipe_may_do_what_it_likes_as_long_as_failures_are_heard(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "make test", {"calc.py": CALC, TEST_FILE: TESTS, "Makefile": RECIPE})
    for name, (change, found) in RECIPES.items():
        judged = repository.judge({**MORE, **change})
        assert any(part in judged.failure for part in found.split("|")) if found else not judged.failure, (name, judged)
        assert found or name == "another recipe" or "Makefile: unit" in judged.flags, (name, judged)
