"""prove: verify the commits of stories again, without an agent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.run.sentences import in_words
from ralphy.documents.prd_reader import USUAL_BASES
from ralphy.engine.prove import Proof
from ralphy.engine.prove import prove as judged
from ralphy.errors import ExitCode, InvalidInput, NotFound
from ralphy.git import commands as git
from ralphy.git.commands import Repository
from ralphy.git.ledger import StoryCommit, commits_between, resolve_commit, story_commits
from ralphy.git.run_lock import Lock
from ralphy.pipeline.parts import parts_in_words
from ralphy.text.tone import BAD, GOOD, Toned


@click.command("prove")
@click.argument("what", required=False, metavar="[FEATURE | BASE..HEAD]")
@click.option("--story", "only", metavar="ID", help="Prove this story alone.")
@click.option("--parts", "by_parts", is_flag=True, help="Also take back each change of a story alone.")
@click.option("--if-any", is_flag=True, help="Succeed where no story landed.")
@with_options
def prove(call: Invocation, what: str | None, only: str | None, by_parts: bool, if_any: bool) -> int:
    """Asks for the checks, kept tests, and tests that fail without the story. Works in any clone. By default it takes
    the stories between the base branch and HEAD; where there are none, those on the branch of the only open feature. A
    FEATURE that is merged is found in the history. Exit code 11 if one of them does not hold.

    --parts names the lines that no test needs. It takes at least one run of the story's tests for each change.
    """
    repository = call.repository()
    call.require_trusted()
    rows = [(name, one) for name, one in _landed(call, repository, what) if only in (None, one.story)]
    none = f"no story {f'{only} ' if only else ''}landed in {what or 'this branch'}"
    if not rows and if_any:
        return call.output.answer("prove", none, stories=[])
    if not rows:
        if what and ".." not in what and not call.is_feature(what):
            _refuse_name(call, repository, what)
        raise NotFound(none, hint="name a feature or a range: ralphy prove main..HEAD")
    proofs = []
    for name in dict.fromkeys(name for name, _ in rows):
        proofs += _proved(call, name, [one for feature, one in rows if feature == name], by_parts=by_parts)
    failed = [row for row in proofs if not row["holds"]]
    total = f"{len(proofs) - len(failed)} of {len(proofs)} stories verified again"
    flagged = sum(1 for row in proofs if row["flags"])
    return call.output.answer("prove", f"{total}, {flagged} flagged" if flagged else total,
                              ExitCode.STORIES_OPEN if failed else ExitCode.DONE, stories=proofs)  # fmt: skip


def _refuse_name(call: Invocation, repository: Repository, word: str) -> None:
    """Raises NotFound for a word that is no feature; for the id of a story, with how to name that."""
    of = ""
    with suppress(NotFound):
        of = next((name for name, one in _landed(call, repository, None) if one.story == word), "")
    if of:
        raise NotFound(f"{word} is a story, not a feature", hint=f"ralphy prove {of} --story {word}")
    call.feature(word)


def _landed(call: Invocation, repository: Repository, what: str | None) -> list[tuple[str, StoryCommit]]:
    """(feature, commit) of the stories to prove, oldest first. Without a word: those between the base branch and HEAD,
    or else those of the only open feature."""
    base, dots, head = (what or "").partition("..")
    if dots:
        return _between(repository, base, head)
    base = _base(call, repository)
    if what is None:
        if rows := _between(repository, base, "HEAD"):
            return rows
        with suppress(NotFound, InvalidInput):  # none, or more than one
            what = call.only().feature.name
    location = call.find_feature(what) if what else None
    tip = f"refs/heads/{location.branch}" if location and location.has_branch else "HEAD"
    rows = [row for row in _between(repository, base, tip) if row[0] == what]
    return rows or _merged(repository, what or "")


def _merged(repository: Repository, feature: str) -> list[tuple[str, StoryCommit]]:
    """The stories of a merged feature: those in the history of HEAD that were not reverted, oldest first."""
    head = resolve_commit(repository, "HEAD")
    commits = story_commits(repository, feature, head).values() if feature and head else ()
    return [(feature, one) for one in reversed(list(commits)) if not one.reverted_by]


def _between(repository: Repository, base: str, head: str) -> list[tuple[str, StoryCommit]]:
    """The stories above `base` up to `head`; "" is HEAD. Raises InvalidInput for what is not a commit."""
    tips = [resolve_commit(repository, ref or "HEAD") for ref in (base, head)]
    for ref, tip in zip((base, head), tips, strict=True):
        if not tip:
            raise InvalidInput(f"{ref!r} is not a commit", hint="ralphy prove main..HEAD")
    return commits_between(repository, *tips)


def _base(call: Invocation, repository: Repository) -> str:
    """The base branch: of the settings, else a usual name, else recorded in a prd.json. The remote's if there is no
    local one, as in CI."""
    set_one = call.settings().config.git.base
    recorded = (location.base for location in call.features())
    names = (set_one,) if set_one else dict.fromkeys((*USUAL_BASES, *recorded))
    refs = [f"refs/{place}{name}" for name in names for place in ("heads/", "remotes/origin/")]
    base = next((ref for ref in refs if git.resolve(repository, ref)), "")
    if not base:
        raise NotFound("no base branch was found", hint="name the range, such as HEAD~3..HEAD")
    return base


def _proved(call: Invocation, feature: str, landed: Sequence[StoryCommit], *, by_parts: bool) -> list[dict[str, Any]]:
    rows = []
    with call.workspace(feature) as w, Lock(w.repository.checkout_dir / "lock", "prove"):
        w.listener = in_words(call.output.say)
        for proof in judged(w, landed, by_parts=by_parts):
            for line in _lines(feature, proof):
                call.output.say(line)
            rows.append(_row(feature, proof))
    return rows


def _row(feature: str, proof: Proof) -> dict[str, Any]:
    return {"feature": feature, "story": proof.story, "title": proof.title, "commit": proof.commit,
            "holds": proof.holds, "failure": proof.failure or None, "flags": list(proof.flags),
            "red_first": list(proof.red_first), "checks": proof.checks,
            "parts": len(proof.parts), "unproved_parts": proof.unproved}  # fmt: skip


def _lines(feature: str, proof: Proof) -> list[str]:
    word = "holds" if proof.holds else "does not hold"
    headline = f"{feature}/{proof.story} {word}: {proof.commit[:10]} {proof.title}"
    why = [f"  {proof.failure}"] if proof.failure else [f"  {proof.checks}"] if proof.checks else []
    if proof.parts:
        why.append(f"  {parts_in_words({'parts': proof.parts_noted}, len(proof.parts))}")
    return [Toned(headline, GOOD if proof.holds else BAD), *why, *(f"  flagged: {flag}" for flag in proof.flags)]
