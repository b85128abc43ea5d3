"""The web app of the examples: users, a reviewer, and runs that go on in the background, also after a restart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from agents.testing import ScriptedModel, assistant_message, function_call
from starlette.testclient import TestClient

from agents_memory import Memory
from examples.web_app import create_app

ASKS = [function_call("remember", {"content": "Ada maintains ingest."}, call_id="c1")]


class Site:
    """The app on a file, with what its model says."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.model = ScriptedModel([])

    def says(self, *steps: Any) -> None:
        for step in steps:
            self.model.enqueue([assistant_message(step)] if isinstance(step, str) else step)

    def client(self) -> TestClient:
        return TestClient(create_app(str(self.file), lambda: Agent(name="assistant", model=self.model)))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "team.duckdb")


@pytest.fixture
def client(site: Site) -> Iterator[TestClient]:
    with site.client() as client:
        yield client


def say(client: TestClient, text: str, *, user: str = "ada", conversation: str = "c") -> Any:
    path = f"/conversations/{conversation}/messages"
    return client.post(path, json={"text": text}, headers={"X-User": user})


def decide(client: TestClient, request_id: str, **given: Any) -> Any:
    return client.post(f"/pending/{request_id}", json=given, headers={"X-User": "eve"})


def stands(client: TestClient, run_id: str, user: str = "ada") -> Any:
    return client.get(f"/runs/{run_id}", headers={"X-User": user})


def test_what_needs_nobody_is_answered_at_once(site, client) -> None:
    site.says("Hello Ada.")

    answer = say(client, "hi")

    assert (answer.status_code, answer.json()) == (200, {"reply": "Hello Ada."})


def test_what_somebody_must_decide_goes_on_once_it_is_decided(site, client) -> None:
    site.says(ASKS)
    answer = say(client, "I took ingest over.")
    waits = [{"id": "a1", "tool": "remember", "arguments": {"content": "Ada maintains ingest."}}]
    assert (answer.status_code, answer.json()) == (202, {"run": "n1", "waits": waits})
    assert stands(client, "n1").json() == {"run": "n1", "status": "parked", "reply": None}
    (request,) = client.get("/pending", headers={"X-User": "eve"}).json()
    assert (request["namespace"], request["words"]) == ("acme/ada", "I took ingest over.")

    site.says("Noted.", "You do.")
    assert decide(client, "a1", decision="approve", preview=request["preview"]["digest"]).status_code == 200

    assert stands(client, "n1").json() == {"run": "n1", "status": "finished", "reply": "Noted."}
    assert say(client, "who maintains ingest?").json() == {"reply": "You do."}
    assert "[f1] Ada maintains ingest." in (site.model.last_call.system_instructions or "")
    assert client.get("/pending", headers={"X-User": "eve"}).json() == []


def test_users_share_an_agent_and_nothing_else(site, client) -> None:
    site.says(ASKS)
    say(client, "I took ingest over.")
    site.says("Noted.", "I do not know.")
    decide(client, "a1", decision="approve")

    say(client, "who maintains ingest?", user="bo")

    assert "Ada maintains" not in (site.model.last_call.system_instructions or "")
    assert len(site.model.last_call.input) == 1
    assert stands(client, "n1", user="bo").status_code == 404


def test_a_second_reviewer_is_told_who_was_first(site, client) -> None:
    site.says(ASKS, "Not kept.")
    say(client, "I took ingest over.")
    decide(client, "a1", decision="reject", reason="Bo does.")

    second = decide(client, "a1", decision="approve")

    assert (second.status_code, second.json()["code"]) == (409, "already_decided")
    assert stands(client, "n1").json()["reply"] == "Not kept."


@pytest.mark.parametrize(
    ("given", "status"),
    [({"decision": "maybe"}, 400), ({}, 400), ({"decision": "approve", "arguments": {"content": "x"}}, 400)],
)
def test_a_decision_that_is_none_is_refused(site, client, given, status) -> None:
    site.says(ASKS)
    say(client, "I took ingest over.")

    assert decide(client, "a1", **given).status_code == status
    assert stands(client, "n1").json()["status"] == "parked"


def test_who_does_not_say_who_they_are_is_refused(client) -> None:
    assert client.post("/conversations/c/messages", json={"text": "hi"}).status_code == 401
    assert client.get("/pending").status_code == 401


def test_what_is_no_json_object_is_refused(client) -> None:
    assert client.post("/pending/a1", content="[", headers={"X-User": "eve"}).status_code == 400


def test_a_run_that_was_decided_before_a_restart_goes_on_after_it(site) -> None:
    site.says(ASKS)
    with site.client() as client:
        say(client, "I took ingest over.")
    with Memory.open(site.file, namespace="acme") as memory:  # a reviewer's command, while the app is down
        memory.call("decide", {"request_id": "a1", "decision": "approve", "by": "eve"})
    site.says("Noted.")

    with site.client() as client:
        while stands(client, "n1").json()["status"] != "finished":
            pass

        assert stands(client, "n1").json()["reply"] == "Noted."
