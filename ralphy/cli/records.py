"""logs, attempts and audit: the runs of agents, the rejected attempts, and the journal."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from ralphy.agents.protocol import Outcome
from ralphy.cli.group import Group
from ralphy.cli.options import (
    Invocation,
    WholeNumber,
    feature_argument,
    for_each,
    named_story,
    stories_begun,
    with_options,
)
from ralphy.cli.output import without_secrets
from ralphy.cli.run.run_lines import RunLines
from ralphy.cli.status.moments import second
from ralphy.cli.stories.story import features_with
from ralphy.cli.terminal import clean
from ralphy.documents.feature_folder import Feature
from ralphy.engine.view.status import iso
from ralphy.engine.wakeups import RESYNC_S, Wakeups
from ralphy.errors import Conflict, ExitCode, InvalidInput, NotFound, RalphyError
from ralphy.files.read import open_regular
from ralphy.git.commands import Repository, current_branch, head_of, require_plain_rules
from ralphy.git.ledger import KeptAttempt, apply_attempt, attempt_patch, find_attempt, kept_attempts
from ralphy.lanes.lanes_folder import as_in_the_checkout
from ralphy.state.chain import verify
from ralphy.state.kept_streams import Line, RunFolder, runs
from ralphy.text.counted import counted
from ralphy.text.first_few import first_few
from ralphy.text.nearest import nearest
from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING, Toned

_SHOWN_FILES = 8
_TONES = {"run": STRONG, "thinking": FAINT, "text": FAINT, "warning": WAITING, "limit": WAITING, "retry": WAITING,
          "stderr": WAITING}  # fmt: skip


@click.command("logs")
@click.argument("story", required=False, shell_complete=stories_begun)
@feature_argument
@click.option("-f", "--follow", is_flag=True, help="Follow new lines and runs.")
@click.option("--tail", type=WholeNumber(0), metavar="N", help="Start with the last N lines.")
@click.option("--raw", is_flag=True, help="Print the agent's saved lines unchanged.")
@with_options
def logs(
    call: Invocation, story: str | None, feature: str | None, follow: bool, tail: int | None, raw: bool
) -> int:  # fmt: skip
    """The latest run of each open feature, or all runs of a STORY (an id, or feature/id)."""
    if raw and call.output.as_json:
        raise InvalidInput("use either --raw or --json", hint="--raw is already JSON")
    repository = call.repository()
    features, story_id = _addressed(call, story, feature)
    selected_runs = [run for folder in features for run in _chosen(runs(folder), story_id)]
    if story_id and not selected_runs:
        _require_story(call, features, story_id)
    journal = RunLines(repository)

    def show(lines: Iterable[Line], most: int | None = None) -> None:
        """Print the lines with a text, or the last of them: with paths of the checkout, or as JSON."""
        wanted = (line for line in lines if (line.raw if raw else line.text))
        for line in wanted if most is None else deque(wanted, maxlen=most):
            if raw:
                _write_raw(line.raw)
            else:
                call.output.data(Toned(as_in_the_checkout(line.text, repository), _tone_of(line.value)), line.value)

    if follow:
        _follow(features, story_id, journal, show, tail)
    if not selected_runs:
        names = ", ".join(f"{folder.name}/{story_id}" if story_id else folder.name for folder in features)
        hint = f"ralphy why {features[0].name}" if len(features) == 1 else "ralphy why"
        raise NotFound(f"no saved run of {names}", hint=hint)
    journal.read_on()
    show((line for run in selected_runs for line in journal.log(run).new(is_over=True)), tail)
    return ExitCode.DONE


def _require_story(call: Invocation, features: Sequence[Feature], word: str) -> None:
    """Raises NotFound, with the nearest name, for a word that is neither a feature nor a story of these features."""
    stories: list[str] = []
    for one in features:
        # A feature that cannot be read does not hide the stories of the others.
        with suppress(RalphyError), call.seen(one.name, review=False) as (_, snapshot):
            stories += [story.id for story in snapshot.prd.stories]
    if word not in stories:
        near = nearest(word, [*(location.feature.name for location in call.features()), *stories])
        names = ", ".join(one.name for one in features)
        raise NotFound(f"there is no feature {word!r}, and no story of that id in {names}",
                       hint=f"did you mean {near}?" if near else "ralphy story list")  # fmt: skip


def _chosen(all_runs: Sequence[RunFolder], story: str) -> Sequence[RunFolder]:
    """A story's runs, or the newest run of the feature."""
    return [run for run in all_runs if run.story == story] if story else all_runs[-1:]


