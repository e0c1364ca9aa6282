"""The files in which git keeps refs, read with care: an agent can write into them, and put anything in their place."""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from pathlib import Path

from ralphy.files.safe_open import read_safely
from ralphy.files.tree_walk import walk

_OID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_BAD_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|/\.|\.\.|@\{|\.lock(?:/|$)|[/.]$")  # as git-check-ref-format has it
_MOST = 64 * 1024 * 1024
SYMBOLIC = "ref: "
DEPTH = 5  # as deep as git itself follows names of other refs


def is_oid(value: str) -> bool:
    """Is it an object's id, and no name of another ref, no garbage?"""
    return _OID.fullmatch(value) is not None


def ref_text(path: Path) -> str | None:
    """What a regular file holds, through links as git reads it; None if nothing is there, or something else. Never
    waits."""
    try:
        data = read_safely(path, _MOST + 1)
    except OSError:
        return None
    return None if len(data) > _MOST else data.decode("utf-8", "surrogateescape").strip()


def followed(common_dir: Path, ref: str, depth: int = DEPTH) -> str:
    """The object id of a full ref name, or "": loose first, then packed; what names itself, or garbage, is none."""
    found = ref_text(common_dir / ref)
    if found is None:
        found = packed(common_dir, ref)
    if found.startswith(SYMBOLIC):
        name = found.removeprefix(SYMBOLIC).strip()
        is_sound = depth > 0 and name.startswith("refs/") and ".." not in name and "\0" not in name
        return followed(common_dir, name, depth - 1) if is_sound else ""
    return found if is_oid(found) else ""


def packed(common_dir: Path, ref: str) -> str:
    """What `packed-refs` has for a name, or ""."""
    wanted = f" {ref}"
    lines = (ref_text(common_dir / "packed-refs") or "").split("\n")
    return next((line.split(" ", 1)[0] for line in lines if line.endswith(wanted)), "")


def listed(common_dir: Path, folders: Sequence[str]) -> dict[str, str]:
    """Full name -> object id of the refs in these folders, as git lists them: no broken ones, no bad names."""
    below = tuple(f"{folder}/" for folder in folders)
    rows = (row.partition(" ") for row in (ref_text(common_dir / "packed-refs") or "").split("\n"))
    names = [f"{folder}/{found.path}" for folder in folders for found in walk(common_dir / folder)
             if not stat.S_ISDIR(found.stat.st_mode)]  # fmt: skip
    loose = ((name, followed(common_dir, name)) for name in names)
    return {name: oid for name, oid in (*((name, oid) for oid, _, name in rows), *loose)
            if is_oid(oid) and name.startswith(below) and not _BAD_NAME.search(name)}  # fmt: skip
