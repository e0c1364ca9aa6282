"""Examples of every command, shown at the end of its `--help` and on the reference page."""

from __future__ import annotations

import click

# command -> (what is typed behind it, what that is for)
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "init": (("", "set up the repository you are in"), ("--dry-run", "show what would be written"),
             ("--ci", "with a GitHub workflow that proves the stories of pull requests")),
    "demo": (("", "a toy repository, no key, no network"), ("--folder show", "leave it in ./show")),
    "doctor": (("", "what's missing, each with its fix"), ("--no-checks", "the same, without running the checks"),
               ("--fix", "do what is safe to do")),
    "detect": (("", "language, checks and evidence"), ("--save", "write the checks into the settings")),
    "init-prompts": (("", "copy the prompts to .ralphy/prompts/"), ("--force", "replace your copies")),
    "prompt show": (("spec login", "what the specification's agent would be told"),
                    ("story login --story US-002", "the same for a story")),
    "ralph-sh": (("login", "ralph.sh and prompt.md beside its prd.json"), ("--output tools", "into any folder")),
    "config show": (("", "every setting"), ("--origin", "and where its value comes from"),
                    ("login --origin", "what is in force for the feature login")),
    "config get": (("limits.max_attempts", "one value"),),
    "config set": (("limits.max_cost_usd 10", "a limit for every night"),
                   ("models.implementation sonnet,opus", "a ladder: later attempts get the later model"),
                   ("gates.qa auto", "approve the review automatically")),
    "trust": (("", "accept the settings of a repository that you cloned"),),
    "validate": (("", "all that a run would read, and the settings in force"),
                 ("docs/features/login/PRD.md", "is it ready?"), ("login", "all files of one feature")),
    "clarify": (("login", "an agent's questions about PRD.md, to be answered in CLARIFICATIONS.md"),),
    "decompose": (("PRD.md", "SPEC.md and stories that wait for your approval"),
                  ("PRD.md --granularity small", "3 to 5 stories for a day of work"),
                  ("PRD.md --dry-run", "what would be done; change nothing")),
    "import": (("tasks.json", "task-master's tasks, in a new feature"),
               ("specs/001-login/tasks.md --name login", "spec-kit's tasks"),
               ("github:acme/shop --label ready", "open issues, through gh"),
               ("TODO.md --dry-run", "show the stories; write nothing")),
    "export": (("login", "prd.json as other loops read it, on stdout"),
               ("login --json", "the same, with the feature's name")),
    "plan": (("login", "what a run would do, and cost"), ("login --jobs 3", "which stories go side by side"),
             ("--json", "the same for scripts")),
    "start": (('"Add CSV export to the report page"', "a new feature from a sentence"),
              ('"Add CSV export to the report page" --name csv', "with a name of your own"),
              ("login", "go on with a feature; ask at gates"), ("login --dry-run", "show the plan, change nothing"),
              ("login --mode hook", "in a session of Claude Code, in front of you")),
    "plugin path": (("", "the folder for claude --plugin-dir"),),
    "plugin start": (("login", "begin the loop of this session"), ("login --mode script", "agents of their own")),
    "plugin cancel": (("", "end the loop of this session"),),
    "plugin hook": (("stop", "what the plugin's Stop hook runs, with its input on stdin"),),
    "loop": (("", "all open features, until each waits or is done"), ("login --max-cost 10 --until 07:00", "a night"),
             ("login --jobs 3", "three agents at a time")),
    "watch": (("", "work whenever a gate opens"), ("--max-cost 20", "with a budget")),
    "why": (("", "the next decision of the only open feature"), ("login --json", "the same for scripts")),
    "status": (("", "the only open feature"), ("--all", "a line for each feature"), ("login --json", "for scripts")),
    "dashboard": (("", "all features"), ("login --open", "one feature, opened in your browser"),
                  ("--port 8765 --allow-host ralphy.example.org", "for your own tunnel, from a phone")),
    "state get": (("login --json", "phase and current task, for scripts"),),
    "state set": (("login --phase implement", "approve SPEC.md"), ("login --phase breakdown", "write SPEC.md again")),
    "approve": (("login", "the document that waits at the gate"),),
    "reject": (('login -m "the API needs paging"', "with remarks: its agent writes it again"),
               ("login --end", "the feature ends")),
    "abort": (("", "stop the current run; nothing is lost"),),
    "redo": (("qa login", "review again"), ("US-002", "do a story again"),
             ("spec login", "write the specification again")),
    "reset": (("login", "failed and blocked stories become pending"),),
    "reset-circuit": (("login", "let agents start again after repeated failures"),),
    "logs": (("", "the latest run of each open feature"), ("US-002 -f", "follow one story"),
             ("US-002 --tail 50", "the end of it")),
    "report": (("login", "what landed, what failed, what waits"), ("--open", "the same as a page in your browser"),
               ("--html", "the page, on stdout"), ("login --json", "for scripts")),
    "stats": (("", "success rate, attempts, time and cost"), ("--since 7d", "of the last seven days")),
    "notify": (("", "who is told when you are needed"), ("--test", "send each of them a message")),
    "prove": (("login", "verify every landed story again"), ("main..ralph/login", "a range of commits"),
              ("login --story US-002", "one story")),
    "audit": (("", "is the journal unaltered?"),),
    "gc": (("--dry-run", "what would be deleted"), ("", "delete it")),
    "lanes": (("", "which there are, and their sizes"), ("--rm 1", "delete one"), ("--all", "delete all unused ones")),
    "attempts list": (("US-002", "the kept attempts of a story"),),
    "attempts diff": (("US-002", "the latest attempt as a patch"), ("US-002 1", "the first one")),
    "attempts restore": (("US-002 1", "put its code into your checkout, uncommitted"),),
    "story list": (("login", "the stories and their status"),),
    "story next": (("login", "the story whose turn it is"),),
    "story show": (("US-002", "fields, evidence and commit"), ("login/US-002", "of a certain feature")),
    "story add": (('"Sign out"', "a story at the end"),
                  ('"Sign out" --criteria "The session ends" --after US-001', "with a criterion and a dependency")),
    "story start": (("US-003", "make it the next one"),),
    "story done": (("US-003", "you did it yourself, and committed it"),),
    "story fail": (('US-003 -m "not wanted any more"', "give it up"),),
    "story reset": (("US-003", "make it pending again"),),
    "help": (("loop", "help for a command"), ("story add", "help for a command below another")),
    "version": (("", "which version is this?"),),
    "completion": (("bash", "the script for bash; see above for where it goes"),),
}  # fmt: skip


def with_examples(command: click.Command, name: str) -> click.Command:
    """The command, whose `--help` and that of those below it end with examples."""
    for word, inner in getattr(command, "commands", {}).items():
        with_examples(inner, f"{name} {word}")
    if lines := examples_of(name):
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
    return command


def same_as(command: str) -> str:
    """The command that has its examples: `tasks` is another word for `story`."""
    first, _, rest = command.partition(" ")
    return f"story {rest}".rstrip() if first == "tasks" else command


def examples_of(command: str) -> list[str]:
    """A command's examples as lines, each with what it is for; none for a group of commands."""
    name = same_as(command)
    rows = [(" ".join(filter(None, ("ralphy", name, typed))), why) for typed, why in EXAMPLES.get(name, ())]
    width = max((len(typed) for typed, _ in rows), default=0)
    return [f"{typed:<{width}}  # {why}" for typed, why in rows]
