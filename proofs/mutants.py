"""Broken variants of teamtasks, and the proofs that must notice: a proof that cannot fail shows nothing.

    scripts/mutants                  every mutant, each against the proofs that are there to catch it
    scripts/mutants --only "no lock"

A mutant is one change of the source, applied to a copy. Every proof is first run on a copy without any change, where it must
find nothing; then a mutant is caught if the proof ends with 1. A change whose text is no longer in the source is an error:
the mutant must be rewritten, not forgotten.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from proofs import report

ROOT = Path(__file__).parents[1]

FILES = "teamtasks/store/files"


class Change(NamedTuple):
    file: str
    old: str
    new: str


class Mutant(NamedTuple):
    name: str
    changes: tuple[Change, ...]
    proofs: tuple[str, ...]


KILLS = "crash --command note --state normal --fault SIGKILL"
ERRORS = "crash --command note --state normal --fault EIO"
MESSAGES = "crash --command message --state interrupted --fault SIGKILL"
FUZZ_EDITS = "fuzz edits --corpus"
POWER = "powerloss --short --command note --state normal"
POWER_TWICE = "powerloss --full --command note --state normal --model ordered"
STORM = "storm --short --seconds 0 --processes 8 --operations 120 --seed 1"
CROWD = "storm --short --seconds 0 --processes 16 --operations 150 --seed 1"
LATE = "storm --short --seconds 0 --processes 8 --operations 400 --seed 1"

MUTANTS = (
    Mutant(
        "write in place",
        (
            Change(
                f"{FILES}/publish.py",
                "    disk.rename(at.public, layout.TASKS_NEW, layout.TASKS)\n",
                "    fd = os.open(layout.TASKS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=at.public)\n"
                "    disk.write_all(fd, data)\n"
                "    os.close(fd)\n"
                "    disk.remove(at.public, layout.TASKS_NEW)\n",
            ),
        ),
        (FUZZ_EDITS, KILLS, POWER),
    ),
    Mutant(
        "messages appended again on healing",
        (Change(f"{FILES}/publish.py", "os.lseek(fd, start, os.SEEK_SET)", "os.lseek(fd, 0, os.SEEK_END)"),),
        (MESSAGES, "fuzz --replay proofs/corpus/files/known-messages-cut.json"),
    ),
    Mutant(
        "a foreign edit overwritten before it is adopted",
        (
            Change(
                f"{FILES}/heal.py",
                "    else:\n        adopt(at, state, raw)\n",
                '    else:\n        _publish(at, state, "tasks.json was changed")\n',
            ),
        ),
        ("fuzz --replay proofs/corpus/files/known-duplicate-keys.json",),
    ),
    Mutant(
        "no second look before the commit",
        (
            Change(
                f"{FILES}/session.py",
                "        previous = disk.stamp(self.public, layout.TASKS_PREVIOUS)\n        return disk.stamp(",
                "        previous = disk.stamp(self.public, layout.TASKS_PREVIOUS)\n        return True or disk.stamp(",
            ),
        ),
        (FUZZ_EDITS,),
    ),
    Mutant(
        "acknowledge before the commit",
        (
            Change(
                f"{FILES}/journal.py",
                "    data = encode(line)\n    try:\n",
                "    data = encode(line)\n    if 'TEAMTASKS_HOME' in os.environ:\n        import teamtasks\n\n"
                "        copy = os.dup(fd)\n        teamtasks.later = lambda: os.write(copy, data)\n"
                "        return size + len(data)\n    try:\n",
            ),
            Change(
                "teamtasks/__main__.py",
                "    code = serve(sys.argv[1:])\n",
                "    code = serve(sys.argv[1:])\n    import teamtasks\n\n    getattr(teamtasks, 'later', lambda: None)()\n",
            ),
        ),
        (KILLS,),
    ),
    Mutant(
        "a torn line in the middle is cut off",
        (
            Change(
                f"{FILES}/journal.py",
                '            if end >= 0 and data.find(b"\\n", end + 1) >= 0:\n                raise Damaged(offset)\n',
                "",
            ),
        ),
        ("fuzz --replay proofs/corpus/files/known-journal-and-tasks-gone-but-a-bit.json",),
    ),
    Mutant(
        "an error of the journal ignored",
        (
            Change(
                f"{FILES}/journal.py",
                "    except OSError as error:\n        raise _taken_back(fd, size, error) from error\n    return size",
                "    except OSError:\n        pass\n    return size",
            ),
        ),
        (ERRORS,),
    ),
    Mutant(
        "no sync of the journal",
        (
            Change(
                f"{FILES}/journal.py",
                "        disk.write_all(fd, data)\n        os.fdatasync(fd)\n",
                "        disk.write_all(fd, data)\n",
            ),
        ),
        (POWER,),
    ),
    Mutant(
        "healing that publishes what is not synced",
        (Change(f"{FILES}/heal.py", "    os.fsync(at.journal)  #", "    #"),),
        (POWER_TWICE,),
    ),
    Mutant(
        "no lock",
        (
            Change(
                f"{FILES}/lock.py",
                "    try:\n        return flock(fd, LOCK_EX | LOCK_NB)",
                "    return None\n    try:\n        return flock(fd, LOCK_EX | LOCK_NB)",
            ),
        ),
        (CROWD,),
    ),
    Mutant(
        "completion without the attempt check",
        (Change("teamtasks/domain/holds.py", 'if given != current["attempt"] or who.incarnation', "if who.incarnation"),),
        (LATE,),
    ),
    Mutant(
        "a held task claimed",
        (Change("teamtasks/domain/tasks.py", "    refuse_if_held(task, now)\n    if blockers:", "    if blockers:"),),
        (STORM,),
    ),
    Mutant(
        "a lost update: decided on what was read before the lock",
        (
            Change(f"{FILES}/store.py", "FileTx(at.file,", "FileTx(self.early,"),
            Change(
                f"{FILES}/store.py",
                "        try:\n            with self._turn() as at:\n                return self._undisturbed(",
                "        try:\n            self.early = self.read()._file\n            with self._turn() as at:\n"
                "                return self._undisturbed(",
            ),
        ),
        (STORM,),
    ),
    Mutant(
        "acknowledged, and now and then never written",
        (
            Change(
                f"{FILES}/journal.py",
                "    data = encode(line)\n    try:\n",
                "    data = encode(line)\n    if crc32(data) % 40 == 0:\n        return size\n    try:\n",
            ),
        ),
        (STORM,),
    ),
    Mutant(
        "text from peers printed as it is",
        (Change("teamtasks/domain/untrusted.py", "if not _is_visible(shown):", "if False:"),),
        ("fuzz texts --corpus",),
    ),
)


def copied(place: Path, mutant: Mutant | None) -> Path:
    """teamtasks and its proofs, with the mutant's changes."""
    for name in ("teamtasks", "proofs"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in mutant.changes if mutant else ():
        path = place / file
        text = path.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{mutant.name if mutant else ''}: the text to change stands {text.count(old)} times in {file}")
        path.write_text(text.replace(old, new))
    return place


def run(place: Path, proof: str) -> tuple[int, str, float]:
    """Exit code, output and seconds of a proof of the copy in ``place``."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", f"proofs.{proof.split(maxsplit=1)[0]}", *shlex.split(proof)[1:]],
        cwd=place, env={**os.environ, "PYTHONPATH": str(place)}, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    return done.returncode, done.stdout[-2000:] + done.stderr[-2000:], time.monotonic() - began


def judge(base: Path, case: tuple[Mutant | None, str]) -> str | None:
    """What is wrong with a proof's verdict on a mutant, or on the source as it is; None if it is right."""
    mutant, proof = case
    name = mutant.name if mutant else "as it is"
    place = base / f"{abs(hash(case)):x}"
    try:
        code, output, seconds = run(copied(place, mutant), proof)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    right = code == (1 if mutant else 0)
    verdict = ("caught" if mutant else "nothing found") if right else f"NOT {'CAUGHT' if mutant else 'CLEAN'} (exit {code})"
    print(f"{name:50} {proof:70} {verdict} {seconds:.0f} s", flush=True)
    return None if right else f"{name}: scripts/{proof}\n{output}"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser("scripts/mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help="one mutant")
    options = parser.parse_args(argv)
    mutants = [each for each in MUTANTS if options.only in (None, each.name)]
    if not mutants:
        parser.error(f"no such mutant; there are: {', '.join(each.name for each in MUTANTS)}")
    cases = [(None, proof) for proof in sorted({proof for each in mutants for proof in each.proofs})]
    cases += [(each, proof) for each in mutants for proof in each.proofs]
    with report.workplace("mutants") as base, ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [problem for problem in pool.map(lambda case: judge(base, case), cases) if problem]
    print(*wrong, sep="\n\n")
    print(f"mutants: {len(mutants)} mutants, {len(cases)} proofs, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
