"""validate and trust: check files as a run does, and accept the settings of a repository."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.setup.init import CONFIG
from ralphy.config.file import read_values
from ralphy.config.load import load, read_environment, user_file
from ralphy.config.strict_yaml import MAX_BYTES
from ralphy.config.trust import record_trust
from ralphy.documents.feature_folder import ignored, listed, misnamed
from ralphy.documents.prd_reader import USUAL_BASES, read_prd, read_stories_draft
from ralphy.documents.readiness import require_ready
from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.feature.documents import with_way_back
from ralphy.engine.view.observe import branch_of
from ralphy.engine.workspace.workspace import fixed_base
from ralphy.errors import ExitCode, InvalidInput, NotFound, RalphyError
from ralphy.files.read import read_input
from ralphy.files.tree_walk import walk
from ralphy.processes.program_paths import root_around
from ralphy.prompts.context_documents import unreadable
from ralphy.prompts.render import doubts, own_prompts
from ralphy.text.counted import counted

_DRAFT_BYTES = 8 * 1024 * 1024

_OF_FEATURE = ("PRD.md", "prd.json", ".ralphy/config.yaml")
_NOT_ENTERED = (".git", "node_modules", ".venv", "venv")


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result for a file: a summary ("12 stories") with warnings, or an error."""

    path: str
    kind: str
    summary: str = ""
    error: RalphyError | None = None
    warnings: Sequence[str] = ()

    @property
    def said(self) -> str:
        """The summary and the warnings on one line."""
        return "; ".join([self.summary, *self.warnings])

    def row(self) -> dict[str, object]:
        row: dict[str, object] = {"path": self.path, "kind": self.kind, "ok": self.error is None}
        if self.error is None:
            return {**row, "said": self.said}
        return {**row, "error": str(self.error), "hint": self.error.hint}


@click.command("validate")
@click.argument("target", required=False, metavar="[FILE | FEATURE]")
@with_options
def validate(call: Invocation, target: str | None) -> int:
    """A PRD.md, a prd.json, a config.yaml, a prompt or a draft (stories.json), or those of a FEATURE. Without an
    argument, checks every prd.json, .ralphy/config.yaml and prompt of the repository, each PRD.md that has no SPEC.md
    yet, the names of the features' folders, your own settings and those in the environment; changes nothing. Reports
    mistakes with file, line and field, and ends with 3. Of a PRD.md only a missing title or objective is one. What has
    no effect is a warning: a setting, or a prompt that lacks something, as a run uses the built-in one instead.
    """
    targets, bases = _targets(call, target), _bases(call)
    results = [_judged(call, path, bases) for path in targets]
    if target is not None:
        return _report(call, results)
    own = user_file(os.environ)
    results = [*_misnamed(call), *_environment(), *results]
    results += [_judged(call, own, bases)] if own and own.exists() else []
    warnings: list[str] = []
    with suppress(RalphyError):  # the result of its file has it
        warnings = _warnings_in_force(call)
        results = [
            replace(one, warnings=()) if one.kind == "config" else one for one in results
        ]  # they are among these
    return _report(call, results, warnings)


def _warnings_in_force(call: Invocation) -> list[str]:
    """What has no effect of the settings for the repository and for each feature; printed."""
    features = listed(call.repository().root, _features_dir(call))
    own = [feature for feature in features if (feature.private / "config.yaml").exists()]
    all_settings = [call.settings(feature) for feature in (None, *own)]
    return list(dict.fromkeys(text for one in all_settings for text in one.warnings))


def _environment() -> list[FileResult]:
    try:
        read_environment(os.environ)
    except InvalidInput as error:
        return [FileResult("environment", "environment", error=error)]
    return []


def _report(call: Invocation, results: Sequence[FileResult], warnings: Sequence[str] = ()) -> int:
    """Print the result of each file; gives the exit code."""
    rows = [result.row() for result in results]
    wrong = [result.error for result in results if result.error]
    text = "\n".join(f"ok  {result.path}: {result.said}" for result in results if result.error is None)
    code = max((error.exit_code for error in wrong), default=ExitCode.DONE)
    call.output.answer("validate", text, code, files=rows, warnings=list(warnings))
    if not call.output.as_json:
        for error in wrong:
            call.output.error(error)
    return code


def _targets(call: Invocation, target: str | None) -> list[Path]:
    """The files to check; NotFound if there is none."""
    if target is None:
        targets = list(_all_files(call))
        hint = 'ralphy start "what you want built"'
    else:
        given = call.directory / target
        if given.is_file() or given.suffix:
            return [given]
        folder = call.feature(target)
        files = [path for path in map(folder.file, _OF_FEATURE) if path.exists()]
        targets = [*files, *own_prompts(folder.private / "prompts")]
        hint = f"write {folder.in_repository('PRD.md')}, then: ralphy start {target}"
    if not targets:
        raise NotFound("no PRD.md, prd.json or config.yaml here", hint=hint)
    return targets


def _all_files(call: Invocation) -> Iterator[Path]:
    """Every file that a run could read. Those that Git ignores are left out, but for the settings and a feature's:
    Ralphy itself may have excluded them."""
    repository = call.repository()
    paths = {entry.path: None for entry in walk(repository.root, skipped=_NOT_ENTERED)}
    wanted = [path for path in paths if f"/{path}".endswith(("/prd.json", "/.ralphy/config.yaml"))]
    features = _features_dir(call)
    wanted += [path for path in paths if path.startswith(f"{features}/")
               and path.endswith("/PRD.md") and f"{path[:-6]}SPEC.md" not in paths]  # fmt: skip
    folders = {(repository.root / path).parent for path in paths if "/.ralphy/prompts/" in f"/{path}"}
    wanted += [own.relative_to(repository.root).as_posix() for folder in folders for own in own_prompts(folder)]
    if not wanted:
        return
    asked = ("ls-files", "-z", "--full-name", "--cached", "--others", "--exclude-standard", "--")
    known = repository.run(*asked, *(f":(top,literal){path}" for path in wanted))  # reads no other folder's .gitignore
    own = {feature.in_repository(name) for feature in listed(repository.root, features) for name in _OF_FEATURE}
    own.add(CONFIG)
    for name in sorted({*known.decode("utf-8", "surrogateescape").split("\0"), *own.intersection(wanted)}):
        if name and (repository.root / name).exists():
            yield repository.root / name


