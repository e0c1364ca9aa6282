"""The console that rich draws with; its texts are cleaned before. Imported only where something is drawn."""

from __future__ import annotations

from textwrap import wrap
from typing import TextIO

from rich.console import Console
from rich.text import Text

from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING

# tone -> how it looks
STYLES = {"": "", GOOD: "green", BAD: "red", WAITING: "yellow", FAINT: "dim", STRONG: "bold"}


class Terminal(Console):
    """A console without markup and highlighting, and in colour only where that was decided."""

    def __init__(self, stream: TextIO, *, is_coloured: bool) -> None:
        super().__init__(file=stream, force_terminal=stream.isatty(), color_system="standard" if is_coloured else None,
                         no_color=False, markup=False, highlight=False, emoji=False, soft_wrap=True)  # fmt: skip

    def on_broken_pipe(self) -> None:
        """Raise the error that rich has caught: `working_on` handles it, and the run goes on."""
        raise

    def write(self, text: str, tone: str = "", label: str = "", label_tone: str = "") -> None:
        """Print a text behind a label; on a terminal, long lines are broken between words."""
        first, *others = text.split("\n")
        rows = [*self._rows(first, label), *(row for line in others for row in self._rows(line))]
        drawn = Text(label)
        drawn.stylize(STYLES[label_tone], 0, len(label.rstrip()))
        self.print(drawn.append_text(Text("\n").join(Text(row, STYLES[tone]) for row in rows)))

    def _rows(self, line: str, label: str = "") -> list[str]:
        """A line in rows of the terminal's width, the first one behind the label; a long word stays whole."""
        if not self.is_terminal or len(label) + len(line) <= self.width:
            return [line]
        indent = " " * (len(label) or len(line) - len(line.lstrip()) + 2)
        rows = wrap(line, self.width, initial_indent=label, subsequent_indent=indent, break_long_words=False,
                    break_on_hyphens=False)  # fmt: skip
        return [rows[0].removeprefix(label), *rows[1:]]
