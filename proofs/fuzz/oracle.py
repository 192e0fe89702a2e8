"""What must hold of a ledger whose files were damaged, whatever the damage was.

Nothing that was acknowledged and that the damage cannot have touched is gone; an edit is merged, refused or kept aside;
what is refused stays as it is; nobody is shown a state that never existed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from zlib import crc32

from proofs.fuzz.bench import Violation
from proofs.fuzz.shapes import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from proofs.fuzz.shapes import Documents, Truth
    from proofs.ledgers import Ledger

FENCES = ("late_results", "created_at", "created_by", "key")
DERIVED = ("status", "assignee", "claim", "attempts", "failures", "completed_at", "completed_by")
ABOUT_AGENTS = ("holds", "role", "incarnation")
TAKEN_OVER = ("was edited", "was adopted", "changed both", "begins with", "raced with", "restored")


class Found:
    """The files of a team as the damage left them."""

    def __init__(self, ledger: Ledger, truth: Truth, touched: Iterable[str]) -> None:
        self.ledger, self.truth, self.touched = ledger, truth, set(touched)
        self.tasks, self.previous = regular(ledger.tasks), regular(ledger.previous)
        self.journal = regular(ledger.journal)
        self.history = {name: regular(ledger.private / name) for name in ledger.segments()}
        self.whole = _whole_lines(self.journal or b"")
        revisions = [line["rev"] for line in self.whole]
        first = revisions[0] if revisions else 0
        self.in_sequence = revisions == list(range(first, first + len(revisions)))
        self.edits = [
            edit for edit in (self._edit(".tasks.json.prev", self.previous), self._edit("tasks.json", self.tasks)) if edit
        ]

    @property
    def in_sequence_but_for_damage(self) -> bool:
        """Whether the lines that are left stand in their order, from the first to the last that there was."""
        revisions = [line["rev"] for line in self.whole]
        ends = bool(revisions) and self.whole[0].get("snapshot") and revisions[-1] == self.truth.revision
        return bool(ends) and revisions == sorted(set(revisions))

    @property
    def journal_is_whole(self) -> bool:
        return "journal.jsonl" not in self.touched

    @property
    def tasks_is_newest(self) -> bool:
        """Whether tasks.json is what the newest commit published, whatever has become of the journal."""
        return "tasks.json" not in self.touched and fingerprint(self.tasks or b"") == self.truth.newest

    def _edit(self, name: str, raw: bytes | None) -> tuple[bytes, dict[str, Any]] | None:
        """What somebody who saved this file changed; None if it is not touched, not JSON, or a version of ours."""
        if name not in self.touched or not raw or fingerprint(raw) in self.truth.published:
            return None
        try:
            document = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        return (raw, document) if isinstance(document, dict) else None

    def certain(self, kind: str, id: str) -> bool:
        """Whether the commit that wrote this document last is still on record in the current segment."""
        writer = self.truth.writers[kind, id]
        lines = {line["rev"]: line for line in self.whole}
        begin = self.whole[0]["rev"] if self.whole and self.whole[0].get("snapshot") else None
        return self.in_sequence and begin is not None and (writer in lines or begin > writer)


def fingerprint(data: bytes) -> tuple[int, str]:
    return len(data), f"{crc32(data):08x}"


def regular(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def put_aside(ledger: Ledger) -> list[bytes]:
    """What is in quarantine; a pipe that was put there has nothing to read."""
    return [data for path in ledger.quarantine.glob("*") if (data := regular(path)) is not None]


def _whole_lines(data: bytes) -> list[dict[str, Any]]:
    lines = []
    for text in data.split(b"\n")[:-1]:
        body, mark = text[:-18], text[-18:]
        if mark == b',"crc":"%08x"}' % crc32(body):
            lines.append(json.loads(text))
    return lines


def check_documents(found: Found, now: Documents, *, mended: bool) -> None:
    """Nothing that is certain is gone, but for what an edit changed. ``mended``: by doctor, which keeps what is replaced;
    or not at all, so that a reader is shown the last good version."""
    aside = put_aside(found.ledger)
    safe = found.tasks_is_newest and found.tasks not in aside
    for (kind, id), document in found.truth.final.items():
        if not (found.certain(kind, id) or (safe and not mended)):
            continue
        after = now.get((kind, id))
        if after != document:
            _check_change(found, kind, id, document, after)
    if not mended:
        still_there = (regular(found.ledger.tasks), regular(found.ledger.previous))
        for raw, edit in found.edits:
            # What was saved into the predecessor can be told from an old version only while the journal is whole.
            judged = found.journal_is_whole or raw == found.tasks
            if judged and raw not in aside and raw not in still_there:
                _check_taken_over(found, edit, now)


def _check_change(found: Found, kind: str, id: str, before: dict[str, Any], after: dict[str, Any] | None) -> None:
    theirs = [_theirs(edit, kind, id) for _raw, edit in found.edits]
    if after is None:
        if None not in theirs:
            raise Violation(f"{kind} {id} is gone")
        return
    if kind == "task":
        _check_fences(id, before, after)
    edited = {f for each in theirs if each is not None for f in {**before, **each} if each.get(f) != before.get(f)}
    if edited & set(DERIVED) or (kind == "task" and theirs):
        edited |= set(DERIVED)
    if kind == "agent" and found.edits:
        edited |= set(ABOUT_AGENTS)
    if kind == "team" and found.edits:
        edited |= {"settings"}
    wrong = [f for f in {**before, **after} if before.get(f) != after.get(f) and f not in edited]
    if wrong:
        field = wrong[0]
        raise Violation(f"{kind} {id}: {field} was {before.get(field)!r:.200} and is {after.get(field)!r:.200}")


def _theirs(edit: dict[str, Any], kind: str, id: str) -> dict[str, Any] | None:
    """The document in an edited file; None if it was taken out there."""
    if kind == "team":
        return edit
    section = edit.get({"agent": "agents", "key": "keys", "task": "tasks"}[kind])
    if isinstance(section, list):
        section = {t["id"]: t for t in section if isinstance(t, dict) and isinstance(t.get("id"), str)}
    if not isinstance(section, dict):
        return {}
    found = section.get(id)
    return found if isinstance(found, dict) or id not in section else {}


def _check_fences(id: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """What decides who is late only rises, and what was learned stays."""
    if after["attempts"] < before["attempts"]:
        raise Violation(f"{id}: attempts went from {before['attempts']} down to {after['attempts']}")
    learned = before.get("failures", [])
    if after.get("failures", [])[: len(learned)] != learned:
        raise Violation(f"{id}: a failure on record is gone or changed")
    for field in FENCES:
        if before.get(field) != after.get(field):
            raise Violation(f"{id}: {field} was {before.get(field)!r:.200} and is {after.get(field)!r:.200}")


def _check_taken_over(found: Found, edit: dict[str, Any], now: Documents) -> None:
    """An accepted edit that is not kept aside is in the ledger, field by field."""
    base = found.truth.states.get(edit.get("revision"), found.truth.final)  # type: ignore[call-overload]
    for task in edit.get("tasks", ()):
        was, after = base.get(("task", task["id"]), {}), now.get(("task", task["id"]))
        for field, value in task.items():
            if field in DERIVED or field in FENCES or value == was.get(field):
                continue
            if after is None or after.get(field) != value:
                raise Violation(f"the edit of {task['id']}.{field} to {value!r:.200} is lost: not merged, not kept aside")


def check_untouched(step: str, before: Found, after: Found) -> None:
    """After a refusal: the files are as they were. A last line that was never finished may have been cut off."""
    if after.tasks != before.tasks:
        raise Violation(f"{step} was refused, and tasks.json was changed all the same")
    cut = (before.journal or b"")[len(after.journal or b"") :]
    torn = (before.journal or b"").startswith(after.journal or b"") and b"\n" not in cut[:-1]
    if after.journal != before.journal and not torn:
        raise Violation(f"{step} was refused, and the journal was changed all the same")


def check_in_order(found: Found) -> None:
    """After a commit nothing is left over and tasks.json is what the last line says; revisions have no gaps, unless the
    journal was damaged: then what lies before is looked at only when it is needed."""
    for name in {".tasks.json.new", ".journal.jsonl.new"} & found.touched:  # planted beside a ledger that was in order
        path_of(found.ledger, name).unlink(missing_ok=True)
    if found.journal_is_whole:
        found.ledger.assert_in_order()
        return
    last, raw = _whole_lines(found.ledger.journal.read_bytes())[-1], found.ledger.tasks.read_bytes()
    if fingerprint(raw) != (last["tasks"]["size"], last["tasks"]["crc"]):
        raise Violation("tasks.json is not what the journal's last line says")


def check_history(before: Found, after: Found) -> None:
    """Segments that are full are never written again, and no damaged journal is thrown away."""
    for name, data in before.history.items():
        if data is not None and after.history.get(name) != data:
            raise Violation(f"{name} was changed")
    kept = b"".join(data for data in (after.journal, *after.history.values(), *_damaged(after.ledger)) if data)
    for line in before.whole:
        if b'"id":"%s"' % line["id"].encode() not in kept:
            raise Violation(f"the journal no longer has revision {line['rev']}, whose line was whole")


def _damaged(ledger: Ledger) -> list[bytes | None]:
    return [regular(path) for path in ledger.private.glob("journal-damaged-*")]


def check_view(found: Found, revision: int, documents: Documents, notices: list[str]) -> None:
    """A reader sees a revision as it was, unless an edit was taken over or something was mended, and said so."""
    if any(word in notice for notice in notices for word in TAKEN_OVER) or revision not in found.truth.states:
        return
    if documents != found.truth.states[revision]:
        wrong = [
            key
            for key in {**documents, **found.truth.states[revision]}
            if documents.get(key) != found.truth.states[revision].get(key)
        ]
        raise Violation(f"a reader was shown revision {revision} as it never was: {wrong[0]}")


def check_messages(found: Found, texts: list[str], *, looked_over: bool) -> None:
    """Each message once and in order, wherever the journal still has them."""
    said = found.truth.messages
    if found.touched.isdisjoint(("journal.jsonl", "segment")) and (looked_over or "messages.jsonl" not in found.touched):
        if texts != said:
            raise Violation(f"the messages were {said} and are {texts}")
    elif "messages.jsonl" not in found.touched and texts != said[: len(texts)]:
        raise Violation(f"the messages were {said} and are {texts}")
    elif looked_over and found.in_sequence_but_for_damage:
        gone = [d["text"] for line in found.whole for _log, d in line["logs"] if d["text"] not in texts]
        if gone:
            raise Violation(f"the message {gone[0]!r} is in a line that is whole, and not in {texts}")
