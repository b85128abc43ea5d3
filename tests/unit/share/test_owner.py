"""Whoever calls, and whatever it sends: the owner goes on answering the others, and answers what it was sent whole."""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents_memory import Memory, errors
from agents_memory.errors import AgentsMemoryError, AnswerLost, InvalidInput, OtherRelease, StoreLocked, error_of
from agents_memory.share import owner, place, wire
from agents_memory.share.access import Access
from agents_memory.share.place import Place
from agents_memory.types import Caller


@pytest.fixture
def there(held: Memory, path: Path) -> Place:
    found = place.read(str(path))
    assert found is not None
    return found


@pytest.fixture
def dial(there: Place) -> Iterator[Callable[[], socket.socket]]:
    """Make connections that have said nothing yet."""
    made: list[socket.socket] = []

    def dialling() -> socket.socket:
        made.append(place.connect(there, wait_s=20))
        return made[-1]

    yield dialling
    for connection in made:
        connection.close()


def greeted(connection: socket.socket, there: Place) -> socket.socket:
    wire.send(connection, wire.encoded({"wire": wire.WIRE, "release": "0", "secret": there.secret}))
    assert wire.decoded(wire.receive(connection, frame_wait_s=20))["wire"] == wire.WIRE
    return connection


def frame(data: Any) -> bytes:
    text = json.dumps(data).encode()
    return struct.pack(">I", len(text)) + text


def asked(connection: socket.socket, data: Any) -> Any:
    connection.sendall(frame(data))
    return wire.decoded(wire.receive(connection, frame_wait_s=20))


def is_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


GARBAGE = {
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "a huge length": struct.pack(">I", 2**32 - 1),
    "a length beyond a hello": struct.pack(">I", 10_000_000) + b"x" * 100,
    "no JSON": struct.pack(">I", 3) + b"{]}",
    "no UTF-8": struct.pack(">I", 2) + b"\xff\xfe",
    "no object": frame([1]),
    "nothing": frame({}),
    "deep": struct.pack(">I", 4000) + b"[" * 4000,
    "a wrong secret": frame({"wire": wire.WIRE, "release": "0", "secret": "0" * 64}),
    "a secret of surrogates": frame({"wire": wire.WIRE, "release": "0", "secret": "\ud800"}),
    "a secret that is no text": frame({"wire": wire.WIRE, "release": "0", "secret": [1]}),
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE.keys())
def test_who_does_not_greet_well_is_let_go_and_hears_nothing(
    sent: bytes, dial: Callable[[], socket.socket], shared: Memory
) -> None:
    connection = dial()

    connection.sendall(sent)

    assert is_ended(connection)
    assert shared.remember("The others go on").id == "f1"


