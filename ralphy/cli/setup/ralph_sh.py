"""ralph-sh: write a loop that needs only bash, git, jq and claude."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.config.load import with_stack
from ralphy.detect.stack import detect
from ralphy.scaffold.ralph_script import ralph_files, write_ralph_files


@click.command("ralph-sh")
@feature_argument
@click.option("--output", "-o", type=click.Path(), metavar="DIR", help="Where to write; default: the feature's folder.")
@click.option("--force", is_flag=True, help="Overwrite an existing ralph.sh and prompt.md.")
@with_options
def ralph_sh(call: Invocation, feature: str | None, output: str | None, force: bool) -> int:
    """It is written for this repository's stack, needs bash, git, jq and claude, and reads the prd.json beside it. It
    has no sandbox, budget or proof of Ralphy's."""
    folder = call.directory / output if output else call.feature(feature).folder
    done = write_script(call, folder, force=force)
    following = _following(call, folder)
    lines = [*(f"{how} {folder / name}" for name, how in done), *(f"next: {step}" for step in following)]
    return call.output.answer("ralph-sh", "\n".join(lines), folder=str(folder), next=following,
                              files=[{"name": name, "done": how} for name, how in done])  # fmt: skip


def write_script(call: Invocation, folder: Path, *, force: bool = False) -> list[tuple[str, str]]:
    """Write both files into the folder, for this repository's stack; (name, what was done) for each."""
    repository = call.repository()
    config = call.settings().config
    stack = detect(repository.root, prefer=config.stack.language)
    files = ralph_files(
        name=config.project.name or repository.root.name, language=config.stack.language or stack.language,
        framework=stack.framework or "", package_manager=stack.package_manager or "",
        checks=with_stack(config, stack.checks),
    )  # fmt: skip
    return write_ralph_files(folder, files, force=force)


def _following(call: Invocation, folder: Path) -> list[str]:
    relative_folder = os.path.relpath(folder, call.directory)
    missing = [] if (folder / "prd.json").exists() else [f"write {relative_folder}/prd.json (ralphy decompose PRD.md)"]
    return [f"customise {relative_folder}/prompt.md, and CHECKS in {relative_folder}/ralph.sh", *missing, "commit them",
            f"{relative_folder}/ralph.sh"]  # fmt: skip
