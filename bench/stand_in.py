"""The stand-in agent: as cheap as a program can be, so that what is measured is not the agent.

It notes when it starts and when it ends (CLOCK_MONOTONIC, nanoseconds, and its own CPU time in
microseconds), reads its prompt, writes one new code file and prints a finished run's stream. Called as
`stand-in STAMPS STREAM [anything]`, in the folder to work in.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long cpu_us(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000LL + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static void put(int fd, const char *text, size_t size) {
    if (write(fd, text, size) < 0) _exit(3);
}

int main(int count, char **words) {
    char line[128], stream[65536];
    long long began = now();
    int stamps = open(words[1], O_WRONLY | O_APPEND | O_CREAT, 0644), canned = open(words[2], O_RDONLY);
    if (count < 3 || stamps < 0 || canned < 0) return 2;
    put(stamps, line, snprintf(line, sizeof line, "start %lld 0\n", began));
    snprintf(line, sizeof line, "work_%lld.py", began);
    int code = open(line, O_WRONLY | O_CREAT, 0644);
    put(code, line, snprintf(line, sizeof line, "made_at = %lld\n", began));
    close(code);
    while (read(0, stream, sizeof stream) > 0) continue;
    put(1, stream, read(canned, stream, sizeof stream));
    put(stamps, line, snprintf(line, sizeof line, "end %lld %lld\n", now(), cpu_us()));
    _exit(0);
}
"""

_SH = r"""#!/bin/sh
uptime_ns() { read -r up _ < /proc/uptime; echo "${up%.*}${up#*.}0000000"; }
began=$(uptime_ns)
echo "start $began 0" >> "$1"
echo "made_at = $began" > "work_$began.py"
cat > /dev/null
cat "$2"
echo "end $(uptime_ns) 0" >> "$1"
"""

_REPORT = """All of it is there.
---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 1
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: none
---END_RALPH_STATUS---
<promise>STORY_DONE</promise>"""


@dataclass(frozen=True, slots=True)
class Stamp:
    """When an agent started or ended (nanoseconds, CLOCK_MONOTONIC); `cpu_us` is what it had used by then."""

    is_start: bool
    at_ns: int
    cpu_us: int


@dataclass(frozen=True, slots=True)
class StandIn:
    """The program, what it prints, and where its stamps go. `kind` is "C" or "sh" (10 ms steps)."""

    program: Path
    stream: Path
    stamps: Path
    kind: str

    @property
    def command(self) -> list[str]:
        return [str(self.program), str(self.stamps), str(self.stream)]

    def take_stamps(self) -> list[Stamp]:
        """What was noted since the last call."""
        try:
            rows = [line.split() for line in self.stamps.read_text().splitlines()]
        except FileNotFoundError:
            return []
        self.stamps.unlink()
        return [Stamp(kind == "start", int(at), int(cpu)) for kind, at, cpu in rows]


def build(folder: Path) -> StandIn:
    """Make the stand-in in a folder: compiled where there is a C compiler, else a shell script."""
    folder.mkdir(parents=True, exist_ok=True)
    program, stream = folder / "claude", folder / "stream.ndjson"
    stream.write_text("".join(json.dumps(event) + "\n" for event in _events()))
    compiler = shutil.which("cc")
    if compiler:
        source = folder / "claude.c"
        source.write_text(_C)
        subprocess.run([compiler, "-O1", "-o", str(program), str(source)], check=True)
    else:
        program.write_text(_SH)
        program.chmod(0o755)
    return StandIn(program, stream, folder / "stamps", "C" if compiler else "sh")


def _events() -> list[dict[str, object]]:
    session = "00000000-0000-4000-8000-000000000000"
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in",
            "content": [{"type": "text", "text": _REPORT}]}  # fmt: skip
    usage = {"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return [
        {"type": "system", "subtype": "init", "session_id": session, "model": "stand-in", "tools": ["Bash", "Edit"],
         "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "0.0.0"},
        {"type": "assistant", "message": said, "session_id": session},
        {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 1, "num_turns": 1,
         "result": _REPORT, "session_id": session, "total_cost_usd": 0.01, "usage": usage,
         "terminal_reason": "completed", "permission_denials": []},
    ]  # fmt: skip
