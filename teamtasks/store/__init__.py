"""Where ledgers are kept. ``base`` is the contract; ``files`` and ``memory`` fulfil it."""
