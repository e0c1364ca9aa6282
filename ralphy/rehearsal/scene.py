"""Who called and for what: the step, feature, story, attempt and outbox of this run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ralphy.errors import InvalidInput
from ralphy.rehearsal import files

STEPS = ("clarify", "spec", "acceptance", "story", "split", "qa", "pr", "other")
# Compiled where they are used: most runs need none of them.
MARKER = r"\s*<!--\s*ralphy\s+(.*?)\s*-->"
PAIR = r'(\w+)=("[^"]*"|\S+)'
PLACEHOLDER = r"\{\{\s*(\w+)\s*\}\}"


class Scene(NamedTuple):
    """One run as its caller describes it. `cwd` is absolute; `feature_dir` and `outbox` may be empty."""

    step: str
    feature: str
    story: str
    attempt: int
    run: str
    outbox: str
    feature_dir: str
    cwd: str
    number: int = 1

    @property
    def key(self) -> str:
        """What runs are counted by, e.g. `story/login/US-001`."""
        return "/".join(part for part in (self.step, self.feature, self.story) if part)

    @property
    def slug(self) -> str:
        """The story's id as a Python name: `US-001` is `us_001`."""
        kept = "".join(sign if sign.isalnum() else "_" for sign in self.story.lower())
        return kept.strip("_") or "story"

    def artifact(self, name: str) -> str:
        """The path of a file in the feature folder."""
        return files.join(self.cwd, self.feature_dir or f"docs/features/{self.feature}", name)

    def delivery(self, name: str) -> str:
        """Where the artifact `name` is handed in; InvalidInput when the caller named no outbox."""
        if not self.outbox:
            raise InvalidInput(f"no outbox to write {name} to", where="RALPHY_OUTBOX", hint="name a folder")
        return files.join(self.cwd, self.outbox, name)

    def fill(self, text: str) -> str:
        """`text` with {{story}}, {{slug}}, {{feature}}, {{attempt}}, {{step}} and {{run}} filled in."""
        if "{{" not in text:
            return text
        known = {**self._asdict(), "slug": self.slug}
        return re.sub(PLACEHOLDER, lambda found: str(known.get(found[1], found[0])), text)


def read_scene(environ: Mapping[str, str], prompt: str, cwd: str) -> Scene:
    """The scene from the RALPHY_ variables; what they leave out is taken from the prompt's first line."""
    said = _marker(prompt)

    def value(name: str, variable: str = "") -> str:
        return environ.get(f"RALPHY_{variable or name.upper()}") or said.get(name, "")

    step, attempt = value("step") or "other", value("attempt") or "1"
    number = value("number", "RUN_NUMBER") or attempt
    return Scene(
        step=step if step in STEPS else "other",
        feature=value("feature"),
        story=value("story"),
        attempt=int(attempt) if attempt.isdecimal() else 1,
        number=int(number) if number.isdecimal() else 1,
        run=value("run", "RUN_ID"),
        outbox=value("outbox"),
        feature_dir=value("feature_dir"),
        cwd=cwd,
    )


def _marker(prompt: str) -> dict[str, str]:
    first = prompt.split("\n", 1)[0]
    found = re.match(MARKER, first) if "<!--" in first else None
    return {name: text.strip('"') for name, text in re.findall(PAIR, found[1])} if found else {}
