"""The common options of all commands, and the repository and the feature that a command works on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ralphy.cli.output import Output
from ralphy.cli.run.sentences import in_words
from ralphy.config.load import Settings, load, with_stack
from ralphy.config.trust import record_trust
from ralphy.config.values import Check, Config
from ralphy.documents.feature_folder import Feature, find, ignored, misnamed
from ralphy.engine.feature.features import FeatureLocation, features_of, only_open
from ralphy.engine.feature.ignored_files import exclude
from ralphy.engine.feature.live_documents import show_documents
from ralphy.engine.feature.persons_git import operation_or_bisect
from ralphy.engine.view.observe import observe
from ralphy.engine.view.project_settings import branch_with_settings
from ralphy.engine.view.status import snapshot_at
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import Workspace, open_workspace
from ralphy.errors import Conflict, ExitCode, InvalidInput, NotFound, RalphyError
from ralphy.git.commands import Repository, discover, require_commit
from ralphy.git.run_lock import Lock
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.stories import why_lost


class WholeNumber(click.IntRange):
    name = "whole number"

    def _describe_range(self) -> str:
        return f"from {self.min} on" if self.max is None else f"from {self.min} to {self.max}"


class Amount(click.FloatRange):
    """An amount above 0."""

    name = "number"

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def _describe_range(self) -> str:
        return f"above {self.min}"


@dataclass(slots=True)
class Invocation:
    """One call of the command line: the folder that it is about, where its answer goes, and `flags`: the settings that
    its options override.

    A command finds the repository, its settings and its features here; each is looked up once. `override` and
    `look_again` alone change it.
    """

    directory: Path
    output: Output
    flags: Mapping[str, object] = field(default_factory=dict)
    _known: dict[str, tuple[Config, tuple[Check, ...]]] = field(default_factory=dict)
    _repository: Repository | None = None
    _features: list[FeatureLocation] | None = None
    _warnings: set[str] = field(default_factory=set)
    _settings_branch: str | None = None

    def override(self, flags: Mapping[str, object]) -> None:
        """Override these settings, too."""
        self.flags = {**self.flags, **flags}
        self._known.clear()

    def repository(self) -> Repository:
        """The repository that holds the directory; looked for once."""
        if self._repository is None:
            self._repository = discover(self.directory)
        return self._repository

    def settings(self, feature: Feature | None = None, *, runs_checks: bool = True) -> Settings:
        """Configuration of all levels; its warnings are printed once, those about checks only where these matter."""
        folder = feature.folder if feature else None
        settings = load(self.repository().root, folder, env=os.environ, flags=self.flags)
        for warning in settings.warnings:
            if runs_checks or warning not in settings.about_checks:
                self.warn(warning)
        if self._settings_branch is None and (branch := self._branch_with_settings(settings.config)):
            self.output.note(
                f"warning: the project's settings are on branch {branch}, not in this checkout: using defaults"
            )
        return settings

    def warn(self, text: str) -> None:
        """Print a warning, if it is the first time."""
        if text not in self._warnings:
            self._warnings.add(text)
            self.output.note(f"warning: {text}")

    def _branch_with_settings(self, config: Config) -> str:
        """The branch that has the settings which this checkout lacks, or ""; looked up once."""
        if self._settings_branch is None:
            with closing(Checkout.of(self.repository())) as checkout:
                self._settings_branch = branch_with_settings(checkout, config.git.branch_prefix)
        return self._settings_branch

    def require_settings(self) -> None:
        """Raises Conflict where the project has settings on another branch alone: defaults may guard less."""
        if branch := self._branch_with_settings(self._config()):
            raise Conflict(f"the project's settings are on branch {branch}, not in this checkout",
                           hint=f"git checkout {branch} -- .ralphy; ralphy init; git add .ralphy Makefile; "
                                "git commit -m 'chore: set up Ralphy'")  # fmt: skip

    def require_trusted(self) -> None:
        """Accept the repository's settings as the person's own.

        Raises Conflict with the settings that weaken the person's protection and were not accepted.
        """
        root = self.repository().root
        settings = load(root, None, env=os.environ)
        if settings.untrusted:
            listed = "\n  ".join(settings.untrusted.values())
            raise Conflict(f"settings of this repository weaken your protection and are not accepted:\n  {listed}",
                           hint="read .ralphy/config.yaml; to accept these settings: ralphy trust")  # fmt: skip
        record_trust(root, settings.loosening, os.environ)

    def require_allowed(self) -> None:
        """Raises Conflict where settings came from elsewhere and were not accepted, or are missing here."""
        self.require_settings()
        self.require_trusted()

    def require_nothing_begun(self) -> None:
        """Raises Conflict without a commit, and during a merge, rebase or bisect: a new feature could not begin."""
        require_commit(self.repository())
        if operation := operation_or_bisect(self.repository()):
            raise Conflict(f"{operation} in {self.repository().root} is in progress", hint="finish or abort it first")

    def feature(self, name: str | None) -> Feature:
        """The feature called `name`, wherever it is; without a name, the only one that is open."""
        if name is None:
            return self.only().feature
        try:
            return find(self.repository().root, self._config().project.features_dir, name, self.directory)
        except NotFound:
            if location := self.find_feature(name):
                return location.feature
            raise

    def find_feature(self, name: str) -> FeatureLocation | None:
        """The feature of that name and its life, wherever it is."""
        return next((location for location in self.features() if location.feature.name == name), None)

    def only(self) -> FeatureLocation:
        """The only open feature. Raises NotFound where none is open, InvalidInput where several are."""
        return only_open(self.features(), self._config().project.features_dir)

    def meant(self, name: str | None) -> list[str | None]:
        """The features that a read-only command shows: the named one, or all that are open; [None] for the only one."""
        if name is not None:
            return [name]
        features = self.features()
        several = [one.feature.name for one in features if one.life.is_open] or [one.feature.name for one in features]
        return [*several] if len(several) > 1 else [None]

    def is_feature(self, word: str) -> bool:
        """Is a word the name of a feature, or the path of its folder?"""
        try:
            self.feature(word)
        except (NotFound, InvalidInput):
            return False
        return True

    def features(self) -> list[FeatureLocation]:
        """All features of the repository; looked up once."""
        if self._features is None:
            self.tell_ignored()
            with closing(Checkout.of(self.repository())) as checkout:
                self._features = features_of(checkout, self._config())
        return self._features

    def tell_ignored(self) -> None:
        """Warn of each folder that is no feature because of its name alone, once."""
        root, folder = self.repository().root, self._config().project.features_dir
        for name in ignored(root, folder):
            error = misnamed(root / folder / name)
            self.warn(f"{folder}/{name} is ignored: {error}; rename it: {error.hint}")

    def look_again(self) -> None:
        """Forget the repository and its features: they may have changed."""
        self._repository = self._features = None

    def _config(self) -> Config:
        """The configuration without that of any feature; `settings` prints its warnings."""
        return load(self.repository().root, None, env=os.environ, flags=self.flags).config

    def workspace(self, name: str | None) -> Workspace:
        """The feature opened: its configuration read, its checks known; nothing written."""
        return self.open(Checkout.of(self.repository()), self.feature(name))

    def opened(self, name: str | None) -> tuple[FeatureLocation | None, Workspace]:
        """Where the feature is, and its workspace; no location for a folder outside of the features'."""
        feature = self.feature(name)
        location = self.find_feature(feature.name)
        is_listed = location is not None and location.feature.path == feature.path
        return location if is_listed else None, self.open(Checkout.of(self.repository()), feature)

    @contextmanager
    def seen(self, name: str | None, *, review: bool = True) -> Iterator[tuple[Workspace, Snapshot]]:
        """The feature opened to be read, and its snapshot."""
        location, workspace = self.opened(name)
        with workspace as w:
            yield w, snapshot_at(w, location, review=review)

    def lay_out(self, workspace: Workspace) -> None:
        """Lay the feature's documents out in its folder, where the newest ones are in a commit alone."""
        location = self.find_feature(workspace.feature.name)
        if location and location.at and location.feature.path == workspace.feature.path:
            exclude(workspace.repository, f"{workspace.feature.path}/")
            show_documents(workspace, location.at)

    @contextmanager
    def edited(
        self, name: str | None, purpose: str, *, review: bool = True, starts_over: bool = False
    ) -> Iterator[tuple[Workspace, Snapshot]]:
        """The feature opened to be changed by a person: nobody else works here, a dead run is cleared first.

        A command that repeats a step leaves out the `review`: QA_REPORT.md may be what is invalid.

        Raises Conflict where stories are gone from prd.json, unless it `starts_over`.
        """
        from ralphy.engine.runs.recover import is_unfinished, recover

        with self.workspace(name) as w, Lock(w.repository.checkout_dir / "lock", purpose):
            w.listener = in_words(self.output.say)
            self.lay_out(w)
            if is_unfinished(w):
                recover(w)
            snapshot = observe(w, review=review)
            if snapshot.lost and not starts_over:
                raise Conflict(why_lost(snapshot.lost, snapshot.feature, is_missing=not snapshot.has_prd_file))
            yield w, snapshot

    def open(self, checkout: Checkout, feature: Feature) -> Workspace:
        config, checks = self._effective(feature)
        return open_workspace(checkout, feature, config, checks, dict(os.environ))

    def _effective(self, feature: Feature) -> tuple[Config, tuple[Check, ...]]:
        """Configuration and checks; computed once for all features without a configuration of their own."""
        own = feature.name if (feature.private / "config.yaml").exists() else ""
        if own not in self._known:
            config = self.settings(feature).config
            self._known[own] = (config, checks_of(self.repository(), config))
        return self._known[own]


