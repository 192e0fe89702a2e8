"""The journal: every commit, one line each, in the order in which they happened. It is the truth; the rest is a copy.

A line is JSON with these fields, the crc last:

    rev        the revision that this commit made; one more than the line before
    at, by     when and by whom        events   what was done, for people: [{"event": "task_claimed", …}, …]
    docs       what it put: [kind, id, document or null], …
    logs       what it appended: [log, document], …
    counters   the highest number given out per kind
    tasks      what tasks.json is after this commit: {"rev", "size", "crc"}
    before     inode, size, modification time and crc of the tasks.json that was replaced last
    messages   [start, end]: where in messages.jsonl its messages are
    boot, id   the machine's boot, and a name of this commit's own
    snapshot   true in the first line of a segment: its docs are the whole ledger; such a line also has format and ledger
    deleted    true in the last line of a team that was deleted
    crc        of the bytes before it

An append is the commit. A line that is not whole at the end of the file was never acknowledged: it is ignored by readers
and cut off by the next writer. A line that is not whole anywhere else is damage, and is never cut off.
"""

from __future__ import annotations

import os
from zlib import crc32

from teamtasks import jsontext
from teamtasks.domain.errors import InvalidData, NewerFormat, OutcomeUnknown, StoreUnavailable
from teamtasks.store.base import KINDS
from teamtasks.store.files import disk, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Line = dict[str, Any]

TAIL = 16 * 1024


class Damaged(Exception):
    """A line that is not whole in the middle of a journal, and where it begins."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class State:
    """The ledger as of one revision, built from the journal."""

    __slots__ = ("counters", "documents", "ledger", "messages", "revision", "tasks_revision")

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.counters: dict[str, int] = {}
        self.ledger = ""
        self.revision = 0
        self.tasks_revision = 0
        self.messages = 0

    def apply(self, line: Line) -> None:
        if line.get("snapshot"):
            if line["format"] > layout.FORMAT:
                raise newer_format("the journal", line["format"])
            self.documents = {kind: {} for kind in KINDS}
            self.ledger = line["ledger"]
        for kind, id, document in line["docs"]:
            if document is None:
                self.documents.setdefault(kind, {}).pop(id, None)
            else:
                self.documents.setdefault(kind, {})[id] = document
        for kind, number in line["counters"].items():
            self.counters[kind] = max(number, self.counters.get(kind, 0))
        self.revision = line["rev"]
        self.tasks_revision = line["tasks"]["rev"]
        self.messages = line["messages"][1]


def newer_format(what: str, format: int) -> NewerFormat:
    return NewerFormat(
        f"{what} has format {format}, this version of teamtasks writes format {layout.FORMAT}: it can only be read",
        hint="upgrade teamtasks: pip install --upgrade teamtasks",
        format=format,
    )


def fingerprint(data: bytes) -> str:
    return f"{crc32(data):08x}"


def encode(line: Line) -> bytes:
    body = jsontext.dumps(line)[:-1].encode()
    return body + b',"crc":"%08x"}\n' % crc32(body)


def decode(text: bytes) -> Line | None:
    """The line, or None if it is not whole. ``text`` comes without its line end."""
    body, mark = text[:-18], text[-18:]
    if mark[:8] != b',"crc":"' or mark[16:] != b'"}' or mark[8:16] != b"%08x" % crc32(body):
        return None
    line: Line = jsontext.loads(text.decode())
    return line


def message_text(document: Any) -> bytes:
    return jsontext.dumps(document).encode() + b"\n"


def open_journal(private: int, flags: int = os.O_RDWR | os.O_APPEND) -> int | None:
    return disk.open_regular(private, layout.JOURNAL, flags)


class Tail:
    """The end of a journal: its last whole line and where that ends; and, if there is more, whether that looks complete."""

    __slots__ = ("complete", "end", "line", "size")

    def __init__(self, line: Line | None, end: int, size: int, *, complete: bool = False) -> None:
        self.line, self.end, self.size, self.complete = line, end, size, complete


def tail(fd: int) -> Tail:
    """Raises ``Damaged`` if more than the last line is not whole.

    Each commit is synced before the next begins, and a journal's first line before it gets its name, so only the last line
    can be torn, and never the only one.
    """
    size = os.fstat(fd).st_size
    start, text = _line_before(fd, size)
    line = decode(text[:-1]) if text.endswith(b"\n") else None
    if line is not None or size == 0:
        return Tail(line, size, size)
    end, complete = start, text.endswith(b"\n")
    start, text = _line_before(fd, end)
    line = decode(text[:-1])
    if line is None:
        raise Damaged(start)
    return Tail(line, end, size, complete=complete)


def _line_before(fd: int, end: int) -> tuple[int, bytes]:
    """Where the line that ends at ``end`` begins, and its bytes; its line end, if it has one, is among them."""
    reach = TAIL
    while True:
        start = max(0, end - reach)
        chunk = os.pread(fd, end - start, start)
        before = chunk.rfind(b"\n", 0, max(0, len(chunk) - 1))
        if before >= 0 or start == 0:
            return start + before + 1, chunk[before + 1 :]
        reach *= 8


def append(fd: int, line: Line, size: int) -> int:
    """Makes the line durable and gives the file's new size. This is the commit. If it fails, the line is taken back."""
    data = encode(line)
    try:
        disk.write_all(fd, data)
        os.fdatasync(fd)
    except OSError as error:
        raise _taken_back(fd, size, error) from error
    return size + len(data)


