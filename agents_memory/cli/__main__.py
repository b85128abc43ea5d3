"""`python -m agents_memory.cli` is the command `agents-memory`."""

from agents_memory.cli import main

main()
