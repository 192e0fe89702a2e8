"""Between real directories and the model of a disk: what is there, and any state of a disk, made real."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from proofs.operations import ROOT, File, State


def scan(home: Path | str) -> State:
    """A real directory as the model sees it. The numbers of its inodes are the real ones."""
    names: dict[tuple[int, str], int] = {}
    files = {ROOT: File(directory=True)}
    todo = [(str(home), ROOT)]
    while todo:
        path, directory = todo.pop()
        for each in os.scandir(path):
            found = each.stat(follow_symlinks=False)
            inner = stat.S_ISDIR(found.st_mode)
            names[directory, each.name] = found.st_ino
            if inner:
                todo.append((each.path, found.st_ino))
            elif not stat.S_ISREG(found.st_mode):
                raise ValueError(f"{each.path} is neither a file nor a directory")
            data = b"" if inner else Path(each.path).read_bytes()
            files[found.st_ino] = File(data, stat.S_IMODE(found.st_mode), directory=inner)
    return State(names, files)


class Stage:
    """A home in which one state after the other is built, from files that keep their inode and their times.

    What a journal says of a file (inode, size, time) is as true of the built state as it was of the recorded one. Each file
    also has a name in ``pool``; one that is no longer what was put into it is written again.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.pool = home, home.with_name(f"{home.name}.pool")
        self.pool.mkdir()
        self._times: dict[tuple[int, bytes], int] = {}  # when an inode got a content
        self._put: dict[int, tuple[bytes, tuple[int, ...]]] = {}

    def keep(self, state: State) -> None:
        """What is in the home is this state: its files stay, and so do their times."""
        for path, inode in state.paths().items():
            file, real = state.files[inode], self.home / path
            if not file.directory:
                if not (self.pool / str(inode)).exists():
                    os.link(real, self.pool / str(inode))
                self._times.setdefault((inode, file.digest), real.stat().st_mtime_ns)

    def build(self, state: State) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        for path, inode in state.paths().items():
            file, real = state.files[inode], self.home / path
            if file.directory:
                real.mkdir()
                real.chmod(file.mode)
            else:
                os.link(self._filled(inode, file), real)

    def _filled(self, inode: int, file: File) -> Path:
        path = self.pool / str(inode)
        digest, as_put = self._put.get(inode, (b"", ()))
        if digest != file.digest or _stamp(path) != as_put:
            path.write_bytes(file.data)
            path.chmod(file.mode)
            then = self._times.get((inode, file.digest)) or path.stat().st_mtime_ns - 60_000_000_000
            os.utime(path, ns=(then, then))
            self._put[inode] = (file.digest, _stamp(path))
        return path


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return (found.st_mtime_ns, found.st_size, found.st_mode)
