"""Files that steer: what they say is done by the next agents, by CI, or by the next command that a person types.

A story may change them; but they act before anybody has read the diff. So they are named, with the moment by which they
should be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ralphy.pipeline.model import Prd
from ralphy.testguard.findings import Finding, Kind, listed_names

_MOST_NOTED = 20


# (by when a person should have read such a file, its names): they match the last parts of a path, in any case; a
# folder's name ends with a slash, for all that is in it.
_TABLE = (
    ("before an agent works here", (
        "claude.md", "claude.local.md", "agents.md", "agents.override.md", "agent.md", "gemini.md", "qwen.md",
        "warp.md", ".claude/", ".mcp.json", "mcp.json", ".cursorrules", ".cursor/", ".windsurfrules", ".windsurf/",
        ".clinerules", ".clinerules/", ".goosehints", ".roorules", ".roomodes", ".roo/", ".aider.conf.yml",
        ".codex/", ".gemini/", ".junie/", ".kiro/", ".continue/", ".opencode/", "opencode.json",
        ".github/copilot-instructions.md", ".github/instructions/", ".github/prompts/", ".github/agents/",
        ".github/chatmodes/")),
    ("before you run make", ("makefile", "gnumakefile", "*.mk")),
    ("before you run its recipes", (
        "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "rakefile", "mise.toml",
        ".mise.toml", ".mise/", "devbox.json", "procfile")),
    ("before you enter this folder with direnv", (".envrc", ".direnvrc")),
    ("before you install packages", (
        ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpmfile.js", "bunfig.toml", "pip.conf", ".cargo/",
        ".bundle/", "nuget.config", ".mvn/")),
    ("before you commit", (
        ".pre-commit-config.yaml", ".pre-commit-config.yml", ".husky/", ".githooks/", "lefthook.yml", ".lefthook.yml",
        "lefthook.yaml", ".lefthook/", ".overcommit.yml", ".lintstagedrc", ".lintstagedrc.json")),
    ("before you open this folder in an editor", (
        ".vscode/", ".idea/", ".devcontainer/", ".devcontainer.json", "*.code-workspace", ".zed/", ".fleet/", ".exrc",
        ".nvimrc", ".nvim.lua", ".vimrc", ".dir-locals.el")),
    ("before the branch is pushed", (
        ".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/", "jenkinsfile", ".circleci/",
        "azure-pipelines.yml", ".azure-pipelines/", ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml",
        ".woodpecker/", ".woodpecker.yml", ".buildkite/", ".forgejo/", ".gitea/", "appveyor.yml", ".appveyor.yml",
        "cloudbuild.yaml", ".ci/", ".cirrus.yml", ".teamcity/", "dagger.json")),
)  # fmt: skip


def _pattern(name: str) -> str:
    inner = re.escape(name.strip("/")).replace(r"\*", r"[^/]*")
    return rf"(?:.*/)?{inner}" + ("(?:/.*)?" if name.endswith("/") else "")


_PATTERNS = tuple((moment, re.compile("|".join(map(_pattern, names)), re.S)) for moment, names in _TABLE)


def read_before(path: str) -> str:
    """By when a person should have read a file of this path; "" for one that steers nobody."""
    folded = path.casefold()
    return next((moment for moment, pattern in _PATTERNS if pattern.fullmatch(folded)), "")


def steering_findings(paths: Iterable[str]) -> Iterator[Finding]:
    """A finding for each changed file that steers somebody."""
    dated = ((path, read_before(path)) for path in paths)
    return (Finding(Kind.STEERING, f"{path} (read it {moment})") for path, moment in dated if moment)


def steering_files(paths: Iterable[str]) -> list[str]:
    """Those of the paths that steer somebody, as many as evidence should hold."""
    return [path for path in paths if read_before(path)][:_MOST_NOTED]


def steering_of(prd: Prd) -> list[str]:
    """A line for each file that steers and was changed by completed stories: `Makefile (US-003): read it before …`."""
    stories: dict[str, list[str]] = {}
    for story in prd.stories:
        noted = (story.raw.get("evidence") or {}).get("steering") if story.is_completed else None
        for path in noted if isinstance(noted, list) else ():
            stories.setdefault(str(path), []).append(story.id)
    return [f"{listed_names([path])} ({', '.join(ids)}): read it {read_before(path) or 'before you use it'}"
            for path, ids in stories.items()]  # fmt: skip


def steering_notice(prd: Prd) -> str:
    """The same in one sentence; "" if there is none."""
    lines = steering_of(prd)
    return f"files that steer agents, CI or what you run were changed: {'; '.join(lines)}" if lines else ""
