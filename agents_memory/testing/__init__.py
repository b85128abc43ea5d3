"""What anyone can test with: the conformance suites and the faults."""
