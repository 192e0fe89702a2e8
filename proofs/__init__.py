"""How teamtasks shows what it promises. ``docs/reliability.md`` says what and with which figures; ``scripts/`` starts each.

scenes      every command that changes something, as its examples say, in several states of a team
promises    what must hold after anything that can happen to a command
ledgers     a team's files, to look at, to break and to compare
strace      a real command under strace: recorded, killed or refused at a system call
machine     disks that can be filled, other users, other clocks, a reboot
report      working through many cases on all cores, and saying what came of it

crash       killed at every system call, and every system call failing (errors.txt)
powerloss   every state that a disk may be in after the power went: record and operations (what a command did), disks (what
            may be left of it), stage and aftermath (building that, and judging what comes of it)
storm       many processes, killed and stopped at random: herd (the processes), writers (what they do), linear and onetask
            (whether one order of events explains what they were told)
fuzz        bad files, names, texts and arguments; corpus/ keeps every input that once broke something
mutants     broken variants of teamtasks, and the proofs that must notice
"""
