"""The stack of a repository and the commands that check its code. Files are read, nothing is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path

from ralphy.config.values import Check
from ralphy.detect.facts import Facts, ProjectFiles, gather, look
from ralphy.detect.rules import ALWAYS, LANGUAGES, TARGETS, TASK_RUNNERS, Language, Manager

_MOST_PROJECTS = 8  # in folders of their own
_MOST_OF_A_NAME = 50
_MOST_FOLDERS = 40  # on each of two levels
_NO_TEST = "no test command found for"
_NOT_PROJECTS = frozenset(("test", "tests", "testdata", "fixtures", "example", "examples", "docs", "templates"))


@dataclass(frozen=True, slots=True)
class StackReport:
    """`language` is "" if it is unknown; `evidence` has a sentence for each thing that was detected, with its file.

    `setup` is the command that prepares a working tree for the checks, "" if they need none.
    """

    language: str
    framework: str | None
    package_manager: str | None
    checks: tuple[Check, ...]
    evidence: tuple[str, ...]
    setup: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A language that the repository may be written in; the largest `strength` wins."""

    report: StackReport
    strength: tuple[bool, bool, bool, int]
    found_by: str


def detect(root: Path, *, prefer: str = "") -> StackReport:
    """The stack of a repository; `prefer` names the language that wins if there are several.

    If its root has no tests, the checks of the projects in its folders are added. Opens only manifests and a few test
    files, and raises for none of them.
    """
    tree = look(root)
    report = _detected(tree, prefer)
    return report if _has_test(report.checks) and _has_manifest(tree) else _with_projects(tree, report)


def _detected(tree: ProjectFiles, prefer: str = "", outer_manager: str = "") -> StackReport:
    """The stack of one folder; `outer_manager` is the package manager of the repository around it."""
    candidates = [candidate for row in LANGUAGES if (candidate := _candidate(tree, row, prefer, outer_manager))]
    candidates.sort(key=lambda candidate: candidate.strength, reverse=True)
    first = candidates[0].report if candidates else StackReport("", None, None, (), _nothing_known(tree))
    others = tuple(f"also here: {other.report.language} ({other.found_by})" for other in candidates[1:])
    return _with_targets(tree, replace(first, evidence=first.evidence + others))


def example_check(language: str) -> Check:
    """A typical test command for the language; `make test` if it is unknown."""
    rows = [row for row in LANGUAGES if language in (row.name, *(name for _, name in row.variants))]
    plain = (command.run for row in rows for command in row.commands if "{" not in command.run)
    run = next((row.example for row in rows if row.example), "") or next(plain, "make test")
    return Check("test", run)


def _with_projects(tree: ProjectFiles, root: StackReport) -> StackReport:
    """The report of the root, with the checks of the projects in folders, each run in its folder."""
    projects = list(islice(_projects(tree, root.package_manager or ""), _MOST_PROJECTS + 1))
    if not projects:
        return root
    # A workspace's own script, as `build`, is for all its packages.
    own = {check.name for check in root.checks} if _is_workspace(tree) else set()
    checks: list[Check] = []
    evidence: list[str] = []
    for folder, project in projects[:_MOST_PROJECTS]:
        checks += [
            _in_its_folder(check, folder, (*root.checks, *checks)) for check in project.checks if check.name not in own
        ]
        evidence += [f"in {folder}/: {line}" for line in project.evidence if line.partition(":")[0] not in own]
    if len(projects) > _MOST_PROJECTS:
        evidence.append(f"more than {_MOST_PROJECTS} folders have projects: only the first are looked at")
    setup = root.setup or next((_in_folder(folder, one.setup) for folder, one in projects if one.setup), "")
    is_root_theirs = not root.checks or any(project.language == root.language for _, project in projects)
    if not _has_manifest(tree) and is_root_theirs:  # the root has only the sources of the projects
        return replace(projects[0][1], checks=tuple(checks), evidence=tuple(evidence), setup=setup)
    is_tested = any(_has_test(project.checks) for _, project in projects)
    remaining = (line for line in root.evidence if not (is_tested and line.startswith(_NO_TEST)))
    return replace(root, checks=(*root.checks, *checks), evidence=(*remaining, *evidence), setup=setup)


