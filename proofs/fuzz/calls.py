"""The command line, called in this process for speed, with its descriptors caught; and now and then the real command."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
import unicodedata
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofs.fuzz.bench import Violation, alarm
from teamtasks.cli import main as cli
from teamtasks.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[2]
CODES = tuple(range(11))  # the documented ones: domain/errors.py
WIDTH = 100
_FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Told:
    """What a call came to."""

    def __init__(self, words: Sequence[str], code: int, out: bytes, err: bytes) -> None:
        self.words, self.code = list(words), code
        try:
            self.out, self.err = out.decode(), err.decode()
        except UnicodeDecodeError as error:
            raise Violation(f"{self.words}: what was printed is not UTF-8: {error}") from None

    def check(self, *, styles: bool = False) -> Told:
        """A documented exit code, no traceback, and nothing that a terminal would obey but rich's own styles."""
        if self.code not in CODES or "Traceback" in self.err:
            raise Violation(f"{self.words}: exit {self.code}, {self.err[:500]!r}")
        for text in (self.out, self.err):
            shown = _STYLE.sub("", text) if styles else text
            for place, char in enumerate(shown):
                if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
                    raise Violation(f"{self.words}: raw {char!r} in {shown[max(0, place - 40) : place + 20]!r}")
        return self


class Cli:
    """Calls for one home. The environment is this home's until ``close``."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._before = dict(os.environ)
        for name in [name for name in os.environ if name.startswith(("TEAMTASKS_", "CLAUDE"))]:
            del os.environ[name]
        self._own = {"TEAMTASKS_HOME": str(home), "XDG_STATE_HOME": str(home.parent / "state"), "COLUMNS": str(WIDTH)}
        os.environ.update(self._own)

    def close(self) -> None:
        os.environ.clear()
        os.environ.update(self._before)

    def __call__(self, *words: str, stdin: str = "", terminal: bool = False) -> Told:
        with alarm(f"{list(words)}"), _caught(stdin) as (out, err), _terminal(terminal):
            code = cli.main(list(words))
        return Told(words, code, out[0], err[0])

    def real(self, *words: str) -> Told:
        """The command in a process of its own."""
        call = [sys.executable, "-m", "teamtasks", *words]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(call, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
        return Told(words, done.returncode, done.stdout, done.stderr)

    def on_terminal(self, *words: str) -> Told:
        """The command on a terminal of its own."""
        ours, theirs = pty.openpty()
        call = [sys.executable, "-m", "teamtasks", *words]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        with subprocess.Popen(call, env=environ, stdin=theirs, stdout=theirs, stderr=theirs) as running:
            os.close(theirs)
            drawn = b"".join(iter(lambda: _drawn(ours), b""))
        os.close(ours)
        return Told(words, running.returncode, drawn.replace(b"\r\n", b"\n"), b"")


def _drawn(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except OSError:  # the last one on the other side has gone
        return b""


@contextmanager
def _caught(stdin: str) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The three standard descriptors lead to files; what was written is there when the block is left."""
    out: list[bytes] = []
    err: list[bytes] = []
    streams = sys.stdout, sys.stderr
    for stream in streams:
        stream.flush()
    saved = [os.dup(fd) for fd in (0, 1, 2)]
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile(dir=_FAST)) for _ in range(3)]
        files[0].write(stdin.encode("utf-8", "surrogateescape"))
        files[0].seek(0)
        for fd, file in enumerate(files):
            os.dup2(file.fileno(), fd)
        sys.stdout, sys.stderr = (open(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False) for fd in (1, 2))
        try:
            yield out, err
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = streams
            for fd, copy in enumerate(saved):
                os.dup2(copy, fd)
                os.close(copy)
            for found, file in ((out, files[1]), (err, files[2])):
                file.seek(0)
                found.append(file.read())


@contextmanager
def _terminal(yes: bool) -> Iterator[None]:
    """As if stdout were a terminal: tables and colours."""
    before: Any = output.is_terminal
    output.is_terminal = lambda: yes  # type: ignore[assignment]
    try:
        yield
    finally:
        output.is_terminal = before  # type: ignore[assignment]
