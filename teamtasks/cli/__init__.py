"""The command line. ``table`` declares every command once; ``argv`` reads the usual calls quickly, ``clicks`` everything
else; one module per noun serves; ``plain`` and ``pretty`` say; ``failures`` decides every exit code."""
