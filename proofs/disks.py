"""What may be on a disk after the power went: recorded operations in, legal states out. Pure: it touches no file.

A disk is names (in directories) that lead to inodes (files and directories). Operations on names and operations on content
reach it at different times, and only a sync says when. Two models of a file system say what may be found afterwards:

ordered  As ext4 (data=ordered) and XFS behave. Operations on names reach the disk in their order: some first part of them.
         A sync of a file or directory that has something unsynced takes along every operation on names before the last
         change of it (so a new file's own name too); a sync of something that is clean takes nothing along. Of the content
         that is not synced any first part of the changes of each file is there, the last of them perhaps torn (at sectors of
         512 bytes, in the middle, or short of one byte), or the length is right and the bytes are zeros.
weak     What POSIX lets a file system do. Of the operations on names any subset is there, in their order, but for those
         whose directory was synced since (both directories, for a rename from one to another); a rename is there as a whole
         or not at all; a rename or link of a name that is not there, or is another file's, does nothing. A sync of a file
         says nothing about its name. Of the content any subset of the unsynced changes of each file is there, each perhaps
         torn so that only its first or only its second part is there, or as zeros, or without the growth of the file.

In both, fsync makes everything about a file's content durable; fdatasync makes its writes durable and the length that is
needed to read them, but neither a truncation nor a mode. Files are independent of each other.
"""

from __future__ import annotations

from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

from proofs.operations import Change, Entry, File, Name, Op, State, Sync, Write

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

MODELS = ("ordered", "weak")
SECTOR = 512
FEW = 4  # unsynced changes of one file of which every subset is tried


class Disk:
    """A start and what was done to it. ``states`` says what may be there if the power goes after some of it."""

    def __init__(self, start: State, ops: Sequence[Op]) -> None:
        self.start, self.ops = start, list(ops)
        self._names = {inode: name for (_directory, name), inode in start.names.items()}
        self._names.update({op.inode: op.target[1] for op in reversed(self.ops) if isinstance(op, Entry) and op.target})
        self._variants: dict[tuple[object, ...], list[tuple[str, File]]] = {}

    def states(
        self, point: int, model: str, most: int, chance: random.Random
    ) -> tuple[list[tuple[State, tuple[str, ...]]], bool]:
        """Each legal state after ``point`` operations with what is lost in it, and whether these are all of them."""
        past = _Past(self.start, self.ops[:point], weak=model == "weak")
        unsynced = [inode for inode, changes in past.changes.items() if not all(safe for _change, safe in changes)]
        losses, contents = past.losses(), [self._versions(past, inode) for inode in unsynced]
        chosen, complete = choices([*map(len, losses), *map(len, contents)], most, chance)
        found: dict[bytes, tuple[State, tuple[str, ...]]] = {}
        for choice in chosen:
            lost = [axis[index] for axis, index in zip(losses, choice, strict=False)]
            there = [axis[index] for axis, index in zip(contents, choice[len(losses) :], strict=True)]
            files = {**past.files, **{inode: file for inode, (_, file) in zip(unsynced, there, strict=True)}}
            state = State(past.names([place for _, places in lost for place in places]), files)
            labels = [label for label, _ in lost] + [label for label, _ in there]
            found.setdefault(state.key(), (state, tuple(filter(None, labels))))
        return list(found.values()), complete

    def _versions(self, past: _Past, inode: int) -> list[tuple[str, File]]:
        changes = past.changes[inode]
        known = (inode, past.weak, len(changes), *(safe for _change, safe in changes))
        if known not in self._variants:
            name = self._names.get(inode, "/")
            made = versions(past.before(inode), changes, weak=past.weak)
            self._variants[known] = [(label and f"{name}: {label}", file) for label, file in made]
        return self._variants[known]


class _Past:
    """The operations so far, and which of them are safe."""

    def __init__(self, start: State, ops: Sequence[Op], *, weak: bool) -> None:
        self.start, self.weak = start, weak
        self.entries: list[tuple[int, Entry]] = []
        self.changes: dict[int, list[tuple[Change, bool]]] = {}
        self._places: dict[int, list[int]] = {}  # of the changes of each inode
        self._made: dict[int, File] = {}
        self._safe: set[int] = set()  # entries, by place
        self._synced: dict[int, set[int]] = {}  # directories of an entry that were synced since
        for place, op in enumerate(ops):
            if isinstance(op, Entry):
                self.entries.append((place, op))
                if op.made is not None:
                    self._made[op.inode] = op.made
            elif isinstance(op, Sync):
                (self._sync_weak if weak else self._sync_ordered)(op)
            else:
                self.changes.setdefault(op.inode, []).append((op, False))
                self._places.setdefault(op.inode, []).append(place)
        self.files = {**start.files, **self._made}
        for inode, changes in self.changes.items():
            self.files[inode] = applied(self.before(inode), [change for change, _safe in changes])

    def before(self, inode: int) -> File:
        return self._made.get(inode) or self.start.files[inode]

    def _sync_content(self, sync: Sync) -> list[int]:
        """Marks what the sync makes durable, and says where in the sequence that was."""
        changes, done = self.changes.get(sync.inode, []), []
        for index, (change, safe) in enumerate(changes):
            if not safe and (isinstance(change, Write) or not sync.data_only):
                changes[index] = (change, True)
                done.append(self._places[sync.inode][index])
        return done

    def _sync_ordered(self, sync: Sync) -> None:
        places = self._sync_content(sync)
        places += [p for p, e in self.entries if p not in self._safe and sync.inode in (e.inode, *e.directories)]
        if places:
            self._safe.update(place for place, _entry in self.entries if place <= max(places))

    def _sync_weak(self, sync: Sync) -> None:
        self._sync_content(sync)
        for place, entry in self.entries:
            if sync.inode in entry.directories:
                self._synced.setdefault(place, set()).add(sync.inode)
                if self._synced[place] == entry.directories:
                    self._safe.add(place)

    def losses(self) -> list[list[tuple[str, tuple[int, ...]]]]:
        """What is open about the names: one question for each operation, or one about how far they got.

        Each answer is what is lost, in words and by its places in the sequence; the first one is nothing.
        """
        pending = [(place, entry) for place, entry in self.entries if place not in self._safe]
        if self.weak:
            return [[("", ()), (f"no {entry}", (place,))] for place, entry in pending]
        return [[_tail(pending, cut) for cut in range(len(pending), -1, -1)]] if pending else []

    def names(self, lost: Sequence[int]) -> dict[Name, int]:
        names = dict(self.start.names)
        for place, entry in self.entries:
            if place not in lost:
                entry.apply(names)
        return names


