"""What nearly every use case begins and ends with: finding the task that is meant, and emptying its holder's hands."""

from __future__ import annotations

from teamtasks.domain import agents
from teamtasks.domain.errors import TaskNotFound
from teamtasks.domain.names import check_agent_name, task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from teamtasks.domain.documents import Agent, Task
    from teamtasks.store.base import Reader, Tx


def find(reader: Reader, text: str) -> Task:
    """The task that somebody means, or a refusal that helps."""
    id = task_id(text)
    task: Task | None = reader.get("task", id)
    if task is None:
        raise missing(reader, id)
    return task


def missing(reader: Reader, id: str) -> TaskNotFound:
    ids = [head["id"] for head in reader.scan("task")]
    there = f"the newest of {len(ids)} is {ids[-1]}" if ids else "there are none yet"
    hint = "teamtasks list" if ids else 'teamtasks create "A title"'
    return TaskNotFound(f"no task {id} ({there})", hint=hint, task=id, tasks=len(ids))


def member(reader: Reader, name: str) -> Agent:
    """The agent that somebody names, or a refusal that helps."""
    agent: Agent | None = reader.get("agent", check_agent_name(name))
    if agent is None:
        raise agents.unknown(name, reader.all("agent"))
    return agent


def free(tx: Tx, holder: str, id: str) -> None:
    """The holder's hands are empty again."""
    agent = tx.get("agent", holder)
    if agent is not None:
        tx.put("agent", holder, agents.let_go(agent, id))
