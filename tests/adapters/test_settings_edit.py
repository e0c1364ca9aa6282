"""One setting changed in a config.yaml: the rest of the file stays as a person wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.config.edit import typed, with_setting
from ralphy.config.fields import accept, all_fields, named, nodes
from ralphy.config.file import read_values
from ralphy.config.values import Check
from ralphy.errors import Conflict, InvalidInput
from ralphy.scaffold.config_template import config_text

EDITS = [
    ("", "limits.max_attempts", "3", "limits:\n  max_attempts: 3\n"),
    ("", "setup", "npm ci", 'setup: "npm ci"\n'),
    ("# mine\n", "gates.qa", "auto", "# mine\ngates:\n  qa: auto\n"),
    ("limits:\n  max_attempts: 5  # enough\n", "limits.max_attempts", "3", "limits:\n  max_attempts: 3  # enough\n"),
    ("limits: # all of them\n    until: 07:00\n\ngates: {}\n", "limits.max_attempts", "3",
     "limits: # all of them\n    until: 07:00\n    max_attempts: 3\n\ngates: {}\n"),
    ("limits:\n  # nothing yet\ngates: {}\n", "limits.max_attempts", "3",
     "limits:\n  max_attempts: 3\n  # nothing yet\ngates: {}\n"),
    ("gates: {spec: human, qa: human} # both\n", "gates.qa", "auto", "gates: {spec: human, qa: auto} # both\n"),
    ("gates: {spec: human}", "gates.qa", "auto", "gates: {spec: human, qa: auto}"),
    ("gates: {}\n", "gates.qa", "auto", "gates: {qa: auto}\n"),
    ("{gates: {spec: auto}}\n", "limits.max_attempts", "3", "{gates: {spec: auto}, limits: {max_attempts: 3}}\n"),
    ("# limits: {max_attempts: 5}\n# gates: {}\n", "limits.max_attempts", "3",
     "# limits: {max_attempts: 5}\nlimits:\n  max_attempts: 3\n# gates: {}\n"),
    ("models:\n  implementation:\n    - sonnet\n    - opus\n  qa: opus\n", "models.implementation", "haiku,opus",
     "models:\n  implementation: [haiku, opus]\n  qa: opus\n"),
    ("limits:\r\n  until: 07:00\r\n", "limits.max_cost_usd", "5", "limits:\r\n  until: 07:00\r\n  max_cost_usd: 5\r\n"),
    ("limits:\n  max_cost_usd: 5", "limits.max_cost_usd", "null", "limits:\n  max_cost_usd: null"),
    ("limits:\n  max_cost_usd:\n", "limits.max_cost_usd", "7.5", "limits:\n  max_cost_usd: 7.5\n"),
    ("checks:\n  - name: a\n    run: x\ngates: {}\n", "checks", "[{name: t, run: pytest -q}]",
     'checks: [{name: t, run: "pytest -q", timeout_s: 900}]\ngates: {}\n'),
    ("\ufeffgates: {qa: human}\n", "gates.qa", "auto", "\ufeffgates: {qa: auto}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "key", "value", "after"), EDITS)
def test_one_setting_is_changed_and_everything_else_stays(before: str, key: str, value: str, after: str) -> None:
    field = named(key)
    assert with_setting(before.encode(), "config.yaml", field, typed(field, value)).decode() == after


REFUSED = [
    ("models:\n  implementation:\n    - sonnet # first\n    - opus\n", "models.implementation", "haiku"),
    ("gates: {qa: auto}\n...\n", "limits.max_attempts", "3"),
]


@pytest.mark.parametrize(("before", "key", "value"), REFUSED)
def test_a_file_that_would_lose_more_is_left_to_the_person(before: str, key: str, value: str) -> None:
    field = named(key)
    with pytest.raises(Conflict, match="cannot change") as refused:
        with_setting(before.encode(), "config.yaml", field, typed(field, value))
    assert refused.value.hint.startswith("write it by hand: ")


def test_a_value_that_does_not_fit_is_refused_with_what_does() -> None:
    for key, value, said in (
        ("limits.max_attempts", "many", "a whole number"), ("gates.qa", "robot", '"human" or "auto"'),
        ("checks", "[{name: t}]", "has no run"), ("models.implementation", "[a", "is not YAML"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=said):
            typed(named(key), value)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_every_setting_can_be_set_in_the_file_that_init_writes(data: st.DataObject) -> None:
    checks = data.draw(st.sampled_from([(), (Check("test", "pytest -q"),)]))
    text = config_text("my app", data.draw(st.sampled_from(["", "python"])), checks, "docs/features").encode()
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
    return {name: value for name, (value, _) in read_values(data, "config.yaml", all_fields()).values.items()}
