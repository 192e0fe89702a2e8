"""The rules. Pure: no I/O, no clock, no randomness, no environment; time and ids are arguments."""
