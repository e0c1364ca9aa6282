"""Which stack a repository is built with, and the commands that prove its code: read, never run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from ralphy.config.values import Check
from ralphy.detect.facts import Facts, Tree, gather, look
from ralphy.detect.rules import LANGUAGES, TASK_RUNNERS, Language, Manager


@dataclass(frozen=True, slots=True)
class StackReport:
    """`language` is "" when nothing is known; `evidence` says, a sentence each, what was found and where.

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
    """The stack of a repository; `prefer` names the language that wins where several are at home.

    Opens manifests and a few test files only, two levels deep; never raises for what it finds in them.
    """
    tree = look(root)
    found = [candidate for row in LANGUAGES if (candidate := _weigh(tree, row, prefer))]
    found.sort(key=lambda candidate: candidate.strength, reverse=True)
    first = found[0].report if found else StackReport("", None, None, (), (_nothing(),))
    others = tuple(f"also here: {other.report.language} ({other.found_by})" for other in found[1:])
    report = replace(first, evidence=first.evidence + others)
    return report if _has_test(report.checks) else _with_task_runner(tree, report)


def example_check(language: str) -> Check:
    """The test that a project in that language might have; `make test` where the language says nothing."""
    rows = [row for row in LANGUAGES if language in (row.name, *(name for _, name in row.variants))]
    plain = (command.run for row in rows for command in row.commands if "{" not in command.run)
    run = next((row.example for row in rows if row.example), "") or next(plain, "make test")
    return Check("test", run)


def _weigh(tree: Tree, row: Language, prefer: str) -> _Candidate | None:
    marker = next((marker for marker in row.markers if tree.has(marker)), "")
    sources = sum(name.endswith(row.sources) for name in tree.names) if row.sources else 0
    if not marker and not sources:
        return None
    facts = gather(tree, row)
    found_by = marker or f"{sources} files {'/'.join(row.sources)}"
    report = _report(tree, row, facts, found_by)
    is_preferred = bool(prefer) and prefer.lower() in (row.name, report.language)
    strength = (is_preferred, bool(marker), _has_test(report.checks), sources)
    return _Candidate(report, strength, found_by)


def _report(tree: Tree, row: Language, facts: Facts, found_by: str) -> StackReport:
    def first(conditions: tuple[str, ...]) -> str:
        return next((condition for condition in conditions if _holds(condition, tree, facts)), "")

    language = next((name for condition, name in row.variants if first((condition,))), row.name)
    manager = _manager(row, facts, tree)
    framework = next((name for condition, name in row.frameworks if first((condition,))), None)
    local = next((words for condition, words in row.local if first((condition,))), {})
    words = {**(manager.words if manager else {}), **facts.words, **local}
    checks: dict[str, Check] = {}
    reasons = [f"{language}: {found_by}"]
    for command in row.commands:
        reason = first(command.when) if command.check not in checks else ""
        if reason:
            checks[command.check] = Check(command.check, command.run.format_map(words))
            reasons.append(f"{command.check}: {checks[command.check].run} ({_because(reason)})")
    reasons += [f"package manager: {manager.name}"] if manager else []
    reasons += [f"framework: {framework}"] if framework else []
    reasons += [] if _has_test(tuple(checks.values())) else [f"no test command found for {language}"]
    return StackReport(
        language,
        framework,
        manager.name if manager else None,
        tuple(checks.values()),
        (*reasons, *facts.notes),
        next((run for condition, run in row.setup if first((condition,))), ""),
    )


def _manager(row: Language, facts: Facts, tree: Tree) -> Manager | None:
    """The one that the manifest names, else the first that left a lock file."""
    named = [manager for manager in row.managers if manager.name == facts.manager]
    present = (one for one in row.managers if any(_holds(condition, tree, facts) for condition in one.when))
    return named[0] if named else next(present, None)


def _holds(condition: str, tree: Tree, facts: Facts) -> bool:
    kind, _, what = condition.partition(":")
    match kind:
        case "always":
            return True
        case "file":
            return tree.has(what)
        case "dep" if "*" in what:
            return any(fnmatchcase(name, what) for name in facts.deps)
        case _:
            known = {"dep": facts.deps, "table": facts.tables, "script": facts.scripts, "tests": facts.tests}
            return what in known[kind]


def _because(condition: str) -> str:
    kind, _, what = condition.partition(":")
    match kind:
        case "dep":
            return f"depends on {what}"
        case "table":
            return f"{what} is configured"
        case "script":
            return f'script "{what}"'
        case "tests":
            return "there are test files" if what == "any" else f"tests use {what}"
        case _:
            return what or "always"


def _has_test(checks: tuple[Check, ...]) -> bool:
    return any(check.name == "test" for check in checks)


def _with_task_runner(tree: Tree, report: StackReport) -> StackReport:
    for files, declares, run in TASK_RUNNERS:
        file = next((name for name in files if tree.has(name)), "")
        if file and re.search(declares, tree.read(file)):
            evidence = (*report.evidence, f"test: {run} ({file} has a target test)")
            return replace(report, checks=(Check("test", run), *report.checks), evidence=evidence)
    return report


def _nothing() -> str:
    markers = dict.fromkeys(row.markers[0] for row in LANGUAGES if row.markers)
    runners = (files[-1] if files[-1][0] != "." else files[0] for files, _, _ in TASK_RUNNERS)
    return f"no known project; looked for {', '.join((*markers, *runners))}"
