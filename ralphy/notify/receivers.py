"""The receivers of notifications: the terminal's bell, a command, a webhook, and the services of Apprise.

They come from settings that a repository cannot switch on by itself (`ralphy.config.tightening`). Each takes a notice,
and raises Undelivered if it does not arrive.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from ralphy.config.values import Notify
from ralphy.pipeline.notices import Notice
from ralphy.processes.bounded import run_bounded
from ralphy.processes.program_paths import find, own_environment
from ralphy.secrets.known_values import clear_json, values_of, without_values
from ralphy.text.plain_text import replace_unprintable

TIMEOUT_S = 10.0
_MOST_OF_AN_ERROR = 200


class Undelivered(Exception):
    """Why a message did not arrive."""


@dataclass(frozen=True, slots=True)
class Receiver:
    name: str
    send: Callable[[Notice], None]


def receivers_of(
    settings: Notify, env: Mapping[str, str], root: str, ring: Callable[[], None] | None
) -> Iterator[Receiver]:
    """The configured receivers; `ring` rings the terminal's bell, None without a terminal. A command in the checkout at
    `root` must be given as a path."""
    own = own_environment(env, root) if settings.command else {}
    if settings.bell and ring:
        yield Receiver("bell", lambda _: ring())
    if settings.command:
        yield Receiver("command", partial(_command, settings.command, own, root))
    if settings.webhook:
        yield Receiver("webhook", partial(_webhook, settings, env))
    if settings.apprise:
        yield Receiver("apprise", partial(_apprise, settings.apprise, env))


def cleared(notice: Notice, env: Mapping[str, str]) -> bytes:
    """The notice as JSON, without the values of the environment's secrets."""
    data = json.dumps(notice.to_json(), ensure_ascii=False).encode("utf-8", "replace")
    return clear_json(data, lambda text: without_values(text, values_of(env)))


def _texts(notice: Notice, env: Mapping[str, str]) -> tuple[str, str]:
    """Title and text, in plain characters."""
    fields = json.loads(cleared(notice, env))
    reminder = "Reminder: " if notice.is_reminder else ""
    lines = [str(fields[name]) for name in ("text", "where", "command") if fields[name]]
    return replace_unprintable(f"{reminder}{fields['title']}"), "\n".join(map(replace_unprintable, lines))


def _command(argv: tuple[str, ...], env: Mapping[str, str], root: str, notice: Notice) -> None:
    """Run the command with the notice on its stdin, within a time limit. Its output is ignored."""
    program = argv[0] if "/" in argv[0] else find(argv[0], env, root)
    if program is None:
        raise Undelivered(f"{argv[0]} is not on PATH")
    try:
        done = run_bounded([program, *argv[1:]], cwd=root, env=env, timeout_s=TIMEOUT_S,
                           stdin=cleared(notice, env) + b"\n", output=subprocess.DEVNULL)  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Undelivered(f"{program} took more than {TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise Undelivered(f"{program}: {error.strerror}") from error
    if done.returncode:
        raise Undelivered(f"{program} ended with {done.returncode}")


def _webhook(settings: Notify, env: Mapping[str, str], notice: Notice) -> None:
    """POST the notice. It is signed as `HMAC-SHA256(secret, timestamp + "." + body)`, and follows no redirect."""
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    body, stamp = cleared(notice, env), str(int(time.time()))
    headers = {"Content-Type": "application/json", "User-Agent": "ralphy", "X-Ralphy-Timestamp": stamp}
    if name := settings.webhook_secret_env:
        secret = env.get(name, "")
        if not secret:
            raise Undelivered(f"{name} is not set: it must hold the secret that signs the message")
        signature = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
        headers["X-Ralphy-Signature"] = f"sha256={signature}"
    request = Request(settings.webhook, body, headers, method="POST")  # noqa: S310 - the setting takes https alone
    direct = [ProxyHandler({})] if settings.webhook.startswith("http:") else []  # this machine; see the setting
    try:
        with build_opener(NoRedirect, *direct).open(request, timeout=TIMEOUT_S):
            return
    except HTTPError as error:
        error.close()
        raise Undelivered(f"the address answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise Undelivered(str(getattr(error, "reason", error))[:_MOST_OF_AN_ERROR]) from error


def _apprise(urls: tuple[str, ...], env: Mapping[str, str], notice: Notice) -> None:
    from importlib import import_module

    try:
        apprise = import_module("apprise")
    except ImportError:
        raise Undelivered("apprise is not installed; in a clone of Ralphy: pip install '.[notify]'") from None
    service = apprise.Apprise()
    if not all(map(service.add, urls)):
        raise Undelivered("invalid Apprise URL")
    title, text = _texts(notice, env)
    if not service.notify(title=title, body=text, body_format=apprise.NotifyFormat.TEXT):
        raise Undelivered("not all of its services took the message")
