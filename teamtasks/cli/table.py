"""Every command, declared once, as data. The argv reader, click, the reference and the tests are made from it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Param:
    """A word or an option of a command. ``kind``: text, int, flag, choice, many (repeatable text), rest (all words left)."""

    __slots__ = ("choices", "flags", "help", "kind", "metavar", "name", "required")

    def __init__(
        self,
        name: str,
        flags: str,
        help: str,
        kind: str = "text",
        *,
        required: bool = False,
        metavar: str = "",
        choices: Sequence[str] = (),
    ) -> None:
        self.name, self.flags, self.help, self.kind = name, tuple(flags.split()), help, kind
        self.required, self.metavar, self.choices = required, metavar, tuple(choices)

    @property
    def is_word(self) -> bool:
        return not self.flags


class Command:
    """``serve`` names a function as module:function below teamtasks.cli, ``say`` one in ``plain`` (or ``pretty``).

    ``changes``: it commits, so it has --dry-run. ``quiet``: the part of its answer whose ids -q prints.
    """

    __slots__ = ("changes", "empty", "examples", "group", "help", "more", "name", "params", "quiet", "say", "serve")

    def __init__(
        self,
        name: str,
        group: str,
        help: str,
        params: Sequence[Param],
        serve: str,
        say: str,
        examples: Sequence[str],
        *,
        changes: bool = False,
        quiet: str = "",
        more: str = "",
        empty: str = "",
    ) -> None:
        self.name, self.group, self.help, self.params = name, group, help, tuple(params)
        self.serve, self.say, self.examples = serve, say, tuple(examples)
        self.changes, self.quiet, self.more, self.empty = changes, quiet, more, empty


def word(name: str, help: str, *, optional: bool = False, kind: str = "text", metavar: str = "") -> Param:
    return Param(name, "", help, kind, required=not optional, metavar=metavar)


COMMON = (
    Param("team", "-t --team", "the team; else TEAMTASKS_TEAM, else the only one there is", metavar="TEAM"),
    Param("agent", "--as", "who you are: backend, or backend_2 for its second life; else TEAMTASKS_AGENT", metavar="AGENT"),
    Param("json", "--json", "one compact JSON object on stdout", "flag"),
    Param("quiet", "-q --quiet", "ids only", "flag"),
)
DRY_RUN = Param("dry_run", "--dry-run", "do everything but the change itself", "flag")

ID = word("id", "the task: task-2, or just 2", metavar="ID")
_ATTEMPT = Param(
    "attempt", "--attempt", "the attempt you are at, as your brief says; needed from the second on", "int", metavar="N"
)
_FORCE = Param("force", "--force", "act on a task that another agent holds (lead and human only)", "flag")
_REASON = Param("reason", "--reason", "why; - reads stdin", required=True, metavar="TEXT")

GROUPS = {
    "lead": "Lead the work",
    "teammate": "Do the work",
    "human": "See the work",
    "admin": "Keep the house",
}

COMMANDS = (
    Command(
        "init", "lead", "Create a team.",
        (
            word("name", "the team's name: a-z, 0-9, _ and -", metavar="TEAM"),
            Param("lead", "--lead", "the agent that owns the plan; it joins", metavar="NAME"),
            Param("topology", "--topology", "who may write to whom: mesh (everybody, the default) or hub (through the lead)", "choice", choices=("mesh", "hub")),
        ),
        "teams:init", "team_created", ("teamtasks init payments", "teamtasks init payments --lead anna --topology hub"),
        changes=True, quiet="team",
    ),
    Command(
        "create", "lead", "Create a task.",
        (
            word("title", "what has to be done, in one line", metavar="TITLE"),
            Param("description", "-d --description", "everything an agent needs to know; - reads stdin", metavar="TEXT"),
            Param("accept", "--accept", "an acceptance criterion: what done means (repeatable)", "many", metavar="TEXT"),
            Param("after", "--after", "a task that must be completed first (repeatable)", "many", metavar="ID"),
            Param("priority", "--priority", "0 (most urgent) to 4; 2 is the default", "int", metavar="0-4"),
            Param("size", "--size", "how many tokens it will cost, roughly", "choice", choices=("small", "medium", "large")),
            Param("estimate", "--estimate", "how long it should take: 15m, 1h30m; a bare number is minutes", metavar="TIME"),
            Param("group", "--group", "a name for tasks that belong together", metavar="NAME"),
            Param("needs", "--needs", "a capability that the agent must have (repeatable)", "many", metavar="CAPABILITY"),
            Param("assign", "--assign", "reserve it for an agent", metavar="AGENT"),
            Param("meta", "--meta", "your own data, as KEY=VALUE; JSON values are taken as such (repeatable)", "many", metavar="K=V"),
            Param("key", "--key", "a repeated call with the same key creates nothing twice", metavar="KEY"),
        ),
        "tasks:create", "created",
        (
            'teamtasks create "Write the schema" --accept "migrates up and down" --estimate 15m',
            'teamtasks create "Payment API" --after task-1 --needs python --priority 1 -d - < api.md',
        ),
        changes=True, quiet="task",
    ),
    Command(
        "assign", "lead", "Reserve a task for an agent, or take it away from one.",
        (
            ID,
            word("to", "the agent", optional=True, metavar="AGENT"),
            Param("nobody", "--nobody", "for anybody again", "flag"),
            Param("note", "--note", "more context, or another approach; it stands in the next brief", metavar="TEXT"),
            _FORCE,
        ),
        "tasks:assign", "assigned",
        ("teamtasks assign task-2 backend --note 'use the staging key'", "teamtasks assign task-2 db --force"),
        changes=True, quiet="task",
    ),
    Command(
        "depend", "lead", "Add or remove what a task waits for.",
        (
            ID,
            Param("on", "--on", "it cannot begin before this one is completed (repeatable)", "many", metavar="ID"),
            Param("off", "--off", "it no longer waits for this one (repeatable)", "many", metavar="ID"),
        ),
        "tasks:depend", "depends", ("teamtasks depend task-4 --on task-2 --on task-3", "teamtasks depend 4 --off 3"),
        changes=True, quiet="task",
    ),
    Command(
        "settings", "lead", "Show or change the team's settings.",
        (word("pairs", "lead=NAME, topology=mesh|hub, wip_limit=N (tasks in progress per agent)", optional=True, kind="rest", metavar="KEY=VALUE"),),
        "teams:settings", "settings", ("teamtasks settings", "teamtasks settings wip_limit=2"),
        changes=True,
    ),
    Command(
        "join", "teammate", "Join the team, or begin the next life of an agent.",
        (
            word("name", "the agent's name", metavar="NAME"),
            Param("role", "--role", "teammate is the default", "choice", choices=("lead", "teammate")),
            Param("can", "--can", "a capability (repeatable); tasks that need others are not offered", "many", metavar="CAPABILITY"),
            Param("pid", "--pid", "the process whose life is the agent's life", "int", metavar="PID"),
            Param("model", "--model", "the model it runs on, for the record", metavar="MODEL"),
        ),
        "members:join", "joined", ("teamtasks join backend --can python --can sql", "teamtasks join backend --pid $$"),
        changes=True, quiet="agent",
    ),
    Command(
        "whoami", "teammate", "Which team, which agent, and what you hold.", (),
        "members:whoami", "whoami", ("teamtasks --as backend whoami",), quiet="agent",
    ),
    Command(
        "claim", "teammate", "Take the best ready task, or the one you name, and print its brief.",
        (
            word("id", "the task; without it: assigned to you, then priority, then what unblocks most, then oldest", optional=True, metavar="ID"),
            Param("another", "--another", "one more, within the team's limit; without it you get what you hold already", "flag"),
            Param("wait", "--wait", "until something is ready", "flag"),
            Param("timeout", "--timeout", "how long to wait: 10m; without it for ever", metavar="TIME"),
        ),
        "work:claim", "claimed",
        ("teamtasks --as backend claim", "teamtasks --as backend claim task-2", "teamtasks --as backend claim --wait --timeout 10m"),
        changes=True, quiet="task",
        more="Exits with 6 when nothing is ready now, and with 10 when the plan is finished.",
    ),
    Command(
        "brief", "teammate", "Print a task's brief: what, what done means, what was already tried.",
        (ID,), "work:brief", "brief", ("teamtasks brief task-2",), quiet="task",
    ),
    Command(
        "note", "teammate", "Leave something worth knowing on a task.",
        (ID, word("text", "the note; - reads stdin", metavar="TEXT"), _ATTEMPT),
        "work:note", "noted", ("teamtasks --as backend note task-2 'the sandbox answers 401 before 8 am'",),
        changes=True, quiet="task",
    ),
    Command(
        "complete", "teammate", "Say that a task you hold is done.",
        (
            ID,
            Param("result", "--result", "what came out; whoever depends on it reads it. - reads stdin", metavar="TEXT"),
            Param("evidence", "--evidence", "how acceptance criterion N is met, as N=TEXT (repeatable)", "many", metavar="N=TEXT"),
            _ATTEMPT, _FORCE,
        ),
        "work:complete", "completed",
        ("teamtasks --as backend complete task-2 --result 'POST /pay works' --evidence 1='tests/test_pay.py'",),
        changes=True, quiet="task",
    ),
    Command(
        "fail", "teammate", "Give a task back with what you learned: it is pending again, and the next brief tells it.",
        (
            ID, _REASON,
            Param("tried", "--tried", "an approach that did not work (repeatable)", "many", metavar="TEXT"),
            Param("output", "--output", "a file whose end is kept; - reads stdin", metavar="FILE"),
            _ATTEMPT, _FORCE,
        ),
        "work:fail", "failed",
        ("teamtasks --as backend fail task-2 --reason '401 on every request' --tried 'bearer token' --tried 'query parameter'",),
        changes=True, quiet="task",
    ),
    Command(
        "release", "teammate", "Give a task back without having failed.",
        (ID, _REASON, _ATTEMPT, _FORCE),
        "work:release", "released", ("teamtasks --as backend release task-2 --reason 'the API review comes first'",),
        changes=True, quiet="task",
    ),
    Command(
        "heartbeat", "teammate", "Say that you are alive, and how full your context is.",
        (
            Param("context", "--context", "how much of the context window is used, in percent", "int", metavar="PERCENT"),
            Param("doing", "--doing", "what you are at", metavar="TEXT"),
        ),
        "members:heartbeat", "heartbeat", ("teamtasks --as backend heartbeat --context 65 --doing 'writing tests'",),
        quiet="agent",
    ),
    Command(
        "list", "human", "List the tasks.",
        (
            Param("status", "--status", "pending, in_progress, completed, ready or blocked", metavar="STATE"),
            Param("assignee", "--assignee", "of this agent", metavar="AGENT"),
            Param("group", "--group", "of this group", metavar="NAME"),
            Param("ready", "--ready", "what could begin now", "flag"),
            Param("blocked", "--blocked", "what waits for other tasks", "flag"),
        ),
        "views:list_tasks", "tasks", ("teamtasks list", "teamtasks list --status in_progress", "teamtasks list --blocked --json"),
        quiet="tasks", empty="no task to show; a new one: teamtasks create TITLE",
    ),
    Command("show", "human", "Show everything about a task.", (ID,), "views:show", "task", ("teamtasks show task-2",), quiet="task"),
    Command("ready", "human", "What could begin now, best first.", (), "views:ready", "tasks", ("teamtasks ready", "teamtasks --as backend ready -q"), quiet="tasks", empty="nothing is ready; what is stuck: teamtasks blocked"),
    Command("blocked", "human", "What is stuck, by root cause.", (), "views:blocked", "blocked", ("teamtasks blocked",), quiet="tasks", empty="nothing is blocked"),
    Command("why", "human", "Why a task does not move: the chain down to the cause, and the command that would move it.", (ID,), "views:why", "why", ("teamtasks why task-7",), quiet="causes"),
    Command("teams", "admin", "List the teams.", (), "teams:teams", "teams", ("teamtasks teams",), quiet="teams", empty="no team yet; a new one: teamtasks init TEAM"),
    Command(
        "delete", "admin", "Delete a team and its history, for good.",
        (word("name", "the team", metavar="TEAM"), Param("yes", "--yes", "do not ask", "flag")),
        "teams:delete", "deleted", ("teamtasks delete payments --yes",), changes=True, quiet="team",
    ),
    Command(
        "doctor", "admin", "Check a team's files; with --fix mend what can be mended.",
        (Param("fix", "--fix", "restore the last good version; what is replaced goes to quarantine", "flag"),),
        "admin:doctor", "doctor", ("teamtasks doctor", "teamtasks doctor --fix"),
    ),
    Command(
        "schema", "admin", "List the JSON schemas, or print one.",
        (word("name", "task, agent, team, tasks, …", optional=True, metavar="NAME"),),
        "admin:schema", "schema", ("teamtasks schema", "teamtasks schema task"), quiet="schemas",
    ),
    Command(
        "demo", "admin", "Play a small team's story in a directory of its own.",
        (Param("slow", "--slow", "with pauses, to read along", "flag"),),
        "demo:demo", "told", ("teamtasks demo",),
    ),
)  # fmt: skip

BY_NAME = {command.name: command for command in COMMANDS}


def options(command: Command) -> tuple[Param, ...]:
    """Everything that may follow the command's name with a dash."""
    own = tuple(param for param in command.params if param.flags)
    return (*own, *COMMON, DRY_RUN) if command.changes else (*own, *COMMON)


def words(command: Command) -> tuple[Param, ...]:
    return tuple(param for param in command.params if param.is_word)
