"""report: what waits, what landed and its proof, what failed and why, the night by lane, and the cost.

Every run also leaves it in the feature's folder, as REPORT.md and as a page. Git ignores both, so they hinder no merge
and no switch of branches; nothing reads them.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace

import click

from ralphy.cli.options import Invocation, feature_argument, for_each, with_options
from ralphy.cli.output import redacted
from ralphy.cli.status.moments import minute
from ralphy.documents.report import MARKDOWN, PAGE, Report, report_of
from ralphy.documents.report_page import in_html
from ralphy.documents.report_text import in_markdown
from ralphy.engine.feature.features import FeatureLocation
from ralphy.engine.feature.ignored_files import exclude
from ralphy.engine.view.status import decided
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode, InvalidInput
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.git.commands import head_of
from ralphy.git.ledger import unreverted_commits
from ralphy.git.run_lock import holder
from ralphy.pipeline.decision import Decision
from ralphy.pipeline.events import Decided, Event, Listener, RunEnded
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.nights import Past, interrupted, past_of
from ralphy.pipeline.parts import with_parts
from ralphy.processes.program_paths import find, own_environment
from ralphy.state.journal import Journal

_SEAL = "<!-- Written by Ralphy after a run; changes here are overwritten. -->\n"


@click.command("report")
@feature_argument
@click.option("--html", "as_page", is_flag=True, help="Print one self-contained page instead of Markdown.")
@click.option("--open", "opens", is_flag=True, help="Write the page and open it in your browser.")
@with_options
def report(call: Invocation, feature: str | None, as_page: bool, opens: bool) -> int:
    """Also what was flagged, what could not be verified, decisions, what can be dropped, the night by lane, the cost,
    and the next command. Without a name, on every open feature. Every run leaves the same as REPORT.md and REPORT.html
    in the feature's folder.
    """
    if call.output.as_json and (as_page or opens):
        raise InvalidInput("use either --json or a page", hint="--json prints the data of the report")

    def show(name: str | None) -> int:
        location, workspace = call.opened(name)
        with workspace as w:
            value = report_now(w, location)
            if call.output.as_json:
                return call.output.answer("report", "", **asdict(value))
            if opens:
                return _open(call, w, value)
        if as_page:
            call.output.verbatim(in_html(value, minute))
        else:
            call.output.document(in_markdown(value, minute))
        return ExitCode.DONE

    return for_each(call, [feature] if as_page or opens else call.meant(feature), show)


def _open(call: Invocation, w: Workspace, value: Report) -> int:
    path = str(w.feature.file(PAGE))
    if not _lay_down(w, PAGE, in_html(value, minute)):
        hint = f"print it: ralphy report {w.feature.name} --html"
        raise InvalidInput(f"{path} is not a report of Ralphy's", hint=hint)
    call.output.data(path, {})
    return open_in_browser(call, path)


def report_now(w: Workspace, location: FeatureLocation | None) -> Report:
    """The report on a feature as it stands."""
    snapshot, decision, _ = decided(w, location)
    return report_on(w, snapshot, decision, past_now(w))


def past_now(w: Workspace) -> Past:
    """The feature's past as the journal has it."""
    past = past_of(Journal(w.repository.state_dir / "journal.jsonl").entries(), w.feature.name)
    is_worked_on = w.worked_on_in or holder(w.repository.checkout_dir / "lock")
    return past if is_worked_on else interrupted(past)


def report_on(w: Workspace, snapshot: Snapshot, decision: Decision, past: Past) -> Report:
    """The report on a feature, from its snapshot."""
    commits = unreverted_commits(w.repository, w.feature.name, snapshot.tree.head)
    return report_of(replace(snapshot, prd=with_parts(snapshot.prd)), decision, commits, past, w.feature.path)


def reporting(w: Workspace) -> Listener:
    """A listener that writes the report when a run rests after work: an agent's run or a push. An error is only a
    warning."""
    has_worked = False

    def hear(event: Event) -> None:
        nonlocal has_worked
        is_push = isinstance(event, Decided) and event.decision == "Publish"
        has_worked = has_worked or is_push or isinstance(event, RunEnded)
        if has_worked and isinstance(event, Decided) and event.rests:
            has_worked = False
            try:
                leave_report(w)
            except Exception as error:
                w.say(f"warning: the report could not be written: {error}")

    return hear


def leave_report(w: Workspace) -> None:
    """Write both forms into the feature's folder."""
    value = report_now(w, None)
    for name, text in ((MARKDOWN, in_markdown(value, minute)), (PAGE, in_html(value, minute))):
        _lay_down(w, name, text)


def _lay_down(w: Workspace, name: str, text: str) -> bool:
    """Write a file of Ralphy's own into the feature's folder, and have Git ignore it.

    False if a person's file has that name, or if the file is committed: Git could not switch branches.
    """
    path, inside = w.feature.file(name), w.feature.in_repository(name)
    is_own = (read_regular(path) or b"").startswith(_SEAL.encode())
    head = head_of(w.repository)
    is_tracked = bool(head) and w.objects.at(w.objects.tree_of(head), inside) is not None
    if not path.parent.is_dir() or is_tracked or (os.path.lexists(path) and not is_own):
        return False
    if f"/{name}".encode() not in (read_regular(w.feature.file(".gitignore")) or b"").splitlines():
        exclude(w.repository, inside)
    replace_file(path, f"{_SEAL}{redacted(text)}".encode("utf-8", "replace"), durable=False)
    return True


def open_in_browser(call: Invocation, target: str) -> int:
    """Open a page in the person's browser, or print that no program opens it."""
    root = str(call.repository().root)
    opener = find("open" if sys.platform == "darwin" else "xdg-open", os.environ, root)
    if opener is None:
        call.output.note("no program to open it: xdg-open is not on PATH")
        return ExitCode.DONE
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    os.posix_spawn(opener, [opener, target], own_environment(os.environ, root), file_actions=quiet)
    return ExitCode.DONE
