"""Replays a long conversation between two people through an agent with memory, and checks that nothing was lost.

    python examples/replay_conversation.py --data locomo.json.gz --conversation conv-26

Every turn of the first speaker is a `Runner.run` on a `DuckDBSession`, one session a day of the conversation; the other
speaker's next turn is what the model says. Every few turns the model asks to remember what was said: the run is
parked, the conversation goes on, and in the evening a reviewer approves, edits or rejects, and the runs are resumed.
The model is the SDK's `ScriptedModel`, so no key is needed; the runner, session, tools, queue and file are real.
The data is a JSON file (`.gz` or not) of `{"conversations": [{"id", "speakers", "sessions", "turns"}]}`.
"""

import argparse
import asyncio
import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call

from agents_memory import DuckDBSession, Memory, RunStateStore, memory_tools

REMEMBER_EVERY = 6
CHOICES: tuple[Literal["approve", "edit", "reject"], ...] = ("approve", "approve", "edit", "reject")
QUIET = RunConfig(tracing_disabled=True)


@dataclass
class Tally:
    """What was put in, to be compared with what is stored."""

    turns: int = 0
    asked: int = 0
    decided: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)


def load(path: Path, wanted: str | None) -> dict[str, Any]:
    """One conversation of a file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        conversations = json.load(stream)["conversations"]
    return next(found for found in conversations if wanted in (None, found["id"]))


async def replay(conversation: dict[str, Any], memory: Memory) -> Tally:
    """Replay a conversation into a memory, a day at a time, and check it."""
    tally = Tally()
    store = RunStateStore(memory)
    for speaker in conversation["speakers"]:
        memory.remember(f"{speaker} takes part in {conversation['id']}.", entities=[speaker])
    for day in conversation["sessions"]:
        session_id = f"{conversation['id']}/session-{day['session']}"
        session = DuckDBSession(session_id, memory)
        turns = [turn for turn in conversation["turns"] if turn["session"] == day["session"]]
        for user, reply in exchanges(turns, conversation["speakers"][0]):
            await one_exchange(store, session, user, reply, tally)
        await evening(store, session, tally)
        check_session(session_id, await session.get_items(), tally)
    check_facts(memory, tally)
    return tally


def exchanges(turns: list[dict[str, Any]], first: str) -> Iterator[tuple[str, str]]:
    """The turns as (what the user says, what the model answers), consecutive turns of one speaker joined."""
    said: list[str] = []
    heard: list[str] = []
    for turn in turns:
        line = f"[{turn['at'][:10]}] {turn['speaker']}: {turn['text']}"
        if turn["speaker"] == first and heard:
            yield "\n".join(said) or "(listens)", "\n".join(heard)
            said, heard = [], []
        (said if turn["speaker"] == first else heard).append(line)
    if said or heard:
        yield "\n".join(said) or "(listens)", "\n".join(heard) or "(nods)"


async def one_exchange(store: RunStateStore, session: DuckDBSession, user: str, reply: str, tally: Tally) -> None:
    """One run of the agent; it is parked when the model asks to remember."""
    tally.turns += 1
    asks = tally.turns % REMEMBER_EVERY == 0
    steps: list[Any] = [[assistant_message(reply)]]
    if asks:
        steps = [[function_call("remember", remembered(user, tally.turns), call_id=f"call_{tally.turns}")]]
    agent = agent_of(store, session, ScriptedModel(steps))
    result = await Runner.run(agent, user, session=session, run_config=QUIET)
    tally.items[session.session_id] += 2
    if asks:
        tally.asked += 1
        await store.park(result, session=session)


async def evening(store: RunStateStore, session: DuckDBSession, tally: Tally) -> None:
    """A reviewer decides what waits, and the runs of the day go on."""
    for request in await store.pending():
        choice = CHOICES[tally.decided.total() % len(CHOICES)]
        arguments = json.loads(request.arguments)
        edited = {**arguments, "content": f"{arguments['content']} (checked)"} if choice == "edit" else None
        reason = {"reject": "Not worth keeping.", "edit": "Checked with the speaker."}.get(choice)
        await store.decide(request.id, choice, by="reviewer", arguments=edited, reason=reason)
        tally.decided[choice] += 1
    for run in await store.runs():
        if run.status != "ready":
            continue
        agent = agent_of(store, session, ScriptedModel([[assistant_message("Settled.")]]))
        await store.resume(run.id, agent, session=session, run_config=QUIET)
        tally.items[session.session_id] += 2


def agent_of(store: RunStateStore, session: DuckDBSession, model: ScriptedModel) -> Agent[Any]:
    """The same agent for every run; only its script differs."""
    return Agent(name="listener", model=model, tools=list(memory_tools(store.memory, session=session)))


def remembered(user: str, number: int) -> dict[str, Any]:
    """The arguments of a call that keeps what was just said."""
    date, _, rest = user.partition("] ")
    speaker, _, text = rest.partition(": ")
    return {
        "content": f"{speaker or 'Somebody'} said (turn {number}): {text or user}",
        "entities": [speaker] if speaker and speaker.isalpha() else [],
        "kind": "event",
        "valid_from": date.removeprefix("[") if date.startswith("[") else None,
        "valid_to": None,
    }


def check_session(session_id: str, items: list[Any], tally: Tally) -> None:
    """No item is missing, and every output stands right after its call."""
    if len(items) != tally.items[session_id]:
        raise SystemExit(f"{session_id}: {tally.items[session_id]} items went in, {len(items)} came out")
    for place, item in enumerate(items):
        if item.get("type") == "function_call_output":
            before = items[place - 1]
            if before.get("type") != "function_call" or before["call_id"] != item["call_id"]:
                raise SystemExit(f"{session_id}: the output {item['call_id']} does not stand after its call")
    calls = Counter(item["call_id"] for item in items if item.get("type") == "function_call")
    outputs = Counter(item["call_id"] for item in items if item.get("type") == "function_call_output")
    if calls != outputs:
        raise SystemExit(f"{session_id}: {sorted(calls - outputs)} has no output")


def check_facts(memory: Memory, tally: Tally) -> None:
    """Exactly the approved and edited calls wrote, once each."""
    written = [fact for session in memory.sessions() for fact in memory.facts_written(session.session_id)]
    expected = tally.decided["approve"] + tally.decided["edit"]
    if len(written) != expected or len({fact.fact_id for fact in written}) != expected:
        raise SystemExit(f"{expected} calls were approved and {len(written)} facts written")


def report(conversation: dict[str, Any], memory: Memory, tally: Tally) -> None:
    """Print the joined answers."""
    print(f"{tally.turns} exchanges, {sum(tally.items.values())} items, {len(memory.sessions())} sessions")
    print(f"{tally.asked} writes asked for: {dict(tally.decided)}; nothing lost, no orphan, nothing twice")
    for speaker in conversation["speakers"]:
        mentions = memory.sessions_mentioning(speaker)
        print(f"{speaker} is mentioned in {len(mentions)} sessions, {sum(m.items for m in mentions)} items")
    last = memory.sessions()[-1].session_id
    for fact in memory.facts_written(last):
        print(f"{last} wrote {fact.fact_id}, approved by {fact.approved_by}: {fact.content[:70]}")
    for hit in memory.recall(conversation["turns"][0]["text"], k=3).hits:
        print(f"recalled {hit.fact.id} ({hit.score:.2f}): {hit.fact.content[:70]}")


async def main() -> None:
    """Replay, check, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a JSON file of conversations, .gz or not")
    parser.add_argument("--conversation", help="its id; the first of the file when left out")
    parser.add_argument("--memory", type=Path, help="keep the memory in this file")
    options = parser.parse_args()
    conversation = load(options.data, options.conversation)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(options.memory or Path(folder) / "replay.duckdb", writer="listener") as memory,
    ):
        report(conversation, memory, await replay(conversation, memory))


if __name__ == "__main__":
    asyncio.run(main())
