"""notify, and the messages that a run sends to an absent person (`ralphy.notify`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.run.sentences import sentences
from ralphy.config.load import user_file
from ralphy.config.values import Notify
from ralphy.engine.view.project_settings import SETTINGS
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode, RalphyError
from ralphy.git.commands import Repository
from ralphy.notify.receivers import Receiver, Undelivered, receivers_of
from ralphy.notify.sender import Sender
from ralphy.pipeline.events import Decided, Event, HeldUp, Listener
from ralphy.pipeline.notices import Notice, notice_of


def notifying(call: Invocation, w: Workspace, listener: Listener) -> Listener:
    """The listener, which also sends messages to the receivers that the settings name."""
    settings = w.config.notify
    sender = _sender(call, w.repository, settings)
    if sender is None:
        return listener

    def hear(event: Event) -> None:
        listener(event)
        notice = notice_of(event, w.feature.path)
        if notice and notice.event in settings.events:
            sender.post(notice)
        elif isinstance(event, Decided) and not event.rests:
            sender.settle(w.feature.name)

    return hear


def tell(call: Invocation, event: Event) -> None:
    """Tell of an event about no feature that could be opened; what holds a feature up is printed with --quiet, too."""
    if call.output.as_json:
        call.output.event(event.to_json())
    for text, tone in sentences(event):
        call.output.insist(text) if isinstance(event, HeldUp) else call.output.say(text, tone)
    if notice := notice_of(event, ""):
        _post(call, notice)


@contextmanager
def telling_the_end(call: Invocation) -> Iterator[None]:
    """Send a message if the run ends with an error; then close the senders."""
    try:
        yield
    except Exception as error:
        _post(call, _of_error(error))
        raise
    finally:
        for sender in call.senders.values():
            sender.close()
        call.senders.clear()


def _post(call: Invocation, notice: Notice) -> None:
    for settings, sender in call.senders.items():
        if notice.event in settings.events:
            sender.post(notice)


def _of_error(error: Exception) -> Notice:
    message = str(error) if isinstance(error, RalphyError) else f"{type(error).__name__}: {error}"
    hint = f" ({error.hint})" if isinstance(error, RalphyError) and error.hint else ""
    return Notice("ended", "", " ".join(f"{message}{hint}".split())[:600], "ralphy why", "Ralphy ended with an error",
                  at=time.time())  # fmt: skip


def _sender(call: Invocation, repository: Repository, settings: Notify) -> Sender | None:
    """The one sender of this process for these settings; None without receivers or events."""
    if settings not in call.senders:
        receivers = _receivers(call, repository, settings)
        if not receivers or not settings.events:
            return None
        note = repository.state_dir / "told.json"
        call.senders[settings] = Sender(receivers, note, call.output.note, settings.quiet_hours,
                                        settings.remind_after_s)  # fmt: skip
    return call.senders[settings]


def _receivers(call: Invocation, repository: Repository, settings: Notify) -> list[Receiver]:
    return list(receivers_of(settings, os.environ, str(repository.root), _bell(call)))


def _bell(call: Invocation) -> Callable[[], None] | None:
    """How the terminal's bell is rung; None where stderr is not a terminal."""
    return (lambda: call.output.ring()) if call.output.is_live else None


@click.command("notify")
@click.option("--test", "tests", is_flag=True, help="Send a message to each of them now.")
@with_options
def notify(call: Invocation, tests: bool) -> int:
    """The settings `notify` say who, what and when. A receiver that fails ends --test with 5. Where none is set, it
    says how to set one.
    """
    loaded = call.settings(runs_checks=False)
    settings = loaded.config.notify
    receivers = _receivers(call, call.repository(), settings)
    if not receivers:
        return call.output.answer("notify", _nobody(loaded.untrusted), receivers=[], events=list(settings.events))
    rows = [(one.name, _tried(one) if tests else "") for one in receivers]
    wrong = [name for name, error in rows if error]
    lines = [f"{name}: {error or ('delivered' if tests else 'set')}" for name, error in rows]
    return call.output.answer("notify", lines, ExitCode.ENVIRONMENT if wrong else ExitCode.DONE,
                              receivers=[{"name": name, "error": error or None} for name, error in rows],
                              events=list(settings.events))  # fmt: skip


def _nobody(untrusted: Iterable[str]) -> str:
    """The message without receivers: accept those of the repository, or set one. An address often holds a token, so it
    belongs in the person's own file, which is in no repository."""
    if names := [name for name in untrusted if name.startswith("notify.")]:
        return (f"nobody is told yet: this repository sets {', '.join(names)}, which you have not accepted\n"
                "  hint: read .ralphy/config.yaml; to accept its settings: ralphy trust")  # fmt: skip
    return ("nobody is told yet: no receiver is set, and there is no terminal whose bell could ring\n"
            f"  hint: write into {user_file(os.environ) or SETTINGS}: notify: {{webhook: https://example.org/ralphy}} "
            "(or command, or apprise)")  # fmt: skip


def _tried(receiver: Receiver) -> str:
    """Why a test message did not arrive; "" if it did."""
    notice = Notice("ended", "", "This is a test: your messages arrive.", "ralphy status", "Ralphy", at=time.time())
    try:
        receiver.send(notice)
    except Undelivered as error:
        return str(error)
    except Exception as error:  # from a library
        return f"{type(error).__name__}: {error}"
    return ""