def _taken_back(fd: int, size: int, cause: OSError) -> StoreUnavailable:
    try:
        os.ftruncate(fd, size)
        os.fsync(fd)
    except OSError:
        return OutcomeUnknown(
            f"writing the journal failed ({cause.strerror}) and so did taking it back",
            hint="teamtasks doctor, then see whether the change is there before you repeat it",
            errno=cause.errno,
        )
    return disk.refused("nothing was changed, writing the journal failed", cause, layout.JOURNAL)


def lines(fd: int) -> Iterator[tuple[int, Line]]:
    """Every line with its offset. Raises ``Damaged`` at one that is not whole and not the last, or not the next one."""
    data = _content(fd)
    offset, revision = 0, None
    while offset < len(data):
        end = data.find(b"\n", offset)
        line = decode(data[offset:end]) if end >= 0 else None
        if line is None:
            if end >= 0 and data.find(b"\n", end + 1) >= 0:
                raise Damaged(offset)
            return
        if line["rev"] != revision + 1 if revision is not None else not line.get("snapshot"):
            raise Damaged(offset)
        yield offset, line
        offset, revision = end + 1, line["rev"]


def whole_lines(fd: int) -> list[Line]:
    """Every line that is whole, whatever lies between them."""
    return [line for line in map(decode, _content(fd).split(b"\n")[:-1]) if line is not None]


def salvage(fd: int) -> tuple[State, Line | None]:
    """The ledger from every line that is whole, and the last of them; None if not even the team is on record."""
    state, last = State(), None
    for last in whole_lines(fd):
        state.apply(last)
    return state, last if state.documents["team"] else None


def _content(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    return disk.read_from(fd, os.fstat(fd).st_size)


def replay(fd: int) -> State:
    """The ledger after the last line."""
    state = State()
    for _offset, line in lines(fd):
        state.apply(line)
    return state


def segments(private: int) -> list[str]:
    """Full segments, newest first."""
    return sorted((n for n in os.listdir(private) if layout.is_segment(n)), reverse=True)


def history(private: int) -> Iterator[list[Line]]:
    """The whole lines of every segment, newest segment first, oldest line first."""
    for name in (layout.JOURNAL, *segments(private)):
        fd = _opened(private, name)
        if fd is None:
            continue
        try:
            yield whole_lines(fd)
        finally:
            os.close(fd)


def _opened(private: int, name: str) -> int | None:
    """None for what is not there, or no file: what cannot be asked is not on record."""
    try:
        return disk.open_regular(private, name, os.O_RDONLY)
    except InvalidData:
        return None


def damage(private: int, name: str) -> int | None:
    """Where a segment is not whole; None if it is."""
    fd = _opened(private, name)
    if fd is None:
        return 0
    try:
        for _line in lines(fd):
            pass
    except Damaged as damaged:
        return damaged.offset
    finally:
        os.close(fd)
    return None


def segment_with(private: int, revision: int) -> list[Line]:
    """The lines of the segment in which a revision is, oldest first; empty if it is not on record."""
    for segment in history(private):  # newest first, and lazily: what is asked for is nearly always in the newest
        if segment and segment[0]["rev"] <= revision <= segment[-1]["rev"]:
            return segment
    return []


def state_at(private: int, revision: int) -> State | None:
    """The ledger as it was at an earlier revision; None if that is not on record, or lies behind damage."""
    state = State()
    for line in segment_with(private, revision):
        if line["rev"] > revision:
            break
        if state.revision and line["rev"] != state.revision + 1:
            return None
        state.apply(line)
    return state if state.revision == revision > 0 else None


def published(private: int, revision: int, size: int, crc: str) -> bool:
    """Whether tasks.json was ever published like this: an older version of ours. Its own header says which one to be."""
    return any(line["tasks"] == {"rev": revision, "size": size, "crc": crc} for line in segment_with(private, revision))


def start_segment(private: int, line: Line) -> None:
    """A journal that begins with ``line``, a snapshot. The segment before it, if any, is kept under its own name.

    The name is made durable before the new file takes its place: at every moment one of the two is there.
    """
    disk.write_new(private, layout.JOURNAL_NEW, encode(line))
    try:
        fd = disk.open_regular(private, layout.JOURNAL, os.O_RDONLY)
        if fd is not None:
            _keep(private, fd)
        disk.rename(private, layout.JOURNAL_NEW, layout.JOURNAL)
    except BaseException:
        disk.discard(private, layout.JOURNAL_NEW)
        raise
    try:
        disk.sync_directory(private)
    except OSError as error:
        raise begun(error) from error


def begun(cause: OSError) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"a new journal was begun, but it could not be made durable or opened ({cause.strerror})",
        hint="teamtasks doctor, then see whether the change is there before you repeat it",
        errno=cause.errno,
    )


def _keep(private: int, fd: int) -> None:
    """The journal under another name, beside its own. A name that is taken by the journal itself was given by a rotation
    that was killed between its two steps."""
    nth = 0
    try:
        first = decode(_content(fd).split(b"\n", 1)[0])
        while True:
            name = layout.segment(first["rev"], nth) if first else f"journal-damaged-{nth}.jsonl"
            try:
                disk.link(private, layout.JOURNAL, name)
                break
            except FileExistsError:
                if disk.names_same(fd, name, private):
                    break
                nth += 1
    finally:
        os.close(fd)
    disk.sync_directory(private)
