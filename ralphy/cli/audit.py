"""audit: verify that the journal is unaltered."""

from __future__ import annotations

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.errors import ExitCode


@click.command("audit")
@with_options
def audit(call: Invocation) -> int:
    """Verify that the journal is unaltered: each line holds the digest of the line before it.

    Reports the first line that was changed, removed, inserted or moved (exit code 4). Cannot detect that the end was
    cut off, or that someone rewrote the whole file.
    """
    from ralphy.files.safe_open import read_safely
    from ralphy.state.chain import verify

    path = call.repository().state_dir / "journal.jsonl"
    data = read_safely(path, 1 << 40) if path.exists() else b""
    found = verify(data)
    if found.broken:
        said = f"{path}:{found.line}: {found.broken}; {found.links} lines before it are intact"
    else:
        more = f", {found.before} from before the chain" if found.before else ""
        torn = f", {found.torn} torn lines from a crash" if found.torn else ""
        said = f"the journal is intact: {found.links} lines{more}{torn}, up to {found.head[:16]}"
    return call.output.answer(
        "audit", said, ExitCode.CONFLICT if found.broken else ExitCode.DONE, journal=str(path), lines=found.links,
        unchained=found.before, torn=found.torn, head=found.head,
        broken={"line": found.line, "why": found.broken} if found.broken else None,
    )  # fmt: skip
