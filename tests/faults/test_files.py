"""Files and disks that refuse, lie in the way, or have odd names: refused in words, or done; never half done."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphy.documents.prd_reader import check_prd
from ralphy.engine.feature.land import NewCommit, land
from ralphy.errors import Conflict, EnvironmentProblem, ExitCode, RalphyError
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from tests.engine.building import assert_clean, breaks, build, open_feature, story, works
from tests.sampling import sampled


def into_pipe(path: Path) -> None:
    os.mkfifo(path)


def into_device(path: Path) -> None:
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero, which never ends


LIES_IN_THE_WAY: dict[str, Callable[[Path], object]] = {
    "folder": lambda path: path.mkdir(),
    "pipe": into_pipe,
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "circle": lambda path: path.symlink_to(path.name),
    "device": into_device,
}


@pytest.mark.fault("F8")
def test_what_is_no_file_in_prd_jsons_place_is_refused_without_waiting(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    path = project.folder / "prd.json"
    path.unlink()
    for what, lay in LIES_IN_THE_WAY.items():
        if what == "device" and os.geteuid():
            continue  # making one needs root
        lay(path)
        with pytest.raises(RalphyError, match=r"prd\.json"):
            project.loop()
        assert read_regular(path) is None
        path.rmdir() if what == "folder" else path.unlink()
    assert not project.journal("run")


ODD = ["a b  c", "it's", "ünïcödé 🎉", "-x --help", "$(touch hit);`id`", "%s {x} \\n", "n" * 200]


@pytest.mark.parametrize("name", sampled(ODD, "ünïcödé 🎉", "$(touch hit);`id`"))
@pytest.mark.fault("F10")
def test_a_story_lands_in_a_repository_with_an_odd_path(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    project = build(tmp_path / name, story("US-001"))

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert_clean(project)
    assert not list(tmp_path.rglob("hit"))


@pytest.mark.fault("F11")
def test_a_rename_that_fails_names_the_file_and_leaves_the_old_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prd.json"
    path.write_bytes(b"old")
    for number in (errno.EXDEV, errno.ESTALE, errno.EROFS):
        monkeypatch.setattr(Path, "replace", refusing(number))
        with pytest.raises(EnvironmentProblem, match=r"prd\.json: cannot be written"):
            replace_file(path, b"new")

        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["prd.json"]


def refusing(number: int) -> Callable[..., None]:
    """A call of the system that always fails so."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.fault("M5")
def test_a_reader_sees_a_whole_prd_json_while_attempts_fail_and_land(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 5})
    project.play(stories={"US-001": [breaks(), works()]})
    path, over, seen, torn = project.folder / "prd.json", threading.Event(), [], []

    def read() -> None:
        while not over.wait(0.001):
            try:
                seen.append(check_prd(path.read_bytes(), "prd.json") is not None)
            except (OSError, RalphyError) as error:
                torn.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        project.loop(agents=2)
    finally:
        over.set()
        reader.join()
    assert torn == []
    assert len(seen) > 100


@pytest.mark.fault("F14")
def test_without_any_watcher_the_tick_finds_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Touching the marker opens the gate even where the watcher raises."""
    import watchfiles

    from ralphy.engine import wakeups

    monkeypatch.setattr(watchfiles, "watch", refusing(errno.ENOSPC))
    monkeypatch.setattr(wakeups, "RESYNC_S", 0.1)

    with wakeups.Wakeups([tmp_path], resync_s=30.0) as waiting:
        waits = [waiting.wait(30.0) for _ in range(5)]

    assert waits == [False] * 5


@pytest.mark.fault("F14")
def test_where_no_watches_are_left_the_folders_are_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles

    from ralphy.engine.wakeups import Wakeups

    asked: list[object] = []
    native = watchfiles.watch

    def picky(*folders: Path, **words: object) -> object:
        asked.append(words["force_polling"])
        if not words["force_polling"]:
            raise OSError(errno.ENOSPC, "OS file watch limit reached")
        return native(*folders, **words)  # type: ignore[arg-type]

    monkeypatch.setattr(watchfiles, "watch", picky)
    with Wakeups([tmp_path]) as waiting:
        for number in range(300):
            (tmp_path / "new").write_text(str(number), encoding="utf-8")
            if is_changed := waiting.wait(0.2):
                break

    assert asked == [None, True]
    assert is_changed


@pytest.mark.fault("G2")
def test_a_landing_that_is_refused_leaves_no_half_written_file(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.loop(agents=1)
    head = project.tip
    before = {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()}
    with open_feature(project.repo, project.path, project.env) as w:
        files: dict[str, bytes | None] = {"prd.json": b"{}", "progress.txt": b"-\n", "stories/US-009.md": b"new\n"}
        tree = w.objects.tree_of(head)
        sibling = project.git("commit-tree", tree, "-m", "where the branch was")
        with pytest.raises(Conflict):
            land(w, NewCommit("feat: too late", [], tree, sibling, files))
    assert {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()} == before
    assert project.tip == head
    assert project.loop().code == ExitCode.WAITING
