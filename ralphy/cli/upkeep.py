"""gc: delete what is no longer needed, and pack what stays."""

from __future__ import annotations

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.errors import Conflict, ExitCode


@click.command("gc")
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be deleted; change nothing.")
@with_options
def gc(call: Invocation, dry_run: bool) -> int:
    """Delete old attempts, runs and set-aside files, and let git pack the rest.

    Keeps the newest attempts of each story (limits.keep_attempts), and all from the last two weeks. Does not touch
    branches, reflogs and objects younger than two weeks. Needs all checkouts of the repository to be idle.
    """
    import time

    from ralphy.engine import housekeeping
    from ralphy.git.run_lock import Lock

    repository = call.repository()
    config = call.settings(repository).config
    litter = housekeeping.look(repository, config, time.time())
    files = {kind: [str(path) for path in paths] for kind, paths in litter.files.items()}
    refs = [ref for ref, _ in litter.refs]
    value: dict[str, object] = {"schema": "ralphy/gc@1", "ok": True, "dry_run": dry_run, "refs": refs,
                                "refs_kept": litter.kept_refs, "files": files}  # fmt: skip
    if dry_run:
        names = [*refs, *(path for paths in files.values() for path in paths)]
        call.output.data(
            "\n".join([*(f"would delete: {name}" for name in names), f"would delete {len(names)} items"]), value
        )
        return ExitCode.DONE
    with Lock(repository.checkout_dir / "lock", "gc"):
        if other := housekeeping.at_work(repository):
            raise Conflict(f"Ralphy is already running in another checkout: pid {other.get('pid')}", hint="wait for it")
        swept = housekeeping.sweep_up(repository, litter)
    more = {"freed_bytes": swept.freed_bytes, "loose_objects": swept.loose_objects, "packed": not swept.why_not_packed}
    call.output.data(housekeeping.sentence(swept), {**value, **more})
    return ExitCode.DONE if not swept.why_not_packed else ExitCode.ENVIRONMENT
