"""Options that stand on every command, and the repository and feature that they lead to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralphy.cli.output import Output

if TYPE_CHECKING:
    from ralphy.adapters.feature import Feature
    from ralphy.adapters.git import Repository
    from ralphy.adapters.settings import Settings
    from ralphy.engine.workspace import Workspace


@dataclass(slots=True)
class Invocation:
    """What was asked for on the command line, and how to answer."""

    directory: Path
    output: Output
    flags: dict[str, object] = field(default_factory=dict)

    def repository(self) -> Repository:
        from ralphy.adapters.git import discover

        return discover(self.directory)

    def settings(self, repository: Repository, feature: Feature | None = None) -> Settings:
        """Configuration of all levels; its warnings are said once."""
        from ralphy.adapters.settings import load

        folder = feature.folder if feature else None
        found = load(repository.root, folder, env=os.environ, flags=self.flags, home=None)
        for warning in found.warnings:
            self.output.note(f"warning: {warning}")
        return found

    def feature(self, repository: Repository, name: str | None) -> Feature:
        from ralphy.adapters.feature import find
        from ralphy.adapters.settings import load

        features_dir = load(
            repository.root, None, env=os.environ, flags=self.flags, home=None
        ).config.project.features_dir
        return find(repository.root, features_dir, name, self.directory)

    def workspace(self, name: str | None) -> Workspace:
        """The feature opened: its configuration read, its checks known; nothing written."""
        repository = self.repository()
        return self.open(repository, self.feature(repository, name))

    def open(self, repository: Repository, feature: Feature) -> Workspace:
        from ralphy.adapters.settings import with_stack
        from ralphy.adapters.stack import detect
        from ralphy.engine.workspace import open_workspace

        config = self.settings(repository, feature).config
        needs_stack = config.checks is None and not config.stack.test_command
        stack = detect(repository.root, prefer=config.stack.language) if needs_stack else None
        return open_workspace(repository, feature, config, with_stack(config, stack), dict(os.environ))


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -C, --json, -q, -v, --no-progress and --color; the command gets an Invocation first."""

    @click.option(
        "-C", "directory", type=click.Path(path_type=Path), default=".", metavar="DIR", help="Run as if in DIR."
    )
    @click.option("--json", "as_json", is_flag=True, help="Machine-readable output on stdout.")
    @click.option("-q", "--quiet", is_flag=True, help="Say only the result and errors.")
    @click.option("-v", "--verbose", is_flag=True, help="Say more, tracebacks too.")
    @click.option("--no-progress", is_flag=True, help="No live progress.")
    @click.option(
        "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours; NO_COLOR counts."
    )
    @wraps(command)
    def wrapped(
        directory: Path, as_json: bool, quiet: bool, verbose: bool, no_progress: bool, color: str, **rest: Any
    ) -> Any:
        if color == "never":
            os.environ["NO_COLOR"] = "1"
        elif color == "always":
            os.environ["FORCE_COLOR"] = "1"
        output = Output(as_json, quiet, verbose, not no_progress)
        return command(Invocation(directory.absolute(), output), **rest)

    return wrapped


feature_argument = click.argument("feature", required=False)
