"""The rules and the small rooms of the file store, one module of tests for each module of the source."""
