"""The machine stays awake while a feature is worked on or waits for a limit; not while all wait for a person."""

from __future__ import annotations

from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.events import Decided, Event, Listener


def keeping_awake(w: Workspace, listener: Listener) -> Listener:
    """The listener; each decision says whether there is work. That sleep is held off is said once."""
    if not w.config.limits.keep_awake:
        return listener
    awake, name = w.checkout.awake, w.feature.name

    def hear(event: Event) -> None:
        listener(event)
        if not isinstance(event, Decided):
            return
        if event.rests and not (event.decision == "Wait" and event.until):
            awake.release(name)
        elif awake.hold(name) and "awake" not in w.checkout.said:
            w.checkout.said.add("awake")
            w.say(f"this machine is kept awake while there is work ({awake.program}; limits.keep_awake)")

    return hear
