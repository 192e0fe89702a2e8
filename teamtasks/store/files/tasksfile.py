"""The text of tasks.json: ordinary JSON, one document on each line, so that people and programs can both work on it.

    {"format":1,"ledger":"…","team":"payments","revision":42,"counters":{"task":12},…,
    "agents":{
    "backend":{…}
    },
    "keys":{
    },
    "tasks":[
    {"id":"task-1","status":"completed",…,"title":…,…,"description":…,…},
    {"id":"task-2",…}
    ]}

A journal's crc tells that a file is exactly what we published. Then its lines can be trusted: one document is found by
how its line begins, heads are cut out of the lines without parsing the rest, and a change replaces only its line. A line
end never occurs inside a document, and ``,"title":`` never occurs before that field, because JSON escapes both.
"""

from __future__ import annotations

from teamtasks import jsontext
from teamtasks.store.files import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Document = dict[str, Any]
    Puts = Mapping[tuple[str, str], Document | None]

HEADER = ("format", "ledger", "team", "revision", "counters")
SECTIONS = {"agent": "agents", "key": "keys", "task": "tasks"}
_MARKS = {"agent": b'\n"agents":{\n', "key": b'\n"keys":{\n', "task": b'\n"tasks":[\n'}
_ENDS = {"agent": b"},", "key": b"},", "task": b"]}"}
_HEAD = b',"title":'
_SUMMARY = b',"description":'
_COMPLETED = b'"status":"completed"'
_STATUS_WITHIN = 60  # bytes from a line's beginning by which the status has been said

TASK_ORDER = (
    "id", "status", "assignee", "priority", "dependencies", "needs", "group", "title", "attempts", "claim", "size",
    "estimate", "description", "acceptance_criteria", "created_at", "created_by", "completed_at", "completed_by",
    "result", "evidence", "failures", "late_results", "notes", "key", "metadata",
)  # fmt: skip


