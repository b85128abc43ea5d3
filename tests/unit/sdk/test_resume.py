"""Resuming: decisions are applied, writes happen once, and what does not fit changes nothing."""

import asyncio
import hashlib
import json
import zlib
from typing import Any

import pytest
from agents import Agent, RunHooks, Runner, SQLiteSession, function_tool
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from pydantic import BaseModel

from agents_memory import Memory
from agents_memory._threads import in_thread
from agents_memory.errors import CannotResume, InvalidInput, InvalidTransition, LeaseLost, NotFound, Undecided
from agents_memory.sdk.run_states import RunStateStore
from agents_memory.sdk.session import DuckDBSession
from agents_memory.sdk.tools import memory_tools
from tests.storage import dump
from tests.unit.sdk.conftest import NAMESPACE, QUIET, agent, call, conversation, facts, outputs, run

STEP = [call("remember", content="Cy owns ingest")]
WHOLE = ["user", "function_call:c1", "function_call_output:c1", "assistant"]


async def parked(memory, *steps, session=None, store=None, decide="approve", **options):
    """A run that stopped at its first step, parked and decided."""
    keeper = store or RunStateStore(memory)
    result = await run(agent(memory, *(steps or [STEP]), **options), "hello", session=session)
    waiting = await keeper.park(result, session=session)
    for request in await keeper.pending():
        await keeper.decide(request.id, decide, by="eve")
    return waiting


def told(done) -> dict[str, Any]:
    return outputs(done.result.to_input_list())


async def test_an_approved_call_is_written_and_the_run_finishes(memory, session, store) -> None:
    waiting = await parked(memory, session=session)

    done = await store.resume(waiting.id, agent(memory, "done"))

    assert (done.run.status, done.final_output, done.repeated) == ("finished", "done", False)
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == WHOLE


