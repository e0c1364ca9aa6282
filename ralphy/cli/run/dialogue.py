"""The dialogues of `ralphy start` on a terminal: the question at a gate, and with --interactive the one after each
story."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from ralphy.cli.output import Output, harmless
from ralphy.cli.run import clarifying
from ralphy.cli.run.live import Live
from ralphy.engine.feature import documents
from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.person.at_gate import documents_to_read
from ralphy.engine.person.story_changes import change_stories
from ralphy.engine.view.observe import observe
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import RalphyError
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.pipeline import decision as d
from ralphy.pipeline.clarifications import Clarification
from ralphy.pipeline.steps.clarify import CLARIFY
from ralphy.pipeline.steps.names import QA
from ralphy.pipeline.steps.step import CODE
from ralphy.pipeline.steps.table import step_of
from ralphy.pipeline.stories import over
from ralphy.pipeline.story_changes import StoryChange, Verb
from ralphy.processes import program_paths
from ralphy.text.tone import FAINT, STRONG, WAITING

_MOST_STORIES = 12
_WORDS_BESIDE_ANSWERS = ("approve", "edit", "later")
_SAFE_DIFF = ("diff", "--no-ext-diff", "--no-textconv")


class GateDialogue:
    """Asks a person at a gate, and writes the marker for the answer. `end NAME` ends the feature."""

    def __init__(self, output: Output, workspace: Workspace, live: Live) -> None:
        self._output = output
        self._w = workspace
        self._live = live
        self._asked: d.Wait | None = None
        self._wants_remarks = False

    def ask(self, wait: d.Wait) -> None:
        """At a gate, list what to read and ask; at a limit, say how to stop."""
        self._asked, self._wants_remarks = wait, False
        if not wait.gate:
            self._output.note("Ralphy resumes by itself; to stop, type s and Return.")
            return
        self._live.pause()
        for text, tone in _to_read(self._w, wait.gate):
            self._output.note(text, tone)
        self._prompt()

    def take(self, line: str) -> bool:
        """Take a line: at a gate one of the letters, `n` also with remarks; at a limit `s`. False ends the wait."""
        if self._asked and not self._asked.gate:
            self._live.typed()
            return line.strip().lower() not in ("s", "stop", "q", "n")
        if self._wants_remarks:
            return self._mark("REJECTED", line.strip()) if line.strip() else self._later()
        if self._clarifies(line.strip()):
            return True
        word, _, remarks = line.strip().partition(" ")
        match word.lower():
            case "y" | "yes" | "approve":
                return self._mark("APPROVED", "")
            case "n" | "no":
                return self._mark("REJECTED", remarks.strip()) if remarks.strip() else self._want_remarks()
            case "d" | "diff":
                return self._show()
            case "e" | "edit":
                return self._edit()
            case "q" | "later":
                return self._later()
            case "end" if remarks.strip() == self._w.feature.name:
                return self._mark("REJECTED", "")
        return self._explain()

    def _unclear(self) -> list[Clarification]:
        is_asked = self._asked is not None and self._asked.gate == CLARIFY.name
        return clarifying.open_questions(self._w) if is_asked else []

    def _clarifies(self, words: str) -> bool:
        """Take the line as the answer to the question on the screen, unless it is one of the three words."""
        open_ = self._unclear()
        if not open_ or words.lower() in _WORDS_BESIDE_ANSWERS:
            return False
        if not clarifying.answer(self._w, open_[0].id, words):
            self._prompt()  # nothing was typed
        return True  # the answer is an edit of the document: the next look asks the next question

    def _prompt(self) -> None:
        assert self._asked
        if open_ := self._unclear():
            self._output.note(f"\n{open_[0].text}\n")
            self._output.note("A letter, or your own words? (or: approve, edit, later) ", STRONG)
            return
        what = "review" if self._asked.gate == QA else self._asked.gate
        self._output.note(f"Approve the {what} of {self._w.feature.name}? [y/n/d/e/q] ", STRONG)

    def _explain(self) -> bool:
        self._output.note("y approves, n rejects with remarks for the agent, d shows what is to be read, e opens it in "
                          f"your editor,\nq decides later; end {self._w.feature.name} ends the feature")  # fmt: skip
        self._prompt()
        return True

    def _mark(self, name: str, text: str) -> bool:
        replace_file(self._w.feature.file(name), text.encode("utf-8", "surrogateescape"), durable=False)
        return True

    def _want_remarks(self) -> bool:
        self._wants_remarks = True
        self._output.note("What should change? (nothing: decide later) ", STRONG)
        return True

    def _later(self) -> bool:
        name = self._w.feature.name
        self._output.note(f"Not now: the gate stays open. `ralphy start {name}` asks again.")
        return False

    def _show(self) -> bool:
        """Show the documents, or for a review the code's changes, in the person's pager."""
        assert self._asked
        step = step_of(self._asked.gate)
        if CODE in step.inputs:
            text = changes_of_the_code(self._w)
        else:
            contents = (documents.to_read(self._w, name) for name in step.at_gate)
            text = "\n\n".join(data.decode("utf-8", "replace").rstrip() for data in contents if data)
        page = harmless(text or "nothing to show")
        if not self._own_program(os.environ.get("PAGER") or "less -FRX", (), page):
            self._output.verbatim(page.rstrip("\n") + "\n")
        self._prompt()
        return True

    def _edit(self) -> bool:
        """Open the document in the person's editor; a changed one is a new document to approve."""
        assert self._asked
        document = self._w.feature.file(step_of(self._asked.gate).document)
        path, before = str(document), read_regular(document)
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        if not self._own_program(editor, (path,), None):
            self._output.note(f"no editor is found by VISUAL or EDITOR: edit {path}")
        if before == read_regular(document):
            self._prompt()  # a changed document is asked about at the next look
        return True

    def _own_program(self, command: str, more: tuple[str, ...], text: str | None) -> bool:
        """Run a program of the person's on the terminal, which gets Ctrl-C meanwhile. False if it is not found."""
        root, words = str(self._w.repository.root), shlex.split(command)
        program = program_paths.find(words[0], os.environ, root) if words else None
        if program is None:
            return False
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            data = None if text is None else text.encode("utf-8", "replace")
            subprocess.run([program, *words[1:], *more], input=data, check=False,
                           env=program_paths.own_environment(os.environ, root))  # fmt: skip
        except OSError:
            return False
        finally:
            signal.signal(signal.SIGINT, before)
        return True


