"""The use cases: open one transaction, call the rules, return a value. The only callers of ``transact``.

What they return is the answer itself, as documented in ``schemas/answers.json``: the CLI prints it, MCP sends it, Python
gets it. They never print.
"""
