"""Files are read through the readers that cannot hang, and folders walked by the one walk that follows no links."""

from __future__ import annotations

import ast

from tests.core.test_layers import MODULES, parsed

DIRECT = {"read_text", "read_bytes", "rmtree", "rglob"}
# module -> why it reads or removes directly
ALLOWED = {
    "ralphy/resources.py": "Ralphy's own files",
    "ralphy/scaffold/writer.py": "Ralphy's own templates",
    "ralphy/processes/supervisor.py": "a script by itself",
    "ralphy/processes/resource_limits.py": "/proc",
    "ralphy/lanes/other_paths.py": "/proc",
    "ralphy/files/read.py": "the reader",
    "ralphy/cli/setup/demo.py": "the demo's own folder",
    "ralphy/cli/status/repositories.py": "the names of folders, no file",
}
PROGRAMS = ("ralphy/rehearsal/", "ralphy/demo/")  # the stand-in for an agent, and a toy


def reads_directly(call: ast.Call) -> str:
    """The name of a call that opens a file to read it, or goes through folders; "" for any other."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    owner = getattr(call.func.value, "id", "") if isinstance(call.func, ast.Attribute) else ""
    if (name in DIRECT and isinstance(call.func, ast.Attribute)) or (owner, name) == ("os", "walk"):
        return name
    words = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    writes = any(set(word) & set("xwa") and len(word) < 4 for word in words)
    return name if isinstance(call.func, ast.Name) and name == "open" and not writes else ""


def test_no_module_reads_around_the_readers() -> None:
    judged = [path for path in MODULES if not path.startswith(PROGRAMS) and path not in ALLOWED]
    calls = ((module, node) for module in judged for node in ast.walk(parsed(module)) if isinstance(node, ast.Call))
    found = [f"{module}:{call.lineno}: {name}" for module, call in calls if (name := reads_directly(call))]
    assert found == []
