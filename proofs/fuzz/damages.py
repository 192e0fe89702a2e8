"""Random damage: which file, and what is done to it. Structure-aware where the file is JSON."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from proofs.fuzz.shapes import SHAPES

if TYPE_CHECKING:
    from random import Random

    Change = list[Any]

FILES = (
    ("tasks.json", 40), ("journal.jsonl", 25), (".tasks.json.prev", 8), ("messages.jsonl", 8), ("segment", 6),
    ("lock", 4), ("agent", 4), (".tasks.json.new", 3), (".journal.jsonl.new", 2),
)  # fmt: skip
DOCUMENTS = ("tasks.json", ".tasks.json.prev", "agent")
PLANTED = (["missing"], ["fifo"], ["directory"], ["symlink", "file"], ["symlink", "nothing"], ["symlink", "itself"])
WHOLE = (["bytes", ""], ["utf16"], ["bom"], ["bytes", "null"], ["bytes", "[]"], ["bytes", "{}"], ["bytes", "\0" * 700])
STEPS = ("read", "write", "doctor", "fix", "tail", "write", "read")

DEEP = "[" * 200 + "]" * 200
VALUES = (
    "null", "true", "0", "-1", "1", "2", "3", "4", "2.0", "1e3", "1e999", "-1e999", "NaN", "Infinity", "9" * 18,
    "9" * 5000, "[]",
    "{}", '""', '"x"', '"\\ud800"', '"\\u0000"', '"a\\nb"', '"\\u202e"', DEEP, '{"a":1,"a":2}', "[1,1]", '["task-1"]',
    '["task-99"]',
    '"task-1"', '"task-2"', '"pending"', '"in_progress"', '"in-progress"', '"completed"', '"blocked"', '"dev"', '"nobody"',
    '"../x"', '"dev\\n"', '"2026-01-01T00:00:00Z"', '"2026-13-01T00:00:00Z"', '["a","a"]', '[{"criterion":9,"text":"x"}]',
    '{"incarnation":1,"attempt":1,"at":"2026-01-01T00:00:00Z"}', '{"incarnation":-1,"attempt":99,"at":"x","more":1}',
    "tru", "'",
)  # fmt: skip
HEADER = ("format", "ledger", "team", "revision", "counters", "created_at", "lead", "topology", "settings", "more")
HEADERS = (
    ("format", "2"), ("format", "99"), ("format", "true"), ("format", "1.0"), ("ledger", '"' + "0" * 32 + '"'),
    ("ledger", "7"),
    ("team", '"other"'), ("revision", "0"), ("revision", "1"), ("revision", "2"), ("revision", "999999999"),
    ("revision", "-5"),
    ("revision", "true"), ("revision", ""), ("counters", '{"task":0}'), ("counters", '{"task":-3,"x":1}'), ("counters",
    '{"task":1e5}'),
    ("counters", '{"task":999999999}'), ("counters", ""), ("tasks", ""), ("agents", ""), ("keys", ""), ("tasks", "{}"),
    ("agents", "[]"),
    ("tasks", "[]"), ("agents", "{}"), ("keys", "{}"), ("keys", '{"k-1":{"task":"task-9","digest":"x"}}'), ("lead",
    '"ghost"'),
    ("settings", '{"wip_limit":0}'), ("settings", '{}'), ("more", '{"a":[1,2]}'),
)  # fmt: skip
FIELDS = (
    "id", "status", "assignee", "priority", "dependencies", "needs", "group", "title", "attempts", "claim", "size",
    "estimate",
    "description", "acceptance_criteria", "created_at", "created_by", "completed_at", "completed_by", "result", "evidence",
    "failures", "late_results", "notes", "key", "metadata", "unknown",
)  # fmt: skip
AGENT = ("role", "capabilities", "incarnation", "joined_at", "holds", "model", "last_beat", "task", "attempt", "process")
NEW_TASKS = (
    '{"id":"task-1","title":"twice"}', '{"id":"task-50","title":"new"}', '{"title":"no id"}', '"task-3"', "null",
    '{"id":"task-51","title":"new","dependencies":["task-51"]}', '{"id":"task-999999999","title":"last"}',
    '{"id":"task-52","title":"new","status":"in_progress","assignee":"zoe"}', '{"id":"task-0","title":"zero"}',
    '{"id":"task-53","title":"new","status":"completed","assignee":"zoe","attempts":7,"claim":null}',
)  # fmt: skip


def random_input(random: Random) -> dict[str, Any]:
    shape = random.choice(list(SHAPES))
    count = random.choice((1, 1, 1, 2, 2, 3))
    names = random.choices([name for name, _weight in FILES], [weight for _name, weight in FILES], k=count)
    changes = [[name, *_change(random, name)] for name in dict.fromkeys(names)]
    steps = [random.choice(STEPS) for _ in range(random.randint(0, 2))]
    return {"shape": shape, "changes": changes, "steps": [*steps, "read", "write", "doctor", "fix", "write", "read", "tail"]}


def _change(random: Random, name: str) -> Change:
    if name in DOCUMENTS and random.random() < 0.65:
        return _of_json(random, name)
    if random.random() < 0.12:
        return list(random.choice(PLANTED if os.geteuid() == 0 else (*PLANTED, ["unreadable"])))
    if random.random() < 0.1:
        return list(random.choice(WHOLE))
    return _of_bytes(random, name)


def _of_bytes(random: Random, name: str) -> Change:
    at, line, size = random.random(), random.randint(-3, 12), random.choice((1, 7, 40, 300, 2000))
    other = random.choice([n for n, _weight in FILES if n != name])
    return random.choice(
        (
            ["flip", at, random.randrange(8)],
            ["cut", at],
            ["cut_line", line, random.choice((0, 0, 0.5, 0.99, 1))],
            ["drop_line", line],
            ["double_line", line],
            ["swap_lines", line, random.randint(-3, 12)],
            ["block", at, size, random.choice((0, 2, -1))],
            [
                "insert",
                at,
                random.choice(("\0", "\n", "\xff", "}", '"', ",\n", "x" * 50, "{}\n", "\ufeff"[:0] + "\xef\xbb\xbf")),
            ],
            ["splice", at, size, other, random.random()],
            ["copy", other],
        )
    )


def _of_json(random: Random, name: str) -> Change:
    style = random.choice(("ours", "ours", "indented"))
    raw = random.choice((*VALUES, "", "", json.dumps("".join(chr(random.randrange(1, 0xD800)) for _ in range(9)))))
    if name == "agent":
        return ["edit", [random.choice((*AGENT, *HEADER))], raw, style]
    kind = random.random()
    if kind < 0.25:
        key, value = random.choice(HEADERS)
        return ["edit", [key], value, style]
    if kind < 0.3:
        return ["edit", [random.choice(HEADER)], raw, style]
    if kind < 0.42:
        return [
            "edit",
            ["agents", random.choice(("dev", "db", "anna", "new", "../x", "dev_2")), random.choice(AGENT)],
            raw,
            style,
        ]
    if kind < 0.5:
        return ["edit", ["tasks", "+"], random.choice(NEW_TASKS), style]
    if kind < 0.55:
        return ["edit", ["tasks", random.randrange(6)], raw, style]
    if kind < 0.62:
        cycle = [f"task-{random.randint(1, 4)}" for _ in range(random.randint(0, 2))]
        return ["edit", ["tasks", random.randrange(6), "dependencies"], json.dumps(cycle), style]
    return ["edit", ["tasks", random.randrange(6), random.choice(FIELDS)], raw, style]
