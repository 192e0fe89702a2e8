"""Files, names, and what is done to them: the words of a recording and of the model of a disk."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = 0  # the inode of the home

Name = tuple[int, str]  # the inode of a directory, and a name in it


class File:
    """The content of an inode: never changed, only replaced."""

    __slots__ = ("_digest", "data", "directory", "mode")

    def __init__(self, data: bytes = b"", mode: int = 0o600, *, directory: bool = False) -> None:
        self.data, self.mode, self.directory = data, mode, directory
        self._digest = b""

    @property
    def digest(self) -> bytes:
        if not self._digest:
            self._digest = blake2b(self.data, digest_size=16, salt=b"%o" % self.mode).digest()
        return self._digest


@dataclass(frozen=True)
class Entry:
    """An operation on names: create, mkdir, link, unlink, rmdir or rename. ``made`` is what a new inode begins with."""

    verb: str
    inode: int
    source: Name | None = None
    target: Name | None = None
    made: File | None = None

    @property
    def directories(self) -> set[int]:
        names = (self.source if self.verb != "link" else None, self.target)
        return {name[0] for name in names if name is not None}

    def apply(self, names: dict[Name, int]) -> None:
        if self.source is not None and self.target is not None:
            if names.get(self.source) != self.inode:
                return  # nothing to take
            if self.verb == "rename" and names.get(self.target) == self.inode:
                return  # two names of one file: POSIX says that nothing happens
        if self.source is not None and self.verb != "link":
            names.pop(self.source, None)
        if self.target is not None:
            names[self.target] = self.inode

    def __str__(self) -> str:
        return " ".join([self.verb, *(name[1] for name in (self.source, self.target) if name is not None)])


@dataclass(frozen=True)
class Write:
    inode: int
    offset: int
    data: bytes

    def apply(self, file: File) -> File:
        old = file.data.ljust(self.offset, b"\0")
        return File(old[: self.offset] + self.data + old[self.offset + len(self.data) :], file.mode)

    def __str__(self) -> str:
        return f"write of {len(self.data)} at {self.offset}"


@dataclass(frozen=True)
class Truncate:
    inode: int
    size: int

    def apply(self, file: File) -> File:
        return File(file.data[: self.size].ljust(self.size, b"\0"), file.mode)

    def __str__(self) -> str:
        return f"truncation to {self.size}"


@dataclass(frozen=True)
class Mode:
    inode: int
    mode: int

    def apply(self, file: File) -> File:
        return File(file.data, self.mode, directory=file.directory)

    def __str__(self) -> str:
        return f"mode {self.mode:o}"


@dataclass(frozen=True)
class Sync:
    inode: int
    data_only: bool = False

    def __str__(self) -> str:
        return "fdatasync" if self.data_only else "fsync"


Change = Write | Truncate | Mode
Op = Entry | Change | Sync


class State:
    """Names and what they lead to."""

    def __init__(self, names: dict[Name, int], files: dict[int, File]) -> None:
        self.names, self.files = names, files

    def after(self, ops: Sequence[Op]) -> State:
        """With every operation: what a process sees that looks while the power is on."""
        names, files = dict(self.names), dict(self.files)
        for op in ops:
            if isinstance(op, Entry):
                op.apply(names)
                if op.made is not None:
                    files[op.inode] = op.made
            elif not isinstance(op, Sync):
                files[op.inode] = op.apply(files[op.inode])
        return State(names, files)

    def paths(self) -> dict[str, int]:
        """The inode at each path that can be reached; a directory comes before what is in it."""
        inside: dict[int, list[tuple[str, int]]] = {}
        for (directory, name), inode in sorted(self.names.items()):
            inside.setdefault(directory, []).append((name, inode))
        found: dict[str, int] = {}
        todo = [("", ROOT)]
        while todo:
            path, directory = todo.pop()
            for name, inode in inside.get(directory, ()):
                found[path + name] = inode
                if self.files[inode].directory:
                    todo.append((f"{path}{name}/", inode))
        return found

    def key(self) -> bytes:
        """Equal for states that nobody can tell apart."""
        digest = blake2b(digest_size=16)
        for path, inode in sorted(self.paths().items()):
            digest.update(b"%s\0%d\0%s" % (path.encode(), inode, self.files[inode].digest))
        return digest.digest()
