"""Which story is next, which can be worked on side by side, and which changes of a story are allowed.

Stories side by side are likely to touch other files. What a story touches is declared in it (`files`), named in its
texts and in its section of SPEC.md, or known from an earlier attempt. A wrong guess costs no work: what lands later is
merged onto what landed before, and checked again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

from ralphy.pipeline.chosen import chosen
from ralphy.pipeline.history import History
from ralphy.pipeline.model import Document, Lost, Prd, ReviewFinding, Status, Story
from ralphy.pipeline.steps import names
from ralphy.text.first_few import first_few

_MOST_NAMED = 8


def next_ready(prd: Prd, only: Sequence[str] = ()) -> Story | None:
    """The open story of the lowest priority number, then file order, whose dependencies are completed."""
    return min(all_ready(prd, only), key=lambda story: (story.priority, story.index), default=None)


def all_ready(prd: Prd, only: Sequence[str] = ()) -> list[Story]:
    """The open stories whose dependencies are completed; of those that a person asked for, if any."""
    completed = prd.completed_ids
    ready = [s for s in prd.stories if s.is_open and completed.issuperset(s.depends_on)]
    wanted = chosen(prd, only)[0] if only else ()
    return [story for story in ready if story.id in wanted] if only else ready


def attempts_used(history: History, story: Story) -> int:
    """The attempts that a story has used; the number in prd.json counts where the journal was wiped."""
    past, in_prd = history.of(names.STORY, story.id), int(story.execution.get("attempts") or 0)
    return past.attempts if past.is_known or history.is_reset else max(past.attempts, in_prd)


def over(prd: Prd) -> frozenset[tuple[str, str]]:
    """(id, status) of every story that no run works on any more."""
    return frozenset((story.id, story.status.value) for story in prd.stories if not story.is_open)


def shown_status(prd: Prd) -> dict[str, str]:
    """Story id -> status as people see it: a story held up by an uncompleted dependency is blocked, one that a person
    has started is in progress until it is completed, failed or reset."""
    completed, begun = prd.completed_ids, started(prd)
    statuses = {s.id: s.status.value for s in prd.stories}
    statuses |= {s.id: Status.IN_PROGRESS.value for s in prd.stories if s.is_open and s.id in begun}
    held = (s for s in prd.stories if s.is_open and not completed.issuperset(s.depends_on))
    return {**statuses, **{s.id: Status.BLOCKED.value for s in held}}


def started(prd: Prd) -> list[str]:
    """The stories that a person has started; prd.json holds no status of theirs that an agent's run could change."""
    ids = prd.workflow.get("started")
    return [id_ for id_ in ids if isinstance(id_, str)] if isinstance(ids, list) else []


def warnings_of(story: Story) -> list[str]:
    """What the evidence of a completed story wants a person to look at."""
    warnings = (story.raw.get("evidence") or {}).get("warnings") if story.is_completed else None
    return [str(text) for text in warnings] if isinstance(warnings, list) else []


def flagged(prd: Prd) -> str:
    """Which stories count and were flagged all the same, and where that is read; "" if none was."""
    counts = [(s.id, len(warnings_of(s))) for s in prd.stories if warnings_of(s)]
    if not counts:
        return ""
    which = first_few([f"{story} ({number})" for story, number in counts], _MOST_NAMED)
    return f"flagged in the evidence of {which}: see `ralphy story show {counts[0][0]}`"


def why_stuck(prd: Prd) -> str:
    """A sentence on the stories that keep the feature from going on; "" if all are completed."""
    failed = [s.id for s in prd.stories if s.status is Status.FAILED]
    asked = [s.id for s in prd.stories if s.status is Status.BLOCKED]
    held = [s.id for s in prd.stories if s.is_open]
    parts = [
        f"failed: {first_few(failed, _MOST_NAMED)}" if failed else "",
        f"waiting for an answer in QUESTIONS.md: {first_few(asked, _MOST_NAMED)}" if asked else "",
        f"blocked: {first_few(held, _MOST_NAMED)}" if held else "",
    ]
    return "; ".join(part for part in parts if part)


