"""What waits for what: blockers, the order of ready work, cycles, and the chain down to why something is stuck.

All of it is derived from the tasks each time it is asked for; nothing here is ever stored.
"""

from __future__ import annotations

from teamtasks.domain.names import task_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from teamtasks.domain.documents import Head

    Heads = Mapping[str, Head]


def open_dependencies(task: Head, unfinished: Mapping[str, object]) -> list[str]:
    """The dependencies that are not completed. An id that is not among the unfinished counts as completed."""
    return [d for d in task["dependencies"] if d in unfinished]


def unfinished(heads: Iterable[Head]) -> dict[str, Head]:
    return {h["id"]: h for h in heads if h["status"] != "completed"}


def waiting_on(heads: Heads) -> dict[str, list[str]]:
    """For each id the unfinished tasks that name it as a dependency."""
    waiting: dict[str, list[str]] = {}
    for head in heads.values():
        for dependency in head["dependencies"]:
            waiting.setdefault(dependency, []).append(head["id"])
    return waiting


def behind(task_id: str, waiting: Mapping[str, Sequence[str]]) -> set[str]:
    """Every task that cannot begin before this one is completed, however far away."""
    found: set[str] = set()
    frontier = [task_id]
    while frontier:
        for waiter in waiting.get(frontier.pop(), ()):
            if waiter not in found:
                found.add(waiter)
                frontier.append(waiter)
    return found


def is_ready(head: Head, heads: Heads) -> bool:
    """Pending with every dependency completed. Whether it is reserved for somebody is another question."""
    return head["status"] == "pending" and not open_dependencies(head, heads)


def suits(head: Head, agent: str | None, capabilities: Iterable[str]) -> bool:
    """Whether this agent may take it: it is not reserved for another, and what it needs the agent can do."""
    if head["assignee"] is not None and head["assignee"] != agent:
        return False
    needs = head.get("needs")
    return not needs or set(needs).issubset(capabilities)


def candidates(heads: Heads, agent: str, capabilities: Iterable[str]) -> Iterator[str]:
    """Ids that the agent may claim, best first: assigned to it, then priority, then what unblocks most, then oldest.

    Lazy: nearly always the first is taken, so the others of its rank are put in order only when they are asked for.
    """
    able = frozenset(capabilities)
    ranks: dict[tuple[bool, int], list[str]] = {}
    for head in heads.values():
        if is_ready(head, heads) and suits(head, agent, able):
            ranks.setdefault((head["assignee"] is None, head["priority"]), []).append(head["id"])
    waiting = waiting_on(heads) if ranks else {}

    def merit(id: str) -> tuple[int, int]:
        return (-len(behind(id, waiting)) if id in waiting else 0, task_number(id))

    for rank in sorted(ranks):
        best = min(ranks[rank], key=merit)
        yield best
        yield from (id for id in sorted(ranks[rank], key=merit) if id != best)


def ready_order(heads: Heads) -> list[Head]:
    """Every ready task, best first for an agent that could take any of them."""
    waiting = waiting_on(heads)
    ready = [h for h in heads.values() if is_ready(h, heads)]
    ready.sort(key=lambda h: (h["priority"], -len(behind(h["id"], waiting)), task_number(h["id"])))
    return ready


def cycle_through(task_id: str, dependencies: Iterable[str], get: Callable[[str], Head | None]) -> list[str] | None:
    """The cycle that would exist if ``task_id`` depended on ``dependencies``, as a path that begins and ends with it."""
    came_from: dict[str, str] = {}
    frontier = []
    for dependency in dependencies:
        came_from[dependency] = task_id
        frontier.append(dependency)
    while frontier:
        current = frontier.pop()
        if current == task_id:
            return _path_back(task_id, came_from)
        task = get(current)
        for following in task["dependencies"] if task else ():
            if following not in came_from:
                came_from[following] = current
                frontier.append(following)
    return None


def find_cycle(tasks: Mapping[str, Head]) -> list[str] | None:
    """A cycle among these tasks, as a path that begins and ends with the same id; None if there is none."""
    settled: set[str] = set()
    for start in tasks:
        path = [] if start in settled else [start]
        on_path, left = set(path), {start: iter(tasks[start]["dependencies"])}
        while path:
            following = next(left[path[-1]], None)
            if following is None:
                on_path.discard(path[-1])
                settled.add(path.pop())
            elif following in on_path:
                return [*path[path.index(following) :], following]
            elif following in tasks and following not in settled:
                path.append(following)
                on_path.add(following)
                left[following] = iter(tasks[following]["dependencies"])
    return None


def root_causes(task_id: str, heads: Heads) -> list[str]:
    """The unfinished tasks at the bottom of what blocks this one: those that are not blocked themselves."""
    roots, seen, frontier = [], {task_id}, [task_id]
    while frontier:
        current = frontier.pop(0)
        blockers = open_dependencies(heads[current], heads) if current in heads else []
        if not blockers and current != task_id:
            roots.append(current)
        for blocker in blockers:
            if blocker not in seen:
                seen.add(blocker)
                frontier.append(blocker)
    return roots


def _path_back(end: str, came_from: Mapping[str, str]) -> list[str]:
    path = [end]
    step = came_from[end]
    while step != end:
        path.append(step)
        step = came_from[step]
    path.append(end)
    return path[::-1]
