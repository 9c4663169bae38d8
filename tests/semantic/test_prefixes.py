import pytest

from kb_search.semantic.prefixes import Prefixes, prefixes_of


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("embeddinggemma", "task: search result | query: ", "title: none | text: "),
        ("bge-m3", "", ""),
        ("text-embedding-3-small", "", ""),
        ("snowflake-arctic-embed2", "query: ", ""),
    ],
)
def test_a_known_model_gets_what_its_card_says(model, query, passage):
    known = prefixes_of(model)
    assert (known.query, known.passage) == (query, passage)


def test_vectors_made_with_other_prefixes_belong_to_another_model():
    assert Prefixes("a", "b").mark == ""
    marks = {Prefixes(q, p, chosen=True).mark for q, p in [("a", "b"), ("ab", ""), ("", "ab")]}
    assert len(marks) == 3
