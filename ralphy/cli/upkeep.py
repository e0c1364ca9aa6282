"""gc: delete what is no longer needed, and pack what stays."""

from __future__ import annotations

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.errors import Conflict, ExitCode


@click.command("gc")
@click.option("--dry-run", "-n", is_flag=True, help="Say what would go; touch nothing.")
@with_options
def gc(call: Invocation, dry_run: bool) -> int:
    """Let go of old kept attempts, runs and set-aside files, and have git pack the rest.

    Of each story the newest attempts stay (limits.keep_attempts), and all of the last two weeks. Branches, reflogs and
    objects younger than two weeks are left alone. Nobody may work in any checkout of the repository meanwhile.
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
        call.output.data("\n".join([*(f"would go: {name}" for name in names), f"{len(names)} things would go"]), value)
        return ExitCode.DONE
    with Lock(repository.checkout_dir / "lock", "gc"):
        if other := housekeeping.at_work(repository):
            raise Conflict(f"Ralphy is already running in another checkout: pid {other.get('pid')}", hint="wait for it")
        swept = housekeeping.sweep_up(repository, litter)
    more = {"freed_bytes": swept.freed_bytes, "loose_objects": swept.loose_objects, "packed": not swept.why_not_packed}
    call.output.data(housekeeping.sentence(swept), {**value, **more})
    return ExitCode.DONE if not swept.why_not_packed else ExitCode.ENVIRONMENT
