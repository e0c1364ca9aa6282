"""The words of a scenario: every key that may stand in it, and what its value must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ralphy.errors import InvalidInput

Check = Callable[[Any, str], None]
"""Raises InvalidInput when the value is not what it must be; the text says where it stands."""

ERRORS = (
    "overloaded", "server", "rate_limit", "auth", "not_logged_in", "billing", "prompt_too_long", "model",
    "connection", "max_turns", "max_budget",
)  # fmt: skip
STATUS_FIELDS = (
    "STATUS", "TASKS_COMPLETED_THIS_LOOP", "FILES_MODIFIED", "TESTS_STATUS", "WORK_TYPE", "EXIT_SIGNAL",
    "RECOMMENDATION",
)  # fmt: skip
TOKENS = ("input", "output", "cache_read", "cache_creation")
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGSEGV", "SIGABRT", "SIGPIPE")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 4e9


def _is_count(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _is_command(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return _are_texts(value) or (isinstance(value, list) and bool(value) and all(map(_are_texts, value)))


def must(test: Callable[[Any], bool], words: str) -> Check:
    """A check that says "must be <words>" when `test` fails."""

    def check(value: Any, where: str) -> None:
        if not test(value):
            raise InvalidInput(f"must be {words}, not {value!r:.60}", where=where)

    return check


def one_of(*names: str) -> Check:
    """One of the names."""
    return must(lambda value: value in names, f"one of {', '.join(names)}")


def fields(rows: Mapping[str, Check]) -> Check:
    """A mapping that has keys of `rows` only, each with a value that its check accepts."""

    def check(value: Any, where: str) -> None:
        _mapping(value, where)
        for key, item in value.items():
            if key not in rows:
                raise InvalidInput(f'unknown key "{key}"', where=where, hint=_nearest(str(key), rows))
            rows[key](item, f"{where}.{key}")

    return check


def each(inner: Check) -> Check:
    """A mapping from texts to values that `inner` accepts."""

    def check(value: Any, where: str) -> None:
        _mapping(value, where)
        for key, item in value.items():
            TEXT(key, where)
            inner(item, f"{where}.{key}")

    return check


def either(plain: Check, inner: Check) -> Check:
    """A mapping goes to `inner`, everything else to `plain`."""
    return lambda value, where: (inner if isinstance(value, dict) else plain)(value, where)


def acts(value: Any, where: str) -> None:
    """A list of acts, or one act alone."""
    if isinstance(value, dict):
        ACT(value, where)
        return
    must(lambda item: isinstance(item, list) and bool(item), "a list of acts")(value, where)
    for index, item in enumerate(value):
        ACT(item, f"{where}[{index}]")


def _nearest(key: str, rows: Mapping[str, Check]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, rows, n=1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(rows)}"


_mapping = must(lambda value: isinstance(value, dict), "a mapping")
TEXT = must(lambda value: isinstance(value, str), "a text")
FLAG = must(lambda value: isinstance(value, bool), "true or false")
NUMBER = must(_is_number, "a number, 0 or more")
COUNT = must(_is_count, "a whole number, 0 or more")
MANY = must(lambda value: _is_count(value) and value <= 10_000, "a whole number up to 10000")
SIZE = must(lambda value: _is_number(value) and value <= 4096, "a number of megabytes up to 4096")
TEXTS = must(lambda value: isinstance(value, str) or _are_texts(value), "a text or a list of texts")
PATHS = must(_are_texts, "a list of paths")
COMMAND = must(_is_command, "a command: a text, a list of words, or a list of such lists")
PLAIN = must(lambda value: isinstance(value, str | int | float | bool), "a text, a number, true or false")
MAYBE_FLAG = must(lambda value: value is None or isinstance(value, bool), "true, false or null")
MAYBE_TEXT = must(lambda value: value is None or isinstance(value, str), "a text or null")
ARTIFACT = must(lambda value: isinstance(value, str | dict | list), "a text or an object")
FLAG_OR_TEXT = must(lambda value: isinstance(value, bool | str), "true, false or a text")
FLAG_OR_PATHS = must(lambda value: isinstance(value, bool) or _are_texts(value), "true, false or a list of paths")

CHEATS: dict[str, Check] = {
    "mark_passed": FLAG,
    "approve": FLAG,
    "delete_tests": FLAG_OR_PATHS,
    "edit_progress": FLAG_OR_TEXT,
    "edit_spec": FLAG_OR_TEXT,
    "forge_trailer": FLAG_OR_TEXT,
    "skip_tests": FLAG_OR_PATHS,
    "empty_tests": FLAG_OR_PATHS,
    "narrow_runner": FLAG_OR_PATHS,
    "ignore_by_conftest": FLAG_OR_PATHS,
    "fake_report": FLAG,
    "leave_early": FLAG,
    "shadow_runner": FLAG,
}
KEYS: dict[str, Check] = {
    "default": FLAG,
    "delay_s": NUMBER,
    "think": TEXTS,
    "say": TEXTS,
    "warning": fields(
        {"utilization": NUMBER, "resets_in_s": NUMBER, "resets_at": NUMBER, "kind": TEXT, "windows": each(NUMBER)}
    ),
    "read": PATHS,
    "write": each(TEXT),
    "append": each(TEXT),
    "delete": PATHS,
    "outbox": each(ARTIFACT),
    "learnings": TEXT,
    "run": COMMAND,
    "cheat": fields(CHEATS),
    "commit": TEXT,
    "orphan": either(FLAG, fields({"seconds": COUNT, "ignore_sigterm": FLAG, "hold_stdout": FLAG})),
    "fork_bomb": MANY,
    "eat_mb": SIZE,
    "same_error": MANY,
    "flood_mb": SIZE,
    "long_line_mb": SIZE,
    "garbage": FLAG,
    "raw": TEXTS,
    "status": fields(dict.fromkeys(STATUS_FIELDS, PLAIN)),
    "exit_signal": MAYBE_FLAG,
    "promise": MAYBE_TEXT,
    "question": TEXT,
    "cost_usd": NUMBER,
    "tokens": fields(dict.fromkeys(TOKENS, COUNT)),
    "ignore_sigterm": FLAG,
    "ignore_sigint": FLAG,
    "silent_hang": FLAG,
    "hang": FLAG,
    "freeze": FLAG,
    "crash": must(lambda value: _is_count(value) and value < 256, "an exit code, 0 to 255"),
    "kill": one_of(*SIGNALS),
    "limit": fields({"resets_in_s": NUMBER, "resets_at": NUMBER, "kind": TEXT}),
    "error": one_of(*ERRORS),
    "no_exit": FLAG,
    "background": fields({"seconds": NUMBER, "write": each(TEXT)}),
}
ACT = fields(KEYS)
SCENARIO = fields(
    {
        "defaults": fields({"cost_usd": NUMBER, "delay_s": NUMBER, "tokens": KEYS["tokens"]}),
        "spec": acts,
        "split": acts,
        "qa": acts,
        "pr": acts,
        "other": acts,
        "stories": each(acts),
    }
)
