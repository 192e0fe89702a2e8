"""Ledgers in files: journal first, then ``tasks.json``; docs/format.md and docs/reliability.md say what and why.

layout: which file is where. disk: the few system calls. lock: one writer. journal: the truth. tasksfile: the text of
tasks.json. publish: from the one to the other. heal: what is found, and what is done about it. edits: other people's
changes. store: the contract.
"""