def _projects(tree: ProjectFiles, manager: str) -> Iterator[tuple[str, StackReport]]:
    """(folder, report) of folders with checks, and of their subfolders if they are no project, as `packages/core`."""
    inner = [name for name in tree.names if "/" in name]
    folders = dict.fromkeys(name.partition("/")[0] for name in inner)
    for folder in islice((name for name in folders if name not in _NOT_PROJECTS), _MOST_FOLDERS):
        one = _project(tree, folder, manager)
        if one.checks:
            yield folder, one
        elif not one.language:
            below = (name for name in inner if name.startswith(f"{folder}/") and (tree.root / name).is_dir())
            reports = ((name, _project(tree, name, manager)) for name in islice(below, _MOST_FOLDERS))
            yield from ((name, report) for name, report in reports if report.checks)


def _project(tree: ProjectFiles, folder: str, manager: str) -> StackReport:
    """The stack of a folder with a manifest; an empty report without one."""
    inner = look(tree.root / folder)
    return _detected(inner, outer_manager=manager) if _has_manifest(inner) else StackReport("", None, None, (), ())


def _is_workspace(tree: ProjectFiles) -> bool:
    return tree.has("pnpm-workspace.yaml") or '"workspaces"' in tree.read("package.json")


def _has_manifest(tree: ProjectFiles) -> bool:
    """Is there a manifest, or a file of a task runner with a test target?"""
    return any(tree.has(marker) for row in LANGUAGES for marker in row.markers) or any(_targets(tree, ("test",)))


