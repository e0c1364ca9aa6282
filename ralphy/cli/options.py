"""Options that stand on every command, and the repository and feature that they lead to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralphy.cli.output import Output
from ralphy.errors import Conflict, ExitCode, InvalidInput, NotFound, RalphyError

if TYPE_CHECKING:
    from pathlib import Path

    from ralphy.config.load import Settings
    from ralphy.config.values import Check, Config, Notify
    from ralphy.documents.feature_folder import Feature
    from ralphy.engine.feature.features import Found
    from ralphy.engine.workspace.checkout import Checkout
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.git.commands import Repository
    from ralphy.notify.sender import Sender
    from ralphy.pipeline.model import Snapshot

# Options that stand on every command -> how many words they take after themselves.
EVERYWHERE = {"-C": 1, "--json": 0, "-q": 0, "--quiet": 0, "-v": 0, "--verbose": 0, "--no-progress": 0, "--color": 1}


class WholeNumber(click.IntRange):
    name = "whole number"


class Amount(click.FloatRange):
    name = "number"


@dataclass(slots=True)
class Invocation:
    """What was asked for on the command line, and how to answer."""

    where: str
    output: Output
    flags: dict[str, object] = field(default_factory=dict)
    _environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    _known: dict[tuple[str, ...], tuple[Config, tuple[Check, ...]]] = field(default_factory=dict)
    _features: list[Found] | None = None
    _ignored: set[str] = field(default_factory=set)
    _settings_branch: str | None = None
    senders: dict[Notify, Sender] = field(default_factory=dict)
    deadline: float | None = None

    @property
    def directory(self) -> Path:
        """Where it was called, or what -C said; `where` is the same for those that have no need of pathlib."""
        return Path(self.where)

    def repository(self) -> Repository:
        from ralphy.git.commands import discover

        return discover(self.directory)

    def settings(self, repository: Repository, feature: Feature | None = None) -> Settings:
        """Configuration of all levels; its warnings are said once."""
        from ralphy.config.load import load

        folder = feature.folder if feature else None
        found = load(repository.root, folder, env=os.environ, flags=self.flags)
        for warning in found.warnings:
            self.output.note(f"warning: {warning}")
        if self._settings_branch is None and (branch := self._branch_with_settings(repository, found.config)):
            self.output.note(
                f"warning: the project's settings are on branch {branch}, not in this checkout: using defaults"
            )
        return found

    def _branch_with_settings(self, repository: Repository, config: Config) -> str:
        """The branch that has the settings which this checkout lacks, or ""; looked up once."""
        if self._settings_branch is None:
            from ralphy.engine.view.project_settings import branch_with_settings
            from ralphy.engine.workspace.checkout import Checkout

            with closing(Checkout.of(repository)) as checkout:
                self._settings_branch = branch_with_settings(checkout, config.git.branch_prefix)
        return self._settings_branch

    def require_settings(self, repository: Repository) -> None:
        """Raises Conflict where the project has settings on another branch alone: defaults may guard less."""
        if branch := self._branch_with_settings(repository, self._config(repository)):
            raise Conflict(f"the project's settings are on branch {branch}, not in this checkout",
                           hint=f"git checkout {branch} -- .ralphy; ralphy init; git add .ralphy Makefile; "
                                "git commit -m 'chore: set up Ralphy'")  # fmt: skip

    def require_trusted(self, repository: Repository) -> None:
        """Note the repository's settings as the person's own, or end where they are not (exit code 4).

        Raises Conflict with what came from elsewhere, loosens what guards the person, and was never accepted.
        """
        from ralphy.config.load import load
        from ralphy.config.trust import accept

        found = load(repository.root, None, env=os.environ)
        if found.untrusted:
            listed = "\n  ".join(found.untrusted.values())
            raise Conflict(f"settings that came with this repository weaken your protection:\n  {listed}",
                           hint="read .ralphy/config.yaml; to accept these settings: ralphy trust")  # fmt: skip
        accept(repository.root, found.loosening, os.environ)

    def require_allowed(self, repository: Repository) -> None:
        """Raises Conflict where a person has to look first: at settings that came from elsewhere, or are missing."""
        self.require_settings(repository)
        self.require_trusted(repository)

    def require_nothing_begun(self, repository: Repository) -> None:
        """Raises Conflict in the middle of a merge, rebase or bisect: a feature that is made then could not begin."""
        from ralphy.git.commands import begun_by_person

        if operation := begun_by_person(repository):
            raise Conflict(f"{operation} in {repository.root} is in progress", hint="finish or abort it first")

    def feature(self, repository: Repository, name: str | None) -> Feature:
        """The feature called `name`, wherever it is; without a name, the only one that is open."""
        from ralphy.documents.feature_folder import find

        if name is None:
            return self.only(repository).feature
        try:
            return find(repository.root, self._config(repository).project.features_dir, name, self.directory)
        except NotFound:
            if found := self.find_feature(repository, name):
                return found.feature
            raise

    def find_feature(self, repository: Repository, name: str) -> Found | None:
        """The feature of that name and its life, wherever it is."""
        return next((found for found in self.features(repository) if found.feature.name == name), None)

    def only(self, repository: Repository) -> Found:
        """The feature that is meant where none is named. Raises NotFound or InvalidInput if that is not just one."""
        from ralphy.engine.feature.features import only_open

        return only_open(self.features(repository), self._config(repository).project.features_dir)

    def meant(self, name: str | None) -> list[str | None]:
        """The features that a command is about which only reads: the named one, or all that are open."""
        if name is not None:
            return [name]
        found = self.features(self.repository())
        several = [one.feature.name for one in found if one.life.is_open] or [one.feature.name for one in found]
        return [*several] if len(several) > 1 else [None]

    def is_feature(self, word: str) -> bool:
        """Is a word the name of a feature, or the path of its folder?"""
        try:
            self.feature(self.repository(), word)
        except (NotFound, InvalidInput):
            return False
        return True

    def features(self, repository: Repository) -> list[Found]:
        """All features of the repository; looked up once. A folder that is none for its name alone is said once."""
        from ralphy.engine.feature.features import features_of
        from ralphy.engine.workspace.checkout import Checkout

        if self._features is None:
            self.tell_ignored(repository)
            with closing(Checkout.of(repository)) as checkout:
                self._features = features_of(checkout, self._config(repository))
        return self._features

    def tell_ignored(self, repository: Repository) -> None:
        """Say which folders would be features if it were not for their names, each once."""
        from ralphy.documents.feature_folder import ignored, misnamed

        folder = self._config(repository).project.features_dir
        for name in (name for name in ignored(repository.root, folder) if name not in self._ignored):
            self._ignored.add(name)
            error = misnamed(repository.root / folder / name)
            self.output.note(f"warning: {folder}/{name} is ignored: {error}; rename it: {error.hint}")

    def set_author(self, author: str) -> None:
        """Have Git in this process commit as `Name <address>`; "" leaves it as it is configured."""
        name, _, address = author.removesuffix(">").partition(" <")
        found = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                 for what, value in (("NAME", name), ("EMAIL", address)) if author}  # fmt: skip
        os.environ.update(found)
        self._environment.update(found)

    def look_again(self) -> None:
        """Forget which features there are: time has passed."""
        self._features = None

    def _config(self, repository: Repository) -> Config:
        """The configuration without that of any feature; its warnings are said by `settings`."""
        from ralphy.config.load import load

        return load(repository.root, None, env=os.environ, flags=self.flags).config

    def workspace(self, name: str | None) -> Workspace:
        """The feature opened: its configuration read, its checks known; nothing written."""
        from ralphy.engine.workspace.checkout import Checkout

        repository = self.repository()
        return self.open(Checkout.of(repository), self.feature(repository, name))

    def opened(self, name: str | None) -> tuple[Found | None, Workspace]:
        """Where the feature is, and its workspace; no Found for a folder outside of the features'."""
        from ralphy.engine.workspace.checkout import Checkout

        repository = self.repository()
        feature = self.feature(repository, name)
        found = self.find_feature(repository, feature.name)
        is_listed = found is not None and found.feature.path == feature.path
        return found if is_listed else None, self.open(Checkout.of(repository), feature)

    def lay_out(self, workspace: Workspace) -> None:
        """Lay the feature's documents out in its folder, where the newest ones are in a commit alone."""
        from ralphy.engine.feature.excluded_folder import exclude
        from ralphy.engine.feature.live_documents import lay_out

        found = self.find_feature(workspace.repository, workspace.feature.name)
        if found and found.at and found.feature.path == workspace.feature.path:
            exclude(workspace.repository, f"{workspace.feature.path}/")
            lay_out(workspace, found.at)

    @contextmanager
    def edited(
        self, name: str | None, purpose: str, *, review: bool = True, starts_over: bool = False
    ) -> Iterator[tuple[Workspace, Snapshot]]:
        """The feature opened to be changed by a person: nobody else works here, a dead run is cleared first.

        What does again what went wrong looks away from the `review`: it may be that which is not valid.

        Raises Conflict where stories are gone from prd.json, unless it `starts_over`.
        """
        from ralphy.cli.run.sentences import in_words
        from ralphy.engine.runs.recover import is_unfinished, recover
        from ralphy.engine.view.observe import observe
        from ralphy.git.run_lock import Lock

        with self.workspace(name) as w, Lock(w.repository.checkout_dir / "lock", purpose):
            w.listener = in_words(self.output.say)
            self.lay_out(w)
            if is_unfinished(w):
                recover(w)
            snapshot = observe(w, review=review)
            require_changeable(snapshot, starts_over=starts_over)
            yield w, snapshot

    def open(self, checkout: Checkout, feature: Feature) -> Workspace:
        from ralphy.engine.workspace.workspace import open_workspace

        config, checks = self._effective(checkout.repository, feature)
        return open_workspace(checkout, feature, config, checks, self._environment)

    def _effective(self, repository: Repository, feature: Feature) -> tuple[Config, tuple[Check, ...]]:
        """Configuration and checks: worked out once for all features that have no configuration of their own."""
        from ralphy.config.load import with_stack

        own = (feature.name if (feature.private / "config.yaml").exists() else "", *map(str, self.flags.items()))
        if own not in self._known:
            config = self.settings(repository, feature).config
            needs_stack = config.checks is None and not config.stack.test_command
            self._known[own] = (config, with_stack(config, _detected(repository, config) if needs_stack else ()))
        return self._known[own]


