"""abort: a person ends the Ralphy that works in a checkout, from another terminal or the dashboard."""

from __future__ import annotations

import os
import signal

from ralphy.errors import Conflict, NotFound
from ralphy.git.commands import Repository
from ralphy.git.run_lock import covers, holder


def end_ralphy(repository: Repository, feature: str = "") -> int:
    """Stop the Ralphy that works in this checkout, and its agents; gives its process id.

    Raises NotFound if none works here, or if it works on another feature than the named one.
    """
    note = holder(repository.checkout_dir / "lock")
    pid, purpose = note.get("pid"), note.get("purpose")
    if not note or not isinstance(pid, int) or pid <= 1:
        raise NotFound("Ralphy is not running in this checkout", hint="ralphy status")
    if feature and not covers(purpose, feature):
        raise NotFound(f"Ralphy is not working on {feature}", hint=f"pid {pid} is running here: {purpose}")
    if str(note.get("host")) != os.uname().nodename:
        raise Conflict(f"Ralphy is running here from {note.get('host')}", hint="end it there")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        raise NotFound("Ralphy is not running in this checkout any more", hint="ralphy status") from None
    return pid
