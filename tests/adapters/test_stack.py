"""What `detect` makes of a repository: languages, managers, frameworks, and the checks to run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralphy.config.fields import accept, check_fields
from ralphy.detect.rules import LANGUAGES
from ralphy.detect.stack import StackReport, detect, example_check

PYTEST_PROJECT = '[project]\nname = "a"\ndependencies = ["pytest>=8"]\n'
UNITTEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"


def repo(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def package(**fields: object) -> str:
    return json.dumps({"name": "a", **fields})


def runs(report: StackReport) -> dict[str, str]:
    return {check.name: check.run for check in report.checks}


def node(**fields: object) -> dict[str, str]:
    return {"package.json": package(**fields)}


def typescript(config: str = "{}", **others: str) -> dict[str, str]:
    return {"tsconfig.json": config, **node(devDependencies={"typescript": "5", **others})}


LISTED = '[project]\ndependencies = ["pytest", "ruff", "mypy"]\n'
CARGO = '[package]\nname = "a"\n[dependencies]\naxum = "0.8"\n'
KOTLIN = 'plugins {\n  kotlin("jvm") version "2.1"\n  id("org.jlleitschuh.gradle.ktlint") version "12"\n}\n'
GO = {"test": "go test -v ./...", "vet": "go vet ./..."}
OWN_TARGETS = "test:\n\ttrue\nlint:\n\ttrue\ntypes: lint\n\ttrue\nbuild:\n\ttrue\n"
TASKFILE = "version: '3'\ntasks:\n  test:\n    cmds: [./t.sh]\n  'lint':\n    cmds: [./l.sh]\n"

# what is there -> the checks that are made of it
CHECKS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    # linters run only where the project configures them
    "python, linters only listed": ({"pyproject.toml": LISTED}, {"test": "python3 -m pytest -q"}),
    "python, linters configured": (
        {"pyproject.toml": LISTED + "[tool.ruff]\n[tool.mypy]\nstrict = true\n"},
        {"lint": "python3 -m ruff check .", "typecheck": "python3 -m mypy .", "test": "python3 -m pytest -q"},
    ),
    "python, mypy knows its files": (
        {"pyproject.toml": LISTED, "mypy.ini": "[mypy]\nfiles = a\n"},
        {"typecheck": "python3 -m mypy", "test": "python3 -m pytest -q"},
    ),
    "node, the named manager beats a forgotten lock": (
        {**node(scripts={"test": "x"}, packageManager="npm@10.1.0"), "yarn.lock": ""}, {"test": "npm test"},
    ),
    "node, tests that no script names": (
        {**node(), "src/sum.test.mjs": "import assert from 'node:assert'\n"}, {"test": "node --test"},
    ),
    "node, tests of another runner": (
        {**node(devDependencies={"vitest": "^3"}), "sum.test.js": "test('sum', f)\n"},
        {"test": "npx vitest run --reporter=verbose"},
    ),
    "node, one test asks for node's runner": (
        {**node(devDependencies={"vitest": "^3"}), "test/add.js": "const { test } = require('node:test')\n"},
        {"test": "node --test"},
    ),
    "jest without a script": ({**node(devDependencies={"jest": "29"}), "src/a.spec.tsx": ""}, {"test": "npx jest"}),
    "vitest by pnpm": (
        {**node(devDependencies={"vitest": "3"}), "src/a.test.ts": "", "pnpm-lock.yaml": ""},
        {"test": "pnpm exec vitest run --reporter=verbose"},
    ),
    "bun": ({**node(), "a.test.ts": "import { test } from 'bun:test'"}, {"test": "bun test"}),
    "typescript": (typescript(), {"typecheck": "npx tsc --noEmit"}),
    "typescript with references": (
        typescript('{// all\n"files": [], "references": [{"path": "./app"}]}'), {"typecheck": "npx tsc --build"},
    ),
    "typescript by yarn": (
        {**typescript('{"references": []}'), "yarn.lock": ""}, {"typecheck": "yarn tsc --noEmit"},
    ),
    "typescript without the compiler": ({**node(), "tsconfig.json": "{}"}, {}),
    "typescript that tsc cannot read": (typescript(svelte="5"), {}),
    "vue": (typescript(**{"vue-tsc": "3"}), {"typecheck": "npx vue-tsc --noEmit"}),
    "go": ({"go.mod": "module a\n", "a.go": "package a\n", "tools/gen.py": "", "tools/b.py": ""}, GO),
    "rust": (
        {"Cargo.toml": CARGO},
        {"typecheck": "cargo check --all-targets", "test": "cargo test", "build": "cargo build"},
    ),
    "rust, clippy configured": (
        {"Cargo.toml": CARGO + '[lints.clippy]\nall = "warn"\n'},
        {"lint": "cargo clippy --all-targets", "typecheck": "cargo check --all-targets", "test": "cargo test",
         "build": "cargo build"},
    ),
    "rust, a workspace": (
        {"Cargo.toml": CARGO + '[workspace]\nmembers = ["b"]\n'},
        {"typecheck": "cargo check --workspace --all-targets", "test": "cargo test --workspace",
         "build": "cargo build --workspace"},
    ),
    "maven": (
        {"pom.xml": "<artifactId>maven-checkstyle-plugin</artifactId>"},
        {"test": "mvn -q -B test", "lint": "mvn -q -B checkstyle:check", "typecheck": "mvn -q -B test-compile",
         "build": "mvn -q -B package -DskipTests"},
    ),
    "gradle": (
        {"build.gradle": "plugins { id 'java'; id 'com.diffplug.spotless' version '7' }", "gradlew": ""},
        {"test": "./gradlew -q test", "lint": "./gradlew -q spotlessCheck", "typecheck": "./gradlew -q testClasses",
         "build": "./gradlew -q assemble"},
    ),
    "gradle in kotlin": (
        {"build.gradle.kts": KOTLIN, "gradlew": ""},
        {"test": "./gradlew -q test", "lint": "./gradlew -q ktlintCheck", "typecheck": "./gradlew -q testClasses",
         "build": "./gradlew -q assemble"},
    ),
    "android": (
        {"build.gradle.kts": "plugins { alias(libs.plugins.android.application) }"},
        {"test": "gradle -q test", "build": "gradle -q assemble"},
    ),
    "dotnet": (
        {"a.sln": "", ".editorconfig": "root = true\n"},
        {"test": "dotnet test", "lint": "dotnet format --verify-no-changes", "build": "dotnet build"},
    ),
    "swift": (
        {"Package.swift": "", ".swiftlint.yml": ""},
        {"test": "swift test", "lint": "swiftlint lint --strict", "typecheck": "swift build --build-tests",
         "build": "swift build"},
    ),
    "scala": (
        {"build.sbt": "", "project/plugins.sbt": 'addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.5")'},
        {"test": "sbt test", "lint": "sbt scalafmtCheckAll", "typecheck": "sbt Test/compile", "build": "sbt package"},
    ),
    "php": (
        {"composer.json": '{"require-dev": {"phpunit/phpunit": "^12"}}', "tests/ATest.php": "<?php"},
        {"test": "vendor/bin/phpunit tests"},
    ),
    "cmake without tests": (
        {"CMakeLists.txt": "project(a)\n"},
        {"build": 'ctest --build-and-test . build --build-generator "Unix Makefiles"'},
    ),
    "a project in a folder of a folder": (
        {"services/api/pyproject.toml": "[tool.pytest.ini_options]\n", "services/go.md": "",
         "tests/app/package.json": '{"scripts": {"test": "x"}}'},
        {"services-api-test": "env -C services/api python3 -m pytest -q"},
    ),
    "a project whose root has tests is one project": (
        {"go.mod": "", "web/package.json": '{"scripts": {"test": "node --test"}}'}, GO,
    ),
    "tests at the root beside a project in another language": (
        {"test_a.py": "def test_a(): pass\n", "web/package.json": '{"scripts": {"test": "node --test"}}'},
        {"test": "python3 -m pytest -q", "web-test": "env -C web npm test"},
    ),
    "make test": ({"Makefile": ".PHONY: test\nall:\n\ntest: all\n\t./run\n"}, {"test": "make test"}),
    "make check": ({"Makefile": "check: all\n\t./run\nall:\n"}, {"test": "make check"}),
    "just": ({"justfile": "build:\n  x\ntest:\n  y\n"}, {"test": "just test"}),
    "task": ({"Taskfile.yml": TASKFILE}, {"lint": "task lint", "test": "task test"}),
    "the language's own test goes before make's": ({"go.mod": "module a\n", "Makefile": "test:\n\tgo test\n"}, GO),
    "targets are the checks that the language does not offer": (
        {"go.mod": "", "Makefile": OWN_TARGETS}, {**GO, "lint": "make lint", "typecheck": "make types"},
    ),
    "what only looks like a target": (
        {"Makefile": "test := 1\ntests:\n\ttest:\n# test:\nall: test\na: b test:\n"}, {},
    ),
    "installed packages": ({"node_modules/a.py": "", ".hidden/b.py": "", "vendor/c.go": "", "README": ""}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_what_is_there_gives_these_checks(tmp_path: Path, name: str) -> None:
    files, checks = CHECKS[name]
    assert runs(detect(repo(tmp_path, files))) == checks


def test_nothing_known_gives_no_checks_and_says_what_was_looked_for(tmp_path: Path) -> None:
    report = detect(repo(tmp_path, {"README.md": "hello"}))
    assert (report.language, report.framework, report.package_manager, report.checks) == ("", None, None, ())
    assert "pyproject.toml, package.json, go.mod, Cargo.toml" in report.evidence[0]
    assert "Makefile" in report.evidence[0]
    for rule, last in (("test", "test: make test (Makefile has a target test)"),
                       ("all", "Makefile has no target test or check")):  # fmt: skip
        evidence = detect(repo(tmp_path, {"Makefile": f"{rule}:\n\ttrue\n"})).evidence
        assert (evidence[-1], "Makefile" in evidence[0]) == (last, False)


# Python


@pytest.mark.parametrize(
    ("files", "run"),
    [
        ({"pyproject.toml": PYTEST_PROJECT}, "python3 -m pytest -q"),
        ({"pyproject.toml": '[dependency-groups]\ndev = ["pytest"]\n'}, "python3 -m pytest -q"),
        ({"pyproject.toml": '[project.optional-dependencies]\nt = ["Pytest[x]"]\n'}, "python3 -m pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest -q"),
        ({"setup.cfg": "[tool:pytest]\n"}, "python3 -m pytest -q"),
        ({"setup.py": "", "tox.ini": "[pytest]\n"}, "python3 -m pytest -q"),
        ({"requirements-dev.txt": "# tools\npytest==8.0 ; python_version > '3'\n"}, "python3 -m pytest -q"),
        ({"requirements.txt": "flask\n", "tests/test_a.py": ""}, "python3 -m pytest -q"),
        ({"test_a.py": "def test_a(): pass\n"}, "python3 -m pytest -q"),
        ({"pyproject.toml": PYTEST_PROJECT, "uv.lock": ""}, "uv run pytest -q"),
        ({"pyproject.toml": PYTEST_PROJECT, "poetry.lock": ""}, "poetry run pytest -q"),
        ({"Pipfile": '[dev-packages]\npytest = "*"\n'}, "pipenv run pytest -q"),
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n'}, "poetry run pytest -q"),
        ({"pyproject.toml": PYTEST_PROJECT, "venv/bin/python": ""}, "venv/bin/python -m pytest -q"),
        ({"pyproject.toml": PYTEST_PROJECT, "uv.lock": "", ".venv/bin/python": ""}, ".venv/bin/python -m pytest -q"),
        ({"setup.py": "", "test_a.py": UNITTEST}, "python3 -m unittest discover -v"),
        ({"setup.py": "", "tests/test_a.py": UNITTEST}, "python3 -m unittest discover -s tests -v"),
        (
            {"setup.py": "", "tests/__init__.py": "", "tests/test_a.py": UNITTEST, "uv.lock": ""},
            "uv run python -m unittest discover -v",
        ),
        ({"setup.py": "", "tests/test_a.py": UNITTEST, "tests/test_b.py": "import pytest\n"}, "python3 -m pytest -q"),
        ({"setup.py": "", "tests/test_a.py": "from unittest import mock\n"}, "python3 -m pytest -q"),
        ({"manage.py": "", "requirements.txt": "Django\n", "app/tests.py": ""}, "python3 manage.py test -v 2"),
    ],
)
def test_the_python_test_command(tmp_path: Path, files: dict[str, str], run: str) -> None:
    report = detect(repo(tmp_path, files))
    assert report.language == "python"
    assert runs(report)["test"] == run


@pytest.mark.parametrize("tests", ["test_a.py", "tests/test_a.py", "tests/__init__.py"])
def test_the_unittest_command_really_finds_the_tests(tmp_path: Path, tests: str) -> None:
    tells = UNITTEST.replace("pass", "open('ran', 'x').close()")
    repo(tmp_path, {"setup.py": "", tests: "", f"{tests.rpartition('/')[0] or '.'}/test_a.py": tells})
    command = shlex.split(runs(detect(tmp_path))["test"])
    assert command[0] == "python3"
    subprocess.run([sys.executable, *command[1:]], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "ran").exists()


# Node


@pytest.mark.parametrize(
    ("lock", "manager", "test", "lint"),
    [
        ("package-lock.json", "npm", "npm test", "npm run lint"),
        ("pnpm-lock.yaml", "pnpm", "pnpm test", "pnpm run lint"),
        ("yarn.lock", "yarn", "yarn test", "yarn run lint"),
        ("bun.lockb", "bun", "bun run test", "bun run lint"),
    ],
)
def test_node_scripts_run_by_the_manager_that_left_its_lock(
    tmp_path: Path, lock: str, manager: str, test: str, lint: str
) -> None:
    scripts = {"test": "vitest run", "lint": "eslint .", "build": "vite build", "type-check": "tsc"}
    report = detect(repo(tmp_path, {"package.json": package(scripts=scripts), lock: ""}))
    assert (report.language, report.package_manager) == ("javascript", manager)
    assert runs(report) == {
        "test": test,
        "lint": lint,
        "typecheck": lint.replace("lint", "type-check"),
        "build": lint.replace("lint", "build"),
    }
    assert report.checks[-1].name == "build"
    assert {check.timeout_s for check in report.checks} == {900.0}


def test_a_project_without_tests_has_no_test_check_and_says_so(tmp_path: Path) -> None:
    placeholder = 'echo "Error: no test specified" && exit 1'
    for language, files in (
        ("python", {"pyproject.toml": "[project]\nname = 'a'\n"}),
        ("javascript", node(scripts={"test": placeholder})),
    ):
        report = detect(repo(tmp_path / language, files))
        assert report.checks == ()
        assert f"no test command found for {language}" in report.evidence


EXAMPLES = {"python": "pytest -q", "typescript": "node --test", "go": "go test -v ./...", "rust": "cargo test",
            "java": "mvn -q -B test", "cpp": "make test", "": "make test"}  # fmt: skip


def test_the_example_of_a_check_fits_the_language() -> None:
    assert {language: example_check(language).run for language in EXAMPLES} == EXAMPLES


def test_a_script_that_never_ends_or_changes_files_is_no_check(tmp_path: Path) -> None:
    scripts = {"test": "jest --watch", "test:ci": "jest --watchAll=false", "lint": "eslint --fix ."}
    report = detect(repo(tmp_path, {"package.json": package(scripts=scripts)}))
    assert runs(report) == {"test": "npm run test:ci"}
    assert 'script "test" watches and never ends: not a check' in report.evidence
    assert 'script "lint" changes files: not a check' in report.evidence


ENDING = {
    "jest --watch --coverage": "npx jest --coverage",
    "jest --watchAll": "npx jest",
    "vitest": "npx vitest run --reporter=verbose",
    "vitest --coverage": "npx vitest run --reporter=verbose --coverage",
    "vitest watch src": "npx vitest run --reporter=verbose src",
    "ng test": "npx ng test --watch=false --browsers=ChromeHeadless",
    "react-scripts test": "npx react-scripts test --watchAll=false",
    "vitest run": "npm test",
    "vitest bench": "npm test",
    "jest --watchAll=false": "npm test",
    "tsc && vitest": "npm test",
    "tsc && jest --watch": "",
    "ng test $WHAT": "",
    "nodemon --exec jest": "",
    "turbo test --watch": "",
    "vite --watch": "",
}


@pytest.mark.parametrize("script", ENDING)
def test_a_test_script_that_watches_is_run_in_the_form_that_ends_if_it_has_one(tmp_path: Path, script: str) -> None:
    run = ENDING[script]
    report = detect(repo(tmp_path, node(scripts={"test": script}, devDependencies={"karma": "6"})))
    assert runs(report) == ({"test": run} if run else {})
    if not run:
        assert 'script "test" watches and never ends: not a check' in report.evidence
    elif run != "npm test":
        assert f'test: {run} (script "test" in the form that ends)' in report.evidence


# Others


@pytest.mark.parametrize(
    ("files", "language", "framework", "test"),
    [
        ({"Gemfile": 'gem "rails"\ngem "rspec-rails"\n'}, "ruby", "rails", "bundle exec rspec"),
        ({"Gemfile": 'gem "rails"\n'}, "ruby", "rails", "bundle exec rails test"),
        ({"pyproject.toml": '[project]\ndependencies = ["FastAPI[all]>=0.1", "pytest"]\n'}, "python", "fastapi",
         "python3 -m pytest -q"),
        ({"package.json": package(dependencies={"next": "15", "react": "19"}, scripts={"test": "x"}),
          "tsconfig.json": "{}"}, "typescript", "next", "npm test"),
        ({"go.mod": "module a\n\nrequire (\n\tgithub.com/labstack/echo/v4 v4.1.0\n)\n"}, "go", "echo",
         "go test -v ./..."),
        ({"Cargo.toml": CARGO}, "rust", "axum", "cargo test"),
        ({"composer.json": '{"scripts": {"test": "pest"}}'}, "php", None, "composer test"),
        ({"pom.xml": "<artifactId>spring-boot-starter</artifactId>"}, "java", "spring-boot", "mvn -q -B test"),
        ({"build.gradle.kts": "", "gradlew": ""}, "kotlin", None, "./gradlew -q test"),
        ({"src/App.csproj": "<Project/>"}, "csharp", None, "dotnet test"),
        ({"mix.exs": '{:phoenix, "~> 1.7"}'}, "elixir", "phoenix", "mix test"),
        ({"pubspec.yaml": "dependencies:\n  flutter:\n", "test/a.dart": ""}, "dart", "flutter", "flutter test"),
        ({"Package.swift": ""}, "swift", None, "swift test"),
        ({"build.sbt": ""}, "scala", None, "sbt test"),
        ({"a.cabal": ""}, "haskell", None, "cabal test"),
        ({"CMakeLists.txt": "", "Makefile": "test: all\n\tctest\n"}, "cpp", None, "make test"),
        ({"CMakeLists.txt": "project(a)\nenable_testing()\n"}, "cpp", None,
         'ctest --build-and-test . build --build-generator "Unix Makefiles" --test-command ctest --output-on-failure'),
        ({"CMakeLists.txt": "include( CTest )\nfind_package(GTest)\n", "CMakePresets.json": json.dumps(
            {"workflowPresets": [{"name": "docs", "steps": [{"type": "build"}]},
                                 {"name": "ci all", "steps": [{"type": "configure"}, {"type": "test"}]}]})},
         "cpp", "googletest", "cmake --workflow --preset 'ci all'"),
        ({"meson.build": "project('a', 'c')\n"}, "cpp", None, "meson test -C build"),
    ],
)  # fmt: skip
def test_further_stacks(tmp_path: Path, files: dict[str, str], language: str, framework: str | None, test: str) -> None:
    report = detect(repo(tmp_path, files))
    assert (report.language, report.framework, runs(report)["test"]) == (language, framework, test)


@pytest.mark.parametrize(
    ("root", "test"),
    [
        ({"pnpm-workspace.yaml": "packages: ['packages/*']\n", "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": '{"workspaces": ["packages/*"], "scripts": {"build": "turbo build"}}'}, "npm test"),
        ({"package.json": '{"workspaces": ["packages/*"], "scripts": {"build": "x"}}', "yarn.lock": ""}, "yarn test"),
        ({"package.json": '{"workspaces": ["packages/*"], "scripts": {"build": "x"}}', "bun.lock": ""}, "bun run test"),
    ],
)
def test_the_packages_of_a_workspace_are_checked_in_their_folders(
    tmp_path: Path, root: dict[str, str], test: str
) -> None:
    files = {
        "package.json": '{"private": true, "scripts": {"build": "pnpm -r build"}}',
        "packages/core/package.json": '{"scripts": {"test": "vitest run", "build": "tsc", "lint": "eslint ."}}',
        "packages/ui/package.json": '{"scripts": {"build": "tsc"}}',
        "examples/app/package.json": '{"scripts": {"test": "vitest run"}}',
        **root,
    }
    report = detect(repo(tmp_path, files))
    run = f"{test.split()[0]} run"
    assert runs(report) == {
        "build": f"{run} build",
        "packages-core-test": f"env -C packages/core {test}",
        "packages-core-lint": f"env -C packages/core {run} lint",
    }
    assert not any(line.startswith("no test command") for line in report.evidence)
    assert not any(line.startswith("in packages/core/: build:") for line in report.evidence)


def test_a_project_in_a_folder_is_set_up_there_and_its_checks_have_names_of_their_own(tmp_path: Path) -> None:
    assert next(iter(runs(detect(repo(tmp_path / "2", {f"_{'x' * 80}/go.mod": ""}))))) == f"{'x' * 45}-test"
    tmp_path = tmp_path / "1"
    files = {"a-b/meson.build": "", "a/b/go.mod": "", "a b/meson.build": ""}
    report = detect(repo(tmp_path, files))
    assert report.setup == "env -C 'a b' meson setup build"
    assert runs(report) == {
        "a-b-test": "env -C 'a b' meson test -C build",
        "a-b-test-2": "env -C a-b meson test -C build",
        "a-b-test-2-2": "env -C a/b go test -v ./...",
        "a-b-vet": "env -C a/b go vet ./...",
    }


def test_the_first_of_many_projects_are_taken_and_the_report_says_so(tmp_path: Path) -> None:
    report = detect(repo(tmp_path, {f"s{number}/go.mod": "" for number in range(9)}))
    assert "s7-test" in runs(report) and "s8-test" not in runs(report)
    assert "more than 8 folders have projects: only the first are looked at" in report.evidence


def test_every_command_of_the_table_is_one_that_the_configuration_accepts() -> None:
    for row in LANGUAGES:
        for command in row.commands:
            assert accept(check_fields()["run"], command.run) == command.run
            assert accept(check_fields()["name"], command.check) == command.check


# Several, hostile, large


def test_of_several_languages_the_strongest_wins_and_the_others_are_named(tmp_path: Path) -> None:
    files = {"package.json": package(devDependencies={"prettier": "3"}), "pyproject.toml": PYTEST_PROJECT}
    report = detect(repo(tmp_path, files))
    assert report.language == "python"
    assert "also here: javascript (package.json)" in report.evidence
    assert detect(tmp_path, prefer="JavaScript").language == "javascript"


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("package.json", "{", "package.json cannot be read as JSON"),
        ("package.json", "[" * 100_000, "package.json cannot be read as JSON"),
        ("package.json", '{"scripts": 3, "dependencies": [1], "packageManager": {}}', "no test command found"),
        ("package.json", " " * 300_000, "too large"),
        ("pyproject.toml", "= 3", "pyproject.toml cannot be read as TOML"),
        ("pyproject.toml", "a." * 120_000 + "a = 1", "pyproject.toml cannot be read as TOML"),
        ("pyproject.toml", "[project]\ndependencies = [1]\n[tool.poetry]\ngroup = {a = 1}\n", "no test command"),
        ("Cargo.toml", "dependencies = 1\n", "rust: Cargo.toml"),
        ("Makefile", "test " * 40_000, "no known project"),
    ],
)
def test_a_broken_manifest_is_a_line_of_evidence(tmp_path: Path, name: str, text: str, note: str) -> None:
    start = time.process_time()
    report = detect(repo(tmp_path, {name: text}))
    assert any(note in line for line in report.evidence)
    assert time.process_time() - start < 1


def test_pipes_folders_and_links_in_the_place_of_manifests_are_survived(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    (tmp_path / "pyproject.toml").mkdir()
    (tmp_path / "Cargo.toml").symlink_to("/dev/zero")
    (tmp_path / "src").symlink_to(tmp_path)
    assert any("not a file" in line for line in detect(tmp_path).evidence)


MANIFESTS = ("package.json", "pyproject.toml", "Cargo.toml", "composer.json", "setup.cfg", "Gemfile", "Makefile")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(MANIFESTS), data=st.binary(max_size=200))
def test_any_bytes_as_a_manifest_give_a_report(tmp_path: Path, name: str, data: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    try:
        assert detect(tmp_path).evidence
    finally:
        file.unlink()
