"""What an act has at hand: the scene, the stream, and the agent's tools, each printed as the real CLI does and done."""

from __future__ import annotations

import errno
import os
from typing import Any

from ralphy.rehearsal import files
from ralphy.rehearsal.scene import Scene
from ralphy.rehearsal.stream import Stream

IN_CONTEXT = "(file state is current in your context — no need to Read it back)"
UPDATED = "The file {} has been updated successfully."
OF_A_COMMAND = "Rehearsed command"


class Stage:
    """`touched` are the files changed so far; `is_red` says that the last command failed.

    `group` is the process group of the command that runs now, else 0. Paths are absolute.
    """

    def __init__(self, scene: Scene, stream: Stream) -> None:
        self.scene = scene
        self.stream = stream
        self.touched: set[str] = set()
        self.is_red = False
        self.group = 0

    def path(self, name: str) -> str:
        """The absolute path of `name`, which is relative to the working folder; placeholders are filled."""
        return files.join(self.scene.cwd, self.scene.fill(name))

    def read(self, path: str) -> None:
        """The Read tool."""
        call = self.stream.call("Read", {"file_path": path})
        try:
            text = files.read(path, errors="replace")
        except OSError:
            self.stream.refuse(call, f"File does not exist. Note: your current working directory is {self.scene.cwd}.")
            return
        lines = text.split("\n")
        numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=1))
        file = {"filePath": path, "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
        self.stream.reply(call, numbered, {"type": "text", "file": file})

    def write(self, path: str, text: str) -> None:
        """The Write tool: `text` becomes the whole content of the file; folders are made."""
        call = self.stream.call("Write", {"file_path": path, "content": text})
        before = files.read_or_empty(path) if files.is_file(path) else None
        if self._put(call, path, text):
            is_new = before is None
            said = f"File created successfully at: {path}" if is_new else UPDATED.format(path)
            detail = {"type": "create" if is_new else "update", "filePath": path, "content": text,
                      "structuredPatch": [] if before is None else [_hunk(before, text)],
                      "originalFile": before, "userModified": False}  # fmt: skip
            self.stream.reply(call, f"{said} {IN_CONTEXT}", detail)

    def append(self, path: str, text: str) -> None:
        """The Edit tool, used to add `text` at the end; a file that is empty or missing is written."""
        before = files.read_or_empty(path)
        if not before:
            self.write(path, text)
            return
        old = before[before.rstrip("\n").rfind("\n") + 1 :]
        edit = {"replace_all": False, "file_path": path, "old_string": old, "new_string": old + text}
        call = self.stream.call("Edit", edit)
        if self._put(call, path, before + text):
            detail = {"filePath": path, "oldString": old, "newString": old + text, "originalFile": before,
                      "structuredPatch": [_hunk(before, before + text)], "userModified": False,
                      "replaceAll": False}  # fmt: skip
            self.stream.reply(call, f"{UPDATED.format(path)} {IN_CONTEXT}", detail)

    def _put(self, call: str, path: str, text: str) -> bool:
        """Write the file; where that is not possible, the call is refused."""
        try:
            files.write(path, text)
        except OSError as problem:
            name = errno.errorcode.get(problem.errno or 0, "EIO")
            self.stream.refuse(call, f"{name}: {(problem.strerror or 'failed').lower()}, open '{path}'")
            return False
        self.touched.add(path)
        return True

    def bash(self, said: str, commands: list[list[str]], held: tuple[int, ...] = ()) -> None:
        """The Bash tool: the commands one after the other until one fails.

        `said` is what the stream shows. There is no shell; each command has its own session, as with the
        real CLI, and inherits the file descriptors `held`.
        """
        call = self.stream.call("Bash", {"command": said, "description": OF_A_COMMAND})
        code, output, errors = 0, "", ""
        for argv in commands:
            code, out, err = self._execute(argv, held)
            output, errors = output + out, errors + err
            if code:
                break
        self.is_red = bool(code)
        if code:
            both = "\n".join(part.strip("\n") for part in (output, errors) if part.strip())
            self.stream.refuse(call, f"Exit code {code}\n{both}".rstrip("\n"))
            return
        detail = {"stdout": output.rstrip("\n"), "stderr": errors.rstrip("\n"), "interrupted": False, "isImage": False,
                  "noOutputExpected": not output}  # fmt: skip
        self.stream.reply(call, output.rstrip("\n"), detail)

    def _execute(self, argv: list[str], held: tuple[int, ...]) -> tuple[int, str, str]:
        """Exit code, stdout and stderr; 127 for an unknown program."""
        from subprocess import DEVNULL, PIPE, Popen

        own = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.stream.session, "GIT_EDITOR": "true"}
        try:
            with self.stream.lock:  # an interrupt finds the group to kill, or no child yet
                child = Popen(argv, cwd=self.scene.cwd, env={**os.environ, **own}, stdin=DEVNULL, stdout=PIPE,
                              stderr=PIPE, start_new_session=True, pass_fds=held)  # fmt: skip
                self.group = child.pid
        except OSError as problem:
            return 127, "", f"{argv[0]}: {problem.strerror}\n"
        out, err = child.communicate()
        self.group = 0
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        return code, out.decode(errors="replace"), err.decode(errors="replace")


def _hunk(before: str, after: str) -> dict[str, Any]:
    old, new = before.splitlines(), after.splitlines()
    lines = [f"-{line}" for line in old] + [f"+{line}" for line in new]
    return {"oldStart": 1, "oldLines": len(old), "newStart": 1, "newLines": len(new), "lines": lines}
