"""Real disks: full, without room for another file, read-only; and files that are deleted while others commit."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from proofs.ledgers import TEAMTASKS, Ledger, python
from proofs.machine import EXAMPLES, PAGE, leave_inodes, leave_pages, read_only, run, small_disk
from proofs.scenes import BY_HAND, WRITERS, Scene, make_team, parsed
from teamtasks.cli.table import BY_NAME, COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

LARGE = 1 << 20
CHANGES_NOTHING = ("teamtasks settings", "teamtasks doctor", "teamtasks doctor --fix")
MAKE_FILES = [scene for scene in EXAMPLES if scene.command in ("init", "create", "join", "claim", "heartbeat")]
READS = [
    example
    for command in COMMANDS
    if not command.changes and command.name not in (*WRITERS, "demo")
    for example in command.examples
]


@pytest.fixture(scope="module")
def templates(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", size=LARGE, nr_inodes=80) as place:
        yield place


def play(scene: Scene, home: Path) -> CompletedProcess[str]:
    return run(home, scene.run, stdin=scene.stdin)


def on_record(ledger: Ledger) -> dict[str, bytes]:
    paths = (ledger.tasks, ledger.journal, ledger.messages)
    return {path.name: path.read_bytes() for path in paths if path.exists()}


def problems(ledger: Ledger) -> list[Any]:
    return [finding for finding in ledger.store().check(fix=False) if finding["severity"] != "info"]


def end_at_a_page(ledger: Ledger) -> None:
    """The journal so long that its next line needs another page."""
    length = 1
    for _turn in range(2):
        before = ledger.journal.stat().st_size

        def grow(tx: Any, length: int = length) -> None:
            tx.put("team", "payments", {**tx.get("team", "payments"), "ballast": "x" * length})

        ledger.store().transact(grow, by="system")
        size = ledger.journal.stat().st_size
        length = 1 + (before - 2 * size - 60) % PAGE
    assert PAGE - 200 < ledger.journal.stat().st_size % PAGE < PAGE


def refused_until_there_is_room(scene: Scene, ledger: Ledger, leave: Callable[[Path, int], None], disk: Path) -> set[str]:
    """Runs an example with a little more room each time, until it works. Returns what it said until then."""
    said = set()
    for room in range(20):
        leave(disk, room)
        before = on_record(ledger)
        done = play(scene, ledger.home)
        if done.returncode == 0:
            return said
        assert done.returncode == 9, done
        assert done.stderr.startswith("error[store_unavailable]: "), done
        assert "No space left on device" in done.stderr
        assert "make room" in done.stderr.lower(), done
        assert on_record(ledger) == before
        assert not ledger.new.exists()
        assert not ledger.journal_new.exists()
        said.add(done.stderr)
    raise AssertionError(f"there is room, and still: {said}")


ROTATES = """
import sys
from teamtasks.cli.main import main
from teamtasks.store.files import session
session.ROTATE_AT = -(1 << 30)
sys.exit(main(["create", "eight"]))
"""


# Full.


@pytest.mark.parametrize("scene", EXAMPLES, ids=lambda scene: scene.example)
def test_on_a_full_disk_a_command_changes_nothing_says_so_and_works_when_there_is_room(disk, templates, scene):
    ledger = scene.prepare(disk / "home", templates)
    if ledger.journal.exists():
        end_at_a_page(ledger)

    said = refused_until_there_is_room(scene, ledger, leave_pages, disk)

    assert said or scene.example in CHANGES_NOTHING
    if scene.command == "create":
        assert len(said) == 3, "the lock's text, the next tasks.json and the journal's line each were what did not fit"
    leave_pages(disk, 100)
    assert not ledger.journal.exists() or problems(ledger) == []


@pytest.mark.parametrize("scene", MAKE_FILES, ids=lambda scene: scene.example)
def test_on_a_disk_without_room_for_another_file_a_command_changes_nothing_and_says_so(disk, templates, scene):
    ledger = scene.prepare(disk / "home", templates)

    said = refused_until_there_is_room(scene, ledger, leave_inodes, disk)

    assert said
    leave_inodes(disk, 20)
    assert problems(ledger) == []


@pytest.mark.parametrize("state", ["first use", "edited", "interrupted"])
def test_on_a_full_disk_healing_loses_nothing_that_was_there(disk, templates, state):
    scene = Scene("create", BY_NAME["create"].examples[0], state)
    ledger = scene.prepare(disk / "home", templates)
    expected = {*ledger.titles().values(), *(["interrupted"] if state == "interrupted" else [])}

    codes = []
    while not codes or codes[-1] != 0:
        leave_pages(disk, len(codes))
        assert state == "first use" or run(ledger.home, [TEAMTASKS, "list", "-q"]).returncode == 0
        codes.append(play(scene, ledger.home).returncode)
        assert len(codes) < 20
    leave_pages(disk, 100)

    assert set(codes[:-1]) == {9}
    assert {*ledger.titles().values()} == {*expected, "Write the schema"}
    assert state != "edited" or BY_HAND in expected
    assert problems(ledger) == []


def test_on_a_full_disk_a_new_segment_begins_whole_or_not_at_all(disk):
    make_team(disk / "home")
    ledger = Ledger(disk / "home")
    before = on_record(ledger)
    codes = []
    while not codes or codes[-1] != 0:
        leave_pages(disk, len(codes))
        codes.append(run(ledger.home, [sys.executable, "-c", ROTATES]).returncode)
        assert len(codes) < 20
        assert not ledger.journal_new.exists()
        if codes[-1]:
            assert (codes[-1], ledger.tasks.read_bytes()) == (9, before["tasks.json"])
    leave_pages(disk, 100)

    assert len(codes) > 2
    assert ledger.segments()
    assert list(ledger.titles().values())[7:] == ["eight"]
    assert problems(ledger) == []


def test_on_a_full_disk_a_reader_shows_the_newest_version_even_if_its_file_is_missing(disk):
    make_team(disk / "home")
    ledger = Ledger(disk / "home")
    ledger.tasks.unlink()
    leave_pages(disk, 0)

    shown = run(ledger.home, [TEAMTASKS, "list", "-q"])

    assert (shown.returncode, len(shown.stdout.splitlines())) == (0, 7)
    assert shown.stderr.startswith("note: showing revision 10, the last good one: ")


def test_a_message_that_was_committed_on_a_full_disk_is_there_when_there_is_room(disk):
    """The journal's line still fits into its last page, the message itself does not."""
    make_team(disk / "home")
    ledger = Ledger(disk / "home")
    end_at_a_page(ledger)
    notices: list[str] = []
    leave_pages(disk, 2)

    store = ledger.store(notice=notices.append)
    store.transact(lambda tx: tx.append("messages", {"id": "m", "text": "hello"}), by="human")

    assert [text.partition(", but")[0] for text in notices] == [f"committed as revision {ledger.revision()}"]
    leave_pages(disk, 100)
    assert ledger.texts() == ["hello"]
    assert problems(ledger) == []


