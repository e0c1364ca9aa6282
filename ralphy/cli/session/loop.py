"""The loop of a session: a command begins it, and the Stop hook asks `decide` for the next story each time the session
stops."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ralphy.cli.options import Invocation
from ralphy.documents.session_loop import MOST_BYTES, PATH, SessionLoop, as_text, read_loop
from ralphy.engine.feature.ignored_files import exclude
from ralphy.engine.reconcile import until_run
from ralphy.engine.session_work import give_up, session_prompt, settle_session
from ralphy.engine.view.observe import observe
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict, RalphyError
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular, read_tail
from ralphy.pipeline.decide import decide
from ralphy.pipeline.decision import RunAgent
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.session_mode import SCRIPT, mode_of
from ralphy.pipeline.steps import names
from ralphy.text.counted import counted
from ralphy.text.first_few import first_few
from ralphy.text.json_coerce import blocks_of, mapping_of, text_of

DONE, FAILED = "STORY_DONE", "FAILED"
_MOST_NAMED = 5
_TAIL = 1024 * 1024
_PROMISE = re.compile(r"<promise>\s*(.*?)\s*</promise>")


@dataclass(frozen=True, slots=True)
class Judged:
    """The loop after its story was judged: `ending` is DONE or FAILED if the story is over; `text` says why."""

    loop: SessionLoop
    ending: str
    text: str


def loop_in(root: Path) -> SessionLoop | None:
    """The loop of a checkout, of any session."""
    data = read_regular(root / PATH, MOST_BYTES)
    return read_loop(data.decode("utf-8", "replace")) if data else None


def keep_loop(root: Path, loop: SessionLoop) -> None:
    (root / PATH).parent.mkdir(exist_ok=True)
    replace_file(root / PATH, as_text(loop).encode(), durable=False)


def end_loop(root: Path) -> None:
    (root / PATH).unlink(missing_ok=True)


def begin(call: Invocation, feature: str | None, wanted: str, only: str, loop: SessionLoop) -> dict[str, str]:
    """Choose the mode, and save the loop if the session does the stories; `prompt` is the session's task.

    `only` is the story to do, "" for the next one. `loop` names the session.
    """
    call.require_allowed()
    with call.edited(feature, "session") as (w, s):
        mode, why = mode_of(s, w.config, wanted)
        choice = {"feature": s.feature, "mode": mode, "why": why}
        if mode == SCRIPT:
            how = f"Run `ralphy loop {s.feature}` in the background, follow it with `ralphy status {s.feature}`"
            return {**choice, "prompt": f"{how}, and tell the person when it waits or has ended."}
        root = w.repository.root
        old = loop_in(root)
        if old and old.session_id != loop.session_id:
            raise Conflict(f"another session runs a loop here, at {old.story} of {old.feature}",
                           hint="ralphy plugin cancel")  # fmt: skip
        w.session = replace(w.session, only=(only,) if only else ())
        base, limits = old.base if old and old.feature == s.feature else "", w.config.limits
        begun, why_not = _at_next(w, replace(loop, feature=s.feature, base=base, max_attempts=limits.max_attempts,
                                             max_iterations=limits.max_iterations))  # fmt: skip
        if begun is None:
            return {**choice, "prompt": f"No story can begin: {why_not}. Tell the person; change nothing."}
        exclude(w.repository, PATH)
        keep_loop(root, begun)
    return {**choice, "prompt": begun.prompt}


def _at_next(w: Workspace, loop: SessionLoop) -> tuple[SessionLoop | None, str]:
    """(the loop at the next story of `decide`, ""), or (None, why no story can begin)."""
    s = observe(w)
    if not any(story.is_open for story in s.prd.stories):
        return None, decide(s, w.config).reason
    s, decision = until_run(w)
    if not (isinstance(decision, RunAgent) and decision.step == names.STORY and decision.story):
        return None, decision.reason
    story = s.prd.story(decision.story)
    at = replace(loop, story=story.id, base=loop.base or s.tree.head, attempts=0)
    return replace(at, prompt=session_prompt(w, s, story, at)), ""


def on_stop(call: Invocation, root: Path, loop: SessionLoop, given: Mapping[str, Any]) -> dict[str, str]:
    """The answer of the Stop hook: a block with the next prompt, or a message that lets the session stop."""
    promised = promises(given)
    try:
        call.require_allowed()
        with call.edited(loop.feature, "session") as (w, s):
            judged = _judged(w, s, loop, promised)
            following, why_over = _next(w, judged, promised)
    except RalphyError as error:  # the loop goes on when the session stops the next time
        return _message(f"{error}" + (f" ({error.hint})" if error.hint else ""))
    if why_over:
        end_loop(root)
        ending = judged.ending or FAILED
        if loop.is_one and ending not in promised:  # the caller of /ralph-exec reads its last line
            return _block(f"{judged.text} End with this line alone: <promise>{ending}</promise>")
        return _message(f"{judged.text} {why_over} ({loop.feature}: {counted(loop.iteration, 'iteration')})")
    following = replace(following, iteration=loop.iteration + 1)
    keep_loop(root, following)
    head = (
        f"Iteration {following.iteration} of at most {following.max_iterations} (/ralphy:cancel-ralph ends the loop)."
    )
    return _block(f"{head}\n\n{judged.text}\n\n{following.prompt}")


def _message(text: str) -> dict[str, str]:
    return {"systemMessage": f"ralphy: {text}"}


def _block(reason: str) -> dict[str, str]:
    return {"decision": "block", "reason": reason}


def _judged(w: Workspace, s: Snapshot, loop: SessionLoop, promised: set[str]) -> Judged:
    """Judge what the session has committed for its story."""
    story = next((one for one in s.prd.stories if one.id == loop.story), None)
    if story is None or not story.is_open:  # a person has decided
        is_done = story is not None and story.is_completed
        base = s.tree.head if is_done else loop.base
        return Judged(replace(loop, base=base), DONE if is_done else FAILED, f"{loop.story} is no longer open.")
    tried = replace(loop, attempts=loop.attempts + 1)
    settled = settle_session(w, s, story, tried)
    if settled.commit:
        return Judged(replace(tried, base=settled.commit), DONE, f"{story.id} is verified and completed.")
    if FAILED in promised or (settled.has_commits and tried.attempts >= tried.max_attempts):
        undone = give_up(w, s, story, tried, settled.reason)
        reverted = f", and commit {undone[:10]} reverts its changes" if settled.has_commits else ""
        return Judged(replace(tried, base=undone), FAILED, f"{story.id} failed{reverted}. Reason: {settled.reason}")
    text = f"{story.id} is not completed yet: {settled.reason}"
    return Judged(tried if settled.has_commits else loop, "", text)


def _next(w: Workspace, judged: Judged, promised: set[str]) -> tuple[SessionLoop, str]:
    """(the loop at the next story, why the loop is over or "")."""
    loop = judged.loop
    if judged.ending and loop.is_one:
        return loop, "The loop ends after one story, as requested."
    if loop.completion_promise in promised:
        left = [story.id for story in observe(w).prd.stories if story.is_open]
        return loop, f"The session ends the loop; still open: {first_few(left, _MOST_NAMED) or 'nothing'}"
    if loop.iteration >= loop.max_iterations:
        return loop, "The maximum number of iterations is reached."
    if not judged.ending:
        return loop, ""
    following, why = _at_next(w, loop)
    return (following, "") if following else (loop, f"{why}; next: ralphy loop {loop.feature}")


def promises(given: Mapping[str, Any]) -> set[str]:
    """The promises of the session's last message, each on a line of its own. The message is in the hook's input, else
    in the transcript."""
    message = str(given.get("last_assistant_message") or "") or _last_message(
        Path(str(given.get("transcript_path") or ""))
    )
    return {match[1] for line in message.splitlines() if (match := _PROMISE.fullmatch(line.strip()))}


def _last_message(transcript: Path) -> str:
    """The last text of the session itself, not of its subagents; a line that is cut off is skipped."""
    for line in reversed(read_tail(transcript, _TAIL).decode("utf-8", "replace").splitlines()):
        try:
            entry = mapping_of(json.loads(line))
        except ValueError:
            continue
        if entry.get("type") == "assistant" and not entry.get("isSidechain"):
            message = mapping_of(entry.get("message"))
            blocks = (text_of(block.get("text")) for block in blocks_of(message) if block.get("type") == "text")
            return text_of(message.get("content")) or "\n".join(blocks)
    return ""