def _tone_of(value: Mapping[str, Any]) -> str:
    if value.get("kind") == "ended":
        return GOOD if value.get("outcome") == Outcome.SUCCEEDED.value else BAD
    return _TONES.get(str(value.get("kind")), "")


def _write_raw(line: bytes) -> None:
    """Print the line without the environment's secrets; on a terminal with its control characters escaped."""
    data = without_secrets(line)
    if sys.stdout.isatty():
        data = clean(data.decode("utf-8", "replace")).encode()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def _follow(
    features: Sequence[Feature], story: str, journal: RunLines, show: Callable[..., None], tail: int | None
) -> None:
    """Show the lines so far, then new ones, until interrupted. A run ends when the next one begins."""
    with Wakeups([feature.folder for feature in features]) as wakeups:
        earlier_runs = _runs_of(features)
        seen = {run.folder for run in earlier_runs}
        journal.read_on()
        logs = [journal.log(run) for run in _chosen(earlier_runs, story)]
        show((line for log in logs for line in log.new()), tail)
        while True:
            new = [run for run in _runs_of(features) if run.folder not in seen]
            seen.update(run.folder for run in new)
            journal.read_on()
            logs = [*logs[-1:], *(journal.log(run) for run in new if story in ("", run.story))]
            show(line for log in logs for line in log.new())
            wakeups.wait(RESYNC_S)


def _runs_of(features: Sequence[Feature]) -> list[RunFolder]:
    """The runs of these features, the newest last: a run's folder begins with its time."""
    return sorted((run for feature in features for run in runs(feature)), key=lambda run: run.folder.name)


def _addressed(call: Invocation, word: str | None, feature: str | None) -> tuple[list[Feature], str]:
    """The features and the story ("" for all) that a word names: a feature, a story, or feature/story."""
    story = ""
    if word is not None and feature is None and call.is_feature(word):
        feature = word
    elif word is not None:
        story, feature = named_story(call, word, feature)
    return [call.feature(name) for name in call.meant(feature)], story


@click.group("attempts", cls=Group, otherwise="list", takes_words=True)
def attempts() -> None:
    """STORY is an id, or feature/id; a ref (refs/ralphy/…) names one attempt."""


@attempts.command("list")
@click.argument("story", required=False, shell_complete=stories_begun)
@feature_argument
@with_options
def list_(call: Invocation, story: str | None, feature: str | None) -> int:
    """List the kept attempts of a feature or of a STORY."""
    features, story_id = _addressed(call, story, feature)
    names: list[str | None] = [one.name for one in features]
    if story_id and not any(kept_attempts(call.repository(), one.name, story_id) for one in features):
        names = features_with(call, names, story_id)

    def show(name: str | None) -> int:
        saved_attempts = kept_attempts(call.repository(), name or "", story_id)
        heading = [f"{name}:"] if len(features) > 1 else []
        lines = [*heading, *(map(_described, saved_attempts) if saved_attempts else ["no attempts kept"])]
        rows = [_row(attempt) for attempt in saved_attempts]
        return call.output.answer("attempts", lines, feature=name, attempts=rows)

    return for_each(call, names, show)


def _row(attempt: KeptAttempt) -> dict[str, Any]:
    return {"ref": attempt.ref, "story": attempt.story, "attempt": attempt.number, "counted_as": attempt.counted_as,
            "commit": attempt.commit, "at": iso(attempt.at), "outcome": attempt.outcome, "why": attempt.why,
            "files": list(attempt.files)}  # fmt: skip


def _described(attempt: KeptAttempt) -> str:
    why = " ".join(attempt.why.split())[:160]
    counts_as = f" (counted as attempt {attempt.counted_as})" if attempt.counted_as != attempt.number else ""
    return "\n".join([
        f"{attempt.story} attempt {attempt.number}{counts_as}  {second(attempt.at)}  {attempt.outcome}: {why}",
        f"    {first_few(attempt.files, _SHOWN_FILES)}",
        f"    {attempt.ref}",
    ])  # fmt: skip


