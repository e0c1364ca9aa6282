"""gc: delete what is no longer needed, and pack what stays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.errors import Conflict, ExitCode


@click.command("gc")
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be deleted; change nothing.")
@with_options
def gc(call: Invocation, dry_run: bool) -> int:
    """Delete old attempts, runs and set-aside files, and let git pack the rest.

    Keeps the newest attempts of each story (limits.keep_attempts), and all from the last two weeks; none of a merged
    feature. Deletes lanes larger than lanes.max_gb, lanes of removed worktrees, and all lanes once every feature is
    merged or rejected. Does not touch branches, reflogs and objects younger than two weeks. Needs all checkouts of the
    repository to be idle.
    """
    import time
    from contextlib import closing
    from dataclasses import replace

    from ralphy.engine import housekeeping
    from ralphy.engine.closing import leftovers, let_go, pool_of
    from ralphy.engine.workspace.checkout import Checkout
    from ralphy.git.run_lock import Lock

    repository = call.repository()
    config = call.settings(repository).config
    litter = housekeeping.look(repository, config, time.time())
    files = {kind: [*map(str, paths)] for kind, paths in litter.files.items()}
    with closing(Checkout.of(repository)) as checkout, closing(pool_of(checkout, config)) as pool:
        left = leftovers(checkout, config, pool)
        refs = tuple(dict.fromkeys((*litter.refs, *left.refs)))
        litter = replace(litter, refs=refs, kept_refs=litter.kept_refs + len(litter.refs) - len(refs))
        names, lanes = [ref for ref, _ in refs], [name for name, _ in left.lanes]
        facts: dict[str, Any] = {"ok": True, "dry_run": dry_run, "refs": names, "refs_kept": litter.kept_refs,
                                 "files": files, "lanes": lanes}  # fmt: skip
        if dry_run:
            would = _would([*names, *(f"lane {name}" for name in lanes), *chain(*files.values())])
            return call.output.answer("gc", would, **facts)
        with Lock(repository.checkout_dir / "lock", "gc"):
            if other := housekeeping.at_work(repository):
                what = f"Ralphy is already running in another checkout: pid {other.get('pid')}"
                raise Conflict(what, hint="wait for it")
            freed = let_go(checkout, pool, replace(left, refs=()))
            swept = housekeeping.sweep_up(repository, litter)
    swept = replace(swept, files={**swept.files, "lanes": len(lanes)}, freed_bytes=swept.freed_bytes + freed)
    code = ExitCode.ENVIRONMENT if swept.why_not_packed else ExitCode.DONE
    return call.output.answer("gc", housekeeping.sentence(swept), code, **facts, freed_bytes=swept.freed_bytes,
                              loose_objects=swept.loose_objects, packed=not swept.why_not_packed)  # fmt: skip


def _would(names: Sequence[str]) -> list[str]:
    return [*(f"would delete: {name}" for name in names), f"would delete {len(names)} items"]
