"""What a person sees on a terminal: the same facts as ``plain``, in tables and colours.

Rich passes escape characters through, so every foreign text is escaped before it gets here, and markup is never read.
"""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from teamtasks.cli import plain
from teamtasks.domain.times import age, seconds_between
from teamtasks.domain.untrusted import block, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rich.console import RenderableType

    Answer = dict[str, Any]

_STATES = {
    "completed": ("done", "green"),
    "in_progress": ("running", "cyan"),
    "ready": ("ready", "bold"),
    "blocked": ("blocked", "yellow"),
}


def render(view: str, answer: Answer, *, colour: bool) -> str:
    console = Console(
        file=io.StringIO(), force_terminal=True, no_color=not colour, markup=False, highlight=False, width=_width()
    )
    console.print(VIEWS[view](answer))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def _width() -> int:
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)


def tasks(answer: Answer) -> RenderableType:
    details = [_detail(task, answer) for task in answer["tasks"]]
    ids = max(len(task["id"]) for task in answer["tasks"])
    most = max(10, (_width() - ids - 7 - 6) * 2 // 5)
    detail = min(most, max(text.cell_len for text in details))
    free = _width() - ids - 7 - detail - 6
    title = max(10, min(free, max(cell_len(one_line(task["title"])) for task in answer["tasks"])))
    table = Table.grid(padding=(0, 2, 0, 0))
    for width in (ids, title, 7, detail):
        table.add_column(width=width, overflow="ellipsis" if width == title else "fold", no_wrap=width == title)
    for task, text in zip(answer["tasks"], details, strict=True):
        word, style = _STATES[_state(task)]
        shown = Text(one_line(task["title"]), style="dim" if word == "done" else "")
        table.add_row(Text(task["id"], style="dim"), shown, Text(word, style=style), text)
    return Group(table, Text(f"{_count(answer['tasks'])} · revision {answer['revision']}", style="dim"))


def _state(task: Answer) -> str:
    if task["status"] != "pending":
        return str(task["status"])
    return "blocked" if task["blocked_by"] else "ready"


def _detail(task: Answer, answer: Answer) -> Text:
    """Who, how long, what is in the way."""
    words = Text()
    if task["status"] == "in_progress":
        minutes = seconds_between(task["claim"]["at"], answer["now"]) // 60
        over = "estimate" in task and minutes > task["estimate"]
        words.append(f"{task['assignee']} ")
        words.append(age(seconds_between(task["claim"]["at"], answer["now"])), style="red" if over else "")
        words.append(f" of {task['estimate']}m" if "estimate" in task else "")
        words.append(f" attempt {task['attempts']}" if task["attempts"] > 1 else "", style="yellow")
    elif task["status"] == "pending":
        waits = [plain.blocker(id, answer.get("blockers", {}).get(id, {}), answer["now"]) for id in task["blocked_by"]]
        words.append(f"← {', '.join(waits)} " if waits else "", style="yellow")
        words.append(f"for {task['assignee']} " if task["assignee"] else "")
        words.append(f"tried {task['attempts']}× " if task["attempts"] else "", style="red")
        words.append(f"needs {', '.join(task['needs'])}" if task.get("needs") else "", style="dim")
    elif task["assignee"]:
        words.append(f"by {task['assignee']}", style="dim")
    if "group" in task:
        words.append(f" [{task['group']}]", style="dim")
    if task["priority"] != 2:
        words.append(f" p{task['priority']}", style="bold" if task["priority"] < 2 else "dim")
    return words


def _count(shown: list[Answer]) -> str:
    counts: dict[str, int] = {}
    for task in shown:
        counts[_STATES[_state(task)][0]] = counts.get(_STATES[_state(task)][0], 0) + 1
    told = ", ".join(f"{n} {word}" for word, n in counts.items())
    return f"{len(shown)} task{'s' if len(shown) != 1 else ''}: {told}"


def task(answer: Answer) -> RenderableType:
    shown = answer["task"]
    head = Text.assemble((shown["id"], "dim"), " ", (one_line(shown["title"]), "bold"), "  ", _STATES[_state(shown)])
    detail = _detail(shown, answer)

    def when(time: str) -> str:
        return f"{age(seconds_between(time, answer['now']))} ago"

    body = Text()
    for line in "\n".join([*plain.facts(shown, when), *plain.texts(shown)]).split("\n"):
        label, colon, rest = line.partition(": ")
        body.append(f"{label}{colon}", style="dim" if colon and not label.startswith("  ") else "")
        body.append(f"{block(rest)}\n")
    body.rstrip()
    return Group(head, detail, body) if str(detail) else Group(head, body)


def blocked(answer: Answer) -> RenderableType:
    parts: list[RenderableType] = []
    told: set[str] = set()
    for cause in answer["causes"]:
        waiting = f" · {cause['waiting']} waiting"
        parts.append(Text.assemble(_named(cause), (cause["text"], _colour(cause)), (waiting, "yellow")))
        fresh, known = plain.stuck_behind(cause["id"], answer["tasks"], told)
        lines = [f"↳ {task['id']} {one_line(task['title'])}" for task in fresh]
        lines += [f"↳ and {', '.join(known)}"] if known else []
        parts += [Padding(Text(line, style="dim", no_wrap=True, overflow="ellipsis"), (0, 0, 0, 2)) for line in lines]
        parts += [Text(f"  → {cause['next']}", style="cyan")] if cause["next"] else []
    return Group(*parts)


def why(answer: Answer) -> RenderableType:
    """The chain as a tree whose long lines stay inside their branch, then what to do about its roots."""
    told = answer["task"]
    tree = Tree(Text.assemble(_named(told), (told["text"], _colour(told))), guide_style="dim")
    _grow(tree, answer["chain"])
    advice = plain.advice(answer["causes"])
    return Group(tree, *[Text(line, style="cyan" if ": teamtasks " in line else "") for line in advice])


def _grow(branch: Tree, chain: list[Answer]) -> None:
    for link in chain:
        text = "(see above)" if link["repeated"] else link["text"]
        _grow(branch.add(Text.assemble(_named(link), (text, _colour(link)))), link["chain"])


def _named(told: Answer) -> Text:
    return Text.assemble((told["id"], "bold"), f' "{one_line(told["title"])}" ')


def _colour(cause: Answer) -> str:
    return {"held": "cyan", "unsuited": "red", "reserved": "yellow", "blocked": "yellow", "ready": "green"}.get(
        cause["cause"], ""
    )


VIEWS = {"tasks": tasks, "task": task, "blocked": blocked, "why": why}
