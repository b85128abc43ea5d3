"""Makes a conversation of any length between two people of an invented project, the same for the same seed.

Its form is that of the public conversations `replay_conversation.py` reads: sessions on different days, turns with a
speaker, a date and a text. `python examples/made_conversation.py --turns 300 > made.json`
"""

import argparse
import json
import random
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

SPEAKERS = ("Mira", "Theo")
SERVICES = ("ingest", "billing", "search", "gateway", "reports")
PEOPLE = ("Bo", "Cy", "Ada", "Noor", "Ilse")
PLACES = ("Oslo", "Bergen", "Turku", "Łódź", "東京")
TURNS_A_SESSION = 20

OPENERS = (
    "{person} looks after {service} now.",
    "We moved {service} to port {number}.",
    "{person} is in {place} until the {day}th.",
    "The {service} release {number}.{day} is out.",
    "Could you remind {person} about {service}?",
    "Nothing new on {service} today.",
)
ANSWERS = (
    "Good to know about {service}.",
    "I will tell {person}.",
    "Was that before or after the {day}th?",
    "Then {number} is free again.",
    "ok thanks",
)


def made_conversation(turns: int = 300, seed: int = 7) -> dict[str, Any]:
    """A conversation of `turns` turns, in sessions of 20, one a week."""
    chance = random.Random(seed)  # noqa: S311 - test data, not a secret
    start = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
    count = -(-turns // TURNS_A_SESSION)
    sessions = [{"session": number + 1, "at": (start + timedelta(weeks=number)).isoformat()} for number in range(count)]
    return {
        "id": f"made-{seed}",
        "speakers": list(SPEAKERS),
        "sessions": sessions,
        "turns": [_turn(chance, index, sessions[index // TURNS_A_SESSION]) for index in range(turns)],
    }


def _turn(chance: random.Random, index: int, session: dict[str, Any]) -> dict[str, Any]:
    asks = index % 2 == 0
    text = chance.choice(OPENERS if asks else ANSWERS).format(
        person=chance.choice(PEOPLE),
        service=chance.choice(SERVICES),
        place=chance.choice(PLACES),
        number=chance.randint(1000, 9999),
        day=chance.randint(4, 20),
    )
    return {
        "id": f"D{session['session']}:{index % TURNS_A_SESSION + 1}",
        "session": session["session"],
        "at": session["at"],
        "speaker": SPEAKERS[index % 2],
        "text": text,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    json.dump({"conversations": [made_conversation(given.turns, given.seed)]}, sys.stdout, ensure_ascii=False, indent=1)