def _misnamed(call: Invocation) -> list[FileResult]:
    """The folders that are no features because of their names alone."""
    repository = call.repository()
    folder = _features_dir(call)
    return [FileResult(f"{folder}/{name}", "feature", error=misnamed(repository.root / folder / name))
            for name in ignored(repository.root, folder)]  # fmt: skip


def _features_dir(call: Invocation) -> str:
    try:
        return call.settings().config.project.features_dir
    except RalphyError:  # invalid settings are reported by themselves
        return "docs/features"


def _bases(call: Invocation) -> Collection[str]:
    """The base branches, which a feature cannot use: the repository's own, or the usual names."""
    try:
        repository = call.repository()
        base = fixed_base(repository, call.settings().config)
    except RalphyError:  # no repository, or invalid settings, which are reported by themselves
        base = ""
    return (base,) if base else USUAL_BASES


def _display_path(path: Path, directory: Path) -> str:
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else str(path)


def _judged(call: Invocation, path: Path, bases: Collection[str] = ()) -> FileResult:
    """The result of a check of the file."""
    display_path = _display_path(path, call.directory)
    kinds = {".yaml": "config", ".yml": "config", ".md": "requirements"}
    kind = "stories" if path.name == "stories.json" else kinds.get(path.suffix, "prd")
    kind = "prompt" if path.parts[-3:-1] == (".ralphy", "prompts") else kind
    try:
        summary, *warnings = _READERS[kind](path, display_path, bases)
    except RalphyError as error:
        is_of_feature = path.name == "prd.json" and call.is_feature(str(path.parent))
        return FileResult(display_path, kind, error=_with_way_back(call, path, error) if is_of_feature else error)
    return FileResult(display_path, kind, summary, warnings=warnings)


def _with_way_back(call: Invocation, path: Path, error: RalphyError) -> RalphyError:
    """The error of a feature's prd.json, with how to get the last one that was committed."""
    if isinstance(error, InvalidInput):
        with suppress(RalphyError), call.workspace(str(path.parent)) as w:  # invalid settings are reported themselves
            w.branch = branch_of(w)
            return with_way_back(w, error, work_tip(w))
    return error


# Each gives the summary of a file, then its warnings.


def _prd(path: Path, display_path: str, bases: Collection[str]) -> tuple[str, ...]:
    document = read_prd(path, base_branches=bases, where=display_path)
    return counted(len(document["userStories"]), "story", "stories"), *_unreadable_context(path, document)


def _unreadable_context(path: Path, document: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each document in a story's context that cannot be read."""
    root = Path(root_around(str(path.parent)) or path.parent)
    for number, story in enumerate(document["userStories"]):
        for _, problem in unreadable(story, path.parent, root):
            yield f"warning: userStories[{number}].{problem}"


def _stories(path: Path, display_path: str, _: Collection[str]) -> tuple[str, ...]:
    stories = read_stories_draft(_bytes(path, display_path, _DRAFT_BYTES), display_path)
    return (counted(len(stories), "story", "stories"),)


def _requirements(path: Path, display_path: str, _: Collection[str]) -> tuple[str, ...]:
    require_ready(_bytes(path, display_path, _DRAFT_BYTES).decode("utf-8", "replace"), display_path)
    return ("ready",)


def _config(path: Path, display_path: str, _: Collection[str]) -> tuple[str, ...]:
    settings = read_values(_bytes(path, display_path, MAX_BYTES), display_path)
    return counted(len(settings.values), "setting"), *settings.warnings


def _prompt(path: Path, display_path: str, _: Collection[str]) -> tuple[str, ...]:
    step = own_prompts(path.parent).get(path, "")
    problems = [text.replace(str(path), display_path) for text in doubts(path, step)] if step else []
    summary = f"prompt of the {step} step" if step else "no step has a prompt of this name"
    return ("\n".join([summary, *(f"  warning: {text}" for text in problems)]),)


def _bytes(path: Path, display_path: str, most: int) -> bytes:
    data = read_input(path, most, where=display_path)
    if data is None:
        raise NotFound("does not exist", where=display_path,
                       hint="`ralphy validate` without arguments checks everything")  # fmt: skip
    return data


_READERS: dict[str, Callable[[Path, str, Collection[str]], tuple[str, ...]]] = {
    "prd": _prd,
    "stories": _stories,
    "config": _config,
    "prompt": _prompt,
    "requirements": _requirements,
}


@click.command("trust")
@with_options
def trust(call: Invocation) -> int:
    """Ralphy ignores settings of a repository that weaken your protection (safety, gates, verify, agent.command,
    agent.env, setup), and starts no agent, until you accept them here. Read the file first. After a change of any of
    them, accept them again.
    """
    root = call.repository().root
    settings = load(root, None, env=os.environ)
    record_trust(root, settings.loosening, os.environ)
    accepted = list(settings.untrusted.values())
    lines = [f"accepted {setting}" for setting in accepted] or ["no settings to accept"]
    return call.output.answer("trust", "\n".join(lines), accepted=sorted(settings.untrusted))
