"""The house: core ← adapters ← engine ← cli; core touches nothing; files and functions are small; starting is cheap."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ralphy"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
MODULES = [path.relative_to(ROOT).as_posix() for path in FILES]

# layer -> what it may import of ralphy, itself aside
LAYERS = {
    "core": (),
    "adapters": ("core", "resources"),
    "engine": ("core", "adapters", "resources"),
    "cli": ("core", "adapters", "engine", "resources", "demo"),
    "rehearsal": ("core",),
    "demo": ("core", "resources"),
    "resources": (),
    "__init__": (),
    "__main__": ("cli", "adapters"),
}
UNCLEAN = {
    "os", "pathlib", "subprocess", "time", "datetime", "git", "io", "shutil", "tempfile", "socket", "select", "signal",
    "threading", "multiprocessing", "concurrent", "asyncio", "fcntl", "stat", "glob", "random", "secrets", "uuid",
    "sys", "logging", "urllib", "http", "requests", "watchfiles", "yaml", "jinja2", "jsonschema", "rich", "click",
    "psutil",
}  # fmt: skip
HEAVY = {"yaml", "jsonschema", "jinja2", "git", "watchfiles", "rich", "asyncio", "psutil"}
# module -> heavy import at its top, and why
ALLOWED = {
    "ralphy/adapters/prompt_language.py": {"jinja2": "it extends jinja2's classes, and is itself imported when used"},
}
MOST_LINES, MOST_OF_A_FUNCTION = 420, 40


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def imports(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """The full names of what is imported; `from a import b` gives a and a.b."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_the_top(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when the module is imported: not the bodies of functions, nor what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from at_the_top(node)


def layer_of(module: str) -> str:
    """core of ralphy/core/model.py, and of ralphy.core.model."""
    parts = module.removesuffix(".py").replace("/", ".").split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    layer = layer_of(module)
    found = {layer_of(name) for name in imports(ast.walk(parsed(module))) if name.startswith("ralphy.")}
    names = {path.stem for path in PACKAGE.iterdir()}
    assert found & names - {layer} <= set(LAYERS[layer])


@pytest.mark.parametrize("module", [module for module in MODULES if layer_of(module) == "core"])
def test_core_touches_nothing(module: str) -> None:
    tree = parsed(module)
    assert UNCLEAN.isdisjoint(name.split(".")[0] for name in imports(ast.walk(tree)))
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert calls.isdisjoint({"open", "print", "input", "exec", "eval", "__import__"})


@pytest.mark.parametrize("module", [module for module in MODULES if layer_of(module) not in ("cli", "__main__")])
def test_nothing_below_asks_the_command_line_or_the_rehearsal(module: str) -> None:
    found = set(imports(ast.walk(parsed(module))))
    assert not any(name.startswith("ralphy.cli") for name in found)
    if layer_of(module) not in ("rehearsal", "demo"):
        assert not any(name.startswith("ralphy.rehearsal") for name in found)


@pytest.mark.parametrize("module", [module for module in MODULES if layer_of(module) not in ("rehearsal", "demo")])
def test_heavy_imports_are_made_where_they_are_used(module: str) -> None:
    found = {name.split(".")[0] for name in imports(at_the_top(parsed(module)))} & HEAVY
    assert found <= ALLOWED.get(module, {}).keys()


def test_every_exception_is_still_one() -> None:
    for module, allowed in ALLOWED.items():
        found = {name.split(".")[0] for name in imports(at_the_top(parsed(module)))}
        assert allowed.keys() <= found, module


@pytest.mark.parametrize("module", MODULES)
def test_a_file_is_one_thing(module: str) -> None:
    lines = (ROOT / module).read_text(encoding="utf-8").count("\n")
    assert lines <= MOST_LINES, f"{module} has {lines} lines"


@pytest.mark.parametrize("module", MODULES)
def test_a_function_is_one_verb(module: str) -> None:
    long = [
        f"{node.name} ({size} lines)"
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (size := (node.end_lineno or 0) - node.lineno + 1) > MOST_OF_A_FUNCTION
    ]
    assert not long


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_is_for(module: str) -> None:
    assert ast.get_docstring(parsed(module))


def test_every_folder_of_the_package_is_a_layer() -> None:
    assert {layer_of(module) for module in MODULES} <= LAYERS.keys()
