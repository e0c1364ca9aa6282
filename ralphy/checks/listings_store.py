"""The listings of tests that belong to green code: a file each in Ralphy's state folder, the oldest dropped."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path

from ralphy.checks.listing import Listing
from ralphy.files.atomic import read_regular, replace_file

_MOST_KEPT = 40


class Listings:
    """`key` names the code and the commands; the digest that `save` gives is kept where the code's result is."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / "tests"

    def path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json.z"

    def save(self, key: str, listings: Mapping[str, Listing]) -> str:
        """Keep the listings, and give their digest; "" if there are none to keep."""
        if not listings:
            return ""
        rows = {check: {"tests": dict(one.tests), "counts": dict(one.counts)} for check, one in listings.items()}
        data = zlib.compress(json.dumps(rows, sort_keys=True).encode())
        if read_regular(self.path(key)) != data:
            replace_file(self.path(key), data)
            self._drop_oldest()
        return hashlib.sha256(data).hexdigest()

    def load(self, key: str, digest: str) -> dict[str, Listing] | None:
        """The listings that `save` gave that digest for; None if they are gone or not the same any more."""
        data = read_regular(self.path(key))
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            return None
        return {check: Listing(**row) for check, row in json.loads(zlib.decompress(data)).items()}

    def has(self, key: str) -> bool:
        return self.path(key).is_file()

    def _drop_oldest(self) -> None:
        kept = sorted(self._folder.glob("[0-9a-f]*"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in kept[_MOST_KEPT:]:
            path.unlink(missing_ok=True)
