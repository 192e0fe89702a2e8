"""Measures what docs/architecture.md promises. Interleaved, so that a noisy machine disturbs all figures alike."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import teamtasks
from teamtasks.domain.creation import Wish
from teamtasks.domain.errors import NothingReady, PlanFinished
from teamtasks.store.files.store import FileStore

TEAMTASKS = str(Path(sys.executable).parent / "teamtasks")
GOALS = {  # by size: the ratio that the figure should not exceed
    "claim": {100: 1.7, 1000: 1.9, 10000: 4.0},
    "complete": {100: 1.7, 1000: 1.9, 10000: 4.0},
    "list": {1000: 1.8},
    "ready": {1000: 1.8},
    "heartbeat": {100: 1.6, 1000: 1.6, 10000: 1.6},
}
OTHERS = 5.0


def plan(home: str, tasks: int) -> FileStore:
    """A ledger as it looks in the middle of a project: half done, a third of the rest waiting for something."""
    store = FileStore(home, "bench")
    team = {"created_at": "2026-01-01T00:00:00Z", "lead": None, "topology": "mesh", "settings": {"wip_limit": 1000}}
    store.create(team, by="human")

    def fill(tx):
        for n in range(1, tasks + 1):
            id = tx.next_id("task")
            tx.get("task", id)
            wish = Wish(
                f"Implement part {n} of the payment system",
                description="What it is about, in a few sentences. " * 4,
                acceptance_criteria=["it works", "it is tested"],
                dependencies=[f"task-{n // 2}"] if n % 3 == 0 else [],
                estimate=15,
            )
            task = wish.granted(id=id, now=tx.now, by="human")
            if n <= tasks // 2:
                task |= {
                    "status": "completed",
                    "completed_at": tx.now,
                    "completed_by": "db",
                    "assignee": "db",
                    "attempts": 1,
                }
            tx.put("task", id, task)

    store.transact(fill, by="human")
    teamtasks.open("bench", agent="warm", home=home).claim()  # the line after the big one
    return store


def environment(home: str) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEAMTASKS_", "PYTHONDONTWRITE"))}
    return {**clean, "TEAMTASKS_HOME": home, "TASKDATA": f"{home}/taskwarrior", "TASKRC": f"{home}/taskrc"}


def seconds(command: list[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.decode()}")
    return took


def commands(size: int, rounds: int) -> dict[str, float]:
    home = tempfile.mkdtemp(prefix="teamtasks-bench-")
    try:
        store, env = plan(home, size), environment(home)
        has_peer = _taskwarrior(size, env)
        times: dict[str, list[float]] = {}
        for n in range(rounds):
            last = f"task-{size}"
            for name, words in {
                "bare": [sys.executable, "-c", "pass"],
                "claim": [TEAMTASKS, "--as", "a", "claim", "--another"],
                "complete": [TEAMTASKS, "--as", "a", "complete", "?"],
                "note": [TEAMTASKS, "note", last, "worth knowing"],
                "create": [TEAMTASKS, "create", "One more", "--key", f"k{n}"],
                "list": [TEAMTASKS, "list"],
                "ready": [TEAMTASKS, "ready"],
                "show": [TEAMTASKS, "show", last],
                "why": [TEAMTASKS, "why", last],
                "blocked": [TEAMTASKS, "blocked"],
                "heartbeat": [TEAMTASKS, "--as", "a", "heartbeat", "--context", "50"],
                "list --json": [TEAMTASKS, "list", "--json"],
                "--help": [TEAMTASKS, "--help"],
                "(taskwarrior start)": ["task", str(n + 1), "start"],
                "(taskwarrior list)": ["task", "minimal"],
            }.items():
                if name.startswith("(") and not has_peer:
                    continue
                if words[-1] == "?":
                    words[-1] = store.read().get("agent", "a")["holds"][-1]
                times.setdefault(name, []).append(seconds(words, env))
        bare = statistics.median(times["bare"])
        ratios = {name: statistics.median(taken) / bare for name, taken in times.items()}
        return {**ratios, "bare ms": bare * 1000}
    finally:
        shutil.rmtree(home)


def _taskwarrior(size: int, env: dict[str, str]) -> bool:
    """Taskwarrior, where it is installed, with as many tasks as we have."""
    if shutil.which("task") is None:
        return False
    Path(env["TASKRC"]).write_text(f"data.location={env['TASKDATA']}\nconfirmation=off\nverbose=nothing\nhooks=off\n")
    Path(env["TASKDATA"]).mkdir()
    lines = [f'{{"description":"Implement part {n}","status":"pending","entry":"20260101T000000Z"}}' for n in range(size)]
    subprocess.run(["task", "import", "-"], input="\n".join(lines).encode(), env=env, check=True, capture_output=True)
    return True


def commit_ratio(size: int, rounds: int) -> float:
    """A commit in a long-lived process against the bare system calls that it cannot do without."""
    home = tempfile.mkdtemp(prefix="teamtasks-bench-")
    try:
        plan(home, size)
        team = teamtasks.open("bench", home=home)
        data = Path(home, "tasks/bench/tasks.json").read_bytes()
        line = b"x" * 1500
        fd = os.open(f"{home}/append", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        ours, bare = [], []
        for n in range(rounds):
            began = time.perf_counter()
            team.note(f"task-{size - n}", "worth knowing")
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            os.write(fd, line)
            os.fdatasync(fd)
            new = os.open(f"{home}/new", os.O_CREAT | os.O_WRONLY | os.O_EXCL)
            os.write(new, data)
            os.fsync(new)
            os.close(new)
            os.rename(f"{home}/new", f"{home}/old")
            bare.append(time.perf_counter() - began)
        os.close(fd)
        return statistics.median(ours) / statistics.median(bare)
    finally:
        shutil.rmtree(home)


def _claimer(home: str, name: str, gate, results) -> None:
    team = teamtasks.open("bench", agent=name, home=home)
    gate.wait()
    waits = []
    while True:
        began = time.perf_counter()
        try:
            team.claim(another=True)
        except (NothingReady, PlanFinished):
            break
        waits.append(time.perf_counter() - began)
    results.put((len(waits), max(waits, default=0.0)))


def contention(processes: int, tasks: int) -> tuple[float, float, int]:
    """Commits a second, the longest wait, and how many were served, when everybody claims at once."""
    home = tempfile.mkdtemp(prefix="teamtasks-bench-")
    try:
        team = teamtasks.open("bench", create=True, home=home)
        team.settings(wip_limit=1000)
        for n in range(tasks):
            team.create(f"Task {n}")
        context = multiprocessing.get_context("fork")
        gate, results = context.Barrier(processes + 1), context.Queue()
        workers = [context.Process(target=_claimer, args=(home, f"w{n}", gate, results)) for n in range(processes)]
        for worker in workers:
            worker.start()
        gate.wait()
        began = time.perf_counter()
        told = [results.get() for _ in workers]
        took = time.perf_counter() - began
        for worker in workers:
            worker.join()
        assert sum(count for count, _wait in told) == tasks, "a task was lost or claimed twice"
        return tasks / took, max(wait for _count, wait in told), sum(count > 0 for count, _wait in told)
    finally:
        shutil.rmtree(home)


def memory(size: int) -> float:
    """Megabytes that one claim needs at its peak."""
    home = tempfile.mkdtemp(prefix="teamtasks-bench-")
    try:
        plan(home, size)
        child = os.fork()
        if child == 0:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.execve(TEAMTASKS, [TEAMTASKS, "--as", "a", "claim"], environment(home))
        _pid, _status, usage = os.wait4(child, 0)
        return usage.ru_maxrss / 1024
    finally:
        shutil.rmtree(home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="few rounds, small sizes: shows that it works")
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    sizes = [100] if asked.short else [int(size) for size in asked.sizes.split(",")]
    rounds = 3 if asked.short else asked.rounds
    columns = {size: commands(size, rounds) for size in sizes}
    print("one command, × bare interpreter (goal)   " + "".join(f"{size:>8} tasks    " for size in sizes))
    for name in columns[sizes[0]]:
        cells = []
        for size in sizes:
            goal = GOALS.get(name, {}).get(size, OTHERS if not name.startswith(("bare", "(")) else None)
            cells.append(f"{columns[size][name]:8.2f}" + (f" (≤ {goal:g})".ljust(10) if goal else " " * 10))
        print(f"  {name:<38} " + "".join(cells))
    size = sizes[min(1, len(sizes) - 1)]
    print(f"a commit in a long-lived process, {size} tasks: {commit_ratio(size, rounds):.2f} × its bare system calls (≤ 2)")
    rate, wait, served = contention(*((8, 40) if asked.short else (64, 1000)))
    print(
        f"everybody claims at once: {rate:.0f} commits/s (≥ 250), longest wait {wait:.2f} s (≤ 1), {served} processes served"
    )
    print(f"memory of a claim at {sizes[-1]} tasks: {memory(sizes[-1]):.0f} MB (≤ 80)")


if __name__ == "__main__":
    main()
