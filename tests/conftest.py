"""What every test has in common: no network, and no deadline on what a database does."""

import os

from hypothesis import settings

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # the SDK's exporter would call out

settings.register_profile("database", settings(), deadline=None)
settings.load_profile("database")
