"""init, init-prompts and detect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.config.edit import with_setting
from ralphy.config.fields import named
from ralphy.config.file import read_values
from ralphy.detect.stack import StackReport
from ralphy.detect.stack import detect as detect_stack
from ralphy.errors import NotFound
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.git.commands import Repository, require_plain_rules
from ralphy.scaffold import writer
from ralphy.scaffold.config_template import config_text
from ralphy.scaffold.writer import FileAction, PlannedFile

CONFIG = ".ralphy/config.yaml"
_COMMIT = "git commit -m 'chore: set up Ralphy'"
_NEXT = (("ralphy doctor", "what's missing, and how to fix it"),
         ('ralphy start "what you want built"', "or write a PRD.md, then: ralphy loop"))  # fmt: skip


@click.command("init")
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be done; write nothing.")
@click.option(
    "--ci", is_flag=True, help="Also write GitHub workflows: one works on features, one proves pull requests."
)
@with_options
def init(call: Invocation, dry_run: bool, ci: bool) -> int:
    """Writes settings with the detected checks, Make targets and ignore rules. Commit the new files before the first
    feature: its branch begins with that commit. With --quiet it says only what is missing.
    """
    repository = call.repository()
    config = call.settings().config
    stack = detect_stack(repository.root, prefer=config.stack.language)
    files = writer.plan(repository.root, stack, config.project.features_dir, with_ci=ci)
    mixed = _mixed(repository, files)
    first = [f"commit {path}: it has other uncommitted changes" for path, code in mixed.items() if code != "!!"]
    first += writer.to_do_first(files)
    steps = [*_commit_all(files, mixed), *_NEXT]
    planned = [f"would {file.action.value} {file.path}: {file.why}" for file in files]
    done = planned if dry_run else writer.apply(files)
    needed = [sentence for sentence in first if sentence != writer.CHECKS_FOUND]
    text = "\n".join(needed if call.output.quiet else [*_detected(stack), "", *done, "", *_what_next(first, steps)])
    rows = [{"path": file.path, "kind": file.action.value, "why": file.why} for file in files]
    return call.output.answer("init", text, root=str(repository.root), dry_run=dry_run, changes=rows, first=first,
                              next=[command for command, _ in steps], language=stack.language,
                              evidence=list(stack.evidence))  # fmt: skip


def _what_next(first: Sequence[str], steps: Sequence[tuple[str, str]]) -> list[str]:
    """What to do first, and the next commands, each with its purpose."""
    width = max(len(command) for command, _ in steps)
    seen_to = ["First:", *(f"  {sentence}" for sentence in first), ""] if first else []
    return [*seen_to, "Next:", *(f"  {command:<{width}}  # {why}" for command, why in steps)]


def _detected(stack: StackReport) -> list[str]:
    """The stack in a line, and its evidence below."""
    named = [stack.language or "no known language", stack.framework, stack.package_manager]
    named += [f"{check.name}: {check.run}" for check in stack.checks] or ["no checks"]
    return [f"detected {', '.join(filter(None, named))}", *(f"  because {sentence}" for sentence in stack.evidence)]


def _mixed(repository: Repository, files: Sequence[PlannedFile]) -> dict[str, str]:
    """Files to append to that have other uncommitted changes, with git's two letters: the person commits these."""
    appended = [file.path for file in files if file.action is FileAction.APPEND]
    if appended:
        require_plain_rules(repository.root)
    status_lines = {path: repository.text("status", "--porcelain", "--ignored", "--", path) for path in appended}
    return {path: line[:2] for path, line in status_lines.items() if line}


def _commit_all(files: Sequence[PlannedFile], mixed: Mapping[str, str]) -> list[tuple[str, str]]:
    """The command that commits the new files."""
    new = [file.path for file in files if file.action is not FileAction.KEEP and file.path not in mixed]
    paths = dict.fromkeys(".ralphy" if path.startswith(".ralphy/") else path for path in new)
    if not paths:
        return []
    return [(f"git add {' '.join(paths)} && {_COMMIT}", "every branch has the settings")]


@click.command("init-prompts")
@click.option("--force", is_flag=True, help="Overwrite existing prompts.")
@with_options
def init_prompts(call: Invocation, force: bool) -> int:
    """They go to .ralphy/prompts/; existing files stay."""
    messages = writer.init_prompts(call.repository().root, force)
    return call.output.answer("init-prompts", "\n".join(messages), said=messages)


@click.command("detect")
@click.option("--save", is_flag=True, help="Write the checks into .ralphy/config.yaml, if it has none.")
@with_options
def detect(call: Invocation, save: bool) -> int:
    """Shows the evidence, too; runs nothing."""
    repository = call.repository()
    stack = detect_stack(repository.root, prefer=call.settings().config.stack.language)
    is_saved, message = _save(repository.root, stack) if save else (False, "")
    lines = [*_described(stack), *([message] if message else [])]
    return call.output.answer("detect", "\n".join(lines), **asdict(stack), saved=is_saved, said=message)


def _described(stack: StackReport) -> list[str]:
    lines = [f"language   {stack.language or 'unknown'}"]
    lines += [f"framework  {stack.framework}"] if stack.framework else []
    lines += [f"packages   {stack.package_manager}"] if stack.package_manager else []
    lines += [f"setup      {stack.setup}"] if stack.setup else []
    lines += [f"{check.name:<10} {check.run}" for check in stack.checks] or ["checks     none"]
    return [*lines, "because", *(f"  {sentence}" for sentence in stack.evidence)]


def _save(root: Path, stack: StackReport) -> tuple[bool, str]:
    """Add the checks to the settings' file unless it has some; gives (whether they are saved, message)."""
    if not stack.checks:
        raise NotFound("no checks detected, nothing to save", hint=f"add at least one under checks: in {CONFIG}")
    path = root / CONFIG
    writer.refuse_links(root, CONFIG)
    before = read_regular(path)
    if before is None:
        text = config_text(root.name, stack, "docs/features")
        replace_file(path, text.encode())
        return True, f"saved to a new {CONFIG}"
    there = read_values(before, CONFIG).plain()
    taken = next((name for name in ("checks", "stack.test_command") if there.get(name) is not None), "")
    if taken:
        return False, f"kept {CONFIG}: it already has {taken}"
    replace_file(path, with_setting(before, CONFIG, named("checks"), stack.checks))
    return True, f"saved to {CONFIG}"
