"""The size of a text in tokens, estimated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_memory.text.size import UNITS, size, tokens

COUNTED = [  # with the o200k_base vocabulary
    ("[f12] Cy maintains the ingest service. (since 2026-03-02)", 19),
    ("[f1234567] Ada likes tea. (2026-01-02 to 2026-03-04)", 25),
    ("Команда решила выпускать релизы по пятницам, потому что Борис дежурит в выходные.", 24),
    ("团队决定每周五部署服务，因为小王周末值班。", 15),
    ("ทีมตัดสินใจปล่อยเวอร์ชันทุกวันศุกร์เพราะสมชายว่าง", 22),
    ("/srv/team/.venv/bin/agents-memory worker team_agents:registry --memory /srv/team/team.duckdb", 24),
]


@pytest.mark.parametrize(("text", "counted"), COUNTED)
def test_the_estimate_is_not_below_what_a_tokenizer_counts(text: str, counted: int) -> None:
    assert counted <= tokens(size(text)) <= 2.5 * counted


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_sizes_add_up(one: str, other: str) -> None:
    assert size(one + other) == size(one) + size(other)


def test_half_a_character_has_a_size() -> None:
    assert size("\ud800") > 0


def test_tokens_are_rounded_up() -> None:
    assert (tokens(0), tokens(1), tokens(UNITS), tokens(UNITS + 1)) == (0, 1, 1, 2)