def checks_of(repository: Repository, config: Config) -> tuple[Check, ...]:
    """The checks that the settings name, else those of the repository's stack."""
    if config.checks is not None or config.stack.test_command:
        return with_stack(config, ())
    from ralphy.detect.stack import detect  # `status` rarely needs it

    return with_stack(config, detect(repository.root, prefer=config.stack.language).checks)


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -C, --json, -q, -v, --no-progress and --color; the command gets an Invocation first."""

    @click.option("-C", "directory", type=click.Path(), default=".", metavar="DIR", envvar="RALPHY_WORKSPACE",
                  help="Run as if in DIR; default: $RALPHY_WORKSPACE, or here.")  # fmt: skip
    @click.option("--json", "as_json", is_flag=True, help="Machine-readable output on stdout.")
    @click.option("-q", "--quiet", is_flag=True, help="Print only the result and errors.")
    @click.option("-v", "--verbose", is_flag=True, help="Show every act and command, and tracebacks.")
    @click.option("--no-progress", is_flag=True, help="Disable live progress.")
    @click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Colour output. auto: on a terminal; honours NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR.",
    )
    @wraps(command)
    def wrapped(
        directory: str, as_json: bool, quiet: bool, verbose: bool, no_progress: bool, color: str, **rest: Any
    ) -> Any:
        output = Output(as_json, quiet, verbose, not no_progress, color)
        return command(Invocation(Path.cwd() / directory, output), **rest)

    return wrapped


def features_begun(_: click.Context, __: click.Parameter, word: str) -> list[str]:
    """The names of features that begin with `word`, for a shell; none if they cannot be read."""
    try:
        call = Invocation(Path.cwd(), Output(quiet=True))
        return [name for location in call.features() if (name := location.feature.name).startswith(word)]
    except (RalphyError, OSError):
        return []


def stories_begun(_: click.Context, __: click.Parameter, word: str) -> list[str]:
    """The ids of stories that begin so, of the only open feature, for a shell."""
    from ralphy.cli.status.look import standing

    try:
        rows = standing(Invocation(Path.cwd(), Output(quiet=True)), None)["stories"]
    except (RalphyError, OSError):
        return []
    return [row["id"] for row in rows if row["id"].startswith(word)]


def not_empty(_: click.Context, __: click.Parameter, word: str | None) -> str | None:
    """Refuse an empty name, such as an unset variable: it would mean all features."""
    if word is not None and not word.strip():
        raise click.BadParameter("it is empty: give a name, or leave it out")
    return word


feature_argument = click.argument("feature", required=False, callback=not_empty, shell_complete=features_begun)


def named_story(call: Invocation, word: str, feature: str | None) -> tuple[str, str | None]:
    """(story id, feature) of what was typed: an id, feature/id as it stands in the trailers of commits, or both words
    in either order."""
    folder, _, story_id = word.rpartition("/")
    if feature is None:
        return (story_id, folder) if folder else (word, None)
    return (feature, word) if call.is_feature(word) and not call.is_feature(feature) else (word, feature)


def for_each(call: Invocation, names: Sequence[str | None], show: Callable[[str | None], int]) -> int:
    """Show one feature after the other, with --json a line for each; an error of one does not stop the others.

    Gives the exit code: that of the first one that did not end well.
    """
    if len(names) == 1:
        return show(names[0])
    codes = []
    for name in names:
        try:
            codes.append(show(name))
        except RalphyError as error:
            codes.append(call.output.error(error))
    return next(filter(None, codes), ExitCode.DONE)
