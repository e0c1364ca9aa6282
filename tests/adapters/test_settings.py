"""Configuration from files, environment and flags: who wins, and what is refused, with its line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

import pytest

from ralphy.config.fields import all_fields
from ralphy.config.load import Settings, load, with_stack
from ralphy.config.values import Check, Config, Limits, Stack, Timeouts
from ralphy.errors import InvalidInput

ALIAS_BOMB = "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n"


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / ".ralphy" / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def loaded(repo: Path, text: str | bytes) -> Settings:
    write(repo, text)
    return load(repo, None, env={})


def refused(repo: Path, text: str | bytes) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        loaded(repo, text)
    return caught.value


# Levels


def test_without_any_file_everything_has_its_default_and_every_setting_has_a_source(tmp_path: Path) -> None:
    found = load(tmp_path, tmp_path / "docs" / "features" / "login", env={"HOME": str(tmp_path)})
    assert found.config == Config()
    assert found.warnings == ()
    assert set(found.sources.values()) == {"default"}
    for text in ("limits:\n  # max_attempts: 3\n", "# nothing yet\n"):
        assert loaded(tmp_path, text).config == Config()
    found = loaded(tmp_path, "setup: make\n")
    assert list(found.sources) == list(all_fields())
    assert found.sources["setup"] == ".ralphy/config.yaml:1"
    assert found.sources["limits.max_attempts"] == "default"


def test_feature_beats_project_beats_user_beats_default_key_by_key(tmp_path: Path) -> None:
    repo, feature, home = (tmp_path / "repo", tmp_path / "repo" / "docs" / "features" / "login", tmp_path / "home")
    user = home / ".config" / "ralphy" / "config.yaml"
    user.parent.mkdir(parents=True)
    user.write_text("limits: {max_attempts: 2, max_iterations: 2, calls_per_hour: 2}\n")
    write(repo, "limits:\n  max_attempts: 3\n  max_iterations: 3\n")
    write(feature, "limits:\n  max_attempts: 4\n")
    found = load(repo, feature, env={"HOME": str(home)})
    assert found.config.limits == Limits(max_attempts=4, max_iterations=3, calls_per_hour=2)
    assert found.sources["limits.max_attempts"] == "docs/features/login/.ralphy/config.yaml:2"
    assert found.sources["limits.max_iterations"] == ".ralphy/config.yaml:3"
    assert found.sources["limits.calls_per_hour"] == f"{user}:1"
    assert found.sources["limits.max_cost_usd"] == "default"


def test_environment_beats_files_and_flags_beat_environment(tmp_path: Path) -> None:
    write(tmp_path, "limits: {max_attempts: 3, max_iterations: 3, calls_per_hour: 3}\n")
    found = load(
        tmp_path,
        None,
        env={"RALPHY_LIMITS_MAX_ATTEMPTS": "4", "RALPHY_LIMITS_MAX_ITERATIONS": "4"},
        flags={"limits.max_attempts": 5, "limits.max_cost_usd": None},
    )
    assert found.config.limits == Limits(max_attempts=5, max_iterations=4, calls_per_hour=3)
    assert found.sources["limits.max_attempts"] == "command line"
    assert found.sources["limits.max_iterations"] == "RALPHY_LIMITS_MAX_ITERATIONS"
    assert found.sources["limits.max_cost_usd"] == "default"


def test_a_duration_may_have_its_unit_and_a_bare_number_is_seconds(tmp_path: Path) -> None:
    text = """\
