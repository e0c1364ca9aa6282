"""What speaks against the tests and checks of an attempt, and what the settings make of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

_MOST_NAMED = 10
_MOST_ORDERED = 50
_MOST_OF_A_NAME = 160


class Kind(Enum):
    """The value is the name of the setting that decides: `verify.<value>`, reject or flag."""

    REMOVED = "removed_tests"
    SKIPPED = "skipped_tests"
    EMPTIED = "emptied_tests"
    FEWER = "fewer_assertions"
    CHANGED = "changed_tests"
    RUNNER = "runner_config"
    EDITED = "edited_checks"
    STEERING = "steering_files"
    UNPROVED = "unproved"
    SUSPICIOUS = "suspicious_code"


# The title of its findings ("": each is a sentence of its own), and what the next attempt must do about them.
_WORDING = {
    Kind.REMOVED: ("tests that existed are gone", "restore them; only tests in testing.removes may be deleted"),
    Kind.SKIPPED: ("tests that ran are skipped or expected to fail", "make them run and pass again"),
    Kind.EMPTIED: ("tests no longer assert anything", "restore what they assert"),
    Kind.FEWER: ("tests assert less than before", "restore what they assert"),
    Kind.CHANGED: ("", "make the code meet the old tests; only tests in testing.changes may expect something else"),
    Kind.RUNNER: ("the test runner's behaviour was changed", "undo this"),
    Kind.EDITED: ("what runs the checks was changed", "undo this"),
    Kind.UNPROVED: ("unproved", "a test must fail without the story's code, and where its new functions exist and do "
                    "nothing: assert a result that only this code gives (a refactoring has no such test)"),
    Kind.SUSPICIOUS: ("code that is made for its tests", "write what the story asks for, for every caller"),
    Kind.STEERING: ("files that steer agents, CI or what you run were changed", "undo this"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found; `what` names it: a test, or a file and what is wrong with it."""

    kind: Kind
    what: str


def sentences(findings: Iterable[Finding]) -> list[str]:
    """A sentence for each kind that occurs, with the first names."""
    rows = []
    for kind, texts in _by_kind(findings).items():
        title, _ = _WORDING[kind]
        rows += [f"{title}: {listed_names(texts)}"] if title else texts
    return rows


def orders(findings: Iterable[Finding]) -> str:
    """The same for the next attempt: every name on its line, and what to do."""
    parts = []
    for kind, texts in _by_kind(findings).items():
        title, order = _WORDING[kind]
        head = title or "old tests fail against the new code"
        rows = [f"- {_short(text) if title else text}" for text in dict.fromkeys(texts)]
        more = [f"- and {len(rows) - _MOST_ORDERED} more"] if len(rows) > _MOST_ORDERED else []
        parts.append("\n".join([f"{head[0].upper()}{head[1:]}; {order}:", *rows[:_MOST_ORDERED], *more]))
    return "\n\n".join(parts)


def _by_kind(findings: Iterable[Finding]) -> dict[Kind, list[str]]:
    grouped: dict[Kind, list[str]] = {}
    for finding in findings:
        grouped.setdefault(finding.kind, []).append(finding.what)
    return grouped


def listed_names(names: Sequence[str]) -> str:
    """The first names, each short and printable, and how many more there are."""
    each = list(dict.fromkeys(map(_short, names)))
    more = f" and {len(each) - _MOST_NAMED} more" if len(each) > _MOST_NAMED else ""
    return ", ".join(each[:_MOST_NAMED]) + more


def _short(name: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return plain if len(plain) <= _MOST_OF_A_NAME else plain[:_MOST_OF_A_NAME] + "…"