# Read-only.


def test_on_a_read_only_disk_readers_work_and_writers_say_why_they_do_not(tmp_path, templates):
    with small_disk(tmp_path / "disk", size=32 * LARGE) as disk:
        _readers_work_and_writers_do_not(disk, templates)


def _readers_work_and_writers_do_not(disk: Path, templates: Path) -> None:
    homes = {scene.example: scene.prepare(disk / str(number), templates) for number, scene in enumerate(EXAMPLES)}
    before = {example: on_record(ledger) for example, ledger in homes.items()}
    shared = homes["teamtasks settings"].home
    with read_only(disk):
        for scene in EXAMPLES:
            done = play(scene, homes[scene.example].home)
            if scene.example == "teamtasks settings":
                assert done.returncode == 0
                continue
            assert done.returncode == 9, done
            assert "Read-only file system" in done.stderr
            assert str(homes[scene.example].home) in done.stderr, "which place it is about"
        for example in READS:
            words, stdin = parsed(example)
            done = run(shared, [TEAMTASKS, *words], stdin=stdin)
            assert (done.returncode, "note:" in done.stderr) == (0, False), done
    assert {example: on_record(ledger) for example, ledger in homes.items()} == before
    assert run(shared, [TEAMTASKS, "create", "writable again"]).returncode == 0


# Deleted under live writers, as when Claude Code tidies up.

CREATES = """
import teamtasks
from teamtasks.domain.errors import StoreUnavailable
notices = []
team = teamtasks.open("payments", home=str(ledger.home))
team.store.notice = notices.append
say("ready")
sys.stdin.readline()
for number in range(40):
    title = f"{sys.argv[2]} {number}"
    while True:
        try:
            team.create(title)
            break
        except StoreUnavailable:  # deleted faster than this disk can write: nothing was changed, so it can be repeated
            time.sleep(0.05)
    say(title)
    time.sleep(0.002)
say(len(notices))
"""


@pytest.mark.parametrize("what", ["tasks.json", "the public directory"])
def test_nothing_is_lost_when_files_are_deleted_again_and_again_under_live_writers(pair, what):
    writers = [python(pair.home, CREATES, str(number)) for number in range(3)]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    deleted = 0
    while any(writer.poll() is None for writer in writers):
        time.sleep(0.02)
        if pair.tasks.exists():
            deleted += 1
        if what == "tasks.json":
            pair.tasks.unlink(missing_ok=True)
        else:
            shutil.rmtree(pair.public, ignore_errors=True)
    told = [writer.communicate(timeout=60) for writer in writers]

    assert [err for _out, err in told] == ["", "", ""]
    assert deleted > 3
    lines = [out.splitlines() for out, _err in told]
    assert sum(int(each[-1]) for each in lines) >= 3, "what was restored is said"
    pair.store().transact(lambda tx: None, by="human")
    acknowledged = [title for each in lines for title in each[:-1]]
    assert sorted(pair.titles().values()) == sorted(["one", "two", *acknowledged])
    assert len(acknowledged) == 120
    assert pair.revision() == 3 + 120
    pair.assert_in_order()
