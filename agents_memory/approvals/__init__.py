"""approvals is the queue: parked runs, requests, decisions, and the effects that make a write happen once."""
