"""A team's files, to look at, to break and to compare. Shared by the tests of this directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from zlib import crc32

from teamtasks.store.files import journal
from teamtasks.store.files.store import FileStore

TEAMTASKS = str(Path(sys.executable).parent / "teamtasks")
LONG_AGO = 3600.0  # seconds: no save is under way in a file as old as this

BY_HAND = {"id": "task-9", "title": "written by hand"}


class Ledger:
    """The files of the team ``payments``."""

    def __init__(self, home: Path, team: str = "payments") -> None:
        self.home, self.team = home, team
        self.public = home / "tasks" / team
        self.private = home / "teamtasks" / team
        self.tasks = self.public / "tasks.json"
        self.new = self.public / ".tasks.json.new"
        self.previous = self.public / ".tasks.json.prev"
        self.journal = self.private / "journal.jsonl"
        self.journal_new = self.private / ".journal.jsonl.new"
        self.lock = self.private / "lock"
        self.messages = self.private / "messages.jsonl"
        self.quarantine = self.private / "quarantine"

    def store(self, **options: Any) -> FileStore:
        return FileStore(str(self.home), self.team, **options)

    def document(self) -> dict[str, Any]:
        return json.loads(self.tasks.read_bytes())

    def task(self, id: str) -> dict[str, Any]:
        return {task["id"]: task for task in self.document()["tasks"]}[id]

    def titles(self) -> dict[str, str]:
        return {task["id"]: task["title"] for task in self.document()["tasks"]}

    def revision(self) -> int:
        return self.lines()[-1]["rev"]

    def lines(self) -> list[dict[str, Any]]:
        """Every line of the journal; each of them must be whole."""
        return [_whole(text) for text in self.journal.read_bytes().splitlines()]

    def segments(self) -> list[str]:
        return sorted(path.name for path in self.private.glob("journal-*"))

    def quarantined(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.quarantine.glob("*"))] if self.quarantine.is_dir() else []

    def save(self, data: dict[str, Any] | str | bytes, *, age: float = 0.0) -> bytes:
        """As an editor that writes in place would; ``age`` says how many seconds ago."""
        if isinstance(data, dict):
            data = json.dumps(data)
        data = data.encode() if isinstance(data, str) else data
        self.tasks.write_bytes(data)
        if age:
            then = time.time() - age
            os.utime(self.tasks, (then, then))
        return data

    def flip(self, offset: int) -> bytes:
        """One bit of the journal is no longer what it was. Returns the damaged journal."""
        data = bytearray(self.journal.read_bytes())
        data[offset] ^= 1
        self.journal.write_bytes(data)
        return bytes(data)

    def rewrite_last_line(self, **changes: Any) -> None:
        """The last line with other fields, and a crc that is right."""
        *rest, last = self.journal.read_bytes().splitlines(keepends=True)
        line = _whole(last[:-1])
        del line["crc"]
        self.journal.write_bytes(b"".join(rest) + journal.encode({**line, **changes}))

    def send(self, *texts: str) -> None:
        """A commit for each message."""
        store = self.store()
        for text in texts:
            store.transact(
                lambda tx, text=text: tx.append("messages", {"id": tx.next_id("message"), "text": text}), by="human"
            )

    def texts(self) -> list[str]:
        """What a reader of the messages gets."""
        return [message["text"] for message in self.store().tail("messages", 0)[0]]

    def assert_in_order(self) -> None:
        """Nothing is left over, revisions have no gaps, and tasks.json is exactly what the journal says."""
        assert not self.new.exists()
        assert not self.journal_new.exists()
        assert self.lock.read_bytes() == b""
        lines = self.lines()
        assert [line["rev"] for line in lines] == list(range(lines[0]["rev"], lines[0]["rev"] + len(lines)))
        raw, published = self.tasks.read_bytes(), lines[-1]["tasks"]
        assert (len(raw), f"{crc32(raw):08x}") == (published["size"], published["crc"])
        assert json.loads(raw)["revision"] == published["rev"]


def _whole(text: bytes) -> dict[str, Any]:
    line = journal.decode(text)
    assert line is not None, text
    return dict(line)


def python(home: Path, program: str, *args: str, **options: Any) -> subprocess.Popen[str]:
    """A program of its own that finds the same teams; ``ledger`` and ``store`` are there for it."""
    prologue = "import sys, os, time, signal\nfrom pathlib import Path\nfrom proofs.ledgers import Ledger\n"
    prologue += "ledger = Ledger(Path(sys.argv[1]))\nstore = ledger.store()\nsay = lambda text: print(text, flush=True)\n"
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-c", prologue + program, str(home), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        **options,
    )
