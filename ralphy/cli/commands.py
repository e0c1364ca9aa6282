"""The commands: the module of each, and its summary for `ralphy --help`, which loads none of them."""

from __future__ import annotations

# command -> (module below ralphy.cli, its summary: the docstring of the command says the rest)
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("setup.init", "Set up a repository for Ralphy; overwrite nothing."),
    "demo": ("setup.demo", "See the whole pipeline at work on a toy repository."),
    "doctor": ("setup.doctor", "Report what's missing and how to fix it."),
    "detect": ("setup.init", "Show the detected language and checks."),
    "init-prompts": ("setup.init", "Copy the prompts into the repository, to customise them."),
    "prompt": ("run.prompts", "Show what the agent of a step would be told now."),
    "ralph-sh": ("setup.ralph_sh", "Write ralph.sh and prompt.md: a loop that runs without Ralphy."),
    "config": ("setup.settings", "Show or change the settings."),
    "trust": ("setup.validity", "Accept settings that weaken your protection."),
    "validate": ("setup.validity", "Check the settings, prd.json and drafts."),
    "clarify": ("run.clarifying", "Ask what a PRD leaves open, before it is specified."),
    "decompose": ("run.decompose", "Turn a PRD into SPEC.md and stories; build nothing."),
    "import": ("stories.exchange", "Make a feature of another tool's stories."),
    "export": ("stories.exchange", "Write the stories as the prd.json that other tools read."),
    "plan": ("run.drivers", "Show the whole plan: stories, models, checks, gates, expected cost."),
    "start": ("run.drivers", "Run one feature in the foreground; ask at gates."),
    "loop": ("run.drivers", "Run features until a gate, failure or completion; never ask."),
    "watch": ("run.drivers", "Run all features: wait at gates, resume when files appear."),
    "plugin": ("session.plugin", "Work inside Claude Code: its plugin, and the loop of a session."),
    "why": ("status.look", "Show the next decision and its reason."),
    "status": ("status.look", "Show the status of a feature."),
    "dashboard": ("dashboard.command", "Watch and steer live, on a page in your browser."),
    "state": ("status.state", "Show or move the phase, in the words of ralph-dev."),
    "approve": ("stories.gates", "Approve the document at a gate."),
    "reject": ("stories.gates", "Reject the document at a gate, with remarks for its agent."),
    "abort": ("stories.gates", "Stop the current run at once."),
    "redo": ("stories.gates", "Repeat a step or a story."),
    "reset": ("stories.gates", "Reset attempt counts; failed and blocked stories become pending."),
    "reset-circuit": ("stories.gates", "Close the circuit breaker so that agents can start again."),
    "logs": ("records", "Show what the agents did."),
    "report": ("report", "Report what landed and its proof, what failed, and what waits."),
    "stats": ("stats", "Show what all nights came to: success rate, attempts, cost."),
    "prove": ("prove", "Verify the committed stories again, without an agent."),
    "notify": ("run.notifying", "Show who is told when you are needed; --test sends a message."),
    "audit": ("records", "Verify that the journal is unaltered."),
    "gc": ("upkeep", "Delete old attempts and runs, and pack the repository."),
    "lanes": ("upkeep", "List or delete the working trees of agents and checks."),
    "attempts": ("records", "List, diff or restore failed attempts."),
    "story": ("stories.story", "List the stories; add, start, fail or reset one, or mark it done."),
    "tasks": ("stories.story", "The same as story."),
    "help": ("about", "Show help for Ralphy or a command."),
    "version": ("about", "Show the version."),
    "completion": ("about", "Print the completion script for a shell."),
}

# What people type who know another tool, or ask about -> what to type here.
OTHER_WORDS = {
    "answer": "write it after `Answer:` in QUESTIONS.md, then: ralphy loop",
    "run": "ralphy start FEATURE, or ralphy loop",
    "resume": "ralphy loop (it goes on where it stopped)",
    "continue": "ralphy loop (it goes on where it stopped)",
    "stop": "ralphy abort, or: touch STOP in the feature's folder",
    "cancel": "ralphy abort",
    "pause": "touch STOP in the feature's folder",
    "retry": "ralphy reset, or for one story: ralphy redo US-001",
    "undo": "git revert the story's commit, then: ralphy loop",
    "new": 'ralphy start "what you want built"',
    "list": "ralphy status --all",
    "ps": "ralphy status --all",
    "inbox": "ralphy status --all",
    "clean": "ralphy gc",
    "settings": "ralphy config show",
    "man": "ralphy help",
    "gate": "ralphy approve, or ralphy reject",
    "marker": "touch APPROVED, REJECTED or STOP in the feature's folder",
    "feature": "ralphy status --all",
    "check": "ralphy detect shows the checks, ralphy doctor runs them",
    "cost": "ralphy stats",
    "journal": "ralphy audit",
    "exit-code": "ralphy --help",
}

_HELP = """\
Usage: ralphy [OPTIONS] COMMAND [ARGS]...

  From PRD.md to a pull request, one verified commit per user story.

  FEATURE is a folder in docs/features/ (or a path to a folder with a
  prd.json). You can omit it when only one is open. Every command takes
  --help, -C DIR, --json, -q and -v.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
{commands}

Exit codes: 0 done, 1 defect of Ralphy's own, 2 not found, 3 invalid input,
4 conflict, 5 environment, 10 waiting for a person, 11 failed or blocked
stories, 12 circuit breaker open, 13 budget reached, 14 provider's limit,
130 interrupted, 143 terminated."""


def help_text() -> str:
    """What `ralphy --help` prints."""
    width = max(map(len, COMMANDS))
    return _HELP.format(commands="\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()))
