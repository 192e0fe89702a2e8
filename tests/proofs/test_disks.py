"""The model of a disk that scripts/powerloss rests on: which states are legal after which operations, and which are not."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from proofs.disks import Disk, choices
from proofs.operations import ROOT, Entry, File, Mode, Op, State, Sync, Truncate, Write
from proofs.record import CannotRecord, Recording
from proofs.stage import Stage, scan
from proofs.strace import need_strace

OLD, NEW, SUB = 1, 2, 3
MADE = File()


def disk(*ops: Op, old: bytes | None = b"old") -> Disk:
    """A disk that has one file, "a", if ``old`` is given."""
    names = {(ROOT, "a"): OLD} if old is not None else {}
    return Disk(State(names, {ROOT: File(directory=True), OLD: File(old or b"")}), ops)


def legal(disk: Disk, model: str) -> set[tuple[tuple[str, bytes], ...]]:
    """Every state after all operations: names with what is in them."""
    found, complete = disk.states(len(disk.ops), model, 10_000, random.Random(1))
    assert complete
    return {
        tuple((path, state.files[inode].data) for path, inode in sorted(state.paths().items())) for state, _lost in found
    }


def one(data: bytes, name: str = "a") -> tuple[tuple[str, bytes], ...]:
    return ((name, data),)


def create(name: str, inode: int = NEW, directory: int = ROOT) -> Entry:
    return Entry("create", inode, target=(directory, name), made=MADE)


def rename(source: str, target: str, inode: int = NEW) -> Entry:
    return Entry("rename", inode, (ROOT, source), (ROOT, target))


MODELS = pytest.mark.parametrize("model", ["ordered", "weak"])


@MODELS
def test_what_is_synced_is_there(model):
    assert legal(disk(Write(OLD, 0, b"new!"), Sync(OLD)), model) == {one(b"new!")}
    assert legal(disk(Write(OLD, 0, b"new!"), Sync(OLD, data_only=True)), model) == {one(b"new!")}


@MODELS
def test_a_write_may_be_there_or_not_or_torn_or_zeros(model):
    found = legal(disk(Write(OLD, 3, b"abcd")), model)

    assert {one(b"old"), one(b"oldabcd"), one(b"oldab"), one(b"oldabc"), one(b"old\0\0\0\0")} <= found
    assert one(b"oldXXXX") not in found
    assert one(b"") not in found


def test_only_a_weak_disk_keeps_the_second_half_of_a_write_without_the_first():
    write = disk(Write(OLD, 3, b"abcd"))

    assert one(b"old\0\0cd") in legal(write, "weak")
    assert one(b"old\0\0cd") not in legal(write, "ordered")


def test_only_a_weak_disk_writes_over_a_file_without_letting_it_grow():
    write = disk(Write(OLD, 1, b"abcdef"))

    assert one(b"oab") in legal(write, "weak")
    assert one(b"oab") not in legal(write, "ordered")


@MODELS
def test_a_long_write_is_torn_at_sectors(model):
    found = legal(disk(Write(OLD, 0, b"x" * 2000), old=b""), model)

    assert {len(data) for ((_name, data),) in found} >= {0, 512, 1000, 1024, 1536, 1999, 2000}


def test_an_ordered_disk_has_a_first_part_of_the_writes_and_a_weak_one_any_of_them():
    two = disk(Write(OLD, 0, b"1"), Write(OLD, 1, b"2"))

    assert one(b"o2d") not in legal(two, "ordered")
    assert one(b"o2d") in legal(two, "weak")
    assert {one(b"old"), one(b"1ld"), one(b"12d")} <= legal(two, "ordered") & legal(two, "weak")


@MODELS
def test_a_sync_covers_what_came_before_it_and_nothing_after(model):
    found = legal(disk(Write(OLD, 0, b"1"), Sync(OLD), Write(OLD, 1, b"2")), model)

    assert {data[:1] for ((_name, data),) in found} == {b"1"}
    assert one(b"1ld") in found


@MODELS
def test_fdatasync_promises_neither_a_truncation_nor_a_mode(model):
    assert legal(disk(Truncate(OLD, 1), Sync(OLD, data_only=True)), model) == {one(b"o"), one(b"old")}
    assert legal(disk(Truncate(OLD, 1), Sync(OLD)), model) == {one(b"o")}
    modes = disk(Mode(OLD, 0o644), Sync(OLD, data_only=True)).states(2, model, 10, random.Random(1))[0]
    assert {state.files[OLD].mode for state, _lost in modes} == {0o600, 0o644}


def test_a_synced_file_has_its_name_on_an_ordered_disk_and_perhaps_none_on_a_weak_one():
    made = disk(create("b"), Write(NEW, 0, b"new"), Sync(NEW), old=None)

    assert legal(made, "ordered") == {one(b"new", "b")}
    assert legal(made, "weak") == {(), one(b"new", "b")}
    assert legal(disk(*made.ops, Sync(ROOT), old=None), "weak") == {one(b"new", "b")}


@MODELS
def test_a_synced_name_may_lead_to_content_that_is_not(model):
    found = legal(disk(create("b"), Write(NEW, 0, b"new"), Sync(ROOT), old=None), model)

    assert {one(b"", "b"), one(b"new", "b"), one(b"\0\0\0", "b")} <= found
    assert () not in found


@MODELS
def test_a_file_that_is_synced_and_renamed_into_place_is_the_old_one_or_the_new_one(model):
    found = legal(disk(create("b"), Write(NEW, 0, b"new"), Sync(NEW), rename("b", "a")), model)

    assert {dict(state)["a"] for state in found} == {b"old", b"new"}


@MODELS
def test_a_file_that_is_renamed_into_place_without_a_sync_may_be_torn_or_empty(model):
    found = legal(disk(create("b"), Write(NEW, 0, b"new"), rename("b", "a")), model)

    assert {b"old", b"new", b"n", b"", b"\0\0\0"} <= {dict(state)["a"] for state in found}


def test_names_reach_an_ordered_disk_in_their_order_and_a_weak_one_in_any():
    two = disk(create("b", NEW), create("c", SUB), old=None)

    assert legal(two, "ordered") == {(), one(b"", "b"), (("b", b""), ("c", b""))}
    assert legal(two, "weak") == legal(two, "ordered") | {one(b"", "c")}


def test_a_sync_of_something_clean_takes_nothing_along():
    assert legal(disk(create("b"), Sync(OLD), old=b"x"), "ordered") == {one(b"x"), (("a", b"x"), ("b", b""))}
    later = disk(create("b"), Write(OLD, 0, b"y"), Sync(OLD), old=b"x")
    assert legal(later, "ordered") == {(("a", b"y"), ("b", b""))}
    assert legal(later, "weak") == {one(b"y"), (("a", b"y"), ("b", b""))}


@MODELS
def test_a_sync_takes_along_only_names_from_before_the_last_change(model):
    found = legal(disk(Write(OLD, 0, b"y"), create("b"), Sync(OLD), old=b"x"), model)

    assert found == {one(b"y"), (("a", b"y"), ("b", b""))}


def test_a_rename_whose_source_never_came_does_nothing():
    found = legal(disk(create("b"), Sync(NEW), rename("b", "a")), "weak")

    assert found == {one(b"old"), (("a", b"old"), ("b", b"")), one(b"")}


def test_a_rename_between_directories_needs_both_of_them_synced():
    inside = Entry("mkdir", SUB, target=(ROOT, "d"), made=File(directory=True))
    move = Entry("rename", OLD, (ROOT, "a"), (SUB, "a"))

    assert len(legal(disk(inside, Sync(ROOT), move, Sync(ROOT)), "weak")) == 2
    assert len(legal(disk(inside, Sync(ROOT), move, Sync(SUB)), "weak")) == 2
    assert legal(disk(inside, Sync(ROOT), move, Sync(SUB), Sync(ROOT)), "weak") == {(("d", b""), ("d/a", b"old"))}


def test_what_is_in_a_directory_that_never_came_is_gone():
    inside = Entry("mkdir", SUB, target=(ROOT, "d"), made=File(directory=True))
    made = disk(inside, create("b", NEW, SUB), Write(NEW, 0, b"new"), Sync(NEW), Sync(SUB), old=None)

    assert legal(made, "weak") == {(), (("d", b""), ("d/b", b"new"))}
    assert legal(made, "ordered") == {(("d", b""), ("d/b", b"new"))}


@MODELS
def test_two_names_of_one_file_have_one_content(model):
    link = Entry("link", OLD, (ROOT, "a"), (ROOT, "b"))

    found = legal(disk(link, Sync(ROOT), Write(OLD, 0, b"x")), model)

    assert {(("a", b"xld"), ("b", b"xld")), (("a", b"old"), ("b", b"old"))} <= found
    assert (("a", b"xld"), ("b", b"old")) not in found


def test_what_is_lost_is_said():
    found, _complete = disk(create("b"), Write(OLD, 3, b"abcd")).states(2, "weak", 100, random.Random(1))

    assert () in [lost for _state, lost in found]
    assert ("no create b", "a: only the first 2 of the write of 4 at 3") in [lost for _state, lost in found]


def test_few_combinations_are_all_tried_and_of_many_every_two_and_a_sample():
    assert len(choices([2, 3, 2], 12, random.Random(1))[0]) == 12
    found, complete = choices([2] * 12, 100, random.Random(1))
    assert not complete
    assert {sum(choice) for choice in found} >= {0, 1, 2, 12}
    assert sum(sum(choice) == 2 for choice in found) >= 66
    assert choices([2] * 12, 100, random.Random(1)) == (found, False)


# The recorder, against real commands.

CHANGES = """
import os
home = os.environ["HOME"]
fd = os.open(home + "/a", os.O_WRONLY | os.O_APPEND)
os.write(fd, b"more")
os.fdatasync(fd)
new = os.open(home + "/new", os.O_WRONLY | os.O_CREAT, 0o600)
os.write(new, b"12345")
os.lseek(new, 1, 0)
os.write(new, b"x")
os.pwrite(new, b"y", 3)
os.ftruncate(new, 4)
os.mkdir(home + "/d", 0o700)
os.rename(home + "/new", home + "/d/new")
os.link(home + "/a", home + "/d/a")
os.unlink(home + "/a")
os.write(1, b"done")
os.close(os.open(home + "/late", os.O_WRONLY | os.O_CREAT, 0o600))
"""


def recorded(home, program: str) -> Recording:
    return Recording(home, scan(home)).run([sys.executable, "-c", program], "", {**os.environ, "HOME": str(home)})


def home_with_a_file(tmp_path):
    need_strace()
    home = tmp_path / "home"
    home.mkdir()
    (home / "a").write_bytes(b"old")
    return home


def test_a_command_is_recorded_with_every_byte_and_with_its_answer(tmp_path):
    recording = recorded(home_with_a_file(tmp_path), CHANGES)

    state = recording.live
    assert {path: state.files[inode].data for path, inode in state.paths().items()} == {
        "d": b"", "d/a": b"oldmore", "d/new": b"1x3y", "late": b""
    }  # fmt: skip
    assert [str(op) for op in recording.ops][:3] == ["write of 4 at 3", "fdatasync", "create new"]
    assert recording.answered == len(recording.ops) - 1
    assert recording.code == 0


@pytest.mark.parametrize(
    "unknown",
    [
        "os.posix_fallocate(os.open(home + '/a', os.O_RDWR), 0, 100)",
        "import mmap; mmap.mmap(os.open(home + '/a', os.O_RDWR), 3)[0:1] = b'x'",
        "os.symlink('a', home + '/b')",
        "os.fork() or os.unlink(home + '/a'); os.open(home + '/b', os.O_CREAT)",
    ],
)
def test_a_change_that_the_recorder_does_not_understand_is_an_error(tmp_path, unknown):
    with pytest.raises(CannotRecord):
        recorded(home_with_a_file(tmp_path), f"import os; home = os.environ['HOME']; {unknown}")


def test_a_state_is_built_from_the_same_files_whatever_was_done_to_them(tmp_path):
    home = home_with_a_file(tmp_path)
    stage, start = Stage(home), scan(home)
    stage.keep(start)
    before = (home / "a").stat()

    subprocess.run(["sh", "-c", "echo more >> a; echo b > b"], cwd=home, check=True)
    stage.build(start)

    after = (home / "a").stat()
    assert [path.name for path in home.iterdir()] == ["a"]
    assert (home / "a").read_bytes() == b"old"
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
