"""The first `.ralphy/config.yaml` of a repository: what was detected, and every other setting as a comment.

Names and defaults are taken from `ralphy.config.values`, so that the file cannot say anything else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, is_dataclass

from ralphy.config.fields import flow
from ralphy.config.values import Check, Config
from ralphy.detect.stack import StackReport, example_check

_HEADER = """\
# yaml-language-server: $schema=./schemas/config.schema.json
# Ralphy's settings for this repository. A setting that is a comment shows its default: to change it, remove
# the `# ` before it, in each of its lines. Or: ralphy config set limits.max_attempts 3
# All settings, with their meaning: ralphy config show
"""
_WIDTH = 110
_REMARKS = {
    "setup": "a command that prepares a lane, such as npm ci; runs again when a manifest or lock file changes",
    "agent": "command: the agent's program; env: more variables to pass to it",
    "models": "implementation may be a list, the ladder of attempts: [sonnet, sonnet, opus]",
    "timeouts": "seconds, or such as 30m; agent: one run; startup: until it begins to work; the others: a whole step",
    "circuit_breaker": "within a run: what ends one that hangs, repeats itself or floods its output",
    "breaker": "between runs: stops the night when runs make no progress; see ralphy reset-circuit",
    "limits": "max_iterations: agent runs per invocation; until: a time as HH:MM",
    "gates": "human: wait for a person's APPROVED or REJECTED; auto: approve without one",
    "clarify": "ask: on lets an agent ask you about PRD.md before it is specified; most: how many questions",
    "stories": "granularity: small (3 to 5 stories a day of work), medium or large",
    "safety": "level: minimal, moderate, strict; sandbox: auto, bwrap, none; `ralphy doctor` says what works here",
    "lanes": "bring: auto, or paths and globs of ignored files; keep: build caches, such as [target]",
    "proof": "parts: before the review, find changes that no test needs; budget_s: seconds for that",
    "notify": "who gets a message when Ralphy needs you; command gets JSON on stdin; quiet_hours: such as 22:00-07:00",
    "git": "base: pull requests go there; empty: main or master, else the branch that a feature starts on",
}


def config_text(name: str, stack: StackReport, features_dir: str) -> str:
    """The file for a project of that name and stack. Without checks, one for its language stands there as a comment."""
    test = next((check.run for check in stack.checks if check.name == "test"), "")
    detected = {"language": stack.language, "test_command": test}
    known = {key: value for key, value in detected.items() if value}
    lines = [f"project: {flow({'name': _line(name), 'features_dir': features_dir})}"]
    lines.append(f"stack: {flow(known)}" if known else "# stack: {language: python, test_command: pytest -q}")
    examples = [f"# {line}" for line in check_lines([example_check(stack.language)])]
    lines += [
        "",
        "# Ralphy runs these commands to verify a story. No shell: one command each.",
        *(check_lines(stack.checks) if stack.checks else examples),
        "",
        *((f"# {_REMARKS['setup']}", f"setup: {flow(stack.setup)}") if stack.setup else ()),
    ]
    written = ("project", "stack", "checks", *(("setup",) if stack.setup else ()))
    return _HEADER + "\n".join([*lines, *_defaults(written)]) + "\n"


def check_lines(checks: Sequence[Check]) -> list[str]:
    """The checks as lines of YAML."""
    rows = ({"name": check.name, "run": check.run, "timeout_s": check.timeout_s} for check in checks)
    return ["checks:", *(f"  - {flow(row)}" for row in rows)]


def check_line(check: Check) -> str:
    """The setting `checks` with this one check, on one line."""
    return f"checks: [{flow({'name': check.name, 'run': check.run})}]"


def _defaults(written: Collection[str]) -> Iterator[str]:
    """Every section that is not written out, as a comment."""
    default = Config()
    for section in fields(Config):
        if section.name in written:
            continue
        value = getattr(default, section.name)
        if is_dataclass(value):
            value = {field.name: getattr(value, field.name) for field in fields(value)}
        if remark := _REMARKS.get(section.name):
            yield f"# {remark}"
        yield from (f"# {line}" for line in _folded(f"{section.name}: {flow(value)}"))


def _folded(mapping: str) -> Iterator[str]:
    """A mapping in YAML's flow style on lines that can be read, broken behind commas."""
    line = ""
    for piece in mapping.split(", "):
        whole = f"{line}, {piece}" if line else piece
        if len(whole) > _WIDTH:
            yield f"{line},"
            whole = f"  {piece}"
        line = whole
    yield line


def _line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text)
