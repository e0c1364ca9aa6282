"""The commands: where each is, and what `ralphy --help` says of it without loading any of them."""

from __future__ import annotations

# command -> (module below ralphy.cli, help shown without importing it)
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("setup", "Set a repository up for Ralphy; overwrites nothing."),
    "demo": ("demo", "See the whole pipeline at work on a toy repository."),
    "doctor": ("doctor", "Say what's missing for a night and how to fix it."),
    "detect": ("setup", "Show the stack and the checks that are found here."),
    "init-prompts": ("setup", "Copy the prompts into the repository, to change them."),
    "trust": ("trust", "Accept settings that came with the repository."),
    "validate": ("validity", "Check prd.json, config.yaml or a draft of stories."),
    "start": ("run", "Run one feature in the foreground and ask at gates."),
    "loop": ("run", "Run features until a gate, failure or completion; never asks."),
    "watch": ("run", "Watch all features: wait at gates, go on when files appear."),
    "why": ("look", "Say what comes next, and why."),
    "status": ("look", "Show where a feature stands."),
    "approve": ("gates", "Approve what waits at a gate."),
    "reject": ("gates", "Reject what waits at a gate, with remarks for its agent."),
    "abort": ("gates", "Stop the current run at once."),
    "redo": ("gates", "Make a step (spec, qa, pr) or a story again."),
    "reset": ("gates", "Forget failed attempts, so that stories are tried again."),
    "reset-circuit": ("gates", "Close the circuit breaker, so that agents are started again."),
    "logs": ("records", "Show what the agents did."),
    "audit": ("audit", "Check that nobody has changed the journal."),
    "gc": ("upkeep", "Let go of old attempts and runs, and pack the repository."),
    "lanes": ("lanes", "List the working trees of agents and checks, or let go of them."),
    "attempts": ("records", "Look at the attempts that were kept, or take one up again."),
    "story": ("stories", "List the stories, or add, start, complete, fail and reset one."),
    "tasks": ("stories", "The same as story."),
    "help": ("about", "Show this help, or that of a command."),
    "version": ("about", "Show the version."),
    "completion": ("about", "Print what a shell needs to complete commands."),
}

_HELP = """\
Usage: ralphy [OPTIONS] COMMAND [ARGS]...

  From PRD.md to a pull request, one verified commit per user story.

  FEATURE is a folder of docs/features/ (or a path to a folder with a
  prd.json); it may be left out when there is just one. Every command has
  --help, -C DIR, --json, -q and -v.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
{commands}

Exit codes: 0 done, 2 not found, 3 invalid input, 4 conflict, 5 environment,
10 waiting for a person, 11 failed or blocked stories, 12 circuit breaker
open, 13 budget reached, 14 provider's limit, 130 interrupted."""


def help_text() -> str:
    """What `ralphy --help` prints."""
    width = max(map(len, COMMANDS))
    return _HELP.format(commands="\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()))
