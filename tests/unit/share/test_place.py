"""The note beside a file, the socket that it names, and the lock: what is stale, foreign or gone misleads nobody."""

import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from agents_memory import Memory
from agents_memory.errors import StoreLocked, StoreUnreadable
from agents_memory.share import place
from agents_memory.share.access import Access
from agents_memory.share.lock import OwnerLock
from agents_memory.share.place import Place

pytestmark = pytest.mark.skipif(not place.HAS_UNIX_SOCKETS, reason="this system has no Unix sockets")


def a_place(address: str | None = None, pid: int | None = None, host: str | None = None) -> Place:
    return Place(
        pid=os.getpid() if pid is None else pid,
        host=socket.gethostname() if host is None else host,
        release="0.1.0",
        address=address,
        secret="s",
    )


def note_at(path: Path) -> Place:
    found = place.read(str(path))
    assert found is not None
    return found


def test_note_and_socket_are_for_their_user_alone(path: Path, held: Memory) -> None:
    address = Path(str(note_at(path).address))

    assert stat.S_IMODE(place.note_of(str(path)).stat().st_mode) == 0o600
    assert stat.S_IMODE(address.parent.stat().st_mode) == 0o700
    assert len(str(address)) < 100


def test_two_owners_of_one_file_after_another_have_other_secrets_and_sockets(path: Path) -> None:
    found = []
    for _ in range(2):
        with Memory.open(path):
            found.append(note_at(path))

    assert found[0].secret != found[1].secret
    assert found[0].address != found[1].address


def test_what_a_dead_owner_left_is_taken_away(path: Path) -> None:
    Memory.open(path).close()
    listener, address = place.listen()
    listener.close()
    place.write(str(path), a_place(str(address), pid=os.getpid()))  # its process number was given anew

    with Memory.open(path) as memory:
        assert memory.remember("x").id == "f1"
        assert note_at(path).address != address
        assert not Path(str(address)).exists()


