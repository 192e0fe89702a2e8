"""Every refusal that a user can meet, in one tree.

    TeamtasksError                1  something is wrong
    ├─ InvalidInput               2  the words of the call are off (names, values, options)
    ├─ NotFound                   3  TeamNotFound, TaskNotFound, AgentNotFound, SchemaNotFound
    ├─ Refused                    4  TaskAlreadyClaimed, NotTheHolder, AttemptRequired, TooLate, …
    ├─ Blocked                    5  TaskBlocked, DependencyCycle, SelfDependency
    ├─ NothingReady               6  others work, or something waits
    ├─ LockTimeout                7  another process holds the ledger
    ├─ InvalidData                8  what is on disk is broken or not ours
    ├─ StoreUnavailable           9  the disk said no; nothing was changed
    │  └─ OutcomeUnknown          9  the disk said no at the one moment when nobody can tell
    └─ PlanFinished              10  nothing is left to do

An error states what is the case (``message``), the facts for programs (``facts``) and what to do next (``hint``, a
command where there is one). Its ``code`` is the stable word that scripts match on.
"""

from __future__ import annotations


class TeamtasksError(Exception):
    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts = facts


class InvalidInput(TeamtasksError):
    code = "usage"
    exit_code = 2


class WhichTeam(InvalidInput):
    code = "which_team"


class NotFound(TeamtasksError):
    code = "not_found"
    exit_code = 3


class TeamNotFound(NotFound):
    code = "no_team"


class TaskNotFound(NotFound):
    code = "no_task"


class AgentNotFound(NotFound):
    code = "no_agent"


class SchemaNotFound(NotFound):
    code = "no_schema"


class TeamExists(TeamtasksError):
    code = "team_exists"


class KeyReused(TeamtasksError):
    code = "key_reused"


class ConfirmationNeeded(TeamtasksError):
    code = "confirm"


class Refused(TeamtasksError):
    code = "refused"
    exit_code = 4


class TaskAlreadyClaimed(Refused):
    code = "claimed"


class TaskAlreadyCompleted(Refused):
    code = "completed"


class AssignedToAnother(Refused):
    code = "assigned"


class CapabilityMissing(Refused):
    code = "capability"


class LimitReached(Refused):
    code = "wip_limit"


class NotTheHolder(Refused):
    code = "not_holder"


class AttemptRequired(Refused):
    code = "attempt_required"


class TooLate(Refused):
    code = "late"


class NotAllowed(Refused):
    code = "not_allowed"


class Blocked(TeamtasksError):
    code = "blocked"
    exit_code = 5


class TaskBlocked(Blocked):
    code = "blocked"


class DependencyCycle(Blocked):
    code = "cycle"


class SelfDependency(Blocked):
    code = "self_dependency"


class NothingReady(TeamtasksError):
    code = "nothing_ready"
    exit_code = 6


class LockTimeout(TeamtasksError):
    code = "lock_timeout"
    exit_code = 7


class InvalidData(TeamtasksError):
    code = "invalid_data"
    exit_code = 8


class ForeignLedger(InvalidData):
    code = "foreign_ledger"


class NewerFormat(InvalidData):
    code = "newer_format"


class StoreUnavailable(TeamtasksError):
    code = "store_unavailable"
    exit_code = 9


class OutcomeUnknown(StoreUnavailable):
    code = "outcome_unknown"


class PlanFinished(TeamtasksError):
    code = "plan_finished"
    exit_code = 10
