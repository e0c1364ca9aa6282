"""The dashboard in a terminal. It is imported where it is used: textual is an extra."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Label, Log, OptionList, Static, TabbedContent, TabPane, TextArea
from textual.widgets.option_list import Option

from ralphy.cli.dashboard import gate, rows
from ralphy.cli.dashboard.agents import log_of
from ralphy.cli.dashboard.board import Board, again
from ralphy.cli.dashboard.feed import Watched
from ralphy.cli.options import Invocation
from ralphy.cli.terminal import clean
from ralphy.errors import RalphyError
from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING

_STYLES = {GOOD: "green", BAD: "red", WAITING: "yellow", FAINT: "dim", STRONG: "bold", "": ""}
_WORDS = {"completed": "completed", "failed": "failed", "blocked": "blocked", "in_progress": "in progress",
          "pending": "pending"}  # fmt: skip
_HEADS = {
    "stories": (" ", "Story", "Title", "State", "Tries", "After"),
    "features": (" ", "Feature", "Stories", "Next"),
    "cost": ("Of", "Model", "Runs", "Cost"),
    "proof": ("Criterion", "Test", "Before", "After", "Commit"),
}
_CHART_ROWS, _WIDE = 6, 120
_CSS = """
#top { height: auto; padding: 0 1; background: $panel; }
#needs { height: auto; max-height: 6; padding: 0 1; border-left: thick $warning; background: $warning 12%; }
#agents { height: auto; max-height: 8; padding: 0 1; }
#inbox { width: 30; display: none; border: none; border-right: solid $panel; padding: 0; background: $surface; }
.-wide #inbox { display: block; }
TabPane { padding: 0 1; }
DataTable, Log { height: 1fr; }
#chart { height: auto; padding-bottom: 1; }
#below { display: none; height: 1fr; padding-top: 1; }
#below Static { width: 1fr; height: auto; }
#top, #agents, #chart, #graph-text, #below Static { text-wrap: nowrap; text-overflow: ellipsis; }
.-tall #below { display: block; }
.-tall #stories-table { height: auto; max-height: 60%; }
Ask { align: center middle; }
Ask > Vertical { width: 80%; max-width: 100; height: auto; max-height: 90%; padding: 1 2; }
Ask > Vertical { background: $panel; border: round $primary; }
Ask TextArea { height: 8; margin-top: 1; }
Ask Label, Ask Static { width: 100%; height: auto; }
Read VerticalScroll { background: $surface; padding: 0 1; }
Read #title { background: $panel; padding: 0 1; width: 100%; }
"""


class News(Message):
    """A board, from the feed's thread."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.board = board


def text_of(row: rows.Row) -> Text:
    """A row in its colours; nothing in it is obeyed."""
    return Text.assemble(*((clean(text), _STYLES[tone]) for text, tone in row), no_wrap=True, overflow="ellipsis")


def _texts(lines: Iterable[rows.Row]) -> Text:
    return Text("\n", no_wrap=True, overflow="ellipsis").join(map(text_of, lines))


class Ask(ModalScreen[str | None]):
    """Asks for words, or with none wanted for y or n; gives the words ("yes" for y), or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+s", "send", "Send", priority=True),
        Binding("y", "yes", "Yes"),
        Binding("n", "cancel", "No"),
    ]

    def __init__(self, question: str, *, wants_words: bool) -> None:
        super().__init__()
        self._question = question
        self._wants_words = wants_words

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(clean(self._question)))
            if self._wants_words:
                yield TextArea(id="words")
            yield Label("Ctrl+S sends, Escape cancels" if self._wants_words else "y yes   n no")

    def action_send(self) -> None:
        if self._wants_words and (words := self.query_one("#words", TextArea).text.strip()):
            self.dismiss(words)

    def action_yes(self) -> None:
        if not self._wants_words:
            self.dismiss("yes")

    def action_cancel(self) -> None:
        self.dismiss(None)


class Read(ModalScreen[None]):
    """A document, to be read."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,d", "app.pop_screen", "Close")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        yield Static(Text(self._title, "bold"), id="title")
        with VerticalScroll():
            yield Static(Text(clean(self._text)))
        yield Footer()


