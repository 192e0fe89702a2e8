"""One commit, stopped before each of its calls on files while an editor saves tasks.json: no race is left to chance.

The window that docs/reliability.md names is known here exactly, so a loss outside of it is a violation.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from proofs.fuzz import oracle
from proofs.fuzz.bench import Violation, alarm
from teamtasks.store.files import disk, layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from proofs.ledgers import Ledger

CALLS = ("read", "stamp", "write_new", "link", "rename", "remove", "remove_whatever", "write_all")
SAVES = ("in place", "by rename", "into the predecessor", "in pieces", "into the newest")
FOUND = ("in order", "edited", "missing", "older", "reformatted", "dead")
MARK = b'"title":"Page'
MOST = 80  # calls of one command
LONG = 0.03  # seconds after which two file times are told apart: longer than session.COARSE


class Editor:
    """Has the file open since before the commit, or reads it anew, and saves it with a title of its own."""

    def __init__(self, ledger: Ledger, how: str, mark: bytes) -> None:
        self.ledger, self.how, self.mark = ledger, how, mark
        self.path = ledger.previous if how == "into the predecessor" else ledger.tasks
        self.fd = os.open(self.path, os.O_RDWR) if how not in ("by rename", "into the newest") else -1
        self.seen = oracle.regular(ledger.tasks) or ledger.previous.read_bytes()
        self.left: bytes | None = None  # what a slow save has not written yet
        self.saved = False

    def save(self) -> None:
        self.saved = True
        if self.how == "by rename":
            aside = self.ledger.public / "tasks.json~"
            aside.write_bytes(self._edited(oracle.regular(self.ledger.tasks) or self.seen))
            aside.rename(self.ledger.tasks)
            return
        if self.how == "into the newest":
            self.fd = os.open(self.path, os.O_RDWR)
        data = self._edited(os.pread(self.fd, 1 << 24, 0))
        half = len(data) // 2 if self.how == "in pieces" else len(data)
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, data[:half], 0)
        self.left = data[half:] or None
        if self.how == "into the newest":
            time.sleep(LONG)

    def finish(self) -> None:
        if self.left is not None:
            os.lseek(self.fd, 0, os.SEEK_END)
            os.write(self.fd, self.left)
            self.left = None

    def close(self) -> None:
        self.finish()
        if self.fd >= 0:
            os.close(self.fd)

    def is_at(self, path: Path) -> bool:
        """Whether the file that it has open is the one that is there."""
        try:
            return os.stat(path).st_ino == os.fstat(self.fd).st_ino
        except FileNotFoundError:
            return False

    def _edited(self, data: bytes) -> bytes:
        if MARK not in data:
            raise Violation("the file that an editor opened is not a whole version")
        return data.replace(MARK, MARK + self.mark, 1)


def found(ledger: Ledger, how: str) -> bytes:
    """What the commit finds. Returns what must be kept of it."""
    raw = ledger.tasks.read_bytes()
    if how == "edited":
        ledger.tasks.write_bytes(raw.replace(b'"title":"API', b'"title":"API, edited before'))
        return b"API, edited before"
    if how == "reformatted":
        ledger.tasks.write_bytes(json.dumps(json.loads(raw)).replace('"title": ', '"title":').encode())
    elif how == "older":
        os.replace(ledger.previous, ledger.public / "old")
        ledger.previous.write_bytes(raw)
        os.replace(ledger.public / "old", ledger.tasks)
    elif how == "missing":
        ledger.tasks.unlink()
    elif how == "dead":
        ledger.lock.write_text("pid 1, teamtasks create, since 2026-01-01T00:00:00Z\n")
    return b""


class Stopped:
    """Counts the calls of a command and saves before one of them."""

    def __init__(self, ledger: Ledger, editor: Editor, at: int) -> None:
        self.ledger, self.editor, self.at = ledger, editor, at
        self.calls: list[tuple[str, str]] = []
        self.in_window = False

    def before(self, call: str, name: str) -> None:
        if len(self.calls) == self.at:
            self.in_window = self._is_window()
            self.editor.save()
        elif self.editor.left is not None and len(self.calls) > self.at + 2:
            self.in_window = self._is_window()
            self.editor.finish()
        self._look()
        self.calls.append((call, name))

    def _look(self) -> None:
        """Whoever reads tasks.json at this moment finds one whole version, unless the editor itself is at it."""
        if self.editor.saved:
            return
        raw = oracle.regular(self.ledger.tasks)
        try:
            json.loads(raw) if raw is not None else None
        except ValueError:
            raise Violation("tasks.json was not whole in the middle of a commit") from None

    def _is_window(self) -> bool:
        """As docs/reliability.md has it: a rename between link and rename; a write into a version that was replaced twice,
        or once and the second commit has had its last look."""
        if self.editor.how == "by rename":
            published = [made for made in self.calls if made[0] == "link" or made == ("rename", layout.TASKS_NEW)]
            return bool(published) and published[-1][0] == "link"
        if self.editor.how == "into the newest" or self.editor.is_at(self.ledger.tasks):
            return False
        beside = [n for n, made in enumerate(self.calls) if made == ("write_new", layout.TASKS_NEW)]
        looked = ("stamp", layout.TASKS_PREVIOUS) in self.calls[beside[-1] :] if beside else False
        return looked or not self.editor.is_at(self.ledger.previous)

    @contextmanager
    def patched(self) -> Iterator[None]:
        saved: dict[str, Callable[..., Any]] = {name: getattr(disk, name) for name in CALLS}
        try:
            for name, original in saved.items():
                setattr(disk, name, self._stopping(name, original))
            yield
        finally:
            for name, original in saved.items():
                setattr(disk, name, original)

    def _stopping(self, call: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def stopping(*arguments: Any, **options: Any) -> Any:
            self.before(call, str(arguments[1]) if len(arguments) > 1 and isinstance(arguments[1], str) else "")
            return original(*arguments, **options)

        return stopping


def judge(ledger: Ledger, data: dict[str, Any], command: Callable[[Ledger], str]) -> tuple[bool, bool]:
    """Whether the save happened at all, and whether it was lost in the window."""
    mark = b", saved meanwhile"
    published, opened = ledger.tasks.read_bytes(), os.open(ledger.tasks, os.O_RDONLY)
    try:
        kept = found(ledger, data["found"])
        editor = Editor(ledger, data["save"], mark)
        stopped = Stopped(ledger, editor, data["step"])
        try:
            with alarm("a commit"), stopped.patched():
                written = [command(ledger)]
        finally:
            editor.close()
        if not editor.saved:
            return False, False
        written.append(command(ledger))
        untouched = data["save"] in ("by rename", "into the predecessor") and data["found"] == "in order"
        if untouched and os.pread(opened, 1 << 24, 0) != published:
            raise Violation("a version of tasks.json that was published was written to in place")
    finally:
        os.close(opened)
    return True, _check(ledger, written, kept, mark, stopped.in_window)


def _check(ledger: Ledger, written: list[str], kept: bytes, mark: bytes, in_window: bool) -> bool:
    ledger.assert_in_order()
    if not all(text.encode() in ledger.tasks.read_bytes() for text in written):
        raise Violation("a commit was lost")
    everything = b"".join([ledger.tasks.read_bytes(), *oracle.put_aside(ledger)])
    if kept not in everything:
        raise Violation("an edit that was there before is lost")
    if mark in everything:
        return False
    if not in_window:
        raise Violation("an edit is lost, and not in the window that docs/reliability.md names")
    return True
