"""`attach`: memory tools, and what memory holds in the instructions of each model call."""

from typing import Any

import pytest
from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message

from agents_memory import Memory, RunStateStore, attach, memory_tools
from agents_memory.errors import Closed, InvalidInput
from agents_memory.sdk.attach import question_of
from agents_memory.sdk.tools import READS, WRITES
from tests.unit.sdk.conftest import QUIET, call, conversation, facts


def plain(*steps: Any, **options: Any) -> Any:
    script = [[assistant_message(step)] if isinstance(step, str) else step for step in steps]
    return Agent(name="assistant", model=ScriptedModel(script), **options)


def told(agent: Any, number: int = -1) -> str:
    """The instructions of a model call."""
    return agent.model.calls[number].system_instructions or ""


async def ask(agent: Any, text: Any = "who maintains ingest?", **options: Any) -> Any:
    return await Runner.run(agent, text, run_config=QUIET, **options)


def said_by_function(_context: Any, agent: Agent[Any]) -> str:
    return f"You are {agent.name}."


async def said_by_coroutine(context: Any, _agent: Agent[Any]) -> str:
    return f"You help {context.context}."


@pytest.mark.parametrize(
    ("own", "begins"),
    [
        ("Be brief.", "Be brief.\n\n<memory-data "),
        (said_by_function, "You are assistant.\n\n<memory-data "),
        (said_by_coroutine, "You help ada.\n\n<memory-data "),
        (None, "<memory-data "),
    ],
)
async def test_what_memory_holds_follows_the_agents_own_instructions(memory, own, begins) -> None:
    memory.remember("Cy maintains ingest.")
    agent = attach(plain("Cy.", instructions=own), memory)

    await ask(agent, context="ada")

    assert told(agent).startswith(begins)
    assert "[f1] Cy maintains ingest. (since " in told(agent)


async def test_with_nothing_recalled_the_instructions_are_the_agents_own(memory) -> None:
    agent = attach(plain("Hello.", instructions="Be brief."), memory)

    await ask(agent)

    assert told(agent) == "Be brief."


async def test_the_agent_is_cloned_and_has_its_own_tools_and_the_memorys(memory) -> None:
    @function_tool
    def clock() -> str:
        """Tell the time."""
        return "noon"

    agent = plain(tools=[clock])

    attached = attach(agent, memory)

    assert [tool.name for tool in agent.tools] == ["clock"]
    assert [tool.name for tool in attached.tools] == ["clock", *READS, *WRITES]


async def test_what_is_recalled_is_never_stored_in_the_session(memory, session) -> None:
    memory.remember("Cy maintains ingest.")
    agent = attach(plain("Cy."), memory, session=session)

    await ask(agent, session=session)

    assert await conversation(session) == ["user", "assistant"]
    assert "memory-data" not in str(await session.get_items())


async def test_each_turn_recalls_for_its_own_words_alone(memory, session) -> None:
    memory.remember("Cy maintains ingest.")
    memory.remember("Ada likes tea.")
    agent = attach(plain("Cy.", "Tea."), memory, session=session)

    await ask(agent, "who maintains ingest?", session=session)
    await ask(agent, "what does Ada like?", session=session)

    assert "[f1]" in told(agent, 0)
    assert "[f2]" not in told(agent, 0)
    assert "[f2]" in told(agent, 1)
    assert "[f1]" not in told(agent, 1)


async def test_it_is_recalled_anew_for_each_model_call(memory) -> None:
    def free(_operation: str, _arguments: object) -> bool:
        return False

    agent = attach(plain([call("remember", content="Cy maintains ingest.")], "Done."), memory, policy=free)

    await ask(agent)

    assert "memory-data" not in told(agent, 0)
    assert "[f1] Cy maintains ingest." in told(agent, 1)


async def test_it_is_recalled_anew_after_a_resume(memory, session, store) -> None:
    asking = attach(plain([call("remember", content="Cy maintains ingest.")]), memory, session=session)
    result = await ask(asking, session=session)
    parked = await store.park(result, session=session)
    await store.decide(parked.requests[0], "approve", by="eve")
    going_on = attach(plain("Cy."), memory, session=session)

    await store.resume(parked.id, going_on, run_config=QUIET)

    assert "[f1] Cy maintains ingest." in told(going_on)
    assert facts(memory) == ["Cy maintains ingest."]