def _detected(repository: Repository, config: Config) -> tuple[Check, ...]:
    """The checks of a repository whose settings name none."""
    from ralphy.detect.stack import detect

    return detect(repository.root, prefer=config.stack.language).checks


def require_changeable(snapshot: Snapshot, *, starts_over: bool = False) -> None:
    """Raises Conflict where stories are gone from prd.json."""
    from ralphy.pipeline.stories import why_lost

    if snapshot.lost and not starts_over:
        raise Conflict(why_lost(snapshot.lost, snapshot.feature, is_missing=not snapshot.has_prd_file))


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
        where = os.path.join(os.getcwd(), directory)  # noqa: PTH109, PTH118  # pathlib costs `status` 4 ms
        return command(Invocation(where, output), **rest)

    return wrapped


def _features_begun(_: click.Context, __: click.Parameter, word: str) -> list[str]:
    """The names of features that begin so, for a shell; none where that cannot be told."""
    try:
        call = Invocation(os.curdir, Output(quiet=True))
        return [name for found in call.features(call.repository()) if (name := found.feature.name).startswith(word)]
    except (RalphyError, OSError):
        return []


def stories_begun(_: click.Context, __: click.Parameter, word: str) -> list[str]:
    """The ids of stories that begin so, of the only open feature, for a shell."""
    from ralphy.cli.status.look import standing

    try:
        rows = standing(Invocation(os.path.abspath(os.curdir), Output(quiet=True)), None)["stories"]  # noqa: PTH100
    except (RalphyError, OSError):
        return []
    return [row["id"] for row in rows if row["id"].startswith(word)]