CALLS: dict[str, Any] = {
    "no object": 3,
    "no arguments": {"operation": "pending", "caller": {"namespace": "a"}},
    "no caller": {"operation": "pending", "arguments": {}},
    "a caller that is none": {"operation": "pending", "arguments": {}, "caller": {"namespace": 3}},
    "a caller of surrogates": {"operation": "pending", "arguments": {}, "caller": {"namespace": "\ud800"}},
    "an operation that is none": {"operation": ["x"], "arguments": {}, "caller": {"namespace": "a"}},
    "a call id that is none": {"operation": "remember", "arguments": {}, "caller": {"namespace": "a"}, "call_id": {}},
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_call_that_is_none_is_answered_with_what_is_wrong(
    call: Any, there: Place, dial: Callable[[], socket.socket], shared: Memory
) -> None:
    connection = greeted(dial(), there)

    answer = asked(connection, call)

    assert isinstance(error_of(answer["error"]), AgentsMemoryError)
    assert asked(connection, {"operation": "pending", "arguments": {}, "caller": {"namespace": "a"}}) == {"answer": []}
    assert shared.remember("The others go on").id == "f1"


def test_half_a_frame_is_never_acted_on(there: Place, dial: Callable[[], socket.socket], held: Memory) -> None:
    connection = greeted(dial(), there)
    call = frame({"operation": "remember", "arguments": {"content": "Half"}, "caller": {"namespace": "a"}})

    connection.sendall(call[:-1])
    connection.shutdown(socket.SHUT_WR)

    assert is_ended(connection)
    assert held.at_namespace("a").facts() == ()


def test_a_caller_that_takes_no_answer_holds_up_no_other(
    there: Place, dial: Callable[[], socket.socket], held: Memory, shared: Memory
) -> None:
    held.remember("x" * 3_000_000)
    deaf = greeted(dial(), there)
    deaf.sendall(frame({"operation": "list_facts", "arguments": {}, "caller": {"namespace": held.namespace}}))

    assert shared.remember("The others go on").id == "f2"


def test_many_connections_keep_nobody_out(there: Place, dial: Callable[[], socket.socket], shared: Memory) -> None:
    held_open = [greeted(dial(), there) for _ in range(owner.MAX_CALLERS + 44)]

    assert shared.remember("The others go on").id == "f1"
    assert is_ended(held_open[0])
    answer = asked(held_open[-1], {"operation": "pending", "arguments": {}, "caller": {"namespace": "a"}})
    assert answer == {"answer": []}


def test_many_threads_of_a_caller_leave_few_connections(held: Memory, shared: Memory) -> None:
    with ThreadPoolExecutor(32) as pool:
        ids = list(pool.map(lambda number: shared.remember(f"Fact {number}").id, range(100)))

    assert len(set(ids)) == 100
    remote: Any = shared._access._role
    assert len(remote._free) <= 4
    assert remote._all == set(remote._free)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_let_in(there: Place) -> None:
    pid = os.fork()
    if pid == 0:
        os.setuid(65534)
        try:
            place.connect(there, wait_s=5).close()
        except PermissionError:
            os._exit(7)
        os._exit(1)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_who_is_at_the_other_end_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with closing(one), closing(other):
        assert place.is_same_user(one)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert place.is_same_user(one) is not hasattr(socket, "SO_PEERCRED")


# -- errors that travel -----------------------------------------------------------------------------------------------

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AgentsMemoryError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_arrives_as_it_was_raised(kind: type[AgentsMemoryError]) -> None:
    raised = kind("What happened, “and” what to do.", fact_id="f1", problems=["a"], nothing=None)

    arrived = error_of(json.loads(json.dumps(raised.to_dict())))

    assert type(arrived) is kind
    assert (str(arrived), arrived.details, arrived.retryable) == (str(raised), raised.details, raised.retryable)


def test_an_error_of_a_later_release_arrives_as_the_root() -> None:
    arrived = error_of({"code": "of_tomorrow", "message": "No.", "retryable": False, "details": {"a": 1}})

    assert type(arrived) is AgentsMemoryError
    assert (str(arrived), arrived.details) == ("No.", {"a": 1})


def test_what_is_no_error_of_ours_is_told_without_its_text(
    held: Memory, shared: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(name: str) -> None:
        raise RuntimeError("swordfish")

    held._database.on_statement = fail
    with pytest.raises(AgentsMemoryError, match="RuntimeError"):
        shared.facts()
    with pytest.raises(AgentsMemoryError, match="RuntimeError"):
        shared.remember("x")
    held._database.on_statement = None

    assert "swordfish" not in caplog.text
    assert shared.remember("x").id == "f1"


def test_an_answer_that_is_too_long_is_refused(held: Memory, shared: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    held.remember("x" * 100_000)
    monkeypatch.setattr(wire, "MAX_FRAME_BYTES", 50_000)

    with pytest.raises(InvalidInput, match="smaller parts"):
        shared.facts()
    with pytest.raises(InvalidInput, match="smaller parts"):
        shared.remember("x" * 100_000)
    assert shared.remember("Short").id == "f2"


# -- ends -------------------------------------------------------------------------------------------------------------


class Blocked:
    """Holds the owner up in the first statement of that name until it is let go."""

    def __init__(self, memory: Memory, name: str) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        self._database, self._name = memory._database, name
        self._database.on_statement = self

    def __call__(self, name: str) -> None:
        if name == self._name:
            self._database.on_statement = None
            self.began.set()
            assert self.go_on.wait(30)


@pytest.mark.parametrize("operation", ["remember", "recall"])
def test_a_call_under_way_is_answered_before_the_owner_ends(
    path: Path, reach: Callable[..., Memory], operation: str
) -> None:
    held = Memory.open(path, namespace="acme/kestrel")
    held.remember("Cy maintains ingest")
    shared = reach()
    blocked = Blocked(held, "insert_fact_version" if operation == "remember" else "index_facts")
    arguments = {"content": "Under way"} if operation == "remember" else {"query": "who maintains ingest?"}

    with ThreadPoolExecutor(2) as pool:
        calling = pool.submit(shared.call, operation, arguments)
        assert blocked.began.wait(30)
        closing_it = pool.submit(held.close)
        blocked.go_on.set()
        closing_it.result()
        result = calling.result()

    assert result.id == "f2" if operation == "remember" else result.hits
    assert shared.remember("The caller holds it now").id == ("f3" if operation == "remember" else "f2")
    assert shared._database.path == str(path)


def test_closing_leaves_no_note_no_socket_and_no_log(path: Path, there: Place, held: Memory) -> None:
    held.close()

    assert sorted(file.name for file in path.parent.iterdir()) == ["team.duckdb", "team.duckdb.lock"]
    assert not Path(str(there.address)).exists()


def test_an_owner_that_lost_its_socket_is_found_again(
    path: Path, there: Place, held: Memory, reach: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = reach()
    Path(str(there.address)).unlink()
    role: Any = held._access._role

    role._owner._be_found()

    moved = place.read(str(path))
    assert moved is not None
    assert moved.address != there.address
    assert replace(moved, address=there.address) == there
    assert shared.remember("By the connection that stood").id == "f1"
    assert reach().remember("By a new one").id == "f2"


def test_an_owner_looks_by_itself_whether_it_is_found(
    path: Path, monkeypatch: pytest.MonkeyPatch, reach: Callable[..., Memory]
) -> None:
    monkeypatch.setattr(owner, "LOOK_EVERY_S", 0.01)
    with Memory.open(path, namespace="acme/kestrel"):
        place.note_of(str(path)).unlink()

        assert reach(wait_s=30).remember("Found").id == "f1"


# -- other releases ---------------------------------------------------------------------------------------------------


def test_a_caller_of_another_wire_is_told_both_releases(
    path: Path, held: Memory, there: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write(str(path), replace(there, release="9.9.9"))
    monkeypatch.setattr(wire, "WIRE", 2)
    answering = wire.receive

    def as_the_other_says(connection: socket.socket, **given: Any) -> bytes:
        hello = wire.decoded(answering(connection, **given))
        return wire.encoded({**hello, "wire": 1} if "secret" not in hello else hello)

    monkeypatch.setattr(wire, "receive", as_the_other_says)
    access = Access(str(path), share="auto", wait_s=5)

    with pytest.raises(OtherRelease, match=r"9\.9\.9.*0\.1\.0") as refusal:
        access.reach()

    assert refusal.value.details["theirs"] == "9.9.9"
    assert refusal.value.details["holder"] == os.getpid()
    access.close()


def test_an_answer_of_another_form_is_said_to_be_of_another_release(
    held: Memory, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_form(frame: bytes) -> Any:
        data = json.loads(frame)
        return {"answer": [{"of": "tomorrow"}]} if "answer" in data else data

    monkeypatch.setattr(wire, "decoded", other_form)

    with pytest.raises(OtherRelease):
        shared.facts()


# -- lost answers -----------------------------------------------------------------------------------------------------


class Deaf:
    """Something that listens where an owner was, greets, takes a call, and says no more."""

    def __init__(self, path: Path) -> None:
        self.listener, address = place.listen()
        self.place = Place(pid=os.getpid(), host=socket.gethostname(), release="0", address=address, secret="s")
        place.write(str(path), self.place)
        self.calls: list[Any] = []
        self.open: list[socket.socket] = []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            with closing(connection), suppress(OSError):
                wire.receive(connection, frame_wait_s=20)
                wire.send(connection, wire.encoded({"wire": wire.WIRE, "release": "0"}))
                self.calls.append(wire.decoded(wire.receive(connection, frame_wait_s=20)))

    def end(self) -> None:
        place.stop_listening(self.listener, self.place.address)
        for connection in self.open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.thread.join()


@pytest.fixture
def deaf(path: Path) -> Iterator[tuple[Deaf, Memory]]:
    """An owner that loses every answer, and a handle that goes through it."""
    from agents_memory.share.lock import OwnerLock

    Memory.open(path).close()
    lock = OwnerLock.take(str(path))
    assert lock is not None
    one = Deaf(path)
    access = Access(str(path), share="auto", wait_s=5)
    access.reach()
    yield one, Memory(access, Caller(namespace="main"), owns=False)
    access.close()
    one.end()
    lock.release()


def test_a_write_whose_answer_is_lost_is_asked_again_under_its_id_a_bounded_number_of_times(
    deaf: tuple[Deaf, Memory],
) -> None:
    one, memory = deaf

    with pytest.raises(AnswerLost, match="during remember") as lost:
        memory.remember("x")

    assert lost.value.details["operation"] == "remember"
    assert [call["again"] for call in one.calls] == [False, True, True, True, True]
    assert len({call["call_id"] for call in one.calls}) == 1


def test_a_decision_whose_answer_is_lost_is_not_made_twice(deaf: tuple[Deaf, Memory]) -> None:
    one, memory = deaf

    with pytest.raises(AnswerLost, match="Look whether it was done"):
        memory.call("decide", {"request_id": "a1", "decision": "approve", "by": "eve"})

    assert len(one.calls) == 1


def test_a_write_whose_owner_cannot_be_reached_again_is_not_said_to_be_undone(
    deaf: tuple[Deaf, Memory], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents_memory.share import access

    one, memory = deaf
    monkeypatch.setattr(access, "TAKE_OVER_WAIT_S", 0.0)
    hangs_up = one.calls.append

    class Vanishing(list[Any]):
        def append(self, call: Any) -> None:
            hangs_up(call)
            place.note_of(str(path)).unlink()

    one.calls = Vanishing()

    with pytest.raises(AnswerLost):
        memory.remember("x")


def test_a_read_whose_owner_cannot_be_reached_says_who_holds_the_file(
    deaf: tuple[Deaf, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, memory = deaf
    one.end()
    monkeypatch.setattr("agents_memory.share.access.TAKE_OVER_WAIT_S", 0.0)

    with pytest.raises(StoreLocked, match=f"process {os.getpid()}, which does not answer"):
        memory.facts()
