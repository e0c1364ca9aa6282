"""Secrets: keep them out of commits, and out of what Ralphy writes.

Only what differs from the last green commit is scanned, so that a project with an old test key goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from ralphy.config.values import MINIMAL
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.git import commands as git
from ralphy.git.objects import GITLINK
from ralphy.secrets.known_values import Values, clear_json, values_of
from ralphy.secrets.patterns import Secret, find, redact
from ralphy.text.plain_text import as_utf8

ALLOWED = ".ralphy/secrets-allow"
_MEGABYTE = 1024 * 1024
_MARK = re.compile(r"^([0-9a-f]{16})\b", re.M)
_RUN_FILES = ("stream.ndjson", "stderr.log", "prompt.md")


def scan_policy(w: Workspace) -> str:
    """block, warn or off: what is set, else what the level asks for."""
    wanted = w.config.safety.secret_scan
    return wanted if wanted != "auto" else "warn" if w.config.safety.level == MINIMAL else "block"


def secrets_in(w: Workspace, green: str, tree: str) -> tuple[str, ...]:
    """A sentence for each secret that a tree brings in; none if the scan is off."""
    if scan_policy(w) == "off":
        return ()
    values, allowed = values_of(w.env), _allowed(w, green)
    sentences = list(_in_names(w, green, tree, allowed))
    for path, old, new in w.objects.changes(green, tree):
        if new is None or new.mode == GITLINK or (old and old.oid == new.oid):
            continue
        there = list(find(w.objects.read(new.oid) or b"", values))
        known = {secret.mark for secret in find(w.objects.read(old.oid) or b"", values)} if there and old else set()
        sentences += [_sentence(w, path, secret) for secret in there if secret.mark not in allowed | known]
    return tuple(sentences)


def _in_names(w: Workspace, green: str, tree: str, allowed: frozenset[str]) -> Iterator[str]:
    """A sentence for each secret in the name of a new file or folder; the name itself is not repeated."""
    values = values_of(w.env)
    names = [path for path, old, new in w.objects.changes(green, tree) if new and old is None]
    there = list(find(_lines(names), values))
    folders = {str(folder) for path in names for folder in PurePosixPath(path).parents} if there else set()
    old = [folder for folder in folders if w.objects.at(green, folder) is not None]
    known = {secret.mark for secret in find(_lines(old), values)}
    for secret in there:
        if secret.mark not in allowed | known:
            name = _clean(w, names[secret.line - 1])
            yield f"the name of the file {name} holds {secret.kind} (fingerprint {secret.mark})"


def _lines(names: Sequence[str]) -> bytes:
    """The names, one on each line."""
    return b"\n".join(name.encode("utf-8", "surrogateescape").replace(b"\n", b" ") for name in names)


def _sentence(w: Workspace, path: str, secret: Secret) -> str:
    where = _clean(w, path)
    return f"{where}:{secret.line} holds {secret.kind} ({secret.shows}…, fingerprint {secret.mark})"


def _allowed(w: Workspace, green: str) -> frozenset[str]:
    """The fingerprints that a person has allowed, as they are committed."""
    entry = w.objects.at(green, ALLOWED)
    text = ((w.objects.read(entry.oid) or b"") if entry else b"").decode("utf-8", "replace")
    return frozenset(_MARK.findall(text))


def secrets_in_document(w: Workspace, name: str, data: bytes) -> tuple[str, ...]:
    """The same for a document that an agent handed in."""
    if scan_policy(w) != "block":
        return ()
    head = git.head_of(w.repository)
    allowed = _allowed(w, w.objects.tree_of(head)) if head else frozenset()
    return tuple(_sentence(w, name, secret) for secret in find(data, values_of(w.env)) if secret.mark not in allowed)


def redacted(w: Workspace, text: str) -> str:
    """A text as it may be kept and sent."""
    data = text.encode("utf-8", "surrogateescape")
    return redact(data, values_of(w.env)).decode("utf-8", "surrogateescape")


def redact_run(w: Workspace, folder: Path) -> None:
    """Take the environment's values, and what looks like a key, out of the files of a run."""
    values = values_of(w.env)
    for name in _RUN_FILES:
        data = read_regular(folder / name, 256 * _MEGABYTE)
        if data and redact(data, values) != data:
            clean = _redacted_lines(data, values) if name.endswith(".ndjson") else redact(data, values)
            replace_file(folder / name, clean, durable=False)
            (folder / name).chmod(0o600)


def _redacted_lines(data: bytes, values: Values) -> bytes:
    """Line by line, each JSON as before."""
    return b"\n".join(clear_json(line, lambda text: redact(text, values)) for line in data.split(b"\n"))


def _clean(w: Workspace, path: str) -> str:
    """A name as messages may show it: it can hold a secret, too."""
    return as_utf8(redacted(w, path))
