"""The configuration as frozen values: every name, default and unit in one place.

`ralphy.config.load` fills these from the files, the environment and the flags;
schemas/config.schema.json describes the same fields for editors, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Check:
    """A command that Ralphy runs before a story counts; `run` is split as a shell would, without a shell."""

    name: str
    run: str
    timeout_s: float = 900.0


@dataclass(frozen=True, slots=True)
class Project:
    name: str = ""
    features_dir: str = "docs/features"


@dataclass(frozen=True, slots=True)
class Stack:
    language: str = ""
    test_command: str = ""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    command: tuple[str, ...] = ("claude",)
    preset: str = "claude"
    env: tuple[str, ...] = ()

    @property
    def is_rehearsal(self) -> bool:
        """Is it the scripted stand-in, whose models and costs are fictitious?"""
        names = {word.rpartition("/")[2] for word in self.command}
        return self.preset == "rehearsal" or not names.isdisjoint(("ralphy-rehearsal", "ralphy.rehearsal"))


@dataclass(frozen=True, slots=True)
class Models:
    """Model per step; implementation is the ladder of attempts (the last one is kept for the rest)."""

    specification: str = "sonnet"
    implementation: tuple[str, ...] = ("sonnet",)
    qa: str = "sonnet"
    pr: str = "haiku"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds of active time; `agent` bounds a single agent run, `startup` the time until its first word."""

    specification: float = 1800.0
    implementation: float = 14400.0
    qa: float = 1800.0
    pr: float = 600.0
    agent: float = 3600.0
    startup: float = 120.0


