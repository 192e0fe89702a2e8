"""How teamtasks shows what it promises. ``docs/reliability.md`` says what and with which figures; ``scripts/`` starts each.

scenes      every command that changes something, as its examples say, in several states of a team
ledgers     a team's files, to look at, to break and to compare
strace      a real command under strace: recorded, killed or refused at a system call
crash       killed at every system call, and every system call failing
powerloss   every state that a disk may be in after the power went
storm       many processes, killed and stopped at random; linear checks what they were told
fuzz        bad files, names, texts and arguments; corpus/ keeps every input that once broke something
mutants     broken variants of teamtasks, and the proofs that must notice
"""