async def test_a_resumed_run_that_had_finished_returns_its_result_and_runs_nothing(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    await store.resume(waiting.id, agent(memory, "done"))
    before = dump(memory._database)

    again = await store.resume(waiting.id, agent(memory))

    assert (again.repeated, again.final_output, again.result) == (True, "done", None)
    assert dump(memory._database) == before


async def test_of_two_concurrent_resumes_one_wins(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    resumes = [store.resume(waiting.id, agent(memory, "done")) for _ in range(2)]

    results = await asyncio.gather(*resumes, return_exceptions=True)

    (lost,) = [result for result in results if isinstance(result, Exception)]
    assert isinstance(lost, InvalidTransition)
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == WHOLE


async def test_a_reopened_file_and_a_new_session_object_make_no_difference(file) -> None:
    with Memory.open(file, namespace=NAMESPACE) as first:
        waiting = await parked(first, session=DuckDBSession("conv", first))
    with Memory.open(file, namespace=NAMESPACE) as second:
        session = DuckDBSession("conv", second)
        done = await RunStateStore(second).resume(waiting.id, agent(second, "done"), session=session)

        assert done.run.status == "finished"
        assert await conversation(session) == WHOLE


async def test_an_ungated_siblings_output_is_not_lost(memory, session, store) -> None:
    memory.remember("Bo owns ingest")
    step = [call("get_fact", "c1", fact_id="f1"), call("remember", "c2", content="Cy owns ingest")]
    waiting = await parked(memory, step, session=session, decide="reject")

    done = await store.resume(waiting.id, agent(memory, "done"))

    assert set(told(done)) == {"c1", "c2"}
    assert "Bo owns ingest" in told(done)["c1"]
    assert [line for line in await conversation(session) if "output" in line] == [
        "function_call_output:c1",
        "function_call_output:c2",
    ]


async def test_the_reason_of_a_rejection_reaches_the_model(memory, session, store) -> None:
    result = await run(agent(memory, STEP), "hello", session=session)
    waiting = await store.park(result, session=session)
    await store.decide(waiting.requests[0], "reject", by="eve", reason="Cy only helps out.")

    done = await store.resume(waiting.id, agent(memory, "done"))

    assert told(done)["c1"] == "Cy only helps out."
    assert facts(memory) == []


async def test_a_rejection_without_a_reason_is_still_clear_to_the_model(memory, session, store) -> None:
    waiting = await parked(memory, session=session, decide="reject")

    assert "rejected" in told(await store.resume(waiting.id, agent(memory, "done")))["c1"]


async def test_an_edited_call_is_stored_once_and_the_model_is_told(memory, session, store) -> None:
    step = [call("remember", content="Ada likes tea")]
    waiting = await store.park(await run(agent(memory, step), "hello", session=session), session=session)
    edited = {"content": "Ada likes decaf"}
    await store.decide(waiting.requests[0], "edit", by="eve", reason="she switched", arguments=edited)
    repeating = agent(memory, [call("remember", "c2", content="Ada likes tea")], "done")

    done = await store.resume(waiting.id, repeating)

    answer = told(done)["c1"]
    assert facts(memory) == ["Ada likes decaf"]
    assert done.run.status == "finished"
    assert answer["review"]["changed"]["content"] == {"asked": "Ada likes tea", "used": "Ada likes decaf"}
    assert (answer["review"]["by"], answer["review"]["reason"]) == ("eve", "she switched")
    assert told(done)["c2"]["note"].startswith("Already handled by review")
    assert told(done)["c2"]["id"] == answer["id"]


async def test_an_edit_cannot_change_the_tool(memory, session, store) -> None:
    memory.remember("Bo owns ingest")
    waiting = await store.park(await run(agent(memory, STEP), "hello", session=session), session=session)

    with pytest.raises(InvalidInput):
        await store.decide(waiting.requests[0], "edit", by="eve", arguments={"tool": "forget", "fact_id": "f1"})

    assert (await store.show(waiting.requests[0])).status == "pending"


async def test_the_model_is_told_why_a_bad_call_was_not_made(memory, session, store) -> None:
    from agents.testing import function_call

    waiting = await parked(memory, [function_call("remember", "{bad", call_id="c1")], session=session)

    done = await store.resume(waiting.id, agent(memory, "done"))

    assert "not valid JSON" in told(done)["c1"]


async def test_an_undecided_run_is_not_resumed(memory, session, store) -> None:
    waiting = await store.park(await run(agent(memory, STEP), "hello", session=session), session=session)

    with pytest.raises(Undecided):
        await store.resume(waiting.id, agent(memory, "done"))


async def test_a_run_that_stops_again_is_parked_again(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    second = [call("remember", "c2", content="Ada likes tea")]

    again = await store.resume(waiting.id, agent(memory, second))
    assert (again.run.id, again.run.status, again.run.revision) == (waiting.id, "parked", 2)
    assert (await store.show(waiting.requests[0])).status == "done"

    (request,) = await store.pending()
    await store.decide(request.id, "approve", by="eve")
    done = await store.resume(waiting.id, agent(memory, "done"))

    assert done.run.status == "finished"
    assert facts(memory) == ["Cy owns ingest", "Ada likes tea"]
    assert await conversation(session) == [*WHOLE[:3], "function_call:c2", "function_call_output:c2", "assistant"]


async def test_a_run_without_a_conversation_is_resumed_without_one(memory, store) -> None:
    waiting = await parked(memory)

    done = await store.resume(waiting.id, agent(memory, "done"))

    assert done.run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]


async def test_structured_output_is_kept_as_json(memory, session, store) -> None:
    class Answer(BaseModel):
        kept: int

    def answering(*steps):
        made = agent(memory, *steps)
        made.output_type = Answer
        return made

    waiting = await store.park(await run(answering(STEP), "hello", session=session), session=session)
    await store.decide(waiting.requests[0], "approve", by="eve")

    done = await store.resume(waiting.id, answering('{"kept": 1}'))

    assert json.loads(done.final_output) == {"kept": 1}


# -- what does not fit ---------------------------------------------------------------------------------------------


async def refused(memory, store, waiting, resuming, match, **given) -> None:
    """The resume is refused, and nothing was lost by it."""
    before = facts(memory), await conversation(DuckDBSession("conv", memory))

    with pytest.raises(CannotResume, match=match):
        await store.resume(waiting.id, resuming, **given)

    assert (await store.get(waiting.id)).status == "ready"
    assert (facts(memory), await conversation(DuckDBSession("conv", memory))) == before


async def test_another_agent_cannot_resume_a_run(memory, session, store) -> None:
    waiting = await parked(memory, session=session)

    await refused(memory, store, waiting, agent(memory, "done", name="other"), "started with the agent 'assistant'")
    assert (await store.resume(waiting.id, agent(memory, "done"))).run.status == "finished"


async def test_an_agent_without_the_tool_cannot_resume_a_run(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    others = [tool for tool in memory_tools(memory) if tool.name != "remember"]

    await refused(memory, store, waiting, agent(memory, "done", tools=others), "assistant/remember .* is missing")


async def test_a_tool_with_other_parameters_cannot_resume_a_run(memory, session, store) -> None:
    @function_tool(needs_approval=True)
    def send_mail(to: str) -> str:
        """Send a mail."""
        return "sent"

    waiting = await parked(memory, [call("send_mail", to="eve")], session=session, tools=[send_mail])

    @function_tool(name_override="send_mail", needs_approval=True)
    def changed(recipient: str) -> str:
        """Send a mail."""
        return "sent"

    await refused(memory, store, waiting, agent(memory, "done", tools=[changed]), "other parameters")


async def test_an_agent_that_was_handed_over_to_and_renamed_since_cannot_resume_a_run(memory, session, store) -> None:
    def triage(helper, *steps):
        handed = agent(memory, *steps, name=helper)
        made = agent(memory, [call(f"transfer_to_{helper}", "h1")], name="triage", tools=[])
        made.handoffs = [handed]
        return made

    waiting = await store.park(await run(triage("helper", STEP), "hello", session=session), session=session)
    await store.decide(waiting.requests[0], "approve", by="eve")

    await refused(memory, store, waiting, triage("assistant", "done"), "does not fit the agent 'triage'")
    assert (await store.resume(waiting.id, triage("helper", "done"))).run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]


@pytest.mark.parametrize("drift", ["removed", "changed", "renamed"])
async def test_a_nested_agent_that_changed_cannot_resume_a_run(memory, session, store, drift) -> None:
    def planner(*steps, outer, tools=None, name="researcher"):
        inner = agent(memory, *steps, name=name, tools=tools)
        return agent(memory, outer, name="planner", tools=[inner.as_tool("research", "Research.")])

    asking = planner(STEP, outer=[call("research", "o1", input="x")])
    waiting = await store.park(await run(asking, "hello", session=session), session=session)
    await store.decide(waiting.requests[0], "approve", by="eve")

    @function_tool(needs_approval=True)
    def remember(words: str) -> str:
        """Keep words."""
        return "kept"

    others = {"removed": [], "changed": [remember], "renamed": None}[drift]
    drifted = planner("found", outer="done", tools=others, name="scholar" if drift == "renamed" else "researcher")

    await refused(memory, store, waiting, drifted, "cannot go on|does not fit|lacks the call")
    assert (await store.resume(waiting.id, planner("found", outer="done"))).run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]


async def test_a_memory_tool_with_other_parameters_cannot_resume_a_run(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    tools: Any = memory_tools(memory)
    (remember,) = [tool for tool in tools if tool.name == "remember"]
    properties = remember.params_json_schema["properties"]
    properties["statement"] = properties.pop("content")

    await refused(memory, store, waiting, agent(memory, "done", tools=tools), "other parameters")
    assert (await store.resume(waiting.id, agent(memory, "done"))).run.status == "finished"


async def test_a_state_that_names_no_form_cannot_be_resumed(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    cursor = memory._database._cursor()
    state = zlib.compress(b'{"not": "a state"}')
    cursor.execute("UPDATE run_states SET state = $1, digest = $2", [state, hashlib.sha256(state).hexdigest()])

    await refused(memory, store, waiting, agent(memory, "done"), "does not fit the agent")


async def test_another_conversation_cannot_take_a_run_over(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    other = DuckDBSession("other", memory)

    await refused(memory, store, waiting, agent(memory, "done"), "belongs to the session 'conv'", session=other)
    assert await conversation(other) == []


async def test_a_changed_state_cannot_be_resumed(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    memory._database._cursor().execute("UPDATE run_states SET state = 'x'::BLOB")

    await refused(memory, store, waiting, agent(memory, "done"), "was changed")


async def test_a_forged_state_cannot_be_resumed_with_a_key(memory, session) -> None:
    store = RunStateStore(memory, key=b"ours")
    waiting = await parked(memory, session=session, store=store)
    cursor = memory._database._cursor()
    cursor.execute("UPDATE run_states SET state = 'x'::BLOB, digest = sha256('x')")

    await refused(memory, store, waiting, agent(memory, "done"), "not signed with this key")


async def test_a_signed_state_is_resumed_with_its_key_alone(memory, session, store) -> None:
    signing = RunStateStore(memory, key=b"ours")
    waiting = await parked(memory, session=session, store=signing)

    await refused(memory, store, waiting, agent(memory, "done"), "is signed")
    await refused(memory, RunStateStore(memory, key=b"other"), waiting, agent(memory, "done"), "not signed with")
    assert (await signing.resume(waiting.id, agent(memory, "done"))).run.status == "finished"


async def test_an_unsigned_state_is_not_resumed_with_a_key(memory, session) -> None:
    waiting = await parked(memory, session=session)

    await refused(memory, RunStateStore(memory, key=b"ours"), waiting, agent(memory, "done"), "not signed with")


async def test_a_state_of_a_newer_sdk_is_refused(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    memory._database._cursor().execute("UPDATE run_states SET schema_version = '99.0', sdk_version = '9.0'")

    await refused(memory, store, waiting, agent(memory, "done"), "saved by openai-agents 9.0")


async def test_a_run_that_does_not_exist_is_not_found(memory, store) -> None:
    with pytest.raises(NotFound):
        await store.resume("n99", agent(memory))


# -- what fails on the way -----------------------------------------------------------------------------------------


async def test_a_model_that_fails_leaves_a_run_that_can_be_resumed(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    failing = agent(memory)
    failing.model.enqueue(ModelStep(error=ConnectionError("no network")))

    with pytest.raises(ConnectionError):
        await store.resume(waiting.id, failing)
    failed = await store.get(waiting.id)
    done = await store.resume(waiting.id, agent(memory, "done"))

    assert (failed.status, failed.error) == ("failed", "ConnectionError")
    assert done.run.status == "finished"
    assert facts(memory) == ["Cy owns ingest"]
    assert await conversation(session) == WHOLE


async def test_a_foreign_tool_that_ran_is_not_run_again_after_a_model_failed(memory, session, store) -> None:
    sent = []

    @function_tool(needs_approval=True)
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    waiting = await parked(memory, [call("send_mail", to="eve")], session=session, tools=[send_mail])
    failing = agent(memory, tools=[send_mail])
    failing.model.enqueue(ModelStep(error=ConnectionError("no network")))
    with pytest.raises(ConnectionError):
        await store.resume(waiting.id, failing)

    done = await store.resume(waiting.id, agent(memory, "done", tools=[send_mail]))

    assert sent == ["eve"]
    assert done.run.status == "finished"
    assert await conversation(session) == WHOLE


async def test_a_foreign_tool_that_broke_off_leaves_the_run_uncertain(memory, session, store) -> None:
    sent = []

    @function_tool(needs_approval=True, failure_error_function=None)
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        raise ConnectionError("did it arrive?")

    waiting = await parked(memory, [call("send_mail", to="eve")], session=session, tools=[send_mail])
    with pytest.raises(Exception, match="did it arrive"):
        await store.resume(waiting.id, agent(memory, "done", tools=[send_mail]))

    with pytest.raises(InvalidTransition, match="uncertain"):
        await store.resume(waiting.id, agent(memory, "done", tools=[send_mail]))

    assert sent == ["eve"]
    assert (await store.get(waiting.id)).status == "uncertain"


async def test_a_withdrawn_run_leaves_a_conversation_that_goes_on(memory, session, store) -> None:
    waiting = await parked(memory, session=session, decide="approve")

    withdrawn = await store.withdraw(waiting.id, by="eve", reason="No longer needed.")
    done = await run(agent(memory, "hello again"), "Are you there?", session=session)

    assert withdrawn.status == "withdrawn"
    assert done.final_output == "hello again"
    assert await conversation(session) == [*WHOLE[:-1], "user", "assistant"]
    assert facts(memory) == []


async def test_a_run_goes_on_without_a_withdrawn_call_and_the_model_is_told(memory, session, store) -> None:
    result = await run(agent(memory, STEP), "hello", session=session)
    waiting = await store.park(result, session=session)

    await store.withdraw(waiting.requests[0], by="eve", reason="Asked twice.")
    done = await store.resume(waiting.id, agent(memory, "done"))

    assert told(done)["c1"] == "Asked twice."
    assert await conversation(session) == WHOLE


async def test_a_cancelled_resume_can_be_done_again(memory, session, store) -> None:
    waiting = await parked(memory, session=session)
    asked = asyncio.Event()

    async def hang(_call):
        asked.set()
        await asyncio.Event().wait()

    hanging = agent(memory)
    hanging.model.enqueue(ModelStep(responder=hang))
    resuming = asyncio.create_task(store.resume(waiting.id, hanging))
    await asked.wait()
    resuming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await resuming

    assert (await store.get(waiting.id)).status == "failed"
    assert (await store.resume(waiting.id, agent(memory, "done"))).run.status == "finished"
    assert await conversation(session) == WHOLE


async def test_a_resume_that_lost_its_claim_stops_and_writes_nothing(memory, session, store) -> None:
    from agents_memory.sdk.resume import Asked, resume

    waiting = await parked(memory, session=session)

    def rob():
        memory.call("release_run", {"run_id": waiting.id, "fence": 1})
        memory.call("claim_run", {"run_id": waiting.id, "owner": "elsewhere:1:x"})

    async def robbed(_call):
        await in_thread(rob)
        await asyncio.Event().wait()

    slow = agent(memory)
    slow.model.enqueue(ModelStep(responder=robbed))
    with pytest.raises(LeaseLost):
        await resume(store, waiting.id, Asked(agent=slow, lease_s=0.03))

    assert (await store.get(waiting.id)).attempt == 2
    with pytest.raises(InvalidTransition, match="elsewhere"):
        await store.resume(waiting.id, agent(memory, "done"))


async def test_the_apps_own_hooks_are_called(memory, session, store) -> None:
    called = []

    class Watching(RunHooks):
        async def on_tool_start(self, context, agent, tool):
            called.append(f"start {tool.name}")

        async def on_tool_end(self, context, agent, tool, result):
            called.append(f"end {tool.name}")

        async def on_llm_start(self, context, agent, system_prompt, input_items):
            called.append("llm")

        async def on_agent_end(self, context, agent, output):
            called.append(f"said {output}")

    waiting = await parked(memory, session=session)

    await store.resume(waiting.id, agent(memory, "done"), hooks=Watching())

    assert called == ["start remember", "end remember", "llm", "said done"]


# -- what changed, or is no longer what it was ------------------------------------------------------------------------


async def test_an_approved_change_of_a_fact_that_somebody_changed_since_is_not_made(memory, session, store) -> None:
    memory.remember("Bo maintains ingest.")
    step = [call("supersede", fact_id="f1", content="Cy maintains ingest.")]
    waiting = await parked(memory, step, session=session)
    memory.supersede("f1", "Dan maintains ingest.")

    done = await store.resume(waiting.id, agent(memory, "done"))

    assert "stale_request" in json.dumps(told(done))
    assert [fact.content for fact in memory.facts()] == ["Dan maintains ingest."]


async def test_a_nested_agents_call_may_have_the_id_of_the_call_it_is_nested_in(memory, session, store) -> None:
    inner = agent(memory, STEP, "inner done", name="researcher")
    tool = inner.as_tool("research", "Finds things out.")
    outer = Agent(
        name="planner",
        model=ScriptedModel([[function_call("research", {"input": "x"}, call_id="c1")], [assistant_message("done")]]),
        tools=[tool],
    )
    result = await Runner.run(outer, "hello", session=session, run_config=QUIET)

    waiting = await store.park(result, session=session)
    await store.decide("a1", "approve", by="eve")
    done = await store.resume(waiting.id, outer)

    assert (done.run.status, facts(memory)) == ("finished", ["Cy owns ingest"])


async def test_another_session_of_the_same_id_is_refused(memory, session, store) -> None:
    waiting = await parked(memory, session=session)

    with pytest.raises(CannotResume, match="another of the same id"):
        await store.resume(waiting.id, agent(memory), session=SQLiteSession(session.session_id))

    assert (await store.get(waiting.id)).status == "ready"
    assert await conversation(session) == ["user", "function_call:c1"]


@pytest.mark.parametrize("state", [b"no zip", zlib.compress(b"\xff"), zlib.compress(b"{}"), zlib.compress(b"[1]")])
async def test_a_state_that_is_none_cannot_be_resumed_and_fails_nothing(memory, session, store, state) -> None:
    waiting = await parked(memory, session=session)
    digest = hashlib.sha256(state).hexdigest()
    memory._database._cursor().execute("UPDATE run_states SET state = ?, digest = ?", [state, digest])

    with pytest.raises(CannotResume):
        await store.resume(waiting.id, agent(memory))

    assert (await store.get(waiting.id)).status == "ready"


@pytest.mark.parametrize("key", [b"", "secret", 7])
def test_what_is_no_secret_is_refused_as_a_key(memory, key) -> None:
    with pytest.raises(InvalidInput, match="secret"):
        RunStateStore(memory, key=key)


def test_a_store_needs_a_memory() -> None:
    with pytest.raises(InvalidInput, match="Memory"):
        RunStateStore(None)  # type: ignore[arg-type]


async def test_a_claim_by_hand_keeps_resume_away_until_it_is_given_back(memory, session, store) -> None:
    waiting = await parked(memory, session=session)

    claim = await store.claim(waiting.id, lease_s=30)

    assert (claim.run.id, claim.lease_s, [one.approved for one in claim.verdicts]) == (waiting.id, 30, [True])
    with pytest.raises(InvalidTransition, match="is being resumed"):
        await store.claim(waiting.id)
    with pytest.raises(InvalidTransition, match="is being resumed"):
        await store.resume(waiting.id, agent(memory, "done"))
    await store.call("release_run", run_id=waiting.id, fence=claim.fence)
    assert (await store.resume(waiting.id, agent(memory, "done"))).run.status == "finished"
    with pytest.raises(LeaseLost):
        await store.call("renew_lease", run_id=waiting.id, fence=claim.fence)
