"""A terminal's screen, as far as Ralphy writes on one: what stands on it after what was sent."""

from __future__ import annotations

import re

from rich.cells import cell_len

_PIECES = re.compile(r"\x1b\[([\d;]*|\?25)([A-Za-z])|([^\x1b])", re.S)


class Screen:
    """Rows without an end to them; a line that is too long goes on in the next row."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0

    @property
    def rows(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._rows]

    def feed(self, text: str) -> Screen:
        for number, command, sign in _PIECES.findall(text):
            if sign:
                self._put(sign)
            elif command == "A":
                self._row -= int(number or 1)
                assert self._row >= 0, "above the first row"
            elif command == "K":
                assert number == "2", "the whole line"
                self._rows[self._row] = []
            else:
                assert command == "m" or number == "?25", (number, command)
        return self

    def _put(self, sign: str) -> None:
        if sign in "\r\n":
            self._column = 0
        if sign == "\n" or (sign != "\r" and self._column + cell_len(sign) > self.columns):
            self._column, self._row = 0, self._row + 1
            self._rows += [[]] if self._row == len(self._rows) else []
        if sign not in "\r\n":
            row = self._rows[self._row]
            row[self._column :] = [*row[self._column : self._column], sign, *row[self._column + 1 :]]
            self._column += 1
