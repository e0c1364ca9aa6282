"""report: what waits, what landed and what proves it, what failed, what can be dropped, and what it cost."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.errors import ExitCode


@click.command("report")
@feature_argument
@with_options
def report(call: Invocation, feature: str | None) -> int:
    """Report on a feature, in Markdown: what waits for you, what landed with its proof, what failed and why.

    Then what could not be verified, what can be dropped, the cost, and the next command. Changes nothing.
    """
    from ralphy.documents.report import in_markdown, report_of
    from ralphy.engine.runs.menu import known_menu
    from ralphy.engine.view.status import decided
    from ralphy.git.ledger import commits_of
    from ralphy.pipeline.parts import with_parts

    found, workspace = call.opened(feature)
    with workspace as w:
        snapshot, decision, _ = decided(w, found)
        commits = commits_of(w.repository, w.feature.name, snapshot.tree.head)
        value = report_of(replace(snapshot, prd=with_parts(snapshot.prd)), decision, commits,
                          known_menu(w, snapshot.prd, snapshot.tree.head))  # fmt: skip
    if call.output.as_json:
        return call.output.answer("report", "", **asdict(value))
    call.output.verbatim(in_markdown(value))
    return ExitCode.DONE