def _in_its_folder(check: Check, folder: str, others: Sequence[Check]) -> Check:
    """The check in its folder, with a unique name."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{folder}-{check.name}")[-_MOST_OF_A_NAME:].strip("-_")
    while any(name == other.name for other in others):
        name += "-2"
    return replace(check, name=name, run=_in_folder(folder, check.run))


def _in_folder(folder: str, command: str) -> str:
    return f"env -C {shlex.quote(folder)} {command}"


def _candidate(tree: ProjectFiles, row: Language, prefer: str, outer_manager: str) -> _Candidate | None:
    marker = next((marker for marker in row.markers if tree.has(marker)), "")
    sources = sum(name.endswith(row.sources) for name in tree.names) if row.sources else 0
    if not marker and not sources:
        return None
    facts = gather(tree, row)
    found_by = marker or f"files {'/'.join(row.sources)}: {sources}"
    report = _report(tree, row, facts, _manager(row, facts, tree, outer_manager), found_by)
    is_preferred = bool(prefer) and prefer.lower() in (row.name, report.language)
    strength = (is_preferred, bool(marker), _has_test(report.checks), sources)
    return _Candidate(report, strength, found_by)


def _report(tree: ProjectFiles, row: Language, facts: Facts, manager: Manager | None, found_by: str) -> StackReport:
    def first(conditions: tuple[str, ...]) -> str:
        return next((condition for condition in conditions if _holds(condition, tree, facts)), "")

    language = next((name for condition, name in row.variants if first((condition,))), row.name)
    framework = next((name for condition, name in row.frameworks if first((condition,))), None)
    local = next((words for condition, words in row.local if first((condition,))), {})
    words = {**(manager.words if manager else {}), **facts.words, **local}
    checks: dict[str, Check] = {}
    reasons = [f"{language}: {found_by}"]
    for command in row.commands:
        reason = first(command.when) if command.check not in checks else ""
        if reason:
            checks[command.check] = Check(command.check, command.run.format_map(words))
            reasons.append(f"{command.check}: {checks[command.check].run} ({_evidence(reason)})")
    reasons += [f"package manager: {manager.name}"] if manager else []
    reasons += [f"framework: {framework}"] if framework else []
    reasons += [] if _has_test(tuple(checks.values())) else [f"{_NO_TEST} {language}"]
    return StackReport(
        language,
        framework,
        manager.name if manager else None,
        tuple(checks.values()),
        (*reasons, *facts.notes),
        next((run for condition, run in row.setup if first((condition,))), ""),
    )


def _manager(row: Language, facts: Facts, tree: ProjectFiles, outer_manager: str) -> Manager | None:
    """The manager that the manifest names, else the first with a lock file, else the `outer_manager`."""
    named = (one for one in row.managers if one.name == facts.manager)
    present = (one for one in row.managers if any(_holds(condition, tree, facts) for condition in one.when))
    left = (one for one in present if one.when != ALWAYS)
    outer = (one for one in row.managers if one.name == outer_manager)
    usual = (one for one in row.managers if one.when == ALWAYS)
    return next(chain(named, left, outer, usual), None)


def _holds(condition: str, tree: ProjectFiles, facts: Facts) -> bool:
    kind, _, what = condition.partition(":")
    match kind:
        case "always":
            return True
        case "file":
            return tree.has(what)
        case "dep" if "*" in what:
            return any(fnmatchcase(name, what) for name in facts.deps)
        case _:
            known = {"dep": facts.deps, "table": facts.tables, "tests": facts.tests}
            return what in (known | {"script": facts.scripts.keys(), "ends": facts.ends})[kind]


def _evidence(condition: str) -> str:
    kind, _, what = condition.partition(":")
    match kind:
        case "dep":
            return f"depends on {what}"
        case "table":
            return f"{what} is configured"
        case "script":
            return f'script "{what}"'
        case "ends":
            return f'script "{what}" in the form that ends'
        case "tests":
            return "there are test files" if what == "any" else f"tests use {what}"
        case _:
            return what or "always"


def _has_test(checks: tuple[Check, ...]) -> bool:
    return any(check.name == "test" for check in checks)


def _with_targets(tree: ProjectFiles, report: StackReport) -> StackReport:
    """The report, with a task runner's targets for missing checks; the tests are first."""
    offered = {check.name for check in report.checks}
    missing = [(check, _targets(tree, names)) for check, names in TARGETS if check not in offered]
    by_check = {check: target for check, targets in missing if (target := next(targets, None))}
    checks = [*report.checks, *(Check(check, run) for check, (run, _) in by_check.items())]
    evidence = tuple(f"{check}: {run} ({why})" for check, (run, why) in by_check.items())
    in_order = sorted(checks, key=lambda check: check.name != "test")
    return replace(report, checks=tuple(in_order), evidence=report.evidence + evidence)


def _targets(tree: ProjectFiles, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(command, evidence) of each declared target, in the order of the runners."""
    for files, declares, run in TASK_RUNNERS:
        file = next((name for name in files if tree.has(name)), "")
        for name in names if file else ():
            if re.search(declares.replace("{target}", re.escape(name)), tree.read(file)):
                yield run.format(target=name), f"{file} has a target {name}"


def _nothing_known(tree: ProjectFiles) -> tuple[str, ...]:
    """What was looked for, and that a task runner's file is here, but without tests."""
    markers = dict.fromkeys(row.markers[0] for row in LANGUAGES if row.markers)
    here = [name for files, _, _ in TASK_RUNNERS for name in files if tree.has(name)]
    runners = (files[-1] if files[-1][0] != "." else files[0] for files, _, _ in TASK_RUNNERS if not {*files} & {*here})
    has_tests = any(_targets(tree, dict(TARGETS)["test"]))
    untested = () if has_tests else (f"{name} has no target test or check" for name in here)
    return (f"no known project; looked for {', '.join((*markers, *runners))}", *untested)
