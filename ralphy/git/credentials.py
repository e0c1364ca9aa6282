"""Git's configuration as an agent may read it: without the passwords and tokens that people write into it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralphy.files.atomic import names_in, read_regular, replace_file

_MOST_BYTES, _MOST_FOLDERS = 1024 * 1024, 500
_WEB_USER = re.compile(r"(?i)\b((?:https?|ftps?)://)[^/\s\"'@]*@")
_PASSWORD = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*://[^/\s\"'@:]*):[^/\s\"'@]*@")
_SETTING = re.compile(
    r"(?im)^([ \t]*(?:\[[^\]\n]*\][ \t]*)?)[a-z0-9-]*(?:extraheader|pass|passwd|password|token|secret)[a-z0-9-]*[ \t]*="
    r"(?:[^\n\\]|\\.|\\\n)*"
)


def without_credentials(text: str) -> str:
    """The same configuration; what is left out leaves its line empty."""
    return _SETTING.sub(r"\1", _PASSWORD.sub(r"\1@", _WEB_USER.sub(r"\1", text)))


def covers(git_dirs: Sequence[Path], copies: Path) -> Iterator[tuple[Path, Path]]:
    """(copy without credentials, configuration) of each that holds some; the copies are kept in their folder."""
    for config in dict.fromkeys(_configs(git_dirs)):
        data = read_regular(config, _MOST_BYTES)
        if data is None:
            continue
        shown = without_credentials(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if shown == data:
            continue
        copy = copies / hashlib.sha256(bytes(config)).hexdigest()[:16]
        if read_regular(copy) != shown:
            replace_file(copy, shown, durable=False)
        yield copy, config


def _configs(git_dirs: Sequence[Path]) -> Iterator[Path]:
    """The configurations of a repository, and of the submodules that it keeps, in folders as deep as their names."""
    folders = list(git_dirs)
    for folder in folders:
        names = names_in(folder)
        if "HEAD" not in names and folder not in git_dirs:
            folders += [folder / name for name in names[: _MOST_FOLDERS - len(folders)]]
            continue
        yield from (folder / name for name in ("config", "config.worktree") if name in names)
        folders += [folder / name for name in ("modules",) if name in names]