def asks_only(prd: Prd) -> bool:
    """Is an answer all that a stuck feature waits for? A failed story stays failed."""
    return not any(story.status is Status.FAILED for story in prd.stories)


def why_lost(lost: Lost, feature: str, *, is_missing: bool) -> str:
    """A sentence on stories that are gone from prd.json, with the ways on."""
    back = f"`git show {quote(f'{lost.commit}:{lost.path}')} > {quote(lost.path)}` brings back"
    which = f"{first_few(lost.stories, _MOST_NAMED)}, which {lost.commit} has"
    if is_missing:
        return f"{lost.path} is missing: {back} {which}; to start over: `ralphy redo spec {feature}`"
    return (f"{lost.path} has lost {which}: {back} the whole file; if you mean it, commit the file as it is, "
            f"or start over: `ralphy redo spec {feature}`")  # fmt: skip


def completed(
    story: Story, execution: Document, evidence: Document, test_files: Sequence[str], *, review_follows: bool = False
) -> Document:
    """The fields of a story that passed: status and passes together, tasks ticked, and criteria if it was verified.

    Where a review follows, which answers them one by one, only criteria that a test of their own shows are ticked.
    """
    criteria = {} if evidence.get("verified") is False else _ticked(story.raw, "acceptanceCriteria")
    if review_follows and evidence.get("verified") is not False:
        proved = _proved_by_tests(evidence)
        criteria = _ticked(story.raw, "acceptanceCriteria", proved)
        evidence = {**evidence, "proved_criteria": sorted(proved)}
    return {
        "passes": True,
        "status": Status.COMPLETED.value,
        **criteria,
        **_ticked(story.raw, "tasks"),
        "execution": {**story.execution, "last_error": None, **execution},
        "testing": {**(story.raw.get("testing") or {}), "test_files": list(test_files)},
        "evidence": evidence,
    }


def _ticked(raw: Document, name: str, places: Collection[int] | None = None) -> Document:
    """The items ticked: all, or those at the places (from 1); a tick of before at any other place goes."""
    items: Any = raw.get(name)
    if not items:
        return {}
    return {name: [_boxed(item, places is None or place in places) for place, item in enumerate(items, 1)]}


def _boxed(item: Any, is_done: bool) -> Any:
    return {**item, "done": is_done} if isinstance(item, dict) and (is_done or item.get("done")) else item


def _proved_by_tests(evidence: Mapping[str, Any]) -> set[int]:
    """The places of the criteria whose acceptance tests were red before the story and are green after it."""
    rows = [row for row in evidence.get("acceptance") or () if isinstance(row, Mapping)]
    proved = {row.get("criterion") for row in rows if row.get("before") == "red" and row.get("after") == "green"}
    unproved = {row.get("criterion") for row in rows if row.get("after") != "green"}
    return {place for place in proved - unproved if isinstance(place, int)}


def proved_criteria(story: Story) -> Sequence[int] | None:
    """The places of the criteria that tests of their own show; None if the story did not land with a review ahead."""
    places = (story.raw.get("evidence") or {}).get("proved_criteria")
    return places if isinstance(places, list) else None


def not_passed(story: Story, status: Status, attempts: int, error: str) -> Document:
    """The fields of a story after an attempt that did not count, or when it is given up."""
    tries = int(story.execution.get("code_test_attempts", 0)) + 1
    execution = {**story.execution, "attempts": attempts, "code_test_attempts": tries, "last_error": error}
    return {"passes": False, "status": status.value, "execution": execution}


def reopened(story: Story) -> Document:
    """The fields of a story that is to be done again from the beginning."""
    execution = {**story.execution, "attempts": 0, "code_test_attempts": 0, "last_error": None}
    return {"passes": False, "status": Status.PENDING.value, "execution": execution}


def canonical(prd: Prd) -> Prd:
    """The PRD as Ralphy writes it: status and passes both there and agreeing, nothing in progress."""
    stories = [_canonical(story) for story in prd.stories]
    if all(new is story.raw for new, story in zip(stories, prd.stories, strict=True)):
        return prd
    return prd.with_stories(stories)


