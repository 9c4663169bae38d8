import hashlib

from kb_search.semantic.texts import Part, parts_of, passages


def entry(**fields):
    return {"title": "", "heading_path": (), "aliases": (), "content": "", **fields}


def test_an_entry_has_a_text_for_its_title_its_content_and_each_alias():
    found = parts_of(entry(title="Tarifas", content="Desde 30 euros.", aliases=["¿cuánto vale?"]))
    assert found == [
        Part("title", "Tarifas"),
        Part("content", "Tarifas\nDesde 30 euros."),
        Part("content", "Desde 30 euros."),
        Part("alias", "¿cuánto vale?"),
    ]


def test_only_aliases_are_embedded_as_questions():
    found = parts_of(entry(title="Tarifas", content="Desde 30 euros.", aliases=["precio"]))
    assert [part.kind for part in found] == ["passage", "passage", "passage", "query"]


def test_the_same_text_comes_once_and_blank_ones_never():
    found = parts_of(entry(title="Tarifas", content=" ", aliases=["Tarifas", "  ", "precio"]))
    assert found == [Part("title", "Tarifas"), Part("alias", "precio")]


def test_the_headings_of_a_document_stand_with_its_sections():
    found = parts_of(entry(title="Envíos", heading_path=["Manual"], content="En tres días."))
    assert Part("content", "Manual > Envíos\nEn tres días.") in found


def test_a_digest_is_the_databases_md5():
    assert Part("alias", "año").digest == hashlib.md5("año".encode()).hexdigest()


def test_a_short_content_stays_whole():
    assert passages("Una frase. Otra frase.") == ["Una frase. Otra frase."]


def test_a_long_content_is_cut_at_the_ends_of_sentences_and_loses_nothing():
    content = " ".join(f"Esta es la frase número {number} del texto." for number in range(200))
    pieces = passages(content)
    assert len(pieces) > 3
    assert all(len(piece) <= 1_300 and piece.endswith(".") for piece in pieces)
    assert " ".join(pieces) == content


def test_a_long_content_without_any_blank_is_cut_all_the_same():
    pieces = passages("x" * 10_000)
    assert "".join(pieces) == "x" * 10_000
    assert max(map(len, pieces)) <= 1_300
