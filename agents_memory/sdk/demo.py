"""The two halves of `agents-memory demo` that run an agent: `begin` until it stops for a person, `resume` afterwards.

Each is a process of its own: `python -m agents_memory.sdk.demo begin FILE`. Without `--live` the model is the SDK's
`ScriptedModel`; the `Runner`, the tools, the session and the queue are the real ones either way.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence
from typing import Any

from agents import Agent, Model, OpenAIChatCompletionsModel, RunConfig, Runner, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from openai import AsyncOpenAI

from agents_memory.memory import Memory
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.tools import memory_tools

NAMESPACE = "acme/kestrel"
SESSION = "notes-march"
NOTES = (
    "Please keep these notes of today's meeting. "
    "Cy took the ingest service over from Bo on 2 March. "
    "Staging is deployed every Friday. "
    "Ada's badge code is 4471."
)
INSTRUCTIONS = (
    "You keep the team's long-term memory. First recall what is known. Then store every note of the user in one go: "
    "supersede a stored fact that stopped holding, remember what is new. Then say in two sentences what was kept."
)


def agent_of(memory: Memory, session: DuckDBSession, model: Model) -> Agent[Any]:
    """The agent of the demo; the same in every process."""
    return Agent(
        name="notetaker", instructions=INSTRUCTIONS, model=model, tools=list(memory_tools(memory, session=session))
    )


async def begin(file: str, options: argparse.Namespace) -> None:
    """Store what is known, hand the agent the notes, and park the run where it stops."""
    with Memory.open(file, namespace=NAMESPACE, writer="notetaker") as memory:
        _store_what_is_known(memory)
        await DuckDBSession("standup-january", memory).add_items(
            [
                {"role": "user", "content": "Who do I ask about ingest?"},
                {"role": "assistant", "content": "Bo looks after the ingest service."},
            ]
        )
        session = DuckDBSession(SESSION, memory)
        print(f'   user: "{NOTES}"')
        agent = agent_of(memory, session, _model(options, _first_turn()))
        result = await Runner.run(agent, NOTES, session=session, run_config=RunConfig(tracing_disabled=True))
        for item in result.interruptions:
            print(f"   the agent asks to {item.tool_name}: {item.arguments}")
        if not result.interruptions:
            print(f"   the model asked for nothing that needs approval and said: {result.final_output}")
            return
        parked = await RunStateStore(memory).park(result, session=session)
        print(f"   nothing was written; the run is parked as {parked.id} and process {os.getpid()} ends")


async def resume(file: str, options: argparse.Namespace) -> None:
    """Resume every parked run, then once more, to show that nothing happens twice."""
    with Memory.open(file, namespace=NAMESPACE, writer="notetaker") as memory:
        store = RunStateStore(memory)
        session = DuckDBSession(SESSION, memory)
        for number, run in enumerate(await store.runs()):
            agent = agent_of(memory, session, _model(options, _second_turn()))
            outcome = await store.resume(run.id, agent, session=session, run_config=RunConfig(tracing_disabled=True))
            print(f"   {run.id} {outcome.run.status}: {outcome.run.result}")
            before = _counts(memory, await session.get_items())
            again = await store.resume(run.id, agent, session=session)
            after = _counts(memory, await session.get_items())
            if number == 0:
                print("\n6. Resumed again: nothing happens twice")
            print(f"   repeated: {again.repeated}; {before} before, {after} after")


def _store_what_is_known(memory: Memory) -> None:
    memory.remember(
        "Bo maintains the ingest service.",
        entities=["Bo", "ingest service"],
        valid_from="2026-01-12",
        evidence="Team page, 12 January: ingest service, Bo",
    )
    memory.add_alias("ingest service", "ingest")


def _counts(memory: Memory, items: Sequence[Any]) -> str:
    facts = memory.facts_written(SESSION)
    return f"{len(facts)} facts and {len(items)} items"


def _model(options: argparse.Namespace, script: ScriptedModel) -> Model:
    if not options.live:
        return script
    client = AsyncOpenAI(base_url=options.base_url)
    return OpenAIChatCompletionsModel(model=options.model, openai_client=client)


def _first_turn() -> ScriptedModel:
    nothing: dict[str, None] = {"kind": None, "valid_from": None, "valid_to": None}
    return ScriptedModel(
        [
            [function_call("recall", {"query": "who maintains the ingest service", "k": 5}, call_id="call_recall")],
            [
                function_call(
                    "supersede",
                    {
                        "fact_id": "f1",
                        "content": "Cy maintains the ingest service.",
                        "at": "2026-03-02",
                        "reason": "Cy took it over from Bo.",
                        "entities": ["Cy", "ingest service"],
                    },
                    call_id="call_supersede",
                ),
                function_call(
                    "remember",
                    {"content": "Staging is deployed every Friday.", "entities": ["staging"], **nothing},
                    call_id="call_staging",
                ),
                function_call(
                    "remember",
                    {"content": "Ada's badge code is 4471.", "entities": ["Ada"], **nothing},
                    call_id="call_badge",
                ),
            ],
        ]
    )


def _second_turn() -> ScriptedModel:
    said = "Kept: Cy maintains ingest since 2 March, and staging is deployed on Thursdays, as Eve put it right. "
    return ScriptedModel([[assistant_message(said + "The badge code was not kept.")]])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one half of the demo."""
    parser = argparse.ArgumentParser(prog="python -m agents_memory.sdk.demo")
    parser.add_argument("half", choices=["begin", "resume"])
    parser.add_argument("file")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    options = parser.parse_args(arguments)
    set_tracing_disabled(True)
    asyncio.run((begin if options.half == "begin" else resume)(options.file, options))


if __name__ == "__main__":
    main()