async def test_one_agent_serves_each_user_from_their_own_memory(memory) -> None:
    def memory_of(context: Any) -> Any:
        return memory.at_namespace(f"acme/kestrel/{context.context}")

    memory.at_namespace("acme/kestrel/ada").remember("Ada likes tea.")
    memory.at_namespace("acme/kestrel/bo").remember("Bo likes tea.")
    agent = attach(plain("Tea.", "Tea."), memory_of)

    for user in ("ada", "bo"):
        await ask(agent, "who likes tea?", context=user)

    assert "Ada likes tea." in told(agent, 0)
    assert "Bo likes tea." not in told(agent, 0)
    assert "Bo likes tea." in told(agent, 1)


async def test_a_recall_that_fails_fails_the_run(memory) -> None:
    agent: Any = attach(plain("Cy."), memory)
    memory.close()

    with pytest.raises(Closed):
        await ask(agent)

    assert agent.model.calls == ()


async def test_a_resume_whose_recall_fails_can_be_tried_again(memory, session, store) -> None:
    def broken(_context: object) -> Memory:
        raise ConnectionError("no directory of users")

    result = await ask(attach(plain([call("remember", content="Cy")]), memory), session=session)
    parked = await store.park(result, session=session)
    await store.decide(parked.requests[0], "approve", by="eve")
    failing: Any = attach(plain(), memory)
    failing.instructions._memory = broken

    with pytest.raises(ConnectionError):
        await store.resume(parked.id, failing, run_config=QUIET)

    done = await store.resume(parked.id, attach(plain("Done."), memory), run_config=QUIET)
    assert (done.final_output, facts(memory)) == ("Done.", ["Cy"])


def test_attaching_twice_is_refused(memory) -> None:
    with pytest.raises(InvalidInput, match="attached already"):
        attach(attach(plain(), memory), memory)


def test_a_tool_of_the_same_name_is_refused(memory) -> None:
    @function_tool
    def recall() -> str:
        """Call a product back."""
        return "done"

    with pytest.raises(InvalidInput, match="recall"):
        attach(plain(tools=[recall]), memory)
    with pytest.raises(InvalidInput, match="remember"):
        attach(plain(tools=memory_tools(memory)), memory)


def test_a_budget_that_is_none_is_refused_at_once(memory) -> None:
    with pytest.raises(InvalidInput, match="budget_tokens"):
        attach(plain(), memory, budget_tokens=0)


async def test_the_budget_is_kept_and_what_has_no_room_is_logged(memory, caplog) -> None:
    memory.remember("Cy maintains ingest, " + "and so on " * 100, pinned=True)
    agent = attach(plain("Cy."), memory, budget_tokens=100)

    with caplog.at_level("INFO", "agents_memory"):
        await ask(agent)

    assert "memory-data" not in told(agent)
    assert "no room for f1" in caplog.text
    assert "and so on" not in caplog.text


@pytest.mark.parametrize(
    ("items", "question"),
    [
        (
            [
                {"role": "user", "content": "old"},
                {"role": "assistant", "content": "x"},
                {"role": "user", "content": "new"},
            ],
            "new",
        ),
        ([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}], "one\ntwo"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "part"}, {"type": "input_image"}]}], "part"),
        ([{"role": "user", "content": "asked"}, {"role": "developer", "content": "note"}], "asked"),
        ([{"role": "user", "content": "half \ud800"}], "half \ufffd"),
        ([{"role": "user", "content": [{"type": "input_image"}]}], ""),
        ([{"role": "assistant", "content": "x"}], ""),
        ([], ""),
    ],
)
def test_the_question_is_what_the_user_said_last(items, question) -> None:
    assert question_of(items) == question


def test_of_a_long_paste_the_beginning_and_the_end_are_asked_for() -> None:
    question = question_of([{"role": "user", "content": "why? " + "x" * 100_000 + " please"}])

    assert question.startswith("why?")
    assert question.endswith("please")
    assert len(question) < 2100


async def test_a_streamed_run_is_told_the_same(memory) -> None:
    memory.remember("Cy maintains ingest.")
    agent = attach(plain("Cy."), memory)

    streamed = Runner.run_streamed(agent, "who maintains ingest?", run_config=QUIET)
    async for _ in streamed.stream_events():
        pass

    assert "[f1] Cy maintains ingest." in told(agent)


async def test_the_store_knows_the_tools_of_an_attached_agent(memory) -> None:
    result = await ask(attach(plain([call("remember", content="Cy")]), memory))

    parked = await RunStateStore(memory).park(result)

    assert (await RunStateStore(memory).show(parked.requests[0])).operation == "remember"