class TasksFile:
    """A version of tasks.json that is known to be ours."""

    __slots__ = ("_places", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._places: dict[str, tuple[int, int]] = {}

    def header(self) -> Document:
        """The first line: what is said of the file itself, and the team's document."""
        header: Document = jsontext.loads(self.raw[: self.raw.index(b",\n")].decode() + "}")
        return header

    def revision(self) -> int:
        """What the file says of itself, ours or not; 0 if it does not."""
        try:
            revision = self.header()["revision"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return 0
        return revision if isinstance(revision, int) and not isinstance(revision, bool) else 0

    def get(self, kind: str, id: str) -> Any:
        if kind == "team":
            return self.all("team").get(id)
        start, end = self._find(kind, id)
        if start < 0:
            return None
        return jsontext.loads(self.raw[start:end].decode())

    def lines(self, kind: str) -> list[bytes]:
        start, end = self._place(kind)
        return self.raw[start:end].split(b",\n") if end > start else []

    def heads(self, *, unfinished: bool, summaries: bool) -> list[Any]:
        """The first fields of every task, cut out of the lines and parsed in one go."""
        cut = _SUMMARY if summaries else _HEAD
        found = self.lines("task")
        if unfinished:
            found = [line for line in found if _COMPLETED not in line[:_STATUS_WITHIN]]
        return _cut(found, cut) if summaries else _remembered(found)

    def all(self, kind: str) -> dict[str, Any]:
        if kind == "team":
            header = self.header()
            return {header["team"]: {k: v for k, v in header.items() if k not in HEADER}}
        start, end = self._place(kind)
        body = self.raw[start:end].decode()
        if kind == "task":
            return {task["id"]: task for task in jsontext.loads(f"[{body}]")}
        documents: dict[str, Any] = jsontext.loads("{" + body + "}")
        return documents

    def with_puts(self, puts: Puts, revision: int, counters: Mapping[str, int]) -> bytes:
        """The next version: the same bytes but for the lines that changed."""
        if any(document is None for document in puts.values()):
            return self._rendered(puts, revision, counters)
        header = self.header()
        edits = [(0, self.raw.index(b"\n") + 1, _first_line(_next_header(header, puts, revision, counters)))]
        added: dict[str, list[bytes]] = {}
        for (kind, id), document in puts.items():
            if kind == "team" or document is None:
                continue
            start, end = self._find(kind, id)
            if start >= 0:
                edits.append((start, end, value_text(kind, document)))
            else:
                added.setdefault(kind, []).append(line_text(kind, id, document))
        for kind, lines in added.items():
            start, end = self._place(kind)
            edits.append((end, end, (b",\n" if end > start else b"") + b",\n".join(lines) + (b"" if end > start else b"\n")))
        return _spliced(self.raw, edits)

    def _rendered(self, puts: Puts, revision: int, counters: Mapping[str, int]) -> bytes:
        documents = {kind: self.all(kind) for kind in SECTIONS}
        for (kind, id), document in puts.items():
            if kind in SECTIONS:
                if document is None:
                    documents[kind].pop(id, None)
                else:
                    documents[kind][id] = document
        return render(_next_header(self.header(), puts, revision, counters), documents)

    def _place(self, kind: str) -> tuple[int, int]:
        """Where the documents of a kind begin and end in the text."""
        if kind not in self._places:
            mark = _MARKS[kind]
            start = self.raw.index(mark) + len(mark)
            end = len(self.raw) - 4 if kind == "task" else self.raw.index(b"\n},\n", start - 1)
            self._places[kind] = (start, max(start, end))
        return self._places[kind]

    def _find(self, kind: str, id: str) -> tuple[int, int]:
        """Where the value of one document begins and ends; -1 if there is none."""
        first, last = self._place(kind)
        if kind == "task":
            mark = b'\n{"id":"%s",' % id.encode()
            found = self.raw.find(mark, first - 1, last)
            start = found + 1
        else:
            mark = b"\n" + jsontext.dumps(id).encode() + b":{"
            found = self.raw.find(mark, first - 1, last)
            start = found + len(mark) - 1
        if found < 0:
            return -1, -1
        end = self.raw.find(b",\n", start, last)
        return start, end if end >= 0 else last


def _cut(lines: list[bytes], cut: bytes) -> list[Any]:
    """The heads of these lines, parsed in one go."""
    if not lines:
        return []
    heads: list[Any] = jsontext.loads((b"[" + b"},".join([line[: line.index(cut)] for line in lines]) + b"}]").decode())
    return heads


_last: tuple[list[bytes], list[Any]] = ([], [])


def _remembered(lines: list[bytes]) -> list[Any]:
    """Heads for a transaction. A process that commits again and again parses only the lines that others have changed.

    A head depends on nothing but its line, and rules change no document in place, so the same one can be given again.
    """
    global _last  # noqa: PLW0603
    if _last[0]:
        known = dict(zip(*_last, strict=True))
        new = [line for line in lines if line not in known]
        known.update(zip(new, _cut(new, _HEAD), strict=True))
        _last = (lines, [known[line] for line in lines])
    else:  # the only turn of a command: it need not pay for the next
        _last = (lines, _cut(lines, _HEAD))
    return _last[1]


def render(header: Document, documents: Mapping[str, Mapping[str, Document]]) -> bytes:
    """The whole text, from documents."""
    parts = [_first_line(header)]
    for kind, section in SECTIONS.items():
        lines = [line_text(kind, id, document) for id, document in documents[kind].items()]
        parts.append(b'"%s":%s\n' % (section.encode(), b"[" if kind == "task" else b"{"))
        parts.append(b",\n".join(lines) + (b"\n" if lines else b""))
        parts.append(_ENDS[kind] + b"\n")
    return b"".join(parts)


def header_of(ledger: str, team: str, revision: int, counters: Mapping[str, int], document: Document) -> Document:
    own = {"format": layout.FORMAT, "ledger": ledger, "team": team, "revision": revision, "counters": dict(counters)}
    return {**own, **document}


def line_text(kind: str, id: str, document: Document) -> bytes:
    value = value_text(kind, document)
    return value if kind == "task" else jsontext.dumps(id).encode() + b":" + value


def value_text(kind: str, document: Document) -> bytes:
    return jsontext.dumps(in_order(document) if kind == "task" else document).encode()


def in_order(task: Document) -> Document:
    """The fields of a task in the order that scans rely on; fields that we do not know come last."""
    ordered = {name: task[name] for name in TASK_ORDER if name in task}
    if len(ordered) < len(task):
        ordered.update(task)
    return ordered


def _next_header(header: Document, puts: Puts, revision: int, counters: Mapping[str, int]) -> Document:
    team = puts.get(("team", header["team"]))
    document = team if team is not None else {k: v for k, v in header.items() if k not in HEADER}
    return header_of(header["ledger"], header["team"], revision, counters, document)


def _first_line(header: Document) -> bytes:
    return jsontext.dumps(header)[:-1].encode() + b",\n"


def _spliced(raw: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    pieces, place = [], 0
    for start, end, text in sorted(edits):
        pieces += [raw[place:start], text]
        place = end
    pieces.append(raw[place:])
    return b"".join(pieces)
