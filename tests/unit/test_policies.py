"""Policies: pure functions of a call, composed, and in doubt a person is asked."""

import pytest

import agents_memory
from agents_memory import Preview, policies
from agents_memory.errors import InvalidInput, NotFound
from agents_memory.policies import Answer, always, answer_of, any_of, audit_only, by_operation, low_risk, never
from agents_memory.types import Change, Difference, Effect, PossibleConflict


def seen(*effects: Effect, **given) -> Preview:
    changes = tuple(Change(effect=effect, id=None, text="x") for effect in effects)
    return Preview(**{"changes": changes, "problem": None, "digest": "d", **given})


def harmless() -> Preview:
    return seen(Effect.FACT_ADDED, Effect.ENTITY_CREATED)


def untouched() -> Preview:
    raise AssertionError("nobody asked for a look")


def asked(policy, operation="remember", arguments=None, look=harmless) -> Answer:
    return answer_of(policy)(operation, {"content": "Cy likes tea"} if arguments is None else arguments, look)


def test_the_policies_are_reached_by_one_public_name() -> None:
    assert agents_memory.policies is policies
    assert all(hasattr(policies, name) for name in policies.__all__)


def test_always_asks_never_does_not_and_audit_only_looks_afterwards() -> None:
    assert [asked(policy) for policy in (always, never, audit_only)] == [Answer.ASK, Answer.FREE, Answer.REVIEW]


@pytest.mark.parametrize("said", [True, None, 0, "", "free", "review", [], object(), 1])
def test_only_a_plain_false_is_free(said) -> None:
    assert asked(lambda operation, arguments: said) is Answer.ASK
    assert asked(any_of(lambda operation, arguments: said, never)) is Answer.ASK
    assert asked(by_operation({"remember": lambda operation, arguments: said}, otherwise=never)) is Answer.ASK


def failing(operation, arguments):
    raise RuntimeError("Cy likes tea")


@pytest.mark.parametrize("policy", [failing, any_of(failing, never), by_operation({"remember": failing})])
def test_a_policy_that_raises_asks_and_its_text_is_not_logged(policy, caplog) -> None:
    assert asked(policy) is Answer.ASK
    assert "RuntimeError" in caplog.text
    assert "tea" not in caplog.text


def test_a_look_is_taken_only_by_who_asks_for_it_and_only_when_it_is_called() -> None:
    assert asked(lambda operation, arguments: False, look=untouched) is Answer.FREE
    assert asked(lambda operation, arguments, look: False, look=untouched) is Answer.FREE
    assert asked(lambda operation, arguments, limit=3: limit != 3, look=untouched) is Answer.FREE
    assert asked(lambda operation, arguments, look: bool(look().conflicts)) is Answer.FREE


async def asynchronous(operation, arguments):
    return False


class Asynchronous:
    async def __call__(self, operation, arguments):
        return False


@pytest.mark.parametrize("policy", [asynchronous, Asynchronous(), True, None, lambda a, b, c, d: False])
def test_what_is_no_plain_function_of_a_call_is_refused(policy) -> None:
    for use in (answer_of, any_of, lambda one: by_operation({"remember": one})):
        with pytest.raises(InvalidInput):
            use(policy)


def test_each_operation_has_its_policy_and_the_rest_asks() -> None:
    policy = by_operation({"remember": audit_only, "relate": never})

    assert [asked(policy, name) for name in ("remember", "relate", "forget")] == ["review", "free", "ask"]
    assert asked(by_operation({}, otherwise=never), "forget") is Answer.FREE


def test_a_misspelt_operation_is_refused() -> None:
    with pytest.raises(NotFound):
        by_operation({"forgt": always}, otherwise=never)
    with pytest.raises(InvalidInput):
        by_operation({"recall": always})
    with pytest.raises(InvalidInput):
        by_operation({"decide": always})


def test_the_strictest_answer_counts() -> None:
    assert asked(any_of(never, audit_only)) is Answer.REVIEW
    assert asked(any_of(audit_only, always, never)) is Answer.ASK
    assert asked(any_of(never, never)) is Answer.FREE
    with pytest.raises(InvalidInput):
        any_of()


def test_small_additions_that_agree_with_memory_are_low_risk() -> None:
    assert asked(low_risk()) is Answer.FREE
    assert asked(low_risk(), "relate", {"source": "Cy", "predicate": "owns", "target": "ingest"}) is Answer.FREE


@pytest.mark.parametrize(
    "operation", ["supersede", "correct", "forget", "unrelate", "add_alias", "erase", "unheard_of"]
)
def test_what_changes_or_takes_away_is_never_low_risk(operation) -> None:
    assert asked(low_risk(), operation, {"fact_id": "f1"}, untouched) is Answer.ASK


@pytest.mark.parametrize("kind", ["instruction", "procedure", "constraint", "profile"])
def test_what_steers_an_agent_is_not_low_risk(kind) -> None:
    assert asked(low_risk(), arguments={"content": "x", "kind": kind}, look=untouched) is Answer.ASK
    assert asked(low_risk(asking_kinds=["task"]), arguments={"content": "x", "kind": kind}) is Answer.FREE


def test_a_kind_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match="instruction"):
        low_risk(asking_kinds=["instructions"])


def test_all_the_texts_of_a_call_count_as_its_size() -> None:
    names = {"content": "Cy likes tea", "entities": ["x" * 100, "y" * 100]}

    assert asked(low_risk(), arguments=names) is Answer.FREE
    assert asked(low_risk(max_chars=200), arguments=names, look=untouched) is Answer.ASK


@pytest.mark.parametrize(
    "found",
    [
        seen(problem="no"),
        seen(Effect.FACT_ADDED, Effect.FACT_ENDED),
        seen(Effect.FACT_REINFORCED, duplicates=("f1",)),
        seen(Effect.FACT_UPDATED),
        seen(
            Effect.FACT_ADDED, conflicts=(PossibleConflict(id="f1", text="Cy hates tea", differs_in=Difference.NAME),)
        ),
    ],
)
def test_what_does_not_simply_add_to_memory_is_not_low_risk(found) -> None:
    assert asked(low_risk(), look=lambda: found) is Answer.ASK
