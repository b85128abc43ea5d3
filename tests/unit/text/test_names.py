"""Which entities a question names."""

from agents_memory.recall.columns import micros
from agents_memory.text.names import NameBook, find_names

NOW, LATER = 1_000, 2_000


def named(question, *names):
    """The names found in a question, of entities numbered as they are given."""
    book = NameBook()
    for number, name in enumerate(names):
        book.give(number, name, alias=name, tx_from=0, tx_to=micros(None))
    return [names[found] for found in find_names(question, lambda key: book.meaning(key, NOW)).entity_ids]


def test_a_name_is_found_whatever_its_case_accents_and_possessive():
    assert named("what does ADA's café sell?", "Ada", "Cafe") == ["Ada", "Cafe"]


def test_only_whole_words_are_names():
    assert named("Adamant, Canada and adaptor", "Ada", "Can") == []


def test_a_longer_name_hides_the_shorter_one_inside_it():
    assert named("is New York big?", "York", "New York") == ["New York"]
    assert named("New York or York?", "York", "New York") == ["New York", "York"]


def test_names_are_found_in_any_script():
    assert named("阿达喜欢什么", "阿达") == ["阿达"]
    assert named("где живёт Иван Петров?", "Иван Петров") == ["Иван Петров"]
    assert named("ماذا يحب أحمد", "أحمد") == ["أحمد"]
    assert named("who made 🚀?", "🚀") == ["🚀"]


def test_names_that_differ_in_marks_differ():
    assert named("is it C++?", "C", "C++", "C#") == ["C++"]
    assert named("ping 10.0.0.1", "10.0.0.2", "10.0.0.1") == ["10.0.0.1"]


def test_a_stop_word_is_a_name_only_with_a_capital():
    assert named("what did Will say?", "Will") == ["Will"]
    assert named("what will happen?", "Will") == []


def test_an_alias_leads_to_the_entity_and_its_own_name():
    book = NameBook()
    book.give(7, "International Business Machines", alias="Big Blue", tx_from=0, tx_to=micros(None))

    found = find_names("who runs big blue", lambda key: book.meaning(key, NOW))

    assert found.entity_ids == (7,)
    assert found.words == {"big", "blue"}
    assert book.own_name(7) == "International Business Machines"


def test_a_name_is_known_from_when_it_was_given_until_it_was_taken():
    book = NameBook()
    book.give(1, "Ada", alias="Ada", tx_from=NOW, tx_to=LATER)

    assert [book.meaning("ada", moment) for moment in (NOW - 1, NOW, LATER - 1, LATER)] == [[], [1], [1], []]


def test_a_name_told_twice_means_one_entity():
    book = NameBook()
    for _ in range(2):
        book.give(1, "Ada", alias="Ada", tx_from=0, tx_to=LATER)

    assert book.meaning("ada", NOW) == [1]
