"""A project of two trees, before a story and after it, judged as `ralphy prove` does: without an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralphy.engine.lane_use.checks import run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.verify.baseline_records import record_baseline
from ralphy.engine.verify.verify import judge_tree
from ralphy.engine.workspace.subject import Subject, working_on
from ralphy.pipeline.model import Story
from tests.engine.building import build, open_feature, story

Files = Mapping[str, "str | None"]


@dataclass(frozen=True, slots=True)
class Judged:
    """`failure` is why a change does not count, `warnings` what is said of one that does, `runs` the checks' runs by
    purpose, `narrowed` how many of them ran files of tests alone, and `tests` what its evidence says of tests."""

    failure: str
    warnings: tuple[str, ...]
    runs: Mapping[str, int]
    narrowed: int
    tests: Mapping[str, Any]

    @property
    def flags(self) -> str:
        return "; ".join(self.warnings)


class Repository:
    """A repository whose checks have run on its first tree; changes of it are judged one after the other."""

    def __init__(self, tmp_path: Path, run: str, files: Mapping[str, str], beside: str = "", **settings: Any) -> None:
        """`beside` is the command of a second check."""
        checks = [{"name": "test", "run": run}, *([{"name": "beside", "run": beside}] if beside else [])]
        verify = {"unproved": "off", "steering_files": "flag", **settings}
        self._project = build(tmp_path, story("US-001"), checks=checks, verify=verify)
        (self._project.repo / "check.py").unlink()
        self._write(files)
        self._project.commit("feat: what is there")
        self._green = self._tree("HEAD")
        with open_feature(self._project.repo, self._project.path, self._project.env) as w:
            lay_out_clean(w, self._green)
            results = run_checks(w, "baseline", until_red=False)
            assert all(result.is_green for result in results), [result.output for result in results]
            record_baseline(w, w.code_of(self._green), results)

    def judge(self, change: Files, **fields: Any) -> Judged:
        """What is said of a story that writes these files (None: deletes)."""
        self._write(change)
        self._project.git("add", "--all", ".", ":!docs")
        tree = self._project.git("write-tree").strip()
        with open_feature(self._project.repo, self._project.path, self._project.env) as w:
            tree = w.objects.graft(self._green, {p: now for p, _, now in w.objects.changes(self._green, tree)
                                                 if not p.startswith(("docs/", ".ralphy/"))})  # fmt: skip
            files = tuple(path for path, _, _ in w.objects.changes(self._green, tree))
            about = Subject("US-001")
            with working_on(about):
                told = judge_tree(w, Story.of(story("US-001", **fields), 0),
                                  Candidate(tree, w.code_of(tree), self._green, files))  # fmt: skip
        self._project.git("reset", "--quiet", "--hard", "HEAD")
        return Judged(told.failure, tuple(told.warnings), dict(about.check_runs), about.narrowed.total(), told.tests)

    def _tree(self, name: str) -> str:
        return self._project.git("rev-parse", f"{name}^{{tree}}").strip()

    def _write(self, files: Files) -> None:
        for name, text in files.items():
            path = self._project.repo / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
