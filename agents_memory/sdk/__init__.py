"""sdk is the only part that imports `agents`: the session, the tools, the run-state store and the resume."""
