"""audit: verify that the journal is unaltered."""

from __future__ import annotations

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.errors import ExitCode


@click.command("audit")
@with_options
def audit(call: Invocation) -> int:
    """Check the journal: each line holds the digest of the one before it.

    Says whether the chain is whole, or at which line it breaks (exit code 4). A line that was changed, taken out, put
    in or moved breaks it. That its end was cut off, or that all of it was made anew, a chain cannot tell.
    """
    from ralphy.files.safe_open import read_safely
    from ralphy.state.chain import verify

    path = call.repository().state_dir / "journal.jsonl"
    data = read_safely(path, 1 << 40) if path.exists() else b""
    found = verify(data)
    value = {
        "schema": "ralphy/audit@1", "ok": not found.broken, "journal": str(path), "lines": found.links,
        "unchained": found.before, "torn": found.torn, "head": found.head,
        "broken": {"line": found.line, "why": found.broken} if found.broken else None,
    }  # fmt: skip
    if found.broken:
        call.output.data(f"{path}:{found.line}: {found.broken}; {found.links} lines before it are whole", value)
        return ExitCode.CONFLICT
    more = f", {found.before} of before there was a chain" if found.before else ""
    torn = f", {found.torn} halves of lines from a crash" if found.torn else ""
    call.output.data(f"the journal is whole: {found.links} lines{more}{torn}, up to {found.head[:16]}", value)
    return ExitCode.DONE
