"""What every setting takes: its type, its bounds and its words, checked the same wherever a value comes from.

Names, types and defaults are those of `ralphy.config.values`; schemas/config.schema.json says the same to
editors, and a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass

from ralphy.config.values import PRESETS, Check, Config

MONTH_S = 2_592_000.0
MODEL = re.compile(r"(sonnet|opus|haiku|claude-[a-z0-9.\-]{1,60}(\[1m\])?)")


class UnfitError(Exception):
    """A value that its setting does not take; the text says what it takes."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` must match the whole text (or each item of a list); bounds are for numbers.

    A command is one that `shlex.split` can take apart.
    """

    expected: str
    choices: tuple[str, ...] = ()
    pattern: str = r"[^\x00-\x1f\x7f-\x9f]{0,1000}"
    above: float | None = None
    least: float | None = None
    most: float = 1e9
    least_items: int = 0
    is_command: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One setting; `kind` is its annotation in `ralphy.config.values`, `dotted` its name in messages."""

    dotted: str
    kind: str
    default: object

    @property
    def rule(self) -> Rule:
        return RULES.get(self.dotted) or _BY_KIND[self.kind]

    @property
    def variable(self) -> str:
        return "RALPHY_" + self.dotted.replace(".", "_").upper()


_GATE = Rule('"human" or "auto"', choices=("human", "auto"))
_SECONDS = Rule("a number of seconds above 0 (at most 30 days)", above=0, most=MONTH_S)
_FINDING = Rule('"reject" or "flag"', choices=("reject", "flag"))
_COUNT = Rule("a whole number, 1 or more", least=1)
_MONEY = Rule("an amount in USD above 0, or null for no limit", above=0)
_COMMAND = Rule("a command on one line", is_command=True)
_NAMES = Rule("a list of names", pattern=r"[^\x00-\x1f\x7f-\x9f]{1,100}")
_PATHS = Rule("a list of absolute paths, or such as ~/.pyenv", pattern=r"(/|~/)[^\x00-\x1f\x7f-\x9f]{1,1000}")
_INSIDE = r"(?![-/~])(?!(.*/)?(\.\.|\.git)(/|$))[^\x00-\x1f\x7f-\x9f\\]{1,200}"
_REF = r"(?![-/.])(?!.*(\.\.|//|/\.|@\{|\.lock(/|$)))[^\x00-\x20\x7f-\x9f~^:?*\[\\]{1,200}"

_BY_KIND: Mapping[str, Rule] = {
    "str": Rule("text on one line"),
    "bool": Rule("true or false"),
    "int": _COUNT,
    "float": _SECONDS,
    "float | None": _MONEY,
    "str | None": Rule("text on one line, or null"),
    "tuple[str, ...]": _NAMES,
    "tuple[Check, ...] | None": Rule("a list of checks, each {name, run, timeout_s}"),
}
RULES: Mapping[str, Rule] = {
    "project.features_dir": Rule(
        "a folder inside the repository, such as docs/features",
        pattern=r"(?![-/])(?!(.*/)?(\.\.|\.git)(/|$))[^\x00-\x1f\x7f-\x9f\\]{1,200}",
    ),
    "setup": _COMMAND,
    "stack.test_command": _COMMAND,
    "agent.command": Rule(
        "a list of a program and its arguments", pattern=r"[^\x00-\x1f\x7f-\x9f]{1,1000}", least_items=1
    ),
    "agent.preset": Rule('"claude" or "rehearsal"', choices=tuple(PRESETS)),
    "agent.env": Rule("a list of names of variables", pattern=r"[A-Za-z_][A-Za-z0-9_]{0,99}"),
    "models.implementation": Rule("the name of a model, or a list of them", least_items=1),
    "limits.pause_at_utilization": Rule("a share above 0, 1 at the most", above=0, most=1),
    "limits.max_splits": Rule("a whole number, 0 to 5", least=0, most=5),
    "limits.min_free_mb": Rule("a whole number of megabytes, 0 for no floor", least=0),
    "limits.until": Rule('a time as "HH:MM", or null', pattern=r"([01][0-9]|2[0-3]):[0-5][0-9]"),
    "gates.spec": _GATE,
    "gates.qa": _GATE,
    "safety.level": Rule('"minimal", "moderate" or "strict"', choices=("minimal", "moderate", "strict")),
    "safety.sandbox": Rule('"auto", "bwrap" or "none"', choices=("auto", "bwrap", "none")),
    "safety.network": Rule(
        "a list of hosts such as pypi.org:443", pattern=r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}(:[0-9]{1,5})?"
    ),
    "safety.ro_paths": _PATHS,
    "safety.rw_paths": _PATHS,
    "lanes.dir": Rule(
        "an absolute path, or such as ~/lanes, or nothing", pattern=r"(|(/|~/)[^\x00-\x1f\x7f-\x9f]{1,1000})"
    ),
    "lanes.bring": Rule("auto, or a list of paths or globs inside the repository", pattern=_INSIDE),
    "lanes.max_gb": Rule("a whole number of gigabytes, 1 or more", least=1, most=10_000),
    "lanes.port_base": Rule("a whole number, 1024 to 52000", least=1024, most=52_000),
    "lanes.keep": Rule("a list of paths inside the repository", pattern=_INSIDE),
    "lanes.probe": Rule('"stop", "warn" or "off"', choices=("stop", "warn", "off")),
    "verify.removed_tests": _FINDING,
    "verify.skipped_tests": _FINDING,
    "verify.emptied_tests": _FINDING,
    "verify.fewer_assertions": _FINDING,
    "verify.unskipped_tests": _FINDING,
    "verify.reworded_tests": _FINDING,
    "verify.runner_config": _FINDING,
    "verify.edited_checks": _FINDING,
    "verify.steering_files": _FINDING,
    "safety.secret_scan": Rule('"auto", "block", "warn" or "off"', choices=("auto", "block", "warn", "off")),
    "limits.max_file_mb": Rule("a number of megabytes above 0", above=0, most=100_000),
    "git.hooks": Rule('"run" or "skip"', choices=("run", "skip")),
    "git.commit": Rule('"squash": a story is one commit, so that one revert reopens it', choices=("squash",)),
    "git.branch_prefix": Rule("the beginning of a branch name, such as ralphy/", pattern=_REF),
    "git.base": Rule("the name of a branch, or nothing", pattern=rf"(|{_REF}(?<![./]))"),
    "checks[].name": Rule("a short name such as test", pattern=r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}"),
    "checks[].run": Rule("a command on one line", pattern=r"[^\x00-\x1f\x7f-\x9f]{1,1000}", is_command=True),
    "checks[].timeout_s": _SECONDS,
}
CHECK_KINDS = {"name": "str", "run": "str", "timeout_s": "float"}


