"""A long conversation through runner, session, tools and queue: nothing lost, no orphan, counts right."""

import asyncio
import os
from pathlib import Path

import pytest

from agents_memory import Memory
from examples.made_conversation import made_conversation
from examples.replay_conversation import Tally, load, replay

LOCOMO = Path(os.environ.get("LOCOMO", "../shared/data/locomo_dev.json.gz"))


def test_a_made_conversation_of_300_turns_is_replayed_without_loss(tmp_path: Path) -> None:
    conversation = made_conversation(300)
    with Memory.open(tmp_path / "made.duckdb") as memory:
        tally = asyncio.run(replay(conversation, memory))

        stored = sum(session.items for session in memory.sessions())
        written = sum(len(memory.facts_written(session.session_id)) for session in memory.sessions())

    assert len(conversation["turns"]) == 300
    assert tally.turns == 150
    assert stored == sum(tally.items.values())
    assert written == tally.decided["approve"] + tally.decided["edit"] == tally.asked - tally.decided["reject"]


def test_the_generator_makes_the_same_conversation_again() -> None:
    assert made_conversation(60) == made_conversation(60)
    assert made_conversation(60) != made_conversation(60, seed=8)


def test_the_checks_of_the_replay_notice_a_lost_item(tmp_path: Path) -> None:
    from examples.replay_conversation import check_session

    tally = Tally()
    tally.items["s"] = 2

    with pytest.raises(SystemExit, match="2 items went in, 1 came out"):
        check_session("s", [{"role": "user", "content": "hello"}], tally)


@pytest.mark.slow
def test_a_public_conversation_is_replayed_without_loss(tmp_path: Path) -> None:
    if not LOCOMO.exists():
        pytest.skip(f"NOT RUN: the public conversations are not at {LOCOMO} (set LOCOMO=path)")
    with Memory.open(tmp_path / "public.duckdb") as memory:
        tally = asyncio.run(replay(load(LOCOMO, None), memory))

    assert tally.asked > 20
