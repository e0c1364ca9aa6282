"""What this run is for: its step, feature, story, attempt and outbox."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ralphy.errors import InvalidInput

STEPS = ("clarify", "spec", "acceptance", "story", "split", "qa", "pr", "other")
_MARKER = re.compile(r"\s*<!--\s*ralphy\s+(.*?)\s*-->")
_PAIR = re.compile(r'(\w+)=("[^"]*"|\S+)')
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class Context(NamedTuple):
    """One run as its caller describes it; `number` counts the runs of this step or story from 1."""

    cwd: Path
    step: str = "other"
    feature: str = ""
    story: str = ""
    attempt: int = 1
    number: int = 1
    run: str = ""
    outbox: str = ""
    feature_dir: str = ""

    @property
    def key(self) -> str:
        """The run's step, feature and story, such as `story/login/US-001`."""
        return "/".join(part for part in (self.step, self.feature, self.story) if part)

    @property
    def slug(self) -> str:
        """The story's id as a Python name: `US-001` is `us_001`."""
        return re.sub(r"\W", "_", self.story.lower()).strip("_") or "story"

    def artifact(self, name: str) -> Path:
        """A file in the feature folder."""
        return self.cwd / (self.feature_dir or f"docs/features/{self.feature}") / name

    def delivery(self, name: str) -> Path:
        """The path of the artifact `name` in the outbox; InvalidInput when the caller named no outbox."""
        if not self.outbox:
            raise InvalidInput(f"no outbox to write {name} to", where="RALPHY_OUTBOX", hint="name a folder")
        return self.cwd / self.outbox / name

    def fill(self, text: str) -> str:
        """`text` with {{story}}, {{slug}}, {{feature}}, {{attempt}}, {{step}} and {{run}} filled in."""
        known = {**self._asdict(), "slug": self.slug}
        return _PLACEHOLDER.sub(lambda match: str(known.get(match[1], match[0])), text)


def read_context(environ: Mapping[str, str], prompt: str, cwd: Path) -> Context:
    """The context from the RALPHY_ variables, or where they are unset from the prompt's first line."""
    marker = _MARKER.match(prompt.split("\n", 1)[0])
    pairs = {name: text.strip('"') for name, text in _PAIR.findall(marker[1])} if marker else {}

    def value(name: str, variable: str = "") -> str:
        return environ.get(f"RALPHY_{variable or name.upper()}") or pairs.get(name, "")

    def number(text: str) -> int:
        return int(text) if text.isdecimal() else 1

    step, attempt = value("step"), value("attempt")
    return Context(
        cwd=cwd,
        step=step if step in STEPS else "other",
        feature=value("feature"),
        story=value("story"),
        attempt=number(attempt),
        number=number(value("number", "RUN_NUMBER") or attempt),
        run=value("run", "RUN_ID"),
        outbox=value("outbox"),
        feature_dir=value("feature_dir"),
    )