class StoryDialogue:
    """With --interactive, asks a person after each story."""

    def __init__(self, output: Output, workspace: Workspace, live: Live) -> None:
        self._output = output
        self._w = workspace
        self._live = live

    def begin(self) -> None:
        """Skip the stories that are over already."""
        self._w.session = replace(self._w.session, over=over(observe(self._w, review=False).prd))

    def goes_on(self, story_id: str) -> bool:
        """Ask whether to go on, to do the story again, or to stop. False to stop, and at the end of the input."""
        name = self._w.feature.name
        self._live.pause()
        self._output.note(f"  look   ralphy story show {story_id} {name}", FAINT)
        while True:
            self._output.note(f"Go on, redo {story_id}, or stop? [g/r/s] ", STRONG)
            line = sys.stdin.readline()
            match line.strip().lower():
                case "g" | "go" | "go on":
                    break
                case "r" | "redo":
                    self._redo(story_id)
                    break
                case answer if answer in ("s", "stop", "q") or not line:
                    self._output.note(f"Stopped. `ralphy start {name} --interactive` goes on from here.")
                    return False
            self._output.note(f"g goes on, r does {story_id} again (its commit stays), s stops here")
        self.begin()
        return True

    def _redo(self, story_id: str) -> None:
        done = change_stories(self._w, observe(self._w, review=False), StoryChange(Verb.RESET, story_id))
        self._output.say(done.message)


def _to_read(w: Workspace, gate: str) -> Iterator[tuple[str, str]]:
    """The documents at the gate, and the stories or the size of the changes."""
    step = step_of(gate)
    yield f"\n{w.feature.name}: {step.document} waits for you", WAITING
    yield from ((f"  read   {w.feature.typed}/{name}", "") for name in documents_to_read(w, gate))
    if CODE in step.inputs:
        size = changes_of_the_code(w, "--shortstat").strip()
        yield (f"  code   {size}; git log {w.feature_branch}" if size else "  code   unchanged"), ""
    else:
        yield from ((f"  story  {text}", FAINT) for text in _stories(w))
    if gate != CLARIFY.name:
        yield "  y approve   n reject with remarks   d show   e edit   q decide later", FAINT


def _stories(w: Workspace) -> Iterator[str]:
    with suppress(RalphyError):  # a person may be editing it: the next look reports errors
        tip = work_tip(w)
        stories = (documents.committed_prd(w, tip) if tip else w.store.load()).stories
        yield from (f"{story.id} {story.title}" for story in stories[:_MOST_STORIES])
        if more := stories[_MOST_STORIES:]:
            yield f"and {len(more)} more"


def changes_of_the_code(w: Workspace, *options: str) -> str:
    """What the feature's branch changes of the code, as `git diff` prints it with these options; "" if it fails."""
    with suppress(RalphyError):
        tree, features = observe(w).tree, f":(top,exclude,literal){w.feature.path}"
        branches = f"{tree.base}...{tree.feature_branch}"
        return w.repository.run(*_SAFE_DIFF, *options, branches, "--", ".", features).decode("utf-8", "replace")
    return ""