class Terminal(App[None]):
    """Shows the board of one feature, and says what a person says."""

    CSS = _CSS
    TITLE = "Ralphy"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012  # as App declares it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (42, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("a", "approve", "Approve"),
        Binding("r", "reject", "Send back"),
        Binding("d", "read", "Read"),
        Binding("n", "answer", "Answer"),
        Binding("x", "abort", "Stop"),
        Binding("l", "log", "Log"),
        Binding("f", "next_feature", "Feature"),
        *(Binding(str(n), f"tab({n})", "Tab", show=False) for n in range(1, 7)),
    ]
    _TABS = ("stories", "features", "graph", "cost", "proof", "log")

    def __init__(
        self, call: Invocation, feed: Watched, feature: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._clock = clock
        self._call, self._feed, self._feature = call, feed, feature
        self._stop_watching: Callable[[], None] = lambda: None
        self._drawn: dict[str, object] = {}
        self._logged = ""
        self.board: Board = {}

    def compose(self) -> ComposeResult:
        yield Static(Text("Looking …", "dim"), id="top")
        yield Static(id="needs")
        with Horizontal():
            yield OptionList(id="inbox")
            with Vertical():
                yield Static(id="agents")
                with TabbedContent():
                    with TabPane("1 Stories", id="stories"):
                        yield DataTable(id="stories-table", cursor_type="row", zebra_stripes=True)
                        with Horizontal(id="below"):
                            yield Static(id="below-graph")
                            yield Static(id="below-chart")
                    with TabPane("2 Features", id="features"):
                        yield DataTable(id="features-table", cursor_type="row")
                    with TabPane("3 Graph", id="graph"), VerticalScroll():
                        yield Static(id="graph-text")
                    with TabPane("4 Cost", id="cost"):
                        yield Static(id="chart")
                        yield DataTable(id="cost-table", cursor_type="row")
                    with TabPane("5 Proof", id="proof"):
                        yield DataTable(id="proof-table", cursor_type="row")
                    with TabPane("6 Log", id="log"):
                        yield Log(id="log-lines")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#needs").display = False
        for name, head in _HEADS.items():
            self.query_one(f"#{name}-table", DataTable).add_columns(*head)
        self._watch(self._feature)
        self.set_interval(1.0, self._tick)

    def on_unmount(self) -> None:
        self._stop_watching()

    def _watch(self, feature: str) -> None:
        self._stop_watching()
        self._feature = feature
        self._stop_watching = self._feed.watch(feature, lambda board: void(self.post_message(News(board))))

    def on_news(self, news: News) -> None:
        self.board = news.board
        self._show()
        if self._logged and self.query_one(TabbedContent).active == "log":
            self._read_log(self._logged)

    def on_resize(self) -> None:
        self._drawn.clear()
        if self.board:
            self._show()

    def _tick(self) -> None:
        if self.board.get("agents"):
            self._agents()

    def _show(self) -> None:
        width, board = self.size.width, self.board
        self.query_one("#top", Static).update(_texts(rows.head(board, width - 2)))
        waiting = rows.needs(board)
        self.query_one("#needs").display = bool(waiting)
        self.query_one("#needs", Static).update(Text("\n").join(map(text_of, waiting)))
        self._agents()
        self._inbox()
        self._table("stories", list(map(self._story, (board["status"].get("stories") or ()))))
        self._table("features", [
            (text_of(row[:1]), one["feature"], f"{one['tasks_completed'] or 0}/{one['tasks_total'] or 0}", one["next"])
            for one, (_, row) in zip(board["features"], rows.features(board), strict=True)
        ])  # fmt: skip
        self._table(
            "cost",
            [(one["of"], one["model"], str(one["runs"]), f"${one['usd']:.2f}") for one in board.get("costs") or ()],
        )
        self._table("proof", [
            (f"{one['id']} {one['criterion']}", one["test"] or "none", one["before"], one["after"], one["commit"][:8])
            for one in board.get("proof") or ()
        ])  # fmt: skip
        room = width - (37 if width >= _WIDE else 4)
        for name, lines in (("graph-text", rows.graph(board)), ("below-graph", rows.graph(board)),
                            ("chart", rows.burn_down(board, room, _CHART_ROWS)),
                            ("below-chart", rows.burn_down(board, room // 2, 2 * _CHART_ROWS))):  # fmt: skip
            self.query_one(f"#{name}", Static).update(_texts(lines))

    def _agents(self) -> None:
        shown = rows.agents(self.board, self._clock(), self.size.width)
        self.query_one("#agents").display = bool(shown)
        self.query_one("#agents", Static).update(_texts(shown))

    def _inbox(self) -> None:
        found = rows.features(self.board)
        if self._drawn.get("inbox") == (found, self.board["feature"]):
            return
        self._drawn["inbox"] = (found, self.board["feature"])
        inbox = self.query_one("#inbox", OptionList)
        inbox.clear_options()
        inbox.add_options([Option(text_of(row), id=f"f-{number}") for number, (_, row) in enumerate(found)])
        names = [name for name, _ in found]
        inbox.highlighted = names.index(self.board["feature"]) if self.board["feature"] in names else None

    def _story(self, row: Board) -> tuple[Text | str, ...]:
        sign, tone = rows.SIGNS.get(row["status"], ("?", ""))
        status = str(row["status"])
        flags = [_WORDS.get(status, status), *(["unverified"] if row.get("verified") is False else [])]
        flags += [f"{row['warnings']} flagged"] if row.get("warnings") else []
        return (text_of(((sign, tone),)), row["id"], row["title"], text_of(((", ".join(flags), tone),)),
                str(row["attempts"] or ""), ", ".join(row.get("depends_on") or ()))  # fmt: skip

    def _table(self, name: str, found: Sequence[Sequence[Text | str]]) -> None:
        """Fill a table anew if something in it differs; the cursor stays."""
        facts = [[str(cell) for cell in row] for row in found]
        if self._drawn.get(name) == facts:
            return
        self._drawn[name] = facts
        table = self.query_one(f"#{name}-table", DataTable)
        at = table.cursor_row
        table.clear()
        for row in found:
            table.add_row(*(Text(clean(cell)) if isinstance(cell, str) else cell for cell in row))
        table.move_cursor(row=min(at, max(0, len(found) - 1)))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        if event.data_table.id == "stories-table":
            self._open_log(self.board["status"]["stories"][event.cursor_row]["id"])
        elif event.data_table.id == "features-table":
            self._choose(self.board["features"][event.cursor_row]["feature"])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(self.board["features"][event.option_index]["feature"])

    def _choose(self, feature: str) -> None:
        self._drawn.clear()
        self._logged = ""
        self._watch(feature)
        self.query_one(TabbedContent).active = "stories"

    def action_next_feature(self) -> None:
        names = [one["feature"] for one in self.board.get("features") or ()]
        if names:
            at = names.index(self.board["feature"]) if self.board["feature"] in names else -1
            self._choose(names[(at + 1) % len(names)])

    def action_tab(self, number: int) -> None:
        self.query_one(TabbedContent).active = self._TABS[number - 1]

    def action_log(self) -> None:
        stories = (self.board.get("status") or {}).get("stories") or ()
        at = self.query_one("#stories-table", DataTable).cursor_row
        self._open_log(stories[at]["id"] if stories else "")

    def _open_log(self, story: str) -> None:
        self._logged = story
        self.query_one(TabbedContent).active = "log"
        self._read_log(story)

    @work(thread=True, exclusive=True, group="log")
    def _read_log(self, story: str) -> None:
        try:
            lines = log_of(again(self._call), self.board["feature"], story)
        except RalphyError as error:
            lines = [str(error)]
        self.call_from_thread(self._fill_log, lines or [f"no saved run of {story}"])

    def _fill_log(self, lines: Sequence[str]) -> None:
        if self._drawn.get("log") != lines:
            self._drawn["log"] = lines
            self.query_one("#log-lines", Log).clear().write_lines([line.replace("\t", "    ") for line in lines])

    @work
    async def action_approve(self) -> None:
        if waiting := self._waiting_gate():
            question = f"Approve {waiting['document']} of {self.board['feature']}?"
            if await self.push_screen_wait(Ask(question, wants_words=False)):
                self._do(lambda name: gate.approve(self._call, name, waiting["seen"]))

    @work
    async def action_reject(self) -> None:
        if waiting := self._waiting_gate():
            question = f"What should change in {waiting['document']}? Its agent writes it again."
            if words := await self.push_screen_wait(Ask(question, wants_words=True)):
                self._do(lambda name: gate.reject(self._call, name, words, waiting["seen"]))

    @work
    async def action_answer(self) -> None:
        asked = next(iter(self.board.get("questions") or ()), None)
        if asked is None:
            self.notify("No question is open.")
        elif words := await self.push_screen_wait(Ask(f"{asked['key']} asks: {asked['question']}", wants_words=True)):
            self._do(lambda name: gate.answer(self._call, name, asked["key"], words))

    @work
    async def action_abort(self) -> None:
        if not (self.board.get("status") or {}).get("running"):
            self.notify("Ralphy is not running in this checkout.")
        elif await self.push_screen_wait(Ask("Stop Ralphy and its agents now? Nothing is lost.", wants_words=False)):
            self._do(lambda name: gate.abort(self._call, name))

    def _waiting_gate(self) -> Board | None:
        waiting: Board | None = self.board.get("gate")
        if waiting is None:
            self.notify("No gate is open.")
        return waiting

    @work(thread=True)
    def action_read(self) -> None:
        waiting = self._waiting_gate()
        if waiting is None:
            return
        names = ["changes"] if waiting["has_changes"] else []
        try:
            texts = [gate.document(self._call, self.board["feature"], name) for name in (waiting["document"], *names)]
        except RalphyError as error:
            self.notify(str(error), severity="error")
            return
        self.call_from_thread(self.push_screen, Read(waiting["document"], "\n\n".join(texts)))

    @work(thread=True)
    def _do(self, act: Callable[[str], str]) -> None:
        try:
            self.notify(act(self.board["feature"]))
        except RalphyError as error:
            self.notify(f"{error} {error.hint}".strip(), severity="error", timeout=10)
        self._feed.look_again()


def void(_: object) -> None:
    """Give nothing back."""
