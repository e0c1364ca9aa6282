"""Git's configuration as text: which of its settings could make git run, read or send something."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_BLANK = re.compile(r"[\s\ufeff]+|[#;][^\n]*")
_SECTION = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"(?:[^"\\\n]|\\.)*")?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_VALUE = re.compile(r'=((?:[^\n\\"#;]|\\(?:\r?\n|[^\n])|"(?:[^"\\\n]|\\(?:\r?\n|[^\n]))*")*)(?=[#;\n]|\Z)')
# What can run and read nothing, whatever its value is. All else is taken for something that can.
_HARMLESS = re.compile(
    r"user\.(name|email|signingkey)|color(\.[\w.-]+)+|advice\.[\w-]+|column\.[\w-]+|init\.defaultbranch"
    r"|push\.(default|autosetupremote|followtags)|pull\.(rebase|ff)|branch\.(sort|autosetupmerge|autosetuprebase"
    r"|description)|merge\.conflictstyle|diff\.(algorithm|colormoved)|log\.date|tag\.sort|commit\.verbose"
)


def steering(text: str) -> set[tuple[str, str]]:
    """(name, value) of each setting that is not known to be harmless; what is no setting at all is one of them."""
    return {(name, value) for name, value in settings(text) if not _HARMLESS.fullmatch(name)}


def origins(rows: bytes, root: str, home: str) -> list[str]:
    """The files that `git config --list --show-origin -z` names, and those that they include: also where nothing is
    yet, or where the condition does not hold now."""
    words = [os.fsdecode(word) for word in rows.split(b"\0")]
    found = {}
    for origin, setting in zip(words[::2], words[1::2], strict=False):
        if not origin.startswith("file:"):
            continue
        file = Path(root, origin[5:])
        found[str(file)] = True
        name, _, path = setting.partition("\n")
        if path and re.fullmatch(r"(?s)include(if\..*)?\.path", name):
            target = home + path[1:] if path.startswith("~/") else path
            found[os.path.normpath(file.parent / target)] = True
    return list(found)


def settings(text: str) -> Iterator[tuple[str, str]]:
    """(section.key in small letters, value as it is written), on however many lines; ("", line) where git would fail.

    The part of a section's name in quotes is left out of the name and stands before the value.
    """
    at, section, quoted = 0, "", ""
    while at < len(text):
        if found := _BLANK.match(text, at):
            at = found.end()
        elif found := _SECTION.match(text, at):
            section, quoted, at = found[1].lower(), found[0], found.end()
        elif section and (found := _KEY.match(text, at)):
            value = _VALUE.match(text, found.end())
            is_whole = value or text[found.end() : found.end() + 1] in ("", "\n", "\r", "#", ";")
            at = value.end() if value else found.end()
            name = f"{section}.{found[1].lower()}"
            yield (name, f"{quoted} {value[1].strip() if value else ''}") if is_whole else ("", name)
        else:
            line = text[at:].split("\n", 1)[0]
            at += len(line)
            yield "", line