timeouts: {specification: 30m, implementation: 4h, qa: 90s, pr: 1.5h, agent: 900, startup: 1h30m}
checks: [{name: test, run: make test, timeout_s: 2m}]
notify: {remind_after_s: 2d}
"""
    write(tmp_path, text)
    env = {"RALPHY_CI_MAX_TOTAL_TIME": "4h", "RALPHY_CI_MAX_HEALING_TIME": "60"}
    config = load(tmp_path, None, env=env, flags={"limits.max_wait_s": "3h"}).config
    assert config.timeouts == Timeouts(1800.0, 14400.0, 90.0, 5400.0, 900.0, 5400.0)
    assert config.checks == (Check("test", "make test", 120.0),)
    assert (config.notify.remind_after_s, config.limits.max_wait_s) == (172800.0, 10800.0)
    assert (config.ci.max_total_time, config.ci.max_healing_time) == (14400.0, 60.0)
    with pytest.raises(InvalidInput, match="RALPHY_CI_MAX_TOTAL_TIME"):
        load(tmp_path, None, env={"RALPHY_CI_MAX_TOTAL_TIME": "4 hours"})


def test_a_list_replaces_the_one_below_it_as_a_whole_and_null_brings_the_stacks_own_checks_back(tmp_path: Path) -> None:
    feature = tmp_path / "login"
    write(tmp_path, "checks: [{name: a, run: a}, {name: b, run: b}]\npr: {labels: [x, y]}\n")
    write(feature, "checks: [{name: c, run: c, timeout_s: 5}]\npr: {labels: []}\n")
    config = load(tmp_path, feature, env={}).config
    assert config.checks == (Check("c", "c", 5.0),)
    assert config.pr.labels == ()
    write(feature, "checks: null\n")
    assert load(tmp_path, feature, env={}).config.checks is None


# Environment


VARIABLES: list[tuple[str, str, str, object]] = [
    ("RALPHY_LIMITS_MAX_ATTEMPTS", "3", "limits.max_attempts", 3),
    ("RALPHY_LIMITS_MAX_COST_USD", "2.5", "limits.max_cost_usd", 2.5),
    ("RALPHY_LIMITS_MAX_COST_USD", "", "limits.max_cost_usd", None),
    ("RALPHY_LIMITS_UNTIL", "07:00", "limits.until", "07:00"),
    ("RALPHY_LIMITS_UNTIL", "none", "limits.until", None),
    ("RALPHY_GATES_SPEC", "auto", "gates.spec", "auto"),
    ("RALPHY_SETUP", "npm ci", "setup", "npm ci"),
    ("RALPHY_CIRCUIT_BREAKER_ENABLED", "no", "circuit_breaker.enabled", False),
    ("RALPHY_CIRCUIT_BREAKER_INACTIVITY_TIMEOUT", "1.5", "circuit_breaker.inactivity_timeout", 1.5),
    ("RALPHY_MODELS_IMPLEMENTATION", "sonnet, opus", "models.implementation", ("sonnet", "opus")),
    ("RALPHY_AGENT_COMMAND", "'my agent' --x", "agent.command", ("my agent", "--x")),
    ("RALPHY_PR_LABELS", "", "pr.labels", ()),
    ("RALPHY_PROJECT_FEATURES_DIR", "features", "project.features_dir", "features"),
]
BAD_VALUES = [
    ("RALPHY_LIMITS_MAX_ATTEMPTS", "many"),
    ("RALPHY_LIMITS_MAX_ATTEMPTS", ""),
    ("RALPHY_LIMITS_MAX_ATTEMPTS", "0"),
    ("RALPHY_LIMITS_MAX_ATTEMPTS", "9" * 5000),
    ("RALPHY_LIMITS_MAX_COST_USD", "nan"),
    ("RALPHY_LIMITS_MAX_COST_USD", "inf"),
    ("RALPHY_LIMITS_UNTIL", "7pm"),
    ("RALPHY_GATES_QA", "maybe"),
    ("RALPHY_PR_DRAFT", "perhaps"),
    ("RALPHY_AGENT_COMMAND", "'open"),
    ("RALPHY_AGENT_COMMAND", ""),
    ("RALPHY_SETUP", "a\nb"),
]


def test_a_variable_is_parsed_by_the_type_of_its_setting_and_a_bad_value_refused_by_name(tmp_path: Path) -> None:
    for variable, text, dotted, value in VARIABLES:
        found = load(tmp_path, None, env={variable: text})
        assert (variable, attrgetter(dotted)(found.config)) == (variable, value)
        assert found.sources[dotted] == variable
    for variable, text in BAD_VALUES:
        with pytest.raises(InvalidInput, match="must be") as caught:
            load(tmp_path, None, env={variable: text})
        assert (caught.value.where, len(caught.value.what) < 200) == (variable, True)
    for flag in ("x", 10**400):
        with pytest.raises(InvalidInput, match=r"limits\.max_attempts") as caught:
            load(tmp_path, None, env={}, flags={"limits.max_attempts": flag})
        assert caught.value.where == "command line"


def test_variables_that_are_no_settings_are_ignored_and_a_misspelt_one_is_told(tmp_path: Path) -> None:
    env = {"RALPHY_CHECKS": "x", "RALPHY_LOG": "debug", "RALPHY_AGENT_ID": "7", "RALPHY_LIMITS_MAX_ATTEMPT": "3"}
    found = load(tmp_path, None, env=env)
    assert found.config == Config()
    assert found.warnings == (
        "RALPHY_LIMITS_MAX_ATTEMPT is not a setting and has no effect; did you mean RALPHY_LIMITS_MAX_ATTEMPTS?",
    )


# Refusals


@pytest.mark.parametrize(
    ("text", "where", "what", "hint"),
    [
        ("setup: x\nchekcs: []\n", ":2", '"chekcs" is not a setting', "did you mean checks?"),
        ("limits:\n  max_atempts: 3\n", ":2", '"limits.max_atempts"', "did you mean limits.max_attempts?"),
        ("tests: make test\n", ":1", '"tests"', "did you mean checks?"),
        ("model: opus\n", ":1", '"model"', "did you mean models.implementation?"),
        ("max_iterations: 3\n", ":1", '"max_iterations"', "did you mean limits.max_iterations?"),
        ("retry: {max_attempts: 3}\n", ":1", '"retry"', "did you mean limits.max_attempts?"),
        ("checks_network: true\n", ":1", '"checks_network"', "did you mean safety.checks_network?"),
        ("checks:\n- {name: a, run: b, command: c}\n", ":2", '"checks[0].command"', "known here: name, run, timeout_s"),
        ("checks:\n- {name: a, run: b, retry: 2}\n", ":2", '"checks[0].retry"', "known here: name, run, timeout_s"),
        ("zzz: 1\n", ":1", '"zzz"', "known here: project, stack, setup"),
        (
            "checks:\n- {name: a, run: b, timeout: 3}\n",
            ":2",
            '"checks[0].timeout"',
            "did you mean checks[0].timeout_s?",
        ),
        ("limits:\n  max_attempts: many\n", ":2", 'limits.max_attempts is "many" but must be a whole number', ""),
        ("limits: {max_attempts: 0}", ":1", "limits.max_attempts is 0 but must be a whole number, 1 or more", ""),
        ("limits: {max_cost_usd: .nan}", ":1", 'is ".nan" but must be an amount in USD', ""),
        ("limits: {until: 25:00}", ":1", 'limits.until is "25:00" but must be a time as "HH:MM"', ""),
        (
            "timeouts:\n  qa: 30 minutes",
            ":2",
            'timeouts.qa is "30 minutes" but must be a number of seconds above 0, '
            "or a duration such as 30m or 4h (at most 30 days)",
            "",
        ),
        ("gates: {spec: true}", ":1", 'gates.spec is true but must be "human" or "auto"', ""),
        ("safety: {network: ['pypi.org:99999']}", ":1", "must be a list of hosts such as pypi.org:443", ""),
        ("safety: {level: paranoid}", ":1", 'must be "minimal", "moderate" or "strict"', ""),
        ("git: {commit: merge}", ":1", 'must be "squash": a story is one commit, so that one revert reopens it', ""),
        ("agent: {preset: codex}", ":1", 'must be "claude" or "rehearsal"', ""),
        ("git: {branch_prefix: -x/}", ":1", "git.branch_prefix", ""),
        ("git: {base: 'a..b'}", ":1", "git.base", ""),
        ("project: {features_dir: ../other}", ":1", "must be a folder inside the repository", ""),
        ("project: {features_dir: .git/x}", ":1", "must be a folder inside the repository", ""),
        ("lanes: {bring: ['']}", ":1", "paths or globs inside the repository", ""),
        ("lanes: {bring: [/etc/*]}", ":1", "paths or globs inside the repository", ""),
        ("lanes: {bring: [data/../../*]}", ":1", "paths or globs inside the repository", ""),
        ("project: {name: 7}", ":1", "must be text on one line; put it in quotes", ""),
        ("agent: {command: claude}", ":1", 'agent.command is "claude" but must be a list', ""),
        ("agent: {env: ['A=b']}", ":1", "must be a list of names of variables", ""),
        ("models: {implementation: []}", ":1", "models.implementation is [] but must be the name", ""),
        ('setup: "npm \'ci"', ":1", "must be a command on one line: ", ""),
        ("checks: pytest", ":1", 'checks is "pytest" but must be a list of checks', ""),
        ("checks:\n- {name: a}\n", ":2", "checks[0] has no run", ""),
        ("checks:\n- {name: a, run: b}\n- {name: a, run: c}\n", ":3", 'two checks have the name "a"', ""),
        ("checks:\n- name: a\n  run: b\n  timeout_s: soon\n", ":4", 'checks[0].timeout_s is "soon"', ""),
        ("setup: a\nsetup: b\n", ":2", 'has the key "setup" twice (first on line 1)', ""),
        ("- a\n- b\n", ":1", "the document is [a, b] but must be a mapping", ""),
        ("setup: a\n---\nsetup: b\n", ":3", "second document", 'remove the line "---"'),
        (ALIAS_BOMB, ":1", "uses an anchor and an alias", "write the value out"),
        ("setup: !!python/object/apply:os.system [id]\n", ":1", "uses a tag", ""),
        ("? [a]\n: b\n", ":1", "list or a mapping as a key", ""),
        ("limits:\n\tmax_attempts: 3\n", ":2", "is not YAML", "spaces"),
        ("setup: 'open\n", ":2", "is not YAML", ""),
        ("checks:\n  - {name: a, run: pytest [ab]}\n", ":2", "is not YAML", "a text with [ ] { } or , needs quotes"),
        (b"setup: x\nproject: {name: \xff}\n", ":2", "is not UTF-8", ""),
        (b"setup: a\x00b\n", ":1", "is not YAML", ""),
        ("a: " + "[" * 30 + "]" * 30, ":1", "nested deeper", ""),
        ("a: " + "[" * 3000 + "]" * 3000, ":1", "is ", ""),  # the parser may say it first, in its own words
        ("setup: " + "x" * 300_000, "", "is larger than 256 KB", ""),
        (
            "pr: {labels: [" + "a," * 60_000 + "]}",
            ":1",
            "pr.labels is [a, a, a, a, a, a, a, a, a, a, a, a, a,… but must be a list of names, at most 100",
            "",
        ),
    ],
)
@pytest.mark.fault("I2x")
def test_what_is_wrong_is_refused_with_its_line(
    tmp_path: Path, text: str | bytes, where: str, what: str, hint: str
) -> None:
    error = refused(tmp_path, text)
    assert error.where == f".ralphy/config.yaml{where}"
    assert what in error.what
    assert hint in error.hint
    assert len(error.what) < 200


def test_all_mistakes_of_a_place_are_listed_each_on_a_line_with_its_place_and_hint(tmp_path: Path) -> None:
    checks = "- {name: a, runn: b}\n- {name: a, run: ''}\n- {name: a, run: b, timeout_s: 0}\n"
    error = refused(tmp_path, f"limits:\n  max_atempts: 3\n  keep_attempts: many\ngit: 3\nchecks:\n{checks}")
    assert str(error).split("\n") == [
        '.ralphy/config.yaml:2: "limits.max_atempts" is not a setting (did you mean limits.max_attempts?)',
        '.ralphy/config.yaml:3: limits.keep_attempts is "many" but must be a whole number, 1 or more',
        ".ralphy/config.yaml:4: git is 3 but must be a mapping",
        '.ralphy/config.yaml:6: "checks[0].runn" is not a setting (did you mean checks[0].run?)',
        ".ralphy/config.yaml:6: checks[0] has no run",
        '.ralphy/config.yaml:7: checks[1].run is "" but must be a command on one line',
        ".ralphy/config.yaml:8: checks[2].timeout_s is 0 but must be a number of seconds above 0, "
        "or a duration such as 30m or 4h (at most 30 days)",
    ]
    assert error.hint == ""
    with pytest.raises(InvalidInput) as caught:
        load(tmp_path / "none", None, env={"RALPHY_GATES_QA": "maybe", "RALPHY_SETUP": "a\nb"})
    assert [line.split(":")[0] for line in str(caught.value).split("\n")] == ["RALPHY_SETUP", "RALPHY_GATES_QA"]


def test_words_that_yaml_1_1_would_bend_stay_and_marks_line_endings_and_json_are_read(tmp_path: Path) -> None:
    config = loaded(tmp_path, "limits: {until: 23:30}\nproject: {name: no}\nsetup: |\n  npm ci\n").config
    assert config.limits.until == "23:30"
    assert config.project.name == "no"
    assert config.setup == "npm ci"
    for text in (b"\xef\xbb\xbfsetup: a\r\n", b'{"setup": "a"}', b"%YAML 1.2\n---\nsetup: a\n...\n"):
        assert loaded(tmp_path, text).config.setup == "a"


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (os.mkfifo, "not a regular file"),
        (os.mkdir, "not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
        (lambda path: path.symlink_to(path.name), "cannot be read"),
    ],
    ids=["a pipe", "a folder", "a device", "a circle of links"],
)
@pytest.mark.fault("I2x")
def test_what_is_no_file_in_its_place_is_refused_and_not_waited_for(
    tmp_path: Path, put: Callable[[Path], object], said: str
) -> None:
    (tmp_path / ".ralphy").mkdir()
    put(tmp_path / ".ralphy" / "config.yaml")
    with pytest.raises(InvalidInput, match=said):
        load(tmp_path, None, env={})


# Warnings


def test_a_wrong_model_falls_back_to_the_default_with_a_warning(tmp_path: Path) -> None:
    found = loaded(tmp_path, "models:\n  qa: gpt-9\n  pr: '--help'\n  implementation: [opus, nope]\n")
    assert found.config.models.qa == "sonnet"
    assert found.config.models.pr == "haiku"
    assert found.config.models.implementation == ("opus", "sonnet")
    assert found.warnings == (
        '.ralphy/config.yaml:4: models.implementation: "nope" is not a model\'s name; using sonnet',
        '.ralphy/config.yaml:2: models.qa: "gpt-9" is not a model\'s name; using sonnet',
        '.ralphy/config.yaml:3: models.pr: "--help" is not a model\'s name; using haiku',
    )


def test_the_file_of_the_other_tool_of_this_name_is_named_and_does_not_stop(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        "project: {name: app, language: TypeScript}\n"
        "commands: {test: npm test}\nrules: [be nice]\nboundaries: {never_touch: ['*.lock']}\n",
    )
    assert found.config.project.name == "app"
    (warning,) = found.warnings
    assert "looks like another tool's file" in warning
    assert "ignored: project.language, commands, rules, boundaries (" in warning


NEEDS_A_SHELL = {"npm run build && npm test": "&&",
                 "cd web": "cd", "CI=1 npm test": "CI=1", "npm test 2>&1": "2>&1", "~/bin/check": "~/bin/check",
                 "x $ARGS": "$ARGS", "x ${ARGS}": "${ARGS}", "npm test | tee log": "|", "a ; b": ";"}  # fmt: skip


MEANT = ["find . -name '*.py' -exec true {} \\;", "pytest -k 'a and $b'", "x --set=a=b", "a~b", "sh -c 'a && b'",
         'timeout 9 bash -lc "a | b"', "grep -c '|' file"]  # fmt: skip


def test_a_word_that_only_a_shell_knows_is_doubted_and_an_empty_list_of_checks_said(tmp_path: Path) -> None:
    for command in (*NEEDS_A_SHELL, *MEANT):
        found = loaded(tmp_path, f"checks: [{{name: all, run: {json.dumps(command)}}}]\n")
        word = NEEDS_A_SHELL.get(command)
        said = f"checks.all: {word} does nothing without a shell; use sh -c '…', or two checks"
        assert (command, found.warnings) == (command, (said,) if word else ())
    found = loaded(tmp_path, "checks: []\n")
    assert found.config.checks == ()
    assert found.warnings == found.about_checks == ("checks is empty: nothing verifies a story",)


# What is made of it


def test_configured_checks_beat_the_test_command_and_that_the_stacks_checks() -> None:
    detected = (Check("test", "go test ./..."),)
    own, command = (Check("a", "b"),), Stack(test_command="make test")
    assert with_stack(Config(checks=own, stack=command), detected) == own
    assert with_stack(Config(checks=()), detected) == ()
    assert with_stack(Config(stack=command), detected) == (Check("test", "make test"),)
    assert with_stack(Config(), detected) == detected
    assert with_stack(Config(), ()) == ()


# Any bytes