@attempts.command("diff")
@click.argument("story", metavar="STORY|REF", shell_complete=stories_begun)
@click.argument("number", required=False, type=WholeNumber(1), metavar="[N]")
@with_options
def diff(call: Invocation, story: str, number: int | None) -> int:
    """Show an attempt's changes as a patch; default: the latest."""
    repository, attempt = _one(call, story, number)
    patch = attempt_patch(repository, attempt)
    if call.output.as_json:
        text = patch.decode("utf-8", "replace")
        call.output.answer("attempt-diff", text, **_row(attempt), diff=text)
    elif sys.stdout.isatty():
        call.output.verbatim(patch.decode("utf-8", "replace"))
    else:
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
    return ExitCode.DONE


def _one(call: Invocation, word: str, number: int | None) -> tuple[Repository, KeptAttempt]:
    parts = word.split("/")
    if parts[:2] == ["refs", "ralphy"] and len(parts) == 5 and parts[4].removeprefix("attempt-").isdecimal():
        word, number = f"{parts[2]}/{parts[3]}", int(parts[4].removeprefix("attempt-"))
    story, feature = named_story(call, word, None)
    repository = call.repository()
    folder = call.feature(feature)
    return repository, find_attempt(repository, folder.name, story, number)


def _require_place(repository: Repository, branch: str, features_dir: str) -> None:
    """Raises Conflict unless the feature's branch is checked out, without uncommitted changes."""
    require_plain_rules(repository.root)
    here, head = current_branch(repository), head_of(repository)
    if here != branch:
        raise Conflict(f"{here or head[:10]} is checked out, but the attempt belongs to {branch}",
                       hint=f"git switch {branch}, then try again")  # fmt: skip
    rows = repository.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
                          "--ignore-submodules=all", "--", ".", f":(top,exclude,literal){features_dir}")  # fmt: skip
    dirty = [row[3:] for row in rows.decode("utf-8", "replace").split("\0") if row]
    if dirty:
        raise Conflict(f"uncommitted changes: {', '.join(dirty[:5])}", hint="commit or stash them first")


@attempts.command("restore")
@click.argument("story", shell_complete=stories_begun)
@click.argument("number", type=WholeNumber(1), metavar="N")
@with_options
def restore(call: Invocation, story: str, number: int) -> int:
    """Restore an attempt's code, uncommitted, into a clean checkout of the feature's branch."""
    repository, attempt = _one(call, story, number)
    feature = attempt.ref.split("/")[2]
    with call.edited(feature, f"attempts restore {attempt.story}") as (w, s):
        _require_place(repository, s.tree.feature_branch, w.config.project.features_dir)
        apply_attempt(repository, attempt)
    story_name = f"{feature}/{attempt.story}"
    back = f"ralphy attempts diff {story_name} {attempt.number} | git apply -R"
    files = counted(len(attempt.files), "file")
    message = (f"{files} restored from attempt {attempt.number} of {story_name}, uncommitted\n"
               f"  to undo: {back}\n  to keep it: commit it, then ralphy story done {story_name}")  # fmt: skip
    return call.output.answer("attempt-restore", message, **_row(attempt), undo=back)


@click.command("audit")
@with_options
def audit(call: Invocation) -> int:
    """Each line holds the digest of the line before it. Reports the first line that was changed, removed, inserted or
    moved (exit code 4). Cannot detect that the end was cut off, or that someone rewrote the whole file.
    """
    path = call.repository().state_dir / "journal.jsonl"
    data = b""
    if path.exists():
        with open_regular(path) as journal:
            data = journal.read()
    chain = verify(data)
    if chain.broken:
        message = f"{path}:{chain.line}: {chain.broken} (unaltered before it: {counted(chain.links, 'line')})"
    else:
        older = f"; not checked: {counted(chain.before, 'line')} of an older Ralphy" if chain.before else ""
        torn = f"; not read: {counted(chain.torn, 'line')} that a crash cut off" if chain.torn else ""
        checked = f"{counted(chain.links, 'line')}, the last with the digest {chain.head[:16]}"
        message = f"the journal is unaltered: {checked}{older}{torn}"
    if not data:
        message = "the journal is empty"
    return call.output.answer(
        "audit", message, ExitCode.CONFLICT if chain.broken else ExitCode.DONE, journal=str(path), lines=chain.links,
        unchained=chain.before, torn=chain.torn, head=chain.head,
        broken={"line": chain.line, "why": chain.broken} if chain.broken else None,
    )  # fmt: skip
