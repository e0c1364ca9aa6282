"""The tools of the agent: each call is printed as the real CLI prints it, and really done."""

from __future__ import annotations

import errno
import os
from typing import Any

from ralphy.rehearsal import files
from ralphy.rehearsal.stage import Stage

IN_CONTEXT = "(file state is current in your context — no need to Read it back)"


def read(stage: Stage, path: str) -> None:
    """The Read tool on an absolute path."""
    call = stage.stream.call("Read", {"file_path": path})
    try:
        text = files.read(path, errors="replace")
    except OSError:
        stage.stream.refuse(call, f"File does not exist. Note: your current working directory is {stage.scene.cwd}.")
        return
    lines = text.split("\n")
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=1))
    file = {"filePath": path, "content": text, "numLines": len(lines)}
    span = {"startLine": 1, "totalLines": len(lines)}
    stage.stream.reply(call, numbered, {"type": "text", "file": {**file, **span}})


def write(stage: Stage, path: str, text: str) -> None:
    """The Write tool: `text` becomes the whole content of the file; folders are made."""
    call = stage.stream.call("Write", {"file_path": path, "content": text})
    try:
        before = _text_or_none(path)
        files.write(path, text)
    except OSError as problem:
        stage.stream.refuse(call, _refusal(problem, path))
        return
    stage.touched.add(path)
    said = f"File created successfully at: {path}"
    if before is not None:
        said = f"The file {path} has been updated successfully."
    detail = {"type": "create" if before is None else "update", "filePath": path, "content": text}
    patch = {"structuredPatch": [] if before is None else [_hunk(before, text)], "originalFile": before}
    stage.stream.reply(call, f"{said} {IN_CONTEXT}", {**detail, **patch, "userModified": False})


def append(stage: Stage, path: str, text: str) -> None:
    """The Edit tool, used to add `text` at the end; a file that is empty or missing is written."""
    before = _text_or_none(path)
    if not before:
        write(stage, path, text)
        return
    old = before[before.rstrip("\n").rfind("\n") + 1 :]
    edit = {"replace_all": False, "file_path": path, "old_string": old, "new_string": old + text}
    call = stage.stream.call("Edit", edit)
    try:
        files.write(path, before + text)
    except OSError as problem:
        stage.stream.refuse(call, _refusal(problem, path))
        return
    stage.touched.add(path)
    change: dict[str, Any] = {"filePath": path, "oldString": old, "newString": old + text}
    patch = {"originalFile": before, "structuredPatch": [_hunk(before, before + text)]}
    said = f"The file {path} has been updated successfully. {IN_CONTEXT}"
    stage.stream.reply(call, said, {**change, **patch, "userModified": False, "replaceAll": False})


def bash(stage: Stage, said: str, commands: list[list[str]], held: tuple[int, ...] = ()) -> str:
    """The Bash tool: the commands one after the other until one fails. Returns what they printed.

    `said` is what the stream shows. There is no shell; each command has its own session, as with the
    real CLI, and inherits the file descriptors `held`.
    """
    call = stage.stream.call("Bash", {"command": said, "description": "Rehearsed command"})
    code, output, errors = 0, "", ""
    for argv in commands:
        code, out, err = _execute(stage, argv, held)
        output, errors = output + out, errors + err
        if code:
            break
    stage.is_red = bool(code)
    if code:
        both = "\n".join(part.strip("\n") for part in (output, errors) if part.strip())
        stage.stream.refuse(call, f"Exit code {code}\n{both}".rstrip("\n"))
        return output
    shown, quiet = output.rstrip("\n"), {"interrupted": False, "isImage": False}
    detail = {"stdout": shown, "stderr": errors.rstrip("\n"), **quiet, "noOutputExpected": not output}
    stage.stream.reply(call, shown, detail)
    return output


def _execute(stage: Stage, argv: list[str], held: tuple[int, ...]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; 127 for an unknown program."""
    import subprocess

    own = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": stage.stream.session, "GIT_EDITOR": "true"}
    try:
        with stage.stream.lock:  # an interrupt finds the group to kill, or no child yet
            child = subprocess.Popen(
                argv,
                cwd=stage.scene.cwd,
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=held,
            )
            stage.group = child.pid
    except OSError as problem:
        return 127, "", f"{argv[0]}: {problem.strerror}\n"
    out, err = child.communicate()
    stage.group = 0
    code = child.returncode if child.returncode >= 0 else 128 - child.returncode
    return code, out.decode(errors="replace"), err.decode(errors="replace")


def _text_or_none(path: str) -> str | None:
    return files.read(path, errors="replace") if files.is_file(path) else None


def _hunk(before: str, after: str) -> dict[str, Any]:
    old, new = before.splitlines(), after.splitlines()
    lines = [f"-{line}" for line in old] + [f"+{line}" for line in new]
    return {"oldStart": 1, "oldLines": len(old), "newStart": 1, "newLines": len(new), "lines": lines}


def _refusal(problem: OSError, path: str) -> str:
    name = errno.errorcode.get(problem.errno or 0, "EIO")
    return f"{name}: {(problem.strerror or 'failed').lower()}, open '{path}'"
