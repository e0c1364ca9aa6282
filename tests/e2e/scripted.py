"""A Messages API that plays agents: what it answers follows from the prompt that Ralphy wrote.

    with Scripted({"spec": [...], "US-001": [[write("a.py", "A = 1\n")], report()], ...}) as api:

The script has a list of responses (see `tests.doubles.messages_api`) for each step and each story. The n-th
request of a step or story gets its n-th response, whichever run it comes from: an error takes a place in the
list, and so does the retry that follows it. In texts, `{outbox}` is the folder that the prompt named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.doubles.messages_api import MessagesApi, Response
from tests.doubles.messages_wire import text_of

Block = Mapping[str, Any]
Script = Mapping[str, Sequence[Any]]

_FIRST_LINE = re.compile(r"<!-- ralphy (?P<pairs>.*?) -->")
_PAIR = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
_REPORT = """\
---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 2
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: none
---END_RALPH_STATUS---
"""


class Scripted(MessagesApi):
    """The double with a script in place of its scenario. `prompts` are those of the runs that came, in order."""

    def __init__(self, script: Script) -> None:
        super().__init__(keep_bodies=True)
        self.script = {name: list(responses) for name, responses in script.items()}
        self.prompts: list[str] = []

    def __enter__(self) -> Scripted:
        super().__enter__()
        return self

    def pick(self, path: str, request: Mapping[str, Any]) -> tuple[Response, str]:
        prompt = prompt_of(request)
        named = names_in(prompt)
        key = named.get("story") or named.get("step", "")
        with self.changed:
            if prompt and prompt not in self.prompts:
                self.prompts.append(prompt)
            left = self.script.get(key) or [_unexpected(key)]
            response = left.pop(0)
        listed = {"blocks": [response]} if isinstance(response, str) else response
        filled = _filled({"blocks": listed} if isinstance(listed, list) else listed, named.get("outbox", ""))
        return filled, key

    def of(self, key: str) -> list[Mapping[str, Any]]:
        """The bodies of the requests of a step or story, in order."""
        return [asked.body or {} for asked in self.messages() if asked.source == key]

    @property
    def left(self) -> dict[str, int]:
        """How many responses nobody has asked for."""
        return {name: len(responses) for name, responses in self.script.items() if responses}


def prompt_of(request: Mapping[str, Any]) -> str:
    """Ralphy's prompt in a request; "" if it is somebody else's."""
    for message in request.get("messages") or ():
        text = text_of(message.get("content"))
        if message.get("role") == "user" and (found := _FIRST_LINE.search(text)):
            return text[found.start() :]
    return ""


def names_in(prompt: str) -> dict[str, str]:
    """What the prompt's first line names: step, feature, story, attempt, outbox."""
    found = _FIRST_LINE.match(prompt)
    return {name: quoted or bare for name, quoted, bare in _PAIR.findall(found["pairs"] if found else "")}


def write(path: str, text: str) -> Block:
    """Make a file; a relative path is one of the repository's."""
    return {"tool": "Write", "input": {"file_path": path, "content": text}}


def read(path: str) -> Block:
    return {"tool": "Read", "input": {"file_path": path}}


def edit(path: str, old: str, new: str) -> Block:
    """Change a file; the run must have read it before."""
    return {"tool": "Edit", "input": {"file_path": path, "old_string": old, "new_string": new}}


def bash(command: str) -> Block:
    return {"tool": "Bash", "input": {"command": command, "description": "Run a command"}}


def report(said: str = "Done.", *, promise: str = "STORY_DONE") -> str:
    """A last message with the report that every prompt asks for."""
    return f"{said}\n\n{_REPORT}<promise>{promise}</promise>\n"


def handed_in(files: Mapping[str, str]) -> list[Block]:
    """An answer that writes files into the outbox."""
    return [write(f"{{outbox}}/{name}", text) for name, text in files.items()]


def _filled(value: Any, outbox: str) -> Any:
    if isinstance(value, str):
        return value.replace("{outbox}", outbox)
    if isinstance(value, Mapping):
        return {name: _filled(item, outbox) for name, item in value.items()}
    return [_filled(item, outbox) for item in value] if isinstance(value, list) else value


def _unexpected(key: str) -> Response:
    """A request that the script does not know fails at once, and says so."""
    return {"status": 400, "error": {"message": f"the script has nothing (more) for {key or 'this prompt'}"}}
