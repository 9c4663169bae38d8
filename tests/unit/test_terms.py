from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kb_search.terms import (
    COMMON_SHARE,
    Collection,
    Similar,
    Term,
    rarity,
    replacement_needle,
    typed_needle,
)

COUNTS = st.integers(0, 5000)
SHARES = st.floats(0, 1)


def term(**changes):
    values = {
        "word": "factura",
        "stem": "factur",
        "stem_entries": 3,
        "word_entries": 2,
        "family": ("factura", "facturas"),
        "share": 0.0,
        "stem_share": 0.0,
    }
    return Term(**{**values, **changes})


@given(COUNTS, COUNTS, SHARES)
def test_rarity_is_never_negative_and_falls_as_more_entries_hold_the_word(some, more, share):
    total = some + more
    assert 0 <= rarity(total, total, share) <= rarity(some, total, share)


@given(COUNTS, COUNTS, SHARES, SHARES)
def test_a_word_common_in_spanish_is_less_rare(some, more, one, other):
    low, high = sorted((one, other))
    assert rarity(some, some + more, high) <= rarity(some, some + more, low)


def test_in_a_small_collection_general_spanish_decides():
    assert rarity(1, 3, 0.8) < rarity(1, 3, 0.001) / 5


def test_in_a_large_collection_its_own_frequencies_decide():
    assert rarity(5, 5000, 0.3) > rarity(2500, 5000, 0.0)


def test_the_word_itself_adds_to_its_stem():
    size = Collection(entries=50, content_words=500)
    needle = typed_needle(4, term(), size)
    assert (needle.term, needle.word, needle.stands_for) == (4, "factura", "typed")
    assert needle.weight == needle.stem_weight + needle.word_weight
    assert 0 < needle.word_weight < needle.stem_weight


@given(st.floats(0, 1))
def test_what_stands_for_a_word_counts_by_its_factor(factor):
    size = Collection(entries=50, content_words=500)
    similar = Similar("factura", "factur", 3)
    whole = replacement_needle(0, similar, size, factor=1.0)
    part = replacement_needle(0, similar, size, factor=factor)
    assert part.stem_weight == whole.stem_weight * factor
    assert part.family == ("factura",)
    assert part.stands_for == "slip"


def test_found_and_common_words_are_told():
    assert term().found
    assert not term(stem_entries=0).found
    assert term(share=COMMON_SHARE).common
    assert not term().common


def test_an_empty_collection_has_an_average_length_all_the_same():
    assert Collection(0, 0).average_words == 1.0
    assert Collection(4, 100).average_words == 25.0