def test_a_stale_note_that_names_something_else_takes_nothing_away(path: Path, tmp_path: Path) -> None:
    Memory.open(path).close()
    precious = tmp_path / "precious.sock"
    precious.write_text("mine")
    place.write(str(path), a_place(str(precious)))

    Memory.open(path).close()

    assert precious.read_text() == "mine"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": 1}', '{"unknown": 1}', "[" * 100_000])
def test_a_note_that_is_none_is_as_if_there_were_none(path: Path, text: str) -> None:
    lock = OwnerLock.take(str(path))
    place.note_of(str(path)).write_text(text)

    with pytest.raises(StoreLocked, match="does not say how to reach it"):
        Memory.open(path, wait_s=0)

    assert lock is not None
    lock.release()
    with Memory.open(path) as memory:
        assert memory.remember("x").id == "f1"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_note_of_another_user_is_not_believed(path: Path, held: Memory, reach: Callable[..., Memory]) -> None:
    os.chown(place.note_of(str(path)), 65534, 65534)

    with pytest.raises(StoreLocked, match="another user"):
        reach(wait_s=0)


def test_a_holder_on_another_machine_is_named_with_it(path: Path) -> None:
    lock = OwnerLock.take(str(path))
    assert lock is not None
    place.write(str(path), a_place("/nowhere/at.all", pid=4312, host="elsewhere"))

    with pytest.raises(StoreLocked, match="process 4312 on 'elsewhere', which does not answer") as refusal:
        Memory.open(path, wait_s=0)

    assert refusal.value.details["holder"] == 4312
    lock.release()


# -- folders ----------------------------------------------------------------------------------------------------------


def test_callers_with_another_runtime_folder_find_the_owner(
    path: Path, held: Memory, reach: Callable[..., Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "other"))

    assert reach().remember("x").id == "f1"


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let sockets be made in a folder if they can."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    listener, address = place.listen()
    place.stop_listening(listener, address)
    return Path(str(address)).parent.parent


def test_a_socket_is_made_in_the_runtime_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert in_folder(Path(folder), monkeypatch) == Path(folder)


@pytest.mark.parametrize("spoilt", ["missing", "public", "a link", "too long", "a file"])
def test_a_runtime_folder_that_cannot_be_used_is_passed_over(spoilt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        ours = folder / f"agents-memory-{os.geteuid()}"
        if spoilt == "missing":
            folder = folder / "missing"
        elif spoilt == "public":
            ours.mkdir()
            ours.chmod(0o755)
        elif spoilt == "a link":
            (folder / "elsewhere").mkdir(mode=0o700)
            ours.symlink_to(folder / "elsewhere")
        elif spoilt == "a file":
            ours.write_text("")
        else:
            folder = folder / ("x" * 120)
            folder.mkdir()

        assert in_folder(folder, monkeypatch) != folder


def spoil_every_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_bases", lambda: iter(["/dev/null"]))


def test_a_file_that_cannot_be_shared_is_held_alone_and_says_so(
    path: Path, reach: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spoil_every_folder(monkeypatch)

    with Memory.open(path) as memory:
        assert memory.remember("x").id == "f1"
        with pytest.raises(StoreLocked, match=f"process {os.getpid()}, which shares it with nobody"):
            reach(wait_s=0)

    assert "cannot be shared" in caplog.text
    assert not place.note_of(str(path)).exists()


def test_a_file_that_has_to_be_shared_and_cannot_be_is_let_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as spoiling:
        spoil_every_folder(spoiling)
        with pytest.raises(StoreUnreadable, match="cannot be shared"):
            Memory.open(path, share="require")

    with Memory.open(path, share="require") as memory:
        assert memory.remember("x").id == "f1"


def test_a_file_whose_name_leaves_no_room_for_a_note_is_held_alone(tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 236}.duckdb"  # with .owner and a process number it is too long

    with Memory.open(path) as memory:
        assert memory.remember("x").id == "f1"


def test_a_file_whose_name_leaves_no_room_for_a_lock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="lock cannot be written"):
        Memory.open(tmp_path / f"{'x' * 245}.duckdb")


def test_a_file_deep_in_folders_is_shared(tmp_path: Path) -> None:
    folder = tmp_path / Path(*["deep" * 10] * 8)
    folder.mkdir(parents=True)
    path = folder / "team.duckdb"

    with Memory.open(path, share="require"):
        access = Access(str(path), share="auto", wait_s=5)
        access.reach()
        access.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="somebody else is needed")
def test_a_folder_that_cannot_be_written_in_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "team.duckdb"
    Memory.open(path).close()
    tmp_path.chmod(0o755)
    for above in tmp_path.parents[:3]:
        above.chmod(0o755)
    Path(f"{path}.lock").unlink()
    pid = os.fork()
    if pid == 0:
        os.setuid(65534)
        try:
            Memory.open(path)
        except StoreUnreadable as refusal:
            os._exit(7 if "lock cannot be written" in str(refusal) else 1)
        os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


# -- how a file is opened ---------------------------------------------------------------------------------------------


def test_never_holds_a_file_alone(path: Path, reach: Callable[..., Memory]) -> None:
    with Memory.open(path, share="never") as memory, Memory.open(path) as same:
        with pytest.raises(StoreLocked, match="shares it with nobody"):
            reach(wait_s=0)
        assert memory.shares_file_with(same)
        with pytest.raises(StoreUnreadable, match="shared with nobody"):
            Memory.open(path, share="require")

    assert not place.note_of(str(path)).exists()


def test_never_does_not_go_through_another(path: Path, held: Memory) -> None:
    with pytest.raises(StoreLocked, match="open in this process already, and shared"):
        Memory.open(path, share="never", wait_s=0)

    access = Access(str(path), share="never", wait_s=0)
    with pytest.raises(StoreLocked, match=f"process {os.getpid()}, and share='never' does not go through it"):
        access.reach()


def test_opening_while_the_last_handle_closes_never_meets_itself(path: Path) -> None:
    problems: list[BaseException] = []

    def open_and_close() -> None:
        try:
            for _ in range(25):
                with Memory.open(path, wait_s=0) as memory:
                    memory.facts(limit=1)
        except BaseException as error:  # noqa: BLE001 - handed to the test below
            problems.append(error)

    threads = [threading.Thread(target=open_and_close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []


def test_a_note_holds_what_is_said_of_it(path: Path, held: Memory) -> None:
    written = json.loads(place.note_of(str(path)).read_text())

    assert written.keys() == asdict(a_place()).keys()
    assert written["pid"] == os.getpid()
