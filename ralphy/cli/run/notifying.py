"""notify, and the messages that a run sends to an absent person (`ralphy.notify`)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.output import Output
from ralphy.config.load import user_file
from ralphy.config.values import Notify
from ralphy.engine.view.project_settings import SETTINGS
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode, RalphyError
from ralphy.git.commands import Repository
from ralphy.notify.receivers import Receiver, Undelivered, receivers_of
from ralphy.notify.sender import Sender
from ralphy.pipeline.events import Decided, Event, Listener
from ralphy.pipeline.notices import Notice, notice_of


class Messages:
    """The messages of a run: one sender for each set of receivers that the settings of its features name."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._senders: dict[Notify, Sender] = {}

    def listener_for(self, w: Workspace) -> Listener:
        """A listener that sends messages to the receivers that the workspace's settings name."""
        settings = w.config.notify
        sender = self._sender(w.repository, settings)

        def hear(event: Event) -> None:
            if sender is None:
                return
            notice = notice_of(event, w.feature.path)
            if notice and notice.event in settings.events:
                sender.post(notice)
            elif isinstance(event, Decided) and not event.rests:
                sender.settle(w.feature.name)

        return hear

    def post(self, notice: Notice) -> None:
        """Send a message about no feature that could be opened."""
        for settings, sender in self._senders.items():
            if notice.event in settings.events:
                sender.post(notice)

    @contextmanager
    def telling_the_end(self) -> Iterator[None]:
        """Send a message if the run ends with an error; then close the senders."""
        try:
            yield
        except Exception as error:
            self.post(_of_error(error))
            raise
        finally:
            for sender in self._senders.values():
                sender.close()

    def _sender(self, repository: Repository, settings: Notify) -> Sender | None:
        """The one sender for these settings; None without receivers or events."""
        if settings not in self._senders:
            receivers = _receivers(self._output, repository, settings)
            if not receivers or not settings.events:
                return None
            note = repository.state_dir / "told.json"
            self._senders[settings] = Sender(receivers, note, self._output.note, settings.quiet_hours,
                                             settings.remind_after_s)  # fmt: skip
        return self._senders[settings]


def _of_error(error: Exception) -> Notice:
    message = str(error) if isinstance(error, RalphyError) else f"{type(error).__name__}: {error}"
    hint = f" ({error.hint})" if isinstance(error, RalphyError) and error.hint else ""
    return Notice("ended", "", " ".join(f"{message}{hint}".split())[:600], "ralphy why", "Ralphy ended with an error",
                  at=time.time())  # fmt: skip


def _receivers(output: Output, repository: Repository, settings: Notify) -> list[Receiver]:
    bell = output.ring if output.is_live else None
    return list(receivers_of(settings, os.environ, str(repository.root), bell))


@click.command("notify")
@click.option("--test", "tests", is_flag=True, help="Send a message to each of them now.")
@with_options
def notify(call: Invocation, tests: bool) -> int:
    """The settings `notify` say who, what and when. A receiver that fails ends --test with 5. Where none is set, it
    says how to set one.
    """
    loaded = call.settings(runs_checks=False)
    settings = loaded.config.notify
    receivers = _receivers(call.output, call.repository(), settings)
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
