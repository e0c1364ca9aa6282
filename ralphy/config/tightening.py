"""Which settings guard the person, and when one value of such a setting is looser than another.

A file that a person did not write may tighten these and never loosen them. All other settings (checks, models, time
limits) are free. docs/decisions/008-settings-may-only-tighten.md says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from ralphy.config.values import MINIMAL, MODERATE, STRICT, Verify

_Looser = Callable[[object, object], bool]


def _ranked(*loosest_first: str) -> _Looser:
    def looser(value: object, floor: object) -> bool:
        return loosest_first.index(str(value)) < loosest_first.index(str(floor))

    return looser


def _adds(value: object, floor: object) -> bool:
    assert isinstance(value, tuple)
    assert isinstance(floor, tuple)
    return not set(value) <= set(floor)


def _switches_on(value: object, floor: object) -> bool:
    return bool(value) and not floor


def _differs(value: object, floor: object) -> bool:
    return bool(value) and value != floor  # no command at all is tighter than any


def _more(value: object, floor: object) -> bool:
    return _amount(value) > _amount(floor)


def _amount(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("inf")


# Programs that run as the person, and the variables that they get.
PROGRAMS = ("agent.command", "agent.preset", "agent.env", "setup")
# Only a value that somebody wrote down is a floor here: the default is a proposal, and a repository may propose more.
AMOUNTS = ("limits.max_cost_usd", "limits.max_cost_per_story_usd", "limits.max_cost_per_run_usd")

_COMMANDS = ("agent.command", "agent.preset", "setup", "lanes.dir", "notify.command", "notify.webhook",
             "notify.webhook_secret_env")  # fmt: skip
_LISTS = ("agent.env", "safety.network", "safety.ro_paths", "safety.writable", "lanes.bring", "lanes.keep",
          "notify.apprise")  # fmt: skip
_SWITCHES = ("safety.checks_network", "ci.auto_approve", "ci.auto_merge", "pr.auto_merge")
_GATES = ("gates.clarify", "gates.spec", "gates.qa")
_FINDINGS = tuple(f"verify.{one.name}" for one in fields(Verify) if one.type == "str")

_RULES: Mapping[str, _Looser] = {
    **dict.fromkeys(_COMMANDS, _differs),
    **dict.fromkeys(_LISTS, _adds),
    **dict.fromkeys(_SWITCHES, _switches_on),
    **dict.fromkeys(AMOUNTS, _more),
    **dict.fromkeys(_GATES, _ranked("auto", "human")),
    **dict.fromkeys(_FINDINGS, _ranked("off", "flag", "reject")),
    "safety.level": _ranked(MINIMAL, MODERATE, STRICT),
    "safety.sandbox": _ranked("none", "auto", "bwrap"),
    "safety.secret_scan": _ranked("off", "warn", "auto", "block"),
    "lanes.probe": _ranked("off", "warn", "stop"),
    "git.hooks": _ranked("skip", "run"),
    "git.sign": _ranked("off", "auto"),
    "proof.parts": _ranked("off", "on"),
    "acceptance.tests": _ranked("off", "visible", "sealed"),
}


def is_looser(name: str, value: object, floor: object) -> bool:
    """Does a setting guard less at `value` than at `floor`? False for a setting that guards nothing."""
    rule = _RULES.get(name)
    return rule is not None and rule(value, floor)
