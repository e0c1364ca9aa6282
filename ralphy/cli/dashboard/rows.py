"""A board as rows of text, for a terminal: each row has parts of a text and a tone, as those of the live view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ralphy.text.durations import span
from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING

Part = tuple[str, str]
Row = tuple[Part, ...]
Board = Mapping[str, Any]

SIGNS = {"completed": ("✓", GOOD), "failed": ("✗", BAD), "blocked": ("–", WAITING), "in_progress": ("…", STRONG),
         "pending": ("·", FAINT)}  # fmt: skip
_SECTIONS = {"needs_you": ("!", WAITING), "working": ("…", STRONG), "ready": ("▸", ""), "waiting": ("·", FAINT),
             "done": ("✓", GOOD)}  # fmt: skip
_BLOCKS = " ▁▂▃▄▅▆▇█"
_GAP = "   "


def head(board: Board, width: int) -> list[Row]:
    """The feature, how far it is, what comes next, and what it costs."""
    v = board.get("status") or {}
    if "error" in v:
        hint = v["error"].get("hint")
        return [
            ((board["feature"] or "Ralphy", STRONG), (f"{_GAP}{v['error']['message']}", BAD)),
            ((hint or "", FAINT),),
        ]
    if not v:
        return [(("No feature yet.", STRONG), (' Type: ralphy start "what you want"', FAINT))]
    failed = sum(row["status"] == "failed" for row in v["stories"])
    done, of = v["tasks_completed"], v["tasks_total"]
    parts: list[Part] = [(v["feature"], STRONG), (" ", ""), *_bar(v["stories"], max(10, min(40, width // 4)))]
    parts += [(f" {done} of {of}", ""), *([(f", {failed} failed", BAD)] if failed else [])]
    parts.append((_GAP + v["phase"], WAITING if v["phase"].startswith("AWAITING") else ""))
    running = v.get("running")
    parts.append((f"{_GAP}pid {running['pid']}" if running else f"{_GAP}not running", FAINT))
    return [tuple(parts), ((v["next"], FAINT),), tuple(_figures(board, v))]


def _bar(stories: Sequence[Mapping[str, Any]], width: int) -> Iterator[Part]:
    """A piece for each kind of story, as long as its share."""
    count = len(stories) or 1
    states = [row["status"] for row in stories]
    upto, before = 0, 0
    for state, sign in (("completed", "█"), ("failed", "x"), ("in_progress", "▒"), ("", "░")):
        known = states.count(state) if state else len(states)
        upto = width if not state else upto + known
        end = width if not state else round(upto * width / count)
        if end > before:
            yield sign * (end - before), SIGNS[state or "pending"][1]
        before = max(before, end)


def _figures(board: Board, v: Mapping[str, Any]) -> Iterator[Part]:
    """Money, runs, what is left and what stands in the way."""
    budget = board.get("budget")
    if not budget:
        return
    most = budget["max_cost_usd"]
    of = f" of ${most:.2f}" if most is not None else ""
    is_short = most is not None and budget["cost_usd"] >= 0.8 * most
    yield f"${budget['cost_usd']:.2f}{of}", WAITING if is_short else ""
    if v["circuit_breaker"]["state"] != "CLOSED":
        yield f"{_GAP}circuit breaker: {v['circuit_breaker']['state']}", BAD
    if ahead := v.get("forecast"):
        yield f"{_GAP}about {span(ahead['seconds'])} and ${ahead['cost_usd']:.2f} left", ""
    yield f"{_GAP}run {budget['runs']} of {budget['max_runs']}", FAINT
    yield f"{_GAP}{budget['calls_left']} calls left", WAITING if budget["calls_left"] < 10 else FAINT


def needs(board: Board) -> list[Row]:
    """What waits for the person, with the key that answers it."""
    found: list[Row] = []
    if gate := board.get("gate"):
        found.append(
            ((f"{gate['document']} is ready for review", WAITING), ("   a approve  r send back  d read", STRONG))
        )
        found += [((note, ""),) for note in gate["notes"]]
    for asked in board.get("questions") or ():
        first = " ".join(asked["question"].split())
        found.append(((f"{asked['key']} asks: {first}", WAITING), ("   n answer", STRONG)))
    rest = [need for need in board.get("waits") or () if not need["do"].startswith("ralphy approve")]
    if not found:
        found = [((need["said"], WAITING), (f"   {need['do']}", STRONG)) for need in rest[:3]]
    return found


def agents(board: Board, now: float, width: int) -> list[Row]:
    """A row for each agent: lane, story, how long, calls, and what it does now."""
    found: list[Row] = []
    for one in board.get("agents") or ():
        calls = "1 call" if one["calls"] == 1 else f"{one['calls']} calls"
        model = f" {one['model']:<8}" if width >= 110 else ""
        figures = f"{_clock(now - one['began']):>8}{calls:>11}{_GAP}"
        doing = (f"! {one['warned']}", WAITING) if one["warned"] else (one["doing"], "")
        name = f"{one['subject']} attempt {one['attempt']}"
        found.append(
            ((f"lane {one['lane'] or '–':<2} ", FAINT), (f"{name:<17}", STRONG), (model + figures, FAINT), doing)
        )
    return found


def _clock(seconds: float) -> str:
    minutes, left = divmod(max(0, int(seconds)), 60)
    return f"{minutes}:{left:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{left:02}"


def features(board: Board) -> list[tuple[str, Row]]:
    """(name, row) of each feature of the inbox."""
    found: list[tuple[str, Row]] = []
    for one in board.get("features") or ():
        sign, tone = _SECTIONS[one["section"]]
        of = f" {one['tasks_completed']}/{one['tasks_total']}" if one["tasks_total"] else ""
        found.append((one["feature"], ((f"{sign} ", tone), (one["feature"], STRONG if tone else ""), (of, FAINT))))
    return found


def graph(board: Board) -> list[Row]:
    """The stories by how many have to come before them, each with what it comes after."""
    stories, depth = (board.get("status") or {}).get("stories") or (), board.get("depths") or {}
    found: list[Row] = []
    for level in sorted(set(depth.values())):
        title = "first" if level == 0 else f"after {level}" if level > 1 else "then"
        found.append(((f"{title}", FAINT),))
        for row in (row for row in stories if depth.get(row["id"], 0) == level):
            sign, tone = SIGNS.get(row["status"], ("?", ""))
            after = f"  ◂ {', '.join(row['depends_on'])}" if row.get("depends_on") else ""
            found.append(((f"  {'   ' * level}{sign} {row['id']}", tone), (f" {row['title']}", ""), (after, FAINT)))
    return found


def burn_down(board: Board, width: int, height: int) -> list[Row]:
    """Stories left over the time of the work, as columns of blocks."""
    points, night = board.get("burn") or [], board.get("night") or {}
    if len(points) < 2 or width < 20:
        return [(("No story has landed yet.", FAINT),)]
    start = points[0]["at"]
    end = max(points[-1]["at"], night.get("ended") or 0.0, start + 60.0)
    most, columns = max(1, points[0]["left"]), width - 5
    left = [_left_at(points, start + (end - start) * column / (columns - 1)) for column in range(columns)]
    found: list[Row] = []
    for level in range(height - 1, -1, -1):
        eighths = (round(value / most * height * 8) - level * 8 for value in left)
        line = "".join(_BLOCKS[min(8, max(0, part))] for part in eighths)
        label = str(most) if level == height - 1 else "0" if level == 0 else ""
        found.append(((f"{label:>3} ", FAINT), (line, STRONG)))
    found.append(((f"    {span(end - start)}, {points[-1]['left']} of {most} stories left", FAINT),))
    return found


def _left_at(points: Sequence[Mapping[str, Any]], at: float) -> int:
    return int([point["left"] for point in points if point["at"] <= at + 1e-6][-1])
