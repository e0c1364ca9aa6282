"""The live view: what stands below the log of a running night, drawn with rich."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Group
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ralphy.cli.drawing import STYLES
from ralphy.cli.run.night import Night, Working
from ralphy.cli.status.moments import moment
from ralphy.pipeline.steps.names import CLARIFY
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.first_few import first_few
from ralphy.text.rehearsed import marked_words
from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING

_GAP = "   "
_WIDE, _BAR = 110, 40  # columns from which on lanes and models have room; columns of a bar at the most
_MOST_WAITING = 3
_TOKENS = (("input", "in"), ("output", "out"), ("cache_read", "cache read"), ("cache_creation", "cache write"))


def panel(night: Night, now: float, width: int, most: int) -> Group | None:
    """A night drawn in `width` columns and about `most` rows; None if there is nothing to show."""
    below = [*_flowing(_needs_you(night), width)]
    if not night.feature or (night.rests and night.waiting.get(night.feature)):
        return Group(_rule(), *below) if below else None
    below = [*_flowing(_figures(night, now), width), *below]
    return Group(_rule(), _progress(night, now, width), *_agents(night, now, width, most - 2 - len(below)), *below)


def _rule() -> Rule:
    return Rule(characters="─", style=STYLES[FAINT])


def _row(*parts: tuple[str, str]) -> Text:
    """A line of texts, each in its tone; what does not fit is cut."""
    return Text.assemble(*((text, STYLES[tone]) for text, tone in parts), no_wrap=True, overflow="ellipsis")


def _progress(night: Night, now: float, width: int) -> Text:
    """The feature, a bar of its stories, how long it has run, and how long it may still take."""
    parts = [(night.feature, STRONG)]
    if night.stories:
        parts += [(" ", ""), *_bar(night, min(_BAR, width // 4)), (f" {night.completed} of {night.stories}", "")]
        parts += [(f", {len(night.failed)} failed", BAD)] if night.failed else []
    parts.append((_GAP + span(now - night.began), FAINT))
    if (ahead := night.left_for_s) and not night.until:
        least, most = (span(seconds) for seconds in ahead)
        parts.append((f"{_GAP}ETA {least}" + (f" to {most}" if most != least else ""), ""))
    return _row(*parts)


def _bar(night: Night, width: int) -> Iterator[tuple[str, str]]:
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


def _agents(night: Night, now: float, width: int, most: int) -> Iterator[Table | Text]:
    """A row for each agent; where none works, what Ralphy does or waits for."""
    agents = sorted(night.agents.values(), key=lambda agent: (agent.lane, agent.began))
    room = max(1, most)
    listed = agents if len(agents) <= room else agents[: room - 1]
    if listed:
        yield _table(listed, now, is_wide=width >= _WIDE)
    if hidden := len(agents) - len(listed):
        yield _row((f"  and {hidden} more agents", FAINT))
    if not agents and night.until:
        clock = moment(night.until, now).partition(" (")[0]
        yield _row((f"  until {clock}, {span(max(0.0, night.until - now))} left", WAITING), (f": {night.reason}", ""))
    elif not agents:
        yield _row((f"  {night.reason}", WAITING if night.rests else FAINT))


def _table(agents: list[Working], now: float, *, is_wide: bool) -> Table:
    """What each agent does, in columns."""
    table = Table.grid(padding=(0, len(_GAP), 0, 0), expand=True)
    for _ in range(3 if is_wide else 1):
        table.add_column(no_wrap=True)
    table.add_column(style=STYLES[FAINT], justify="right", no_wrap=True)
    table.add_column(style=STYLES[FAINT], justify="right", no_wrap=True)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for agent in agents:
        name = f"{agent.subject} attempt {agent.attempt}"
        names = (f"  lane {agent.lane}", name, agent.model) if is_wide else (f"  {name}",)
        doing = Text(f"! {agent.warned}", STYLES[WAITING]) if agent.warned else Text(agent.doing)
        table.add_row(*names, _clock(now - agent.began), counted(agent.calls, "tool call"), doing)
    return table


def _clock(seconds: float) -> str:
    """2:41, or 1:02:41."""
    minutes, left = divmod(max(0, int(seconds)), 60)
    return f"{minutes}:{left:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{left:02}"


def _figures(night: Night, now: float) -> Iterator[tuple[str, str]]:
    """Money, tokens and limits; normal states are left out."""
    of, evidence = "", night.evidence
    if evidence.budget_usd is not None:
        of = f" of ${evidence.budget_usd:.2f}"
    is_short = bool(of) and night.cost_usd >= 0.8 * (evidence.budget_usd or 0.0)
    yield marked_words(f"${night.cost_usd:.2f}{of}", night.is_rehearsed), WAITING if is_short else ""
    if any(night.tokens.values()):
        counts = ", ".join(f"{short(night.tokens.get(kind, 0))} {word}" for kind, word in _TOKENS)
        yield f"tokens: {counts}", FAINT
    if evidence.calls_left is not None:
        yield f"{counted(evidence.calls_left, 'run')} left", WAITING if evidence.calls_left < 10 else FAINT
    for window in evidence.windows:
        used = "nearly all" if window.used is None else f"{window.used:.0%}"
        until = f" (reset in {span(window.resets_at - now)})" if window.resets_at else ""
        yield f"{used} of {window.kind}{until}", WAITING if window.is_worth_a_warning else FAINT
    if evidence.breaker != "CLOSED":
        yield f"circuit breaker: {evidence.breaker}", BAD


def _needs_you(night: Night) -> Iterator[tuple[str, str]]:
    """The features that wait at a gate."""
    names = sorted(night.waiting)
    if names:
        listed = [f"{name} ({night.waiting[name]})" for name in names]
        yield f"waits for you: {first_few(listed, _MOST_WAITING)}", WAITING
        verb = "clarify" if night.waiting[names[0]] == CLARIFY else "approve"
        yield "ralphy status --all" if names[1:] else f"ralphy {verb} {names[0]}", STRONG


def _flowing(groups: Iterator[tuple[str, str]], width: int) -> Iterator[Text]:
    """The groups one after the other, in as few rows as they need."""
    row: list[tuple[str, str]] = []
    for text, tone in groups:
        if row and cell_len("".join(before for before, _ in row)) + len(_GAP) + cell_len(text) > width:
            yield _row(*row)
            row = []
        row += [(_GAP if row else "  ", ""), (text, tone)]
    if row:
        yield _row(*row)


def short(count: int) -> str:
    """A number in a few characters: 1234 is 1.2k."""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{sign}" if count < 100 * size else f"{count // size}{sign}"
    return str(count)