def _canonical(story: Story) -> Document:
    status = Status.PENDING if story.is_open else story.status
    passes = status is Status.COMPLETED
    raw = _anchored(story.raw)
    if raw.get("status") == status.value and raw.get("passes") is passes:
        return raw
    last = next(reversed(raw))
    anchor = {} if last in _CHANGING else {last: raw[last]}
    rest = {key: value for key, value in raw.items() if key not in anchor}
    return {**rest, "passes": passes, "status": status.value, **anchor}


# What a run changes of a story. The last field of a story must be none of these (see Prd.with_story).
_CHANGING = frozenset(("passes", "status", "acceptanceCriteria", "tasks", "execution", "testing", "evidence"))
_ANCHORS = ("priority", "context", "dependsOn", "kind", "notes", "description", "title", "id")


def _anchored(raw: Document) -> Document:
    """The story with a field at its end that no run changes."""
    if next(reversed(raw)) not in _CHANGING:
        return raw
    anchor = next(name for name in _ANCHORS if name in raw)
    return {**{key: value for key, value in raw.items() if key != anchor}, anchor: raw[anchor]}


def merged(existing: Prd, draft: Sequence[Document]) -> list[Document]:
    """Stories after a spec step: those that exist are kept as they are, new ones are added behind them."""
    known = {story.id.lower() for story in existing.stories}
    return [story.raw for story in existing.stories] + [s for s in draft if s["id"].lower() not in known]


def as_drafted(draft: Document) -> Document:
    """A drafted story without what only Ralphy may say of it."""
    planned = {k: v for k, v in draft.items() if k not in ("execution", "evidence", "status", "passes")}
    return {**planned, "passes": False, "status": Status.PENDING.value}


def fixes(prd: Prd, findings: Sequence[ReviewFinding], round_: int) -> list[Document]:
    """One story for each blocking finding, after all others: FIX-<round>-<n>, of a round that has none yet."""
    known = {story.id.upper() for story in prd.stories}
    while any(story_id.startswith(f"FIX-{round_}-") for story_id in known):
        round_ += 1
    last = max((story.priority for story in prd.stories), default=0)
    return [
        {
            "id": f"FIX-{round_}-{n}",
            "title": finding.title,
            "description": "\n".join(p for p in (finding.detail, finding.file and f"File: {finding.file}") if p),
            "kind": "fix",
            "acceptanceCriteria": [f"{_finding_name(finding)} of the QA report no longer holds"],
            "priority": last + n,
            "passes": False,
            "status": Status.PENDING.value,
        }
        for n, finding in enumerate(findings, 1)
    ]


def _finding_name(finding: ReviewFinding) -> str:
    return f"The {finding.severity} finding {finding.id}".rstrip()


# A path with a folder and an ending, or a name with an ending that is set as code.
_PATH = re.compile(r"(?<![\w./:@-])((?:[\w.@-]+/)+[\w@-][\w.@-]*\.\w{1,8})\b|`([\w@-][\w.@-]*\.\w{1,8})`")


def startable(
    prd: Prd, in_work: frozenset[str], paths: Mapping[str, frozenset[str]], only: Sequence[str] = ()
) -> list[Story]:  # fmt: skip
    """The ready stories that nobody works on and that share no file with those in work, the next one first."""
    taken = frozenset[str]().union(*(paths.get(story, frozenset()) for story in in_work))
    free = (story for story in all_ready(prd, only) if story.id not in in_work)
    independent = [story for story in free if taken.isdisjoint(paths.get(story.id, frozenset()))]
    return sorted(independent, key=lambda story: (story.priority, story.index))


def likely_paths(story: Story, section: str, touched: Iterable[str] = ()) -> frozenset[str]:
    """The files that a story is likely to change: `section` is what SPEC.md says of it, `touched` what an earlier
    attempt changed. Declared files replace the names in texts."""
    declared = story.raw.get("files")
    if isinstance(declared, list) and declared:
        return frozenset(str(path) for path in declared).union(touched)
    texts = [section, *_texts({name: story.raw.get(name) for name in _TEXT_FIELDS})]
    return frozenset(groups[0] or groups[1] for text in texts for groups in _PATH.findall(text)).union(touched)


_TEXT_FIELDS = ("title", "description", "acceptanceCriteria", "tasks", "notes")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
