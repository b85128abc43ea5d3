"""Have pytest explain the assertions of the public suites, which are imported from the package."""

import pytest

pytest.register_assert_rewrite(
    "agents_memory.testing.queue_conformance",
    "agents_memory.testing.queue_deaths",
    "agents_memory.testing.queue_requests",
    "agents_memory.testing.session_conformance",
    "agents_memory.testing.session_concurrency",
    "agents_memory.testing.session_runs",
)
