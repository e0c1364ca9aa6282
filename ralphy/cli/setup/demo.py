"""demo: run the whole pipeline on a toy repository."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.run.signals import Terminated, signals
from ralphy.config.load import load
from ralphy.config.trust import record_trust
from ralphy.demo.show import Result, play
from ralphy.demo.toy import BRANCH, Toy, lay_out
from ralphy.errors import EnvironmentProblem, ExitCode

_WHO = {
    "rehearsal": "a scripted stand-in for claude; no network, no key, fictitious costs",
    "claude": "the real claude; spends at most $10",
}


@click.command("demo")
@click.option("--agent", type=click.Choice(["rehearsal", "claude"]), default="rehearsal", help="The agent to use.")
@click.option(
    "--folder", type=click.Path(path_type=Path), metavar="DIR", help="Folder to use; must be empty or missing."
)
@click.option("--keep/--no-keep", default=True, help="Keep the folder (default).")
@with_options
def demo(call: Invocation, agent: str, folder: Path | None, keep: bool) -> int:
    """It lies in a temporary folder; your files stay untouched. Two agents work at the same time. With the stand-in,
    one story fails its tests and the next attempt fixes it; another claims success without working, and Ralphy rejects
    it. The demo passes both gates as you would: touch APPROVED.
    """
    if agent == "claude" and shutil.which("claude") is None:
        raise EnvironmentProblem("claude is not on PATH", hint="npm install -g @anthropic-ai/claude-code")
    place = call.directory / folder if folder else Path(tempfile.mkdtemp(prefix="ralphy-demo-"))
    try:
        with signals([]):
            return _perform(call, place, agent)
    except Terminated:
        return ExitCode.TERMINATED
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


def _perform(call: Invocation, place: Path, agent: str) -> int:
    began = time.monotonic()
    toy = lay_out(place, agent, os.environ)
    record_trust(toy.repository, load(toy.repository, None, env=toy.env).loosening, toy.env)
    call.output.note(f"ralphy demo: a toy repository in {toy.repository}\n             agent: {_WHO[agent]}\n")
    options = [name for name, given in (("-q", call.output.quiet), ("-v", call.output.verbose)) if given]
    options += [] if call.output.progress else ["--no-progress"]
    result = play(toy, call.output.note, *options)
    seconds = time.monotonic() - began
    code = (result.exit_code or ExitCode.UNEXPECTED) if result.faults else ExitCode.DONE
    where = {"folder": str(toy.folder), "repository": str(toy.repository), "remote": str(toy.remote), "branch": BRANCH}
    text = "\n".join(_summary(toy, result, seconds)) + "\n"
    call.output.answer("demo", text, code, agent=agent, seconds=round(seconds, 2), **where, **asdict(result))
    if result.faults:
        call.output.note(f"\nThe demo failed: {'; '.join(result.faults)}. Look in {toy.repository}")
    return code


def _summary(toy: Toy, result: Result, seconds: float) -> Iterator[str]:
    """The end of the demo: the log, the stories, and where to look."""
    yield from ["", f"$ git log --oneline {BRANCH}", *result.log, ""]
    yield "story   status     attempts  cost   checks"
    for story in result.stories:
        checks = ", ".join(story["checks"]) or "none"
        cost = f"${story['cost_usd']:.2f}"
        yield f"{story['id']:<8}{story['status']:<11}{story['attempts']:<10}{cost:<7}{checks:<8}{story['title']}"
    if not result.faults:
        yield from ["", f"All {len(result.stories)} stories are completed, in {seconds:.0f} s. Look around:", ""]
        yield from (f"  {command:<58} # {why}" for command, why in _places(toy, result))
        yield from ["", "Next: cd your-repository && ralphy init"]


def _places(toy: Toy, result: Result) -> Iterator[tuple[str, str]]:
    """Commands to look around with, and what each shows."""
    feature = toy.feature.relative_to(toy.repository)
    story = next(commit for commit in result.log if " feat(" in commit)
    yield f"cd {toy.repository}", f"the work is on {BRANCH}, pushed to {toy.remote}"
    yield f"git show {story.split(' ', 1)[0]}", "a story: code, state and progress in one commit"
    yield f"cat {feature}/prd.json", "the status of every story"
    yield f"cat {feature}/progress.txt", "the shared memory, including failures"
    for ref in result.refs[:3]:
        yield f"git show {ref}", "a failed attempt, kept"
