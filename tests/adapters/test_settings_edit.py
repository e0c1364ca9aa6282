"""One setting changed in a config.yaml: the rest of the file stays as a person wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.config.edit import with_setting
from ralphy.config.fields import accept, all_fields, named, nodes, parse_words
from ralphy.config.file import read_values
from ralphy.config.values import Check
from ralphy.detect.stack import StackReport
from ralphy.errors import Conflict, InvalidInput
from ralphy.scaffold.config_template import config_text
from tests.core.building import examples

EDITS = [
    ("", "limits.max_attempts", "3", "limits:\n  max_attempts: 3\n"),
    ("", "setup", "npm ci", 'setup: "npm ci"\n'),
    ("# mine\n", "gates.qa", "auto", "# mine\ngates:\n  qa: auto\n"),
    ("limits:\n  max_attempts: 5  # enough\n", "limits.max_attempts", "3", "limits:\n  max_attempts: 3  # enough\n"),
    ("limits: # all of them\n    # late\n    until: 07:00\n\ngates: {}\n", "limits.max_attempts", "3",
     "limits: # all of them\n    # late\n    max_attempts: 3\n    until: 07:00\n\ngates: {}\n"),
    ("limits:\n  # nothing yet\ngates: {}\n", "limits.max_attempts", "3",
     "limits:\n  max_attempts: 3\n  # nothing yet\ngates: {}\n"),
    ("gates: {spec: human, qa: human} # both\n", "gates.qa", "auto", "gates: {spec: human, qa: auto}  # both\n"),
    ("gates: {spec: human}", "gates.qa", "auto", "gates: {qa: auto, spec: human}\n"),
    ("gates: {}\n", "gates.qa", "auto", "gates:\n  qa: auto\n"),
    ("{gates: {spec: auto}}\n", "limits.max_attempts", "3", "{gates: {spec: auto}, limits: {max_attempts: 3}}\n"),
    ("# limits: {max_attempts: 5}\n# gates: {}\n", "limits.max_attempts", "3",
     "# limits: {max_attempts: 5}\n# gates: {}\nlimits:\n  max_attempts: 3\n"),
    ("models:\n  implementation:\n    # cheap\n    - sonnet # first\n    - opus\n  # at last\n  qa: opus\n",
     "models.implementation", "haiku,opus",
     "models:\n  implementation: [haiku, opus] # cheap\n# first\n\n  # at last\n  qa: opus\n"),
    ("# c\r\nlimits:\r\n  until: 07:00 # d\r\n", "limits.max_cost_usd", "5",
     "# c\r\nlimits:\r\n  max_cost_usd: 5\r\n  until: 07:00 # d\r\n"),
    ("limits:\n  max_cost_usd: 5", "limits.max_cost_usd", "null", "limits:\n  max_cost_usd:\n"),
    ("limits:\n  max_cost_usd:\n", "limits.max_cost_usd", "7.5", "limits:\n  max_cost_usd: 7.5\n"),
    ("checks:\n  - {name: a, run: x}  # one\n\n# gates: {}\n", "checks", (Check("t", "pytest -q"),),
     'checks: [{name: t, run: "pytest -q", timeout_s: 900}] # one\n\n# gates: {}\n'),
    ("setup: >-\n  npm\n  ci\n# mine\nnotify:\n  command: [a, 'b c', \"d\"]\n  quiet_hours: 22:00-07:00\n",
     "setup", "make", "setup: >-\n  make\n# mine\nnotify:\n  command: [a, 'b c', \"d\"]\n  quiet_hours: 22:00-07:00\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "key", "value", "after"), EDITS)
def test_one_setting_is_changed_and_everything_else_stays(before: str, key: str, value: object, after: str) -> None:
    field = named(key)
    fitting = accept(field, parse_words(field, value)) if isinstance(value, str) else value
    assert with_setting(before.encode(), "config.yaml", field, fitting).decode() == after


def test_a_file_that_might_lose_a_comment_is_left_to_the_person() -> None:
    with pytest.raises(Conflict, match="cannot change setup and keep the rest") as refused:
        with_setting(b"setup: 'echo #x'\n", "config.yaml", named("setup"), "make")
    assert refused.value.hint == "set it to make by hand"


def test_a_file_that_is_wrong_already_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidInput, match=r"limits.until is \[\]") as refused:
        with_setting(b"limits:\n  until: []\n", "config.yaml", named("setup"), "make")
    assert refused.value.where == "config.yaml:2"


@settings(max_examples=examples(25))
@given(st.data())
def test_every_setting_can_be_set_in_the_file_that_init_writes(data: st.DataObject) -> None:
    checks = data.draw(st.sampled_from([(), (Check("test", "pytest -q"),)]))
    stack = StackReport(data.draw(st.sampled_from(["", "python"])), None, None, checks, ())
    text = config_text("my app", stack, "docs/features").encode()
    expected = values_of(text)
    for name in data.draw(st.lists(st.sampled_from(list(all_fields())), min_size=1, max_size=6)):
        field, example = named(name), nodes()[name]["examples"][0]
        value = (Check("unit", "make unit"),) if name == "checks" else accept(field, example)
        before = text.decode().splitlines()
        text = with_setting(text, "config.yaml", field, value)
        expected |= {name: value}
        assert values_of(text) == expected
        assert [line for line in before if line.startswith("#")] == [
            line for line in text.decode().splitlines() if line.startswith("#")
        ]


def values_of(data: bytes) -> dict[str, object]:
    return read_values(data, "config.yaml").plain()
