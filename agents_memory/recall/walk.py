"""The graph retriever: from the entities a question names, along relations, to the facts about what is reached.

A step is worth more when the question says its predicate; leaving a hub is worth little. Facts are ranked by how they
were reached and by the question's words, never by their age: an entity's newest facts are not its relevant ones. The
facts of a hub, such as a user whom every fact names, come only where the question's words bring them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from agents_memory.recall.columns import Array, Mask
from agents_memory.recall.view import Look, View
from agents_memory.text.tokens import tokens

MAX_HOPS: Final = 2
ASKED_STEP: Final = 0.9
"""What is left of a path's strength after a step whose predicate the question says."""

PLAIN_STEP: Final = 0.5
"""The same, of any other step."""

MAX_FRONTIER: Final = 256
"""The entities followed from one hop to the next: the strongest."""

HUB_FACTS: Final = 16
HUB_SHARE: Final = 0.25
"""An entity that more facts than this name, and this share of all, is a hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """An entity that the walk came to.

    Attributes:
        entity_id: The entity.
        strength: 1 for one the question names, less with every step.
        before: The step before, None for one the question names.
    """

    entity_id: int
    strength: float
    before: Reached | None = None

    def path(self) -> tuple[int, ...]:
        """The entities from the question's to this one."""
        return (self.entity_id,) if self.before is None else (*self.before.path(), self.entity_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathScores:
    """What the graph says about each row of a view.

    Attributes:
        scores: The strength of the best path to the row; 0 where none leads.
        sources: For each row, the position in `reached` of the entity that the best path ends at; -1 for none.
        reached: The entities that the walk came to.
    """

    scores: Array
    sources: Array
    reached: Sequence[Reached]

    def path_of(self, row: int) -> tuple[int, ...]:
        """The entities on the best path to a row, empty when none leads there."""
        source = int(self.sources[row])
        return self.reached[source].path() if source >= 0 else ()


def walk(view: View, seeds: Iterable[int], terms: Iterable[str]) -> list[Reached]:
    """The entities within reach of `seeds`, nearest first, then strongest.

    Args:
        view: What may be walked on.
        seeds: The entities that the question names.
        terms: The question's terms, for the predicates.
    """
    frontier = [Reached(entity_id=entity, strength=1.0) for entity in dict.fromkeys(seeds)]
    reached = {step.entity_id: step for step in frontier}
    asked = frozenset(terms)
    shares = [_shares(look, asked) for look in view.looks] if frontier else []
    for _ in range(MAX_HOPS):
        if not frontier:
            break
        frontier = _next_hop(view, frontier, shares, known=reached.keys())
        reached.update((step.entity_id, step) for step in frontier)
    return list(reached.values())


def score_paths(view: View, reached: Sequence[Reached], *, hubs: bool = False) -> PathScores:
    """Score every admitted row of a view by the best path to an entity it names.

    Args:
        view: The rows.
        reached: What the walk came to.
        hubs: Whether the facts of hubs count too, as they do when the question says nothing but a hub's name.
    """
    scores = np.zeros(view.rows)
    sources = np.full(view.rows, -1)
    at, rows = view.about([step.entity_id for step in reached])
    facts = np.bincount(at, minlength=len(reached))
    strengths = np.array([step.strength for step in reached]) / _damping(facts)
    if not hubs:
        strengths[is_hub(facts, view.held)] = 0.0
    order = np.lexsort((-at, strengths[at]))  # the best path to a row is written last
    scores[rows[order]] = strengths[at[order]]
    sources[rows[order]] = at[order]
    scores[~view.admitted] = 0.0
    sources[scores == 0.0] = -1
    return PathScores(scores=scores, sources=sources, reached=reached)


def is_hub(facts: Array, held: int) -> Mask:
    """Whether entities that so many of `held` facts name tell nothing by being named."""
    return (facts > HUB_FACTS) & (facts > HUB_SHARE * held)


def _next_hop(
    view: View, frontier: Sequence[Reached], shares: Sequence[Array], *, known: Collection[int]
) -> list[Reached]:
    """The best step to each new entity next to the frontier: the strongest of these, strongest first."""
    here = [step.entity_id for step in frontier]
    ties = [look.ties(here) for look in view.looks]
    at = np.concatenate([at for at, _, _ in ties])
    others = np.concatenate([others for _, others, _ in ties])
    degrees = np.bincount(at, minlength=len(here)) + np.bincount(view.about(here)[0], minlength=len(here))
    onward = np.array([step.strength for step in frontier]) / _damping(degrees)
    strengths = onward[at] * np.concatenate([share[codes] for share, (_, _, codes) in zip(shares, ties, strict=True)])
    order = np.lexsort((at, -strengths, others))
    entities, first = np.unique(others[order], return_index=True)
    chosen = order[first[~np.isin(entities, list(known))]]
    strongest = chosen[np.lexsort((others[chosen], -strengths[chosen]))][:MAX_FRONTIER]
    return [
        Reached(entity_id=entity, strength=strength, before=frontier[before])
        for entity, strength, before in zip(
            others[strongest].tolist(), strengths[strongest].tolist(), at[strongest].tolist(), strict=True
        )
    ]


def _shares(look: Look, asked: frozenset[str]) -> Array:
    """What a step along each predicate of a shard leaves of a path's strength."""
    said = [not asked.isdisjoint(tokens(predicate)) for predicate in list(look.shard.predicates)]
    return np.where(np.array(said, np.bool_), ASKED_STEP, PLAIN_STEP)


def _damping(degrees: Array) -> Array:
    return np.asarray(np.maximum(1.0, np.log2(degrees + 1)))
