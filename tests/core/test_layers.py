"""Packages import one way; what is pure touches nothing; files and functions are small; starting is cheap."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ralphy"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
MODULES = [path.relative_to(ROOT).as_posix() for path in FILES]

# package -> what it may import of ralphy, itself aside; each only of what stands above it
PACKAGES: dict[str, set[str]] = {
    "__init__": set(),
    "errors": set(),
    "resources": set(),
    "secrets": set(),
    "text": {"errors"},
    "clock": set(),
    "files": {"errors"},
    "processes": {"errors", "files"},
    "git": {"errors", "files", "processes"},
    "sandbox": {"errors", "files", "processes"},
    "agents": {"clock", "text", "files", "processes", "sandbox"},
    "config": {"errors", "resources", "text", "files", "git", "agents"},
    "detect": {"errors", "files", "config"},
    "checks": set(),
    "testguard": {"checks"},
    "lanes": {"errors", "text", "files", "processes", "git", "sandbox", "config", "testguard"},
    "pipeline": {"errors", "text", "config", "checks", "testguard", "agents"},
    "notify": {"errors", "secrets", "text", "files", "processes", "config", "pipeline"},
    "documents": {"errors", "resources", "text", "files", "pipeline"},
    "exchange": {"errors", "text", "config", "documents"},
    "state": {"errors", "secrets", "text", "files", "agents", "pipeline", "documents"},
    "prompts": {"errors", "resources", "text", "files", "config", "checks", "pipeline", "documents"},
    "scaffold": {"errors", "resources", "files", "config", "detect", "documents"},
    "forge": {"errors", "text", "processes", "exchange"},
    "engine": {
        "errors", "clock", "secrets", "text", "files", "processes", "git", "sandbox", "config", "checks",
        "testguard", "agents", "lanes", "pipeline", "documents", "state", "prompts", "forge",
    },
    "rehearsal": {"errors", "resources"},
    "demo": {"errors", "resources"},
    "cli": {
        "__init__", "errors", "resources", "secrets", "text", "files", "processes", "git", "sandbox", "config",
        "lanes", "detect", "agents", "pipeline", "notify", "documents", "exchange", "state", "prompts", "scaffold",
        "forge", "engine", "demo",
    },
    "__main__": {"processes", "cli"},
}  # fmt: skip
# The same for the packages of the engine, and "" for what lies beside them.
ENGINE: dict[str, set[str]] = {
    "workspace": set(),
    "feature": {"workspace"},
    "lane_use": {"workspace", "feature"},
    "verify": {"workspace", "feature", "lane_use"},
    "runs": {"workspace", "feature", "lane_use", "verify"},
    "view": {"workspace", "feature", "verify"},
    "person": {"workspace", "feature", "lane_use", "verify", "runs", "view"},
    "": {"workspace", "feature", "lane_use", "verify", "runs", "view", "person"},
}
# What decides over plain values: whole packages, and modules of the others.
PURE = {
    "ralphy": ("errors",),
    "ralphy/agents": ("prose", "protocol", "status_report", "usage_windows", "variables"),
    "ralphy/agents/claude": (
        "activity", "loop_detection", "open_work", "outcome", "stream", "variables", "versions", "watchdog",
    ),
    "ralphy/checks": (
        "first_error", "listing", "runner_output",
    ),
    "ralphy/config": ("tightening", "values"),
    "ralphy/documents": (
        "criteria", "dependencies", "prd_merge", "prd_rules", "readiness", "report", "report_text", "review",
    ),
    "ralphy/pipeline": ("*",),
    "ralphy/prompts": ("budget", "review_brief", "spec_section"),
    "ralphy/sandbox": ("syscall_filter",),
    "ralphy/secrets": ("*",),
    "ralphy/testguard": ("*",),
    "ralphy/text": ("*",),
}  # fmt: skip
UNCLEAN = {
    "os", "pathlib", "subprocess", "time", "datetime", "git", "io", "shutil", "tempfile", "socket", "select", "signal",
    "threading", "multiprocessing", "concurrent", "asyncio", "fcntl", "stat", "glob", "random", "secrets", "uuid",
    "sys", "logging", "urllib", "http", "requests", "watchfiles", "jinja2", "rich", "click",
    "psutil", "ruamel",
}  # fmt: skip
HEAVY = {"jinja2", "git", "watchfiles", "rich", "asyncio", "psutil", "ruamel", "starlette", "uvicorn"}
# module -> heavy import at its top, and why
ALLOWED = {
    "ralphy/processes/process_table.py": {"psutil": "it asks of processes, and is imported where programs are run"},
    "ralphy/processes/supervision.py": {"psutil": "the same"},
    "ralphy/processes/resource_limits.py": {"psutil": "the same"},
    "ralphy/config/edit.py": {"ruamel": "it is made of it, and is itself imported when used"},
    "ralphy/cli/drawing.py": {"rich": "it is made of it, and is itself imported when something is drawn"},
    "ralphy/cli/run/live.py": {"rich": "it is imported where agents are run"},
    "ralphy/cli/run/panel.py": {"rich": "the same"},
    "ralphy/cli/dashboard/web.py": {
        "starlette": "it is made of it, and is itself imported when used",
        "uvicorn": "the same",
    },
    "ralphy/cli/dashboard/feed.py": {"asyncio": "the same", "starlette": "the same", "watchfiles": "the same"},
    "ralphy/cli/setup/environment.py": {"psutil": "doctor alone imports it"},
    "ralphy/engine/wakeups.py": {"watchfiles": "it is imported where features are watched"},
    "ralphy/prompts/language.py": {"jinja2": "it extends jinja2's classes, and is itself imported when used"},
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


def package_of(module: str) -> str:
    """pipeline of ralphy/pipeline/model.py, and of ralphy.pipeline.model."""
    parts = module.removesuffix(".py").replace("/", ".").split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def dotted(module: str) -> str:
    """ralphy.pipeline.model of ralphy/pipeline/model.py; ralphy.pipeline of its __init__.py."""
    return module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


NAMES = {dotted(module): module for module in MODULES}
PURE_MODULES = [
    module for folder, names in PURE.items() for name in names for module in MODULES
    if module == f"{folder}/{name}.py" or (name == "*" and module.startswith(f"{folder}/"))
]  # fmt: skip


def imported_modules(nodes: Iterator[ast.AST]) -> set[str]:
    """The modules of ralphy that are imported, by path; `from package import module` names the module alone."""
    found: set[str] = set()
    for node in nodes:
        named = [NAMES[name] for name in imports(iter((node,))) if name in NAMES]
        found.update(named[1:] or named if isinstance(node, ast.ImportFrom) else named)
    return found


def test_no_two_packages_import_each_other() -> None:
    above: set[str] = set()
    for package, allowed in PACKAGES.items():
        assert allowed <= above, f"{package} imports what stands below it"
        above.add(package)


def test_packages_import_what_they_may_and_all_of_it() -> None:
    made: dict[str, set[str]] = {package: set() for package in PACKAGES}
    for module in MODULES:
        package = package_of(module)
        made[package] |= {package_of(dotted(name)) for name in imported_modules(ast.walk(parsed(module)))} - {package}
    assert made == PACKAGES


def part_of(module: str) -> str:
    """lane_use of ralphy/engine/lane_use/checks.py; "" of what lies in the engine beside its packages."""
    parts = module.split("/")
    return parts[2] if len(parts) > 3 else ""


def test_the_packages_of_the_engine_import_one_way() -> None:
    made: dict[str, set[str]] = {part: set() for part in ENGINE}
    for module in (module for module in MODULES if package_of(module) == "engine"):
        found = {name for name in imported_modules(ast.walk(parsed(module))) if package_of(name) == "engine"}
        made[part_of(module)] |= {part_of(name) for name in found} - {part_of(module)}
    assert made == ENGINE
    above: set[str] = set()
    for part, allowed in ENGINE.items():
        assert allowed <= above, f"{part} imports what stands below it"
        above.add(part)


def test_modules_import_each_other_in_no_circle() -> None:
    waiting = {module: imported_modules(at_the_top(parsed(module))) - {module} for module in MODULES}
    while free := [module for module, needed in waiting.items() if needed.isdisjoint(waiting)]:
        for module in free:
            del waiting[module]
    assert waiting == {}


def test_what_is_pure_touches_nothing_and_imports_only_what_is_pure() -> None:
    calls_no = {"open", "print", "input", "exec", "eval", "__import__"}
    for module in PURE_MODULES:
        nodes = list(ast.walk(parsed(module)))
        imported = {name.split(".")[0] for name in imports(iter(nodes))}
        called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert (module, imported & UNCLEAN, called & calls_no) == (module, set(), set())
        assert (module, imported_modules(iter(nodes)) - set(PURE_MODULES)) == (module, set())


def test_every_name_of_what_is_pure_is_a_module() -> None:
    named = {f"{folder}/{name}.py" for folder, names in PURE.items() for name in names if name != "*"}
    assert named <= set(PURE_MODULES)
    assert {f"{folder}/__init__.py" for folder, names in PURE.items() if "*" in names} <= set(PURE_MODULES)


def test_nothing_asks_the_rehearsal_but_itself_and_the_demo() -> None:
    found = {module for module in MODULES for name in imports(ast.walk(parsed(module)))
             if name.startswith("ralphy.rehearsal")}  # fmt: skip
    assert {package_of(module) for module in found} <= {"rehearsal", "demo"}


def test_nothing_but_the_table_of_presets_names_an_agent() -> None:
    found = {module for module in MODULES for name in imports(ast.walk(parsed(module)))
             if name.startswith("ralphy.agents.claude")}  # fmt: skip
    assert {package_of(module) for module in found}.isdisjoint({"config", "pipeline", "state", "engine"})


def test_heavy_imports_are_made_where_they_are_used_and_every_exception_is_one() -> None:
    found = {module: {name.split(".")[0] for name in imports(at_the_top(parsed(module)))} & HEAVY
             for module in MODULES if package_of(module) not in ("rehearsal", "demo")}  # fmt: skip
    assert {module: names for module, names in found.items() if names} == {
        module: set(allowed) for module, allowed in ALLOWED.items()
    }


# Programs of their own, whose output somebody else reads.
SPEAKS = ("ralphy/sandbox/forward.py",)


def test_only_the_command_line_prints() -> None:
    silent = [module for module in MODULES if module not in SPEAKS
              and package_of(module) not in ("cli", "rehearsal", "demo", "__main__")]  # fmt: skip
    for module in silent:
        nodes = [node for node in ast.walk(parsed(module)) if isinstance(node, ast.Attribute | ast.Name)]
        names = {ast.unparse(node) for node in nodes}
        assert (module, names & {"print", "sys.stdout", "sys.stderr"}) == (module, set())


def test_a_file_is_one_thing_and_says_what_it_is_for() -> None:
    lines = {module: (ROOT / module).read_text(encoding="utf-8").count("\n") for module in MODULES}
    assert {module: number for module, number in lines.items() if number > MOST_LINES} == {}
    assert [module for module in MODULES if not ast.get_docstring(parsed(module))] == []


def test_no_two_classes_have_one_name() -> None:
    names = Counter(
        node.name for module in MODULES for node in ast.walk(parsed(module)) if isinstance(node, ast.ClassDef)
    )
    assert [name for name, number in names.items() if number > 1] == []


def test_a_function_is_one_verb() -> None:
    long = [
        f"{module}: {node.name} ({size} lines)"
        for module in MODULES
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (size := (node.end_lineno or 0) - node.lineno + 1) > MOST_OF_A_FUNCTION
    ]
    assert long == []


def test_every_folder_has_its_place() -> None:
    assert {package_of(module) for module in MODULES} == PACKAGES.keys()
