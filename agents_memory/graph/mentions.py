"""Finding a name that was just given in what was said before it.

What is said later is looked through when it is stored (`sessions/mentions.py`), by the same rule (`text/names.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from agents_memory.store.database import Transaction
from agents_memory.text.names import KnownNames, hint


def find_given(tx: Transaction, namespace: str, names: Sequence[tuple[str, str]]) -> None:
    """Note new names with the messages of a namespace, and of those below, that hold them.

    Costs one statement, and a second one where a message holds one.

    Args:
        tx: The transaction that gives them.
        namespace: Where they are given.
        names: Each name, and its folded form.
    """
    hints = [word for name, _ in names if (word := hint(name)) is not None]
    if not hints:
        return
    known = KnownNames(names)
    more: dict[int, list[str]] = {}
    for row in tx.rows("items_to_search_for_names", namespace=namespace, hints=hints):
        found = [key for key in known.found_in(row["text"]) if key not in (row["names"] or ())]
        if found:
            more[row["item_id"]] = found
    if more:
        tx.run("add_names", item_ids=list(more), names=list(more.values()))