def _tail(entries: Sequence[tuple[int, Entry]], cut: int) -> tuple[str, tuple[int, ...]]:
    return ", ".join(f"no {entry}" for _place, entry in entries[cut:]), tuple(place for place, _entry in entries[cut:])


def applied(file: File, changes: Sequence[Change]) -> File:
    for change in changes:
        file = change.apply(file)
    return file


def versions(before: File, changes: Sequence[tuple[Change, bool]], *, weak: bool) -> list[tuple[str, File]]:
    """What a file may contain: first all that was written, then everything less than that, each with what is wrong."""
    pending = [index for index, (_change, safe) in enumerate(changes) if not safe]
    found: dict[bytes, tuple[str, File]] = {}

    def add(label: str, instead: dict[int, Change | None]) -> None:
        kept = [instead.get(index, change) for index, (change, _safe) in enumerate(changes)]
        file = applied(before, [change for change in kept if change is not None])
        found.setdefault(file.digest, (label, file))

    add("", {})
    for nth, index in enumerate(pending):
        after: dict[int, Change | None] = dict.fromkeys(pending[nth + 1 :])
        change = changes[index][0]
        add("no " + ", no ".join(str(changes[i][0]) for i in pending[nth:]), {index: None, **after})
        if isinstance(change, Write):
            for label, part in _parts(change, len(before.data), weak=weak):
                add(f"{label} of the {change}" + ", and nothing after it" * bool(after), {index: part, **after})
                if weak:
                    add(f"{label} of the {change}", {index: part})
    writes = [(index, change) for index, (change, safe) in enumerate(changes) if isinstance(change, Write) and not safe]
    add("zeros", {index: Write(write.inode, write.offset, bytes(len(write.data))) for index, write in writes})
    if weak:
        omitted = range(len(pending) + 1) if len(pending) <= FEW else (1, 2)
        for some in (some for count in omitted for some in combinations(pending, count)):
            add("no " + ", no ".join(str(changes[i][0]) for i in some), dict.fromkeys(some))
    return list(found.values())


def _parts(write: Write, size: int, *, weak: bool) -> Iterator[tuple[str, Write]]:
    """Less than a whole write."""
    inode, offset, data = write.inode, write.offset, write.data
    for cut in _cuts(offset, len(data)):
        yield f"only the first {cut}", Write(inode, offset, data[:cut])
        if weak:
            yield f"all but the first {cut}", Write(inode, offset + cut, data[cut:])
    yield "zeros", Write(inode, offset, bytes(len(data)))
    if weak and offset < size < offset + len(data):
        yield "only what needs no growth", Write(inode, offset, data[: size - offset])


def _cuts(offset: int, length: int) -> list[int]:
    """Where a write may be torn: at its first, middle and last sector, in its middle, and before its last byte."""
    sectors = range(SECTOR - offset % SECTOR, length, SECTOR)
    chosen = {sectors[0], sectors[len(sectors) // 2], sectors[-1]} if sectors else set()
    return sorted(cut for cut in {*chosen, length // 2, length - 1} if 0 < cut < length)


def choices(sizes: Sequence[int], most: int, chance: random.Random) -> tuple[list[tuple[int, ...]], bool]:
    """One answer to each question; all combinations if these are few.

    Else: all is there, or nothing of it; every one that is not as written, and every two if these are few; and a sample.
    """
    if prod(sizes) <= most:
        return list(product(*(range(size) for size in sizes))), True
    found = {tuple(0 for _ in sizes): None, tuple(size - 1 for size in sizes): None}
    for count in (1, 2):
        some = list(_not_as_written(sizes, count))
        found.update(dict.fromkeys(some if count == 1 or len(some) <= most else chance.sample(some, most // 2)))
    for _ in range(most // 2):
        found[tuple(chance.randrange(size) for size in sizes)] = None
    return list(found), False


def _not_as_written(sizes: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    for some in combinations(range(len(sizes)), count):
        for answers in product(*(range(1, sizes[axis]) for axis in some)):
            other = dict(zip(some, answers, strict=True))
            yield tuple(other.get(axis, 0) for axis in range(len(sizes)))
