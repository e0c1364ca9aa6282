"""What a story's prompt costs beyond the story itself and its section of the specification, in bytes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.ground import FEATURES, CannotRun, Document, Effort, Ground, prd, ralphy, story, write
from bench.report import Figure, Judged, Limit, one

_LIMIT = Limit(Judged.MOST, 8192)
_FENCED = re.compile(
    r"\[\[BEGIN (?P<name>\S+) (?P<nonce>\S+)\]\]\n(?P<text>.*?)\n\[\[END (?P=name) (?P=nonce)\]\]", re.S
)
_NOTE = (
    "bytes beyond the story and its section of SPEC.md, the dearer one of two runs; "
    "the baseline is what `read prd.json and progress.txt` makes an agent read"
)
_RUNS = 2  # the second one has a failure to tell of


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """The prompts as they are handed to the agent, of ordinary features and of a hostile one."""
    for size in (10, 1000):
        files = {"prd.json": prd(size), "SPEC.md": _spec(size)}
        yield _figure(ground, f"prompt-{size}", f"prompt, {size} stories", files, note=_NOTE)
    megabytes, checks = effort.pick(full=10, quick=2), effort.pick(full=50, quick=10)
    name = "hostile-" + "n" * 50
    yield _figure(ground, name, "prompt, hostile sizes", _hostile(name, megabytes * 1_000_000, checks), _remarks(name),
                  f"a story of 40 KB; SPEC.md, progress.txt and the output of a failed check of {megabytes} MB each; "
                  f"remarks of 100 KB, {checks} checks, long names everywhere")  # fmt: skip


def _figure(
    ground: Ground, name: str, shown: str, files: Mapping[str, str], journal: str = "", note: str = ""
) -> Figure:
    """The dearest prompt of a feature; beside it what `read prd.json and progress.txt` makes an agent read."""
    root = ground.repository(name, {name: files})
    if journal:
        write(root / ".git" / "ralphy" / "journal.jsonl", journal)
    whole = sum(len(files.get(file, "").encode()) for file in ("prd.json", "progress.txt"))
    argv = ralphy("loop", name, "--auto-approve", "--max-iterations", str(_RUNS), "-q")
    env = {**ground.env, "RALPHY_LANES_PROBE": "off"}  # the checks look at no code: what they print is measured
    ended = subprocess.run(argv, cwd=root, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    prompts = sorted((root / FEATURES / name).glob(".ralphy/runs/*/prompt.md"))
    if len(prompts) != _RUNS:
        raise CannotRun(f"{shown}: {len(prompts)} runs: {ended.stderr.decode('utf-8', 'replace')[-600:]}")
    return Figure(shown, "B", one(max(map(_beyond, prompts))), one(whole), _LIMIT, note)


def _beyond(path: Path) -> float:
    """The bytes of a prompt without the texts of the story and of its section."""
    text = path.read_text(errors="replace")
    own = [found["text"] for found in _FENCED.finditer(text) if found["name"] in (_story_of(path), "SPEC.md")]
    if len(own) != 2:
        raise CannotRun(f"{path} has {len(own)} of the two texts that do not count")
    return len(text.encode()) - sum(len(part.encode()) for part in own)


def _story_of(path: Path) -> str:
    """The id in the name of a run's folder: time-token-story-US-00001."""
    return path.parent.name.partition("-story-")[2]


def _spec(stories: int) -> str:
    section = "### US-{n:05} Story number {n}\n\nIt returns the value of number {n}, and refuses what is none.\n\n"
    return "# Specification\n\n## Stories\n\n" + "".join(section.format(n=n + 1) for n in range(stories))


def _hostile(name: str, size: int, number: int) -> dict[str, str]:
    """A feature of which everything is as large as it can get; its check fails once an agent has worked."""
    document: Document = json.loads(prd(1000, "ralph/" + "b" * 180))
    document["userStories"] = [_large_story(), *(story(n + 2) for n in range(999))]
    words = "Everything about number 1 must be as it was. "
    failing = f"{FEATURES}/{name}/check.py"
    checks = [{"name": f"check-{n}-{'c' * 20}", "run": f"python3 {failing} {n} {'x' * 300}"} for n in range(number)]
    config = {"project": {"name": "p" * 1000}, "stack": {"language": "l" * 1000}, "checks": checks}
    entry = "## [2024-03-01T10:00:00Z] - US-00001 (attempt 1/5) - failed\n" + "- what was learnt\n" * 4000 + "---\n"
    patterns = "## Codebase Patterns\n" + "- pattern: always do it in this way\n" * 2000 + "\n---\n"
    return {
        "prd.json": json.dumps(document, indent=2),
        "SPEC.md": _spec(1).rstrip() + "\n\n" + words * 1000 + "\n\n### Others\n\n" + words * (size // len(words)),
        "progress.txt": f"# Ralphy Progress Log\n\n{patterns}" + entry * (size // len(entry)),
        "check.py": _FAILING.format(lines=size // 100),
        ".ralphy/config.yaml": json.dumps(config),
    }


_FAILING = """\
import glob, sys
if glob.glob("work_*.py"):
    for n in range({lines}):
        print(f"FAILED tests/test_everything.py::test_number_{{n}} - AssertionError: it is not what it was, {{n}}")
    sys.exit(1)
"""


def _large_story() -> Document:
    criteria = [f"Criterion {n} of many: calling it with {n} returns the expected value" for n in range(250)]
    return {**story(1), "description": "As a user I want a great deal of it. " * 600, "acceptanceCriteria": criteria}


def _remarks(feature: str) -> str:
    """A journal in which a person's remarks wait for the first story."""
    entry = {"ev": "reset", "feature": feature, "at": 1.0, "story": "US-00001", "feedback": "please mend this " * 6000}
    return json.dumps(entry) + "\n"
