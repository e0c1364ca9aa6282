"""config: what is in force and why, one setting changed, and all of them checked."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Make
from tests.engine.building import story


def test_every_setting_is_shown_with_where_it_comes_from(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project, call = made(story("US-001"))
    (project.repo / ".ralphy" / "config.yaml").write_text("# mine\nlimits:\n  max_attempts: 3\n", encoding="utf-8")
    monkeypatch.setenv("RALPHY_LIMITS_CALLS_PER_HOUR", "7")
    code, value = call.json("config", "show", "--origin")
    found = {row["name"]: (row["value"], row["origin"]) for row in value["settings"]}
    assert (code, value["schema"]) == (0, "ralphy/config@1")
    assert found["limits.max_attempts"] == (3, ".ralphy/config.yaml:3")
    assert found["limits.calls_per_hour"] == (7, "RALPHY_LIMITS_CALLS_PER_HOUR")
    assert found["limits.max_iterations"] == (50, "default")
    rows = [line.split() for line in call("config", "show", "--origin")[1].splitlines()]
    assert ["limits.max_attempts", "3", ".ralphy/config.yaml:3"] in rows
    assert call("config")[1] == call("config", "show")[1]
    assert call("config", "get", "limits.max_attempts")[1] == "3\n"
    shown = call("config", "show", "limits")[1].splitlines()
    assert shown and all(line.startswith("limits.") for line in shown)
    assert call("config", "show", "limits.max_attempts", "--origin")[1].split() == rows[rows.index(
        ["limits.max_attempts", "3", ".ralphy/config.yaml:3"])]  # fmt: skip
    code, _, err = call("config", "get", "limits")
    assert (code, err.splitlines()[-1]) == (3, "  hint: its settings: ralphy config show limits")
    assert call("config", "show", "login")[1] == call("config", "show")[1]
    code, _, err = call("config", "show", "limts")
    assert (code, err.splitlines()[-1]) == (2, "  hint: did you mean limits?")


def test_a_setting_is_set_by_hand_or_by_command_alike(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project, call = made(story("US-001"))
    file = project.repo / ".ralphy" / "config.yaml"
    file.write_text("# mine\nlimits:\n  max_attempts: 3  # enough\n", encoding="utf-8")
    code, out, _ = call("config", "set", "limits.max_attempts", "4")
    assert (code, out) == (0, ".ralphy/config.yaml: limits.max_attempts: 4\n")
    assert file.read_text() == "# mine\nlimits:\n  max_attempts: 4  # enough\n"
    monkeypatch.setenv("RALPHY_LIMITS_MAX_ATTEMPTS", "9")
    assert "no effect here: RALPHY_LIMITS_MAX_ATTEMPTS decides" in call("config", "set", "limits.max_attempts", "5")[1]
    before = file.read_bytes()
    for key, value, said in (
        ("limits.max_attempts", "none", "a whole number"), ("gates.qa", "robot", '"human" or "auto"'),
        ("checks", "[{name: t}]", "ralphy: checks[0] has no run"),
        ("models.implementation", "[a", "ralphy: the value of models.implementation is not YAML: "),
        ("notify.events", "a,b", "notify.events is [a, b] but must be a list of gate, "),
        ("models.qa", "sonnet; rm -rf /", "models.qa is "), ("models.pr", "sonet", "agent.preset"),
    ):  # fmt: skip
        code, _, err = call("config", "set", key, value)
        assert (code, said in err) == (3, True), err
    code, _, err = call("config", "set", "limits.max_atempts", "5")
    assert (code, "did you mean limits.max_attempts?" in err) == (3, True)
    assert file.read_bytes() == before
    assert call("config", "set", "checks", "[{name: t, run: make t}]")[0] == 0
    assert 'checks: [{name: t, run: "make t", timeout_s: 900}]' in file.read_text()
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")
    assert call("config", "set", "limits.max_attempts", "2")[0] == 4


def test_all_settings_are_checked_with_what_has_no_effect(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project, call = made(story("US-001"))
    monkeypatch.setenv("RALPHY_LIMITS_MAX_ATTEMPT", "3")
    own = project.folder / ".ralphy" / "config.yaml"
    own.parent.mkdir(exist_ok=True)
    own.write_text("gates: {qa: auto}\n", encoding="utf-8")
    code, value = call.json("validate")
    assert code == 0
    assert any("did you mean RALPHY_LIMITS_MAX_ATTEMPTS?" in text for text in value["warnings"])
    assert any("a feature can only tighten" in text for text in value["warnings"])
    config = project.repo / ".ralphy" / "config.yaml"
    config.write_text("commands: {test: make}\n", encoding="utf-8")
    code, out, err = call("validate")
    assert (code, f"{out}{err}".count("looks like another tool's file")) == (0, 1)
    config.unlink()
    config.mkdir()
    code, _, err = call("validate")
    assert (code, ".ralphy/config.yaml: is not a regular file" in err) == (3, True)
    config.rmdir()
    text = "limits:\n  max_atempts: 3\ngates: {spec: maybe}\n"
    config.write_text(text, encoding="utf-8")
    monkeypatch.setenv("RALPHY_LIMITS_CALLS_PER_HOUR", "0")
    code, _, err = call("validate")
    assert code == 3
    assert "RALPHY_LIMITS_CALLS_PER_HOUR: limits.calls_per_hour is 0 but must be" in err
    assert '.ralphy/config.yaml:2: "limits.max_atempts" is not a setting' in err
    assert "did you mean limits.max_attempts?" in err
    assert '\n.ralphy/config.yaml:3: gates.spec is "maybe" but must be "human" or "auto"' in err
