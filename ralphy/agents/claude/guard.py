"""The guard: asked by Claude Code before each tool call, it refuses what an agent has no business to do.

A script of its own, run as `python -I -S guard.py POLICY` with the call as JSON on stdin (a PreToolUse hook):
exit 0 lets the call through, exit 2 refuses it, and stderr tells the model what to do instead. Whatever goes
wrong in here refuses as well; a hook that took too long would be ignored, so an alarm comes first.

It reads commands as a person would, not as a shell does: a program can be told to do anything in words that no
list foresees. It keeps honest agents from mistakes. The walls are the sandbox, and Ralphy's own look afterwards.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ALARM_S, REFUSED, DEPTH = 5, 2, 5
READING = ("Read", "Grep", "Glob")
WRITING = ("Write", "Edit", "MultiEdit", "NotebookEdit")
SECRETS = (".ssh", ".aws", ".gnupg", ".kube", ".config/gh", ".config/gcloud", ".azure", ".docker/config.json",
           ".netrc", ".git-credentials", ".config/git/credentials", ".claude/.credentials.json")  # fmt: skip
KEYS = re.compile(r"(.*\.(pem|p12|pfx)|id_(rsa|dsa|ecdsa|ed25519)|\.env(\.(?!example|sample|template|dist).*)?)")
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash")
INTERPRETERS = (*SHELLS, "python", "python3", "node", "perl", "ruby", "php")
PREFIXES = ("sudo", "doas", "env", "command", "exec", "builtin", "nohup", "time", "nice", "ionice", "stdbuf", "setsid",
            "timeout", "xargs", "then", "do", "else", "if", "while", "until", "!", "{", "eval", "busybox")  # fmt: skip
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.S)
HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(.*?)^[ \t]*\2[ \t]*$", re.S | re.M)
SUBSTITUTED = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
CHANGING = ("rm", "rmdir", "unlink", "shred", "mv", "cp", "install", "ln", "touch", "tee", "truncate", "chmod", "chown",
            "dd", "mkdir")  # fmt: skip

GIT_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env")
NEVER = {
    "push": "Ralphy pushes the branch itself, when the feature is reviewed",
    "update-ref": "do not change Git's refs; only change files",
    "rebase": "do not rewrite history; Ralphy makes this story's commit",
    "filter-branch": "do not rewrite history",
    **dict.fromkeys(("replace", "gc", "prune"), "do not change Git's objects"),
}
LOOKS = {  # commands that may look, but not change: what a look is
    "stash": ("list", "show"),
    "worktree": ("list",),
    "remote": ("-v", "--verbose", "show", "get-url"),
    "config": ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "get", "list"),
    "reflog": ("show", "exists"),
}
BARE = ("remote", "reflog")  # which of them look when nothing follows
_BRANCH = "do not change branches; work on the current branch"
FORBIDDEN = {  # words that turn a harmless command into another: a pattern, and what is said
    "clean": (r"-[a-z]*[xX][a-z]*", "git clean -x deletes a person's ignored files: delete your own by name"),
    "branch": (r"-[dDmMcCfu]|--(delete|move|copy|force|set-up.*)", _BRANCH),
    "symbolic-ref": (r"-d|--delete", _BRANCH),
}
COMMITS = ("commit", "merge", "cherry-pick", "am", "revert", "tag")


def main(arguments: Sequence[str]) -> int:
    """Judge the call on stdin by the policy in that file."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(REFUSED))
    signal.alarm(ALARM_S)
    with open(arguments[0], encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start
        policy = json.load(file)
    why = verdict(policy, json.load(sys.stdin))
    if why:
        sys.stderr.write(f"Ralphy refuses this: {why}\n")
    return REFUSED if why else 0


def verdict(policy: Mapping[str, Any], call: Mapping[str, Any]) -> str:
    """Why a call is refused, with what to do instead; "" if it may go through."""
    name, given = str(call.get("tool_name")), call.get("tool_input") or {}
    judge = Judge(policy, str(call.get("cwd") or policy["root"]))
    if name == "AskUserQuestion":
        return "nobody can answer. End with STATUS: BLOCKED and the question in your report"
    if name in WRITING:
        return judge.write(str(given.get("file_path") or given.get("notebook_path") or ""))
    if name in READING:
        return judge.read(str(given.get("file_path") or given.get("path") or given.get("pattern") or ""))
    if name == "Bash":
        return judge.command(str(given.get("command") or ""))
    return ""


class Judge:
    """What the policy says of paths and of commands; `cwd` follows the `cd` of a command."""

    def __init__(self, policy: Mapping[str, Any], cwd: str) -> None:
        self.policy = policy
        self.root: str = policy["root"]
        self.cwd = cwd

    def path(self, text: str) -> str:
        """The real path that a word names."""
        home = self.policy["home"]
        for sign in ("${HOME}", "$HOME"):
            text = text.replace(sign, home)
        if text == "~" or text.startswith("~/"):
            text = home + text[1:]
        return os.path.realpath(os.path.join(self.cwd, text))  # noqa: PTH118

    def write(self, text: str) -> str:
        path = self.path(text) if text else ""
        if any(is_in(path, free) for free in self.policy["free"]):
            return ""
        if any(is_in(path, kept) for kept in self.policy["kept"]):
            return (f"{text} belongs to Ralphy or a person, and is not taken over. Hand in documents through the outbox"
                    " folder named in the prompt; change only the project's own files")  # fmt: skip
        name = os.path.basename(path)  # noqa: PTH119
        if KEYS.fullmatch(name) or "/.claude/" in f"{path}/" or name == ".mcp.json":
            return f"{text} may hold a person's secrets or settings. Use .env.example, or ask in your report"
        return ""

    def read(self, text: str) -> str:
        path = self.path(text) if text else ""
        home = self.policy["home"]
        if path and any(is_in(path, os.path.realpath(f"{home}/{secret}")) for secret in SECRETS):
            return f"{text} holds a person's credentials; this work does not need them"
        return ""

    def command(self, text: str, depth: int = 0) -> str:
        """The first reason against any of the commands in a line of shell."""
        if depth > DEPTH:
            return "this command is nested too deeply: simplify it"
        for found in HEREDOC.finditer(text):
            line = text[: found.start()].rpartition("\n")[2]
            if any(is_called(word, SHELLS) for word in line.split()) and (why := self.command(found[4], depth + 1)):
                return why
        text = HEREDOC.sub(lambda found: found[3] + "\n", text)
        for inner in SUBSTITUTED.finditer(text):
            if why := self.command(inner[1] or inner[2] or "", depth + 1):
                return why
        previous: list[str] = []
        for words, joint in commands_in(text):
            if why := self.simple(words, depth) or piped_to_shell(previous, words):
                return why
            previous = [*previous, *words[:1]] if joint == "|" else []
        return ""

    def simple(self, words: Sequence[str], depth: int) -> str:
        """One command, without what stands before it (assignments, env, timeout, xargs and the like)."""
        words, targets = without_redirections(words)
        if why := first(self.write(target) for target in targets):
            return why
        words = unwrapped(words)
        if not words:
            return ""
        program, rest = words[0].rpartition("/")[2], list(words[1:])
        if program == "cd":
            self.cwd = self.path(rest[0]) if rest else self.cwd
            return ""
        if program in SHELLS:
            script = next((rest[n + 1] for n, word in enumerate(rest[:-1]) if re.fullmatch(r"-[a-z]*c", word)), "")
            return self.command(script, depth + 1)
        if program in ("gh", "glab", "hub"):
            return "Ralphy opens the pull request itself, when the feature is reviewed"
        if program == "git":
            return self.git(rest)
        if program in ("kill", "pkill", "killall"):
            return self.kill(program, rest)
        return self.files(program, rest)

    def git(self, words: Sequence[str]) -> str:
        rest = list(words)
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in GIT_VALUES else rest[1:]
        name, rest = (rest or [""])[0], rest[1:]
        plain = [word for word in rest if not word.startswith("-")]
        if "--no-verify" in rest:
            return "do not bypass checks: fix what they find"
        if name in NEVER:
            return f"git {name}: {NEVER[name]}"
        if name in LOOKS:
            is_look = rest[0] in LOOKS[name] or (name == "config" and len(rest) == 1) if rest else name in BARE
            return "" if is_look else f"git {name}: only reading is allowed ({', '.join(LOOKS[name])})"
        if name == "reset" and "--hard" in rest and any(word != "HEAD" for word in plain):
            return "git reset --hard to another commit rewrites history. To undo your own changes: git restore FILE"
        pattern, advice = FORBIDDEN.get(name, ("(?!)", ""))
        if any(re.fullmatch(pattern, word) for word in rest) or (name == "symbolic-ref" and len(plain) > 1):
            return advice
        if self.policy["level"] == "strict" and name in COMMITS:
            return f"git {name}: leave your work in the files; Ralphy commits it"
        return first(self.write(word) for word in plain) if name in ("rm", "mv") else ""

    def kill(self, program: str, words: Sequence[str]) -> str:
        advice = "end only processes that you started, by pid"
        if program != "kill":
            return f"{program} may end other processes: {advice}"
        targets = words[1:] if words and words[0].startswith("-") else words
        pids = [word for word in targets if word.lstrip("-").isdigit()]
        return "" if all(self.is_own(int(pid)) for pid in pids) else f"that process is not yours: {advice}"

    def is_own(self, pid: int) -> bool:
        mark = f"RALPHY_RUN_ID={os.environ.get('RALPHY_RUN_ID', '')}".encode()
        try:
            found = environment_of(abs(pid))
        except OSError:
            return False
        return abs(pid) > 1 and (found is None or mark in found)

    def files(self, program: str, words: Sequence[str]) -> str:
        """Commands that change files, by the paths they name; reading a credential is refused to all."""
        plain = [word.removeprefix("of=") for word in words if not word.startswith("-")]
        if why := first(self.read(word) for word in plain):
            return why
        edits = program in ("sed", "perl") and any(re.match(r"-[a-z]*i|--in-place", word) for word in words)
        if program not in CHANGING and not edits:
            return ""
        changed = plain[-1:] if program in ("cp", "install", "ln") else plain
        if why := first(self.write(word) for word in changed):
            return why
        flags = "".join(word for word in words if word.startswith("-"))
        if program == "rm" and re.search(r"-[a-zA-Z]*[rR]|--recursive", flags):
            return first(self.removal(word) for word in plain)
        return ""

    def removal(self, word: str) -> str:
        path = self.path(word.rstrip("*") or word)
        inside = any(is_in(path, place) for place in (self.root, "/tmp", "/var/tmp", *self.policy["free"]))  # noqa: S108
        is_whole = is_in(self.root, path) and not word.startswith("./")
        return f"rm -r {word}: delete only files you created, below {self.root}" if is_whole or not inside else ""


def environment_of(pid: int) -> list[bytes] | None:
    """The variables that a process was started with; None if there is no such process."""
    if os.path.isdir("/proc/self"):  # noqa: PTH112
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
                return file.read().split(b"\0")
        except FileNotFoundError:
            return None
    import subprocess

    listed = subprocess.run(["ps", "eww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
    return None if listed.returncode else listed.stdout.split()


def first(reasons: Iterator[str]) -> str:
    return next((why for why in reasons if why), "")


def is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def is_called(word: str, names: Sequence[str]) -> bool:
    return word.rpartition("/")[2] in names


def commands_in(text: str) -> Iterator[tuple[list[str], str]]:
    """(words, the joint behind them) of each command of a line of shell."""
    lexer = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()<>")
    lexer.commenters, lexer.whitespace_split = "", True
    words: list[str] = []
    try:
        for token in lexer:
            if token and set(token) <= set(";&|()"):
                yield words, token
                words = []
            else:
                words.append(token)
    except ValueError:  # a quote that is not closed: the words as they stand
        words = text.split()
    yield words, ""


def without_redirections(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the words of a command, the files that its output is sent to)."""
    kept: list[str] = []
    targets: list[str] = []
    rest = iter(words)
    for word in rest:
        if word and set(word) <= set("<>&|"):
            target = next(rest, "")
            if ">" in word and not target.isdigit() and target != "-":
                targets.append(target)
        else:
            kept.append(word)
    return kept, targets


def unwrapped(words: Sequence[str]) -> list[str]:
    """A command without assignments and without programs that only start another one."""
    rest = list(words)
    while rest:
        if ASSIGNMENT.fullmatch(rest[0]):
            rest = rest[1:]
        elif is_called(rest[0], PREFIXES):
            options = rest[0].rpartition("/")[2] in ("timeout", "nice", "ionice", "xargs", "env", "sudo", "stdbuf")
            rest = rest[1:]
            while options and rest and (rest[0].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?", rest[0])):
                rest = rest[1:]
        else:
            break
    return rest


def piped_to_shell(before: Sequence[str], words: Sequence[str]) -> str:
    program = (unwrapped(words) or [""])[0]
    if is_called(program, INTERPRETERS) and any(is_called(word, ("curl", "wget")) for word in before):
        return "do not run downloads unread: save to a file and read it first"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