def all_fields() -> Mapping[str, Field]:
    """Every setting by its dotted name, in the order of the configuration."""
    found: dict[str, Field] = {}
    defaults = Config()
    for outer in fields(Config):
        value = getattr(defaults, outer.name)
        if not is_dataclass(value):
            found[outer.name] = Field(outer.name, str(outer.type), value)
            continue
        for inner in fields(value):
            dotted = f"{outer.name}.{inner.name}"
            found[dotted] = Field(dotted, str(inner.type), getattr(value, inner.name))
    return found


def accept(field: Field, value: object) -> object:
    """`value` as the field holds it (lists become tuples, whole seconds floats); raises UnfitError."""
    if value is None and field.kind.endswith("| None"):
        return None
    return _ACCEPT[field.kind.removesuffix(" | None")](field.rule, value)


def parse_words(field: Field, text: str) -> object:
    """`text` of an environment variable as a value for `accept`: numbers, true/false, lists by comma."""
    if field.kind.startswith("tuple[str"):
        if field.dotted == "agent.command":
            return _split_words(field.rule, text)
        return [part.strip() for part in text.split(",") if part.strip()]
    if field.kind == "bool":
        return _BOOLEANS.get(text.strip().lower(), text)
    if field.kind in ("str", "str | None"):
        return None if field.kind != "str" and text.lower() in _NOTHING else text
    return _parse_number(field, text.strip())


_NOTHING = ("", "none", "null")
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _split_words(rule: Rule, text: str) -> list[str]:
    import shlex

    try:
        return shlex.split(text)
    except ValueError as error:
        raise UnfitError(f"{rule.expected}: {str(error).lower()}") from None


def _parse_number(field: Field, text: str) -> object:
    if field.kind.endswith("| None") and text.lower() in _NOTHING:
        return None
    if len(text) > 40:
        return text
    try:
        return int(text) if field.kind == "int" else float(text)
    except ValueError:
        return text


def _accept_text(rule: Rule, value: object) -> str:
    if isinstance(value, (bool, int, float)) and not rule.choices:
        raise UnfitError(f"{rule.expected}; put it in quotes")
    if not isinstance(value, str):
        raise UnfitError(rule.expected)
    text = value.rstrip("\n")
    if (rule.choices and text not in rule.choices) or not re.fullmatch(rule.pattern, text):
        raise UnfitError(rule.expected)
    if rule.is_command and text and not any(_split_words(rule, text)):
        raise UnfitError(rule.expected)
    return text


def _accept_bool(rule: Rule, value: object) -> bool:
    if not isinstance(value, bool):
        raise UnfitError(rule.expected)
    return value


def _accept_float(rule: Rule, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnfitError(rule.expected)
    is_high_enough = (rule.above is None or value > rule.above) and (rule.least is None or value >= rule.least)
    if not is_high_enough or not value <= rule.most:  # NaN is neither
        raise UnfitError(rule.expected)
    return float(value)


def _accept_int(rule: Rule, value: object) -> int:
    if not isinstance(value, int):
        raise UnfitError(rule.expected)
    return int(_accept_float(rule, value))


def _accept_texts(rule: Rule, value: object) -> tuple[str, ...]:
    if rule in (RULES["models.implementation"], RULES["lanes.bring"]) and isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)) or not rule.least_items <= len(value) <= 100:
        raise UnfitError(rule.expected)
    return tuple(_accept_text(rule, item) for item in value)


def _accept_checks(rule: Rule, value: object) -> tuple[Check, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Check) for item in value):
        raise UnfitError(rule.expected)
    return tuple(value)


_ACCEPT: Mapping[str, Callable[[Rule, object], object]] = {
    "str": _accept_text,
    "bool": _accept_bool,
    "int": _accept_int,
    "float": _accept_float,
    "tuple[str, ...]": _accept_texts,
    "tuple[Check, ...]": _accept_checks,
}
