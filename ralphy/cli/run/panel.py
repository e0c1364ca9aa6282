"""The live view as rows of text: what stands below the log of a running night."""

from __future__ import annotations

from collections.abc import Iterator

from ralphy.cli.run.night import Night, Working
from ralphy.cli.status.moments import moment
from ralphy.pipeline.steps.names import CLARIFY
from ralphy.text.columns import columns_of, within
from ralphy.text.durations import span
from ralphy.text.first_few import first_few
from ralphy.text.rehearsed import marked
from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING

Part = tuple[str, str]  # a text and its tone
Row = tuple[Part, ...]

_GAP = "   "
_WIDE, _BAR = 110, 40  # columns from which on lanes and models have room; columns of a bar at the most
_MOST_WAITING = 3
_TOKENS = (("input", "in"), ("output", "out"), ("cache_read", "cache read"), ("cache_creation", "cache write"))


def rows(night: Night, now: float, width: int, most: int) -> list[Row]:
    """What there is to show of a night in so many columns; at most so many rows."""
    found: list[Row] = [(("─" * width, FAINT),)]
    if night.feature and not (night.rests and night.waiting.get(night.feature)):
        found += [_progress(night, now, width), *_agents(night, now, width, most - 5)]
        found += _flowing(_figures(night, now), width)
    found += _flowing(_needs_you(night), width)
    return [_cut(row, width) for row in found[: max(1, most)]] if found[1:] else []


def _progress(night: Night, now: float, width: int) -> Row:
    """The feature, a bar of its stories, how long it has been going on, and how long it still may."""
    parts: list[Part] = [(night.feature, STRONG)]
    if night.stories:
        parts += [(" ", ""), *_bar(night, min(_BAR, width // 4)), (f" {night.completed} of {night.stories}", "")]
        parts += [(f", {len(night.failed)} failed", BAD)] if night.failed else []
    parts.append((_GAP + span(now - night.began), FAINT))
    if (ahead := night.left_for_s) and not night.until:
        least, most = (span(seconds) for seconds in ahead)
        parts.append((f"{_GAP}ETA {least}" + (f" to {most}" if most != least else ""), ""))
    return tuple(parts)


def _bar(night: Night, width: int) -> Iterator[Part]:
    """A piece for each kind of story, as long as its share."""
    working = min(night.left, len({agent.subject for agent in night.agents.values()}))
    counts = ((night.completed, "█", GOOD), (len(night.failed), "x", BAD), (working, "▒", WAITING),
              (night.left - working, "░", FAINT))  # fmt: skip
    before, done = 0, 0
    for count, sign, tone in counts:
        done += count
        upto = min(width, round(done * width / night.stories))
        if upto > before:
            yield sign * (upto - before), tone
        before = upto


def _agents(night: Night, now: float, width: int, most: int) -> Iterator[Row]:
    """A row for each agent; where none works, what is done instead or waited for."""
    agents = sorted(night.agents.values(), key=lambda agent: (agent.lane, agent.began))
    room = max(1, most)
    shown = agents if len(agents) <= room else agents[: room - 1]
    names = [_name(agent, width) for agent in shown]
    column = max(map(columns_of, names), default=0)
    for agent, name in zip(shown, names, strict=True):
        padding = " " * (column - columns_of(name))
        figures = f"{padding}{_clock(now - agent.began):>9}{_calls(agent):>15}{_GAP}"
        doing = (f"! {agent.warned}", WAITING) if agent.warned else (agent.doing, "")
        yield (("  " + name, ""), (figures, FAINT), doing)
    if hidden := len(agents) - len(shown):
        yield ((f"  and {hidden} more agents", FAINT),)
    if not agents and night.until:
        clock = moment(night.until, now).partition(" (")[0]
        yield ((f"  until {clock}, {span(max(0.0, night.until - now))} left", WAITING), (f": {night.reason}", ""))
    elif not agents:
        yield ((f"  {night.reason}", WAITING if night.rests else FAINT),)


def _name(agent: Working, width: int) -> str:
    name = f"{agent.subject} attempt {agent.attempt}"
    return f"lane {agent.lane:<3} {name}{_GAP}{agent.model}" if width >= _WIDE and agent.lane else name


def _clock(seconds: float) -> str:
    """2:41, or 1:02:41."""
    minutes, left = divmod(max(0, int(seconds)), 60)
    return f"{minutes}:{left:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{left:02}"


def _calls(agent: Working) -> str:
    return "1 tool call" if agent.calls == 1 else f"{agent.calls} tool calls"


def _figures(night: Night, now: float) -> Iterator[Part]:
    """Money, tokens and limits; what is as it should be is left out."""
    of, evidence = "", night.evidence
    if evidence.budget_usd is not None:
        of = f" of ${evidence.budget_usd:.2f}"
    is_short = bool(of) and night.cost_usd >= 0.8 * (evidence.budget_usd or 0.0)
    yield marked(f"${night.cost_usd:.2f}{of}", night.is_rehearsed), WAITING if is_short else ""
    if any(night.tokens.values()):
        said = ", ".join(f"{_short(night.tokens.get(kind, 0))} {word}" for kind, word in _TOKENS)
        yield f"tokens: {said}", FAINT
    if evidence.calls_left is not None:
        yield f"{evidence.calls_left} runs left", WAITING if evidence.calls_left < 10 else FAINT
    for window in evidence.windows:
        used = "nearly all" if window.used is None else f"{window.used:.0%}"
        until = f" (reset in {span(window.resets_at - now)})" if window.resets_at else ""
        yield f"{used} of {window.kind}{until}", WAITING if window.is_worth_a_warning else FAINT
    if evidence.breaker != "CLOSED":
        yield f"circuit breaker: {evidence.breaker}", BAD


def _needs_you(night: Night) -> Iterator[Part]:
    """The features that wait at a gate."""
    names = sorted(night.waiting)
    if names:
        listed = [f"{name} ({night.waiting[name]})" for name in names]
        yield f"waits for you: {first_few(listed, _MOST_WAITING)}", WAITING
        verb = "clarify" if night.waiting[names[0]] == CLARIFY else "approve"
        yield "ralphy status --all" if names[1:] else f"ralphy {verb} {names[0]}", STRONG


def _flowing(groups: Iterator[Part], width: int) -> Iterator[Row]:
    """The groups one after the other, in as few rows as they need."""
    row: list[Part] = []
    for text, tone in groups:
        if row and sum(columns_of(said) for said, _ in row) + len(_GAP) + columns_of(text) > width:
            yield tuple(row)
            row = []
        row += [(_GAP if row else "  ", ""), (text, tone)]
    if row:
        yield tuple(row)


def _short(count: int) -> str:
    """1234 as 1.2k, as it is worth knowing."""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{sign}" if count < 100 * size else f"{count // size}{sign}"
    return str(count)


def _cut(row: Row, width: int) -> Row:
    """The row without what has no room."""
    kept: list[Part] = []
    for text, tone in row:
        width -= columns_of(text)
        if width < 0:
            return (*kept, (within(text, width + columns_of(text)), tone))
        kept.append((text, tone))
    return tuple(kept)