feature_argument = click.argument("feature", required=False, shell_complete=_features_begun)


def named_story(call: Invocation, word: str, feature: str | None) -> tuple[str, str | None]:
    """(story id, feature) of what was typed: an id, feature/id as it stands in the trailers of commits, or both words
    in either order."""
    folder, _, story_id = word.rpartition("/")
    if feature is None:
        return (story_id, folder) if folder else (word, None)
    return (feature, word) if call.is_feature(word) and not call.is_feature(feature) else (word, feature)


def for_each(call: Invocation, names: Sequence[str | None], show: Callable[[str | None], int]) -> int:
    """Show one feature after the other: with --json a line for each. One that cannot be shown hides no other.

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


class Group(click.Group):
    """Commands below a word: options that stand everywhere may stand before the command too.

    `otherwise` is the command that is run when none is named, `also` are further words for commands; of a misspelt one
    the nearest is suggested.
    """

    def __init__(self, *args: Any, otherwise: str = "", also: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.otherwise = otherwise
        self.also = also or {}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, self.also.get(cmd_name, cmd_name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        count = leading(args)
        options, rest = args[:count], args[count:]
        if ctx.resilient_parsing and not rest:  # a shell asks for the commands that there are
            return super().parse_args(ctx, rest)
        if rest and rest[0].startswith("-"):
            return super().parse_args(ctx, rest)
        return super().parse_args(ctx, [*(rest[:1] or [self.otherwise]), *options, *rest[1:]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is None and ctx.resilient_parsing:
            return None, None, args
        if command is None:
            from ralphy.text.nearest import nearest

            instead = self.instead_of(args[0])
            near = "" if instead else nearest(args[0], self.list_commands(ctx))
            meant = f" Did you mean {near!r}?" if near else f" Did you mean: {instead}?" if instead else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return args[0], command, args[1:]

    def instead_of(self, word: str) -> str:  # noqa: ARG002  # a group may know words of other tools
        """What to type instead of a word that is not a command and is spelt like none; "" where that is not known."""
        return ""


def leading(args: list[str]) -> int:
    """How many words at the beginning are options that stand everywhere."""
    count = 0
    while count < len(args) and (name := args[count].partition("=")[0]) in EVERYWHERE:
        count += 1 + (EVERYWHERE[name] if name == args[count] else 0)
    return min(count, len(args))