@dataclass(frozen=True, slots=True)
class WatchdogLimits:
    """The watchdog inside a run; `max_attempts` is the warning that stops it. Seconds and bytes."""

    enabled: bool = True
    inactivity_timeout: float = 60.0
    max_repeated_errors: int = 3
    task_stagnation_timeout: float = 600.0
    max_output_size: int = 524288
    max_attempts: int = 3


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """The circuit breaker between runs: how many runs in a row open it, and when it lets one through again."""

    enabled: bool = True
    no_progress: int = 3
    same_error: int = 5
    test_only: int = 3
    cooldown_s: float = 1800.0
    successes: int = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_iterations` counts agent runs per invocation; `until` is HH:MM, local time.

    `max_splits` is how often a story that has used its attempts may be cut into smaller ones.
    `max_memory_mb` and `max_processes` bound what a run may take, `min_free_mb` what it must leave on the disk.
    """

    max_attempts: int = 5
    max_iterations: int = 50
    calls_per_hour: int = 100
    max_cost_usd: float | None = None
    max_cost_per_story_usd: float | None = None
    max_cost_per_run_usd: float | None = None
    until: str | None = None
    max_qa_rounds: int = 3
    max_wait_s: float = 691200.0
    pause_at_utilization: float = 0.95
    retry_delay_s: float = 5.0
    max_splits: int = 1
    keep_attempts: int = 10
    max_memory_mb: int = 8192
    max_processes: int = 2000
    min_free_mb: int = 500
    max_file_mb: float = 10.0
    max_new_files: int = 5000
    keep_awake: bool = True


@dataclass(frozen=True, slots=True)
class Gates:
    """`human` waits for a marker file, `auto` passes by itself."""

    clarify: str = "human"
    spec: str = "human"
    qa: str = "human"


MINIMAL, MODERATE, STRICT = "minimal", "moderate", "strict"  # the levels of safety


@dataclass(frozen=True, slots=True)
class Safety:
    """`network` and `checks_network` count in the closed sandbox of `strict`, the paths also in that of `moderate`."""

    level: str = MODERATE
    sandbox: str = "auto"
    secret_scan: str = "auto"  # noqa: S105 - not a password, but what is done about them
    network: tuple[str, ...] = ("api.anthropic.com:443",)
    checks_network: bool = False
    ro_paths: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lanes:
    """Ralphy's own working trees, in the folder `dir` ("": below the user's cache).

    `bring` names ignored files of the checkout that lanes get; "auto" stands for those that checks need. `keep` are
    paths of build caches that a clean lane keeps between verdicts. Each lane has a hundred ports from `port_base` on.
    `probe` decides about checks that stay green on broken code: "stop" the run, "warn", or do not try ("off"). `jobs`
    is how many agents work on stories of a feature at the same time.
    """

    jobs: int = 1
    dir: str = ""
    bring: tuple[str, ...] = ("auto",)
    max_gb: int = 20
    port_base: int = 20000
    keep: tuple[str, ...] = ()
    probe: str = "stop"


@dataclass(frozen=True, slots=True)
class Verify:
    """What a finding about tests and checks does: `reject` the attempt, or `flag` it in the evidence.

    `unproved`, `suspicious_code` and `prd` may also be `off`: then there is no such question. Suspicious code is
    rejected only if it cannot be honest. `prd` looks at PRD.md before an agent is paid: without a title or an objective
    it is rejected; anything else is flagged. A failed test runs again up to `retries` times (0: never).
    """

    removed_tests: str = "reject"
    skipped_tests: str = "reject"
    emptied_tests: str = "reject"
    fewer_assertions: str = "flag"
    changed_tests: str = "flag"
    runner_config: str = "reject"
    edited_checks: str = "flag"
    steering_files: str = "flag"
    unproved: str = "reject"
    suspicious_code: str = "reject"
    prd: str = "reject"
    retries: int = 3


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """`parts`: whether the parts of the stories' code are removed one by one before the review, to see which of them no
    test needs; `budget_s`: how many seconds that may take for all stories together."""

    parts: str = "on"
    budget_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Clarify:
    """With `ask: on`, an agent asks up to `most` questions that PRD.md leaves open before the specification."""

    ask: str = "off"
    most: int = 5


@dataclass(frozen=True, slots=True)
class Stories:
    """How large the stories of a new specification are."""

    granularity: str = "medium"


@dataclass(frozen=True, slots=True)
class AcceptanceSettings:
    """Tests of the criteria that a separate agent writes before the first gate: `off`, `visible` to implementers, or
    `sealed` from them. `command` runs `{files}`, where no check can run single files.
    """

    tests: str = "off"
    command: str = ""


@dataclass(frozen=True, slots=True)
class Git:
    branch_prefix: str = "ralph/"
    commit: str = "squash"
    base: str = ""
    sign: str = "auto"
    hooks: str = "run"
    hook_timeout_s: float = 120.0


@dataclass(frozen=True, slots=True)
class PullRequestSettings:
    draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    auto_merge: bool = False


@dataclass(frozen=True, slots=True)
class Notify:
    """Notifications when a person is needed or work has ended. `events` are the kinds that are sent;
    `webhook_secret_env` names the variable whose value signs requests to `webhook`. Nothing is sent in `quiet_hours`
    (HH:MM-HH:MM, local time).
    """

    events: tuple[str, ...] = ("gate", "question", "ended", "limit", "budget", "breaker")
    bell: bool = True
    command: tuple[str, ...] = ()
    webhook: str = ""
    webhook_secret_env: str = ""
    apprise: tuple[str, ...] = ()
    quiet_hours: str = ""
    remind_after_s: float | None = 3600.0


@dataclass(frozen=True, slots=True)
class Ci:
    """Settings for CI: with `--ci`, or where CI=true and this section is set. Times are seconds.

    `answers` are `US-003: words`, `spec step: words` or, for every question, `*: words`. `author` is Name <address>.
    """

    max_tasks: int = 50
    max_healing_time: float = 1800.0
    max_total_time: float = 14400.0
    answers: tuple[str, ...] = ()
    auto_approve: bool = False
    auto_merge: bool = False
    author: str = ""
    branch_prefix: str = ""
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. `checks` is None if the stack's own checks are used."""

    project: Project = field(default_factory=Project)
    stack: Stack = field(default_factory=Stack)
    setup: str = ""
    checks: tuple[Check, ...] | None = None
    agent: AgentSettings = field(default_factory=AgentSettings)
    models: Models = field(default_factory=Models)
    timeouts: Timeouts = field(default_factory=Timeouts)
    circuit_breaker: WatchdogLimits = field(default_factory=WatchdogLimits)
    breaker: BreakerRules = field(default_factory=BreakerRules)
    limits: Limits = field(default_factory=Limits)
    gates: Gates = field(default_factory=Gates)
    clarify: Clarify = field(default_factory=Clarify)
    safety: Safety = field(default_factory=Safety)
    lanes: Lanes = field(default_factory=Lanes)
    acceptance: AcceptanceSettings = field(default_factory=AcceptanceSettings)
    verify: Verify = field(default_factory=Verify)
    proof: ProofSettings = field(default_factory=ProofSettings)
    stories: Stories = field(default_factory=Stories)
    git: Git = field(default_factory=Git)
    pr: PullRequestSettings = field(default_factory=PullRequestSettings)
    notify: Notify = field(default_factory=Notify)
    ci: Ci = field(default_factory=Ci)
