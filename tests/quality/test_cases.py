"""Small cases of each kind that people complain about: a few entries, a question, what is expected.

`first` and `found` are places among the entries (fixed rows are no answers); `absent` are those that
must not be answered for sure; `corrections` are words as typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kb_search import Entry

HOURS = "Horario: de lunes a viernes, de 9 a 18 h"
IDENTITY = Entry(section="identidad", title="Identidad", content="Soy el asistente de la casa.")


@dataclass(frozen=True)
class Case:
    query: str
    entries: tuple[Any, ...]
    first: int | None = None
    found: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()
    corrections: tuple[str, ...] = ()
    layer: str | None = None
    unanswered: bool = False


def entry(text):
    if isinstance(text, Entry):
        return text
    title, _, content = text.partition(" | ")
    return Entry(section="faq", title=title, content=content or title)


def aliased(title, content, *aliases):
    return Entry(section="faq", title=title, content=content, aliases=aliases)


CASES = {
    # A: accents, plurals, verbs, odd letters
    "A typed without accents": Case("reparacion", ("Reparación de móviles", HOURS), first=0),
    "A typed with accents": Case("reparación", ("Reparacion de moviles", HOURS), first=0),
    "A family of a noun in -ción": Case("reparo", ("Reparación de móviles", HOURS), first=0),
    "A letter of its own": Case("cañas", ("Alquiler de cañas", "Canas y tintes"), first=0),
    "A keyboard without that letter": Case("pano", ("Limpiar con un paño", HOURS), first=0),
    "A plural of -z": Case("lapiz", ("Lápices de colores", HOURS), first=0),
    "A plural in -es": Case("examen", ("Fechas de los exámenes", HOURS), first=0),
    "A plural in -dades": Case("especialidad", ("Especialidades médicas", HOURS), first=0),
    "A plural in -eros": Case("numero", ("Números de emergencia", HOURS), first=0),
    "A plural of -ía": Case("guia", ("Guías de montaje", HOURS), first=0),
    "A verb with pronouns": Case("recoger", ("Recogérselo en casa", HOURS), found=(0,)),
    "A verb with a diphthong": Case("cuanto costo", ("Lo que cuesta un viaje", HOURS), first=0),
    "A decomposed letter": Case("camión", ("Camio\u0301n de mudanzas", HOURS), first=0),
    "A ligature and a soft hyphen": Case(
        "oficina certificado",
        ("Trámites | en la o\ufb01cina, el certi\u00adficado", HOURS),
        first=0,
    ),
    # B: words that stop lists lose
    "B nothing but stop words": Case("que haces", ("¿Qué haces?", "Qué comer"), first=0),
    "B a stop word that means something": Case(
        "todo incluido", ("Régimen de todo incluido", "Incluido el desayuno"), first=0
    ),
    "B two letters": Case("TV", ("Avería de TV", "Avería de radio"), first=0),
    "B two letters, nothing alike": Case(
        "RH", ("El equipo de RH", "Rhodesia"), first=0, absent=(1,)
    ),
    "B one letter": Case("vitamina D", ("Vitamina D", "Vitamina A"), first=0),
    # C: bad input
    "C an apostrophe": Case("D'Artagnan", ("Calle D’Artagnan", HOURS), found=(0,)),
    "C operators": Case("horario & (viernes | !lunes):*", (HOURS, "Precios"), first=0),
    "C a dash between words": Case("menú - infantil", ("Menú infantil", "Menú del día"), first=0),
    "C a NUL in a question": Case("hora\x00rio", (HOURS, "Precios"), first=0),
    "C a NUL in an entry": Case("precios", ("Pre\x00cios", HOURS), first=0),
    "C nothing": Case("", (HOURS,), layer="fallback"),
    "C blanks": Case(" \n ", (HOURS,), layer="fallback"),
    "C punctuation": Case("…?!", (HOURS,), layer="fallback"),
    "C an emoji": Case("🤷", (HOURS,), layer="fallback"),
    "C a very long question": Case("horario " + "bla " * 4000, (HOURS, "Precios"), first=0),
    # D: names, codes, numbers
    "D C++": Case("curso de c++", ("Curso de C#", "Curso de C++", "Curso de C"), first=1),
    "D C#": Case("curso de C#", ("Curso de C++", "Curso de C#", "Curso de C"), first=1),
    "D .NET": Case("dotnet", ("Programas en .NET", "Programas en red"), first=0),
    "D part of a dotted name": Case("vue", ("Vue.js", "Ver"), first=0),
    "D a dotted name run together": Case("nextjs", ("Next.js y React", HOURS), first=0),
    "D no space after a full stop": Case("gracias", ("Hecho.Gracias por todo", HOURS), first=0),
    "D a slash": Case("salida", ("Hora de entrada/salida", "Hora de comer"), first=0),
    "D a code by its number": Case("7788", ("Pieza QX-7788", "Pieza QX-1122"), first=0),
    "D a code run together": Case("qx7788", ("Pieza QX-7788", "Pieza QX-1122"), first=0),
    "D a telephone": Case("611222333", ("Llame al +34 611 222 333", HOURS), first=0),
    "D a telephone with blanks": Case("611 222 333", ("Llame al 611222333", HOURS), first=0),
    "D an e-mail": Case(
        "ventas@tienda.example", ("Escriba a ventas@tienda.example", HOURS), first=0
    ),
    "D a compound": Case("wifi", ("Clave del Wi-Fi", HOURS), first=0),
    "D Spanish thousands": Case("2500", ("Multa de 2.500,00 €", "Multa de 250 €"), first=0),
    # E: slips
    "E letters that sound alike": Case("vañera", ("Bañera con patas", HOURS), first=0),
    "E a silent letter": Case(
        "ospital", ("Hospital cercano", HOURS), first=0, corrections=("ospital",)
    ),
    "E swapped letters": Case(
        "hopsital", ("Hospital cercano", HOURS), first=0, corrections=("hopsital",)
    ),
    "E a missing letter": Case("alojamieto", ("Alojamiento rural", HOURS), first=0),
    "E a letter too many": Case("alojammiento", ("Alojamiento rural", HOURS), first=0),
    "E a neighbouring key": Case("piscuna", ("Piscina municipal", HOURS), first=0),
    "E beside a good word": Case(
        "horario de la pisicna",
        ("Piscina municipal", HOURS),
        found=(0, 1),
        corrections=("pisicna",),
    ),
    "E an exact word is no slip": Case("casa rural", ("Caza rural", "Casa rural"), first=1),
    # F: ranking
    "F not every word is there": Case(
        "¿en cuánto tiempo llega lo que pido?", ("Plazos | Llega en dos días.", "Pagos"), first=0
    ),
    "F the rare word decides": Case(
        "cómo puedo reclamar", ("¿Cómo? Cómo puedo, cómo", "Reclamar es fácil"), first=1
    ),
    "F an alias": Case(
        "me quiero borrar",
        (aliased("Baja", "Escriba un correo.", "quiero borrarme"), "Alta | Rellene el impreso."),
        first=0,
    ),
    "F opposites": Case("hora de salida", ("Hora de entrada", "Hora de salida"), first=1),
    "F title before text": Case(
        "garantía", ("Otras cosas | También hay garantía.", "Garantía | Tres años."), first=1
    ),
    # O: nothing of that kind is here
    "O another trade": Case("quiero comprar un caballo", ("Tarifas", HOURS), unanswered=True),
    "O keys at random": Case("qwepoi zxcmnb", ("Tarifas", HOURS), unanswered=True),
    "O a general question": Case("quién inventó la imprenta", ("Tarifas", HOURS), unanswered=True),
    "O small talk": Case("jajaja vale", ("Tarifas", HOURS), unanswered=True),
    "O another language": Case("where is the nearest airport", ("Tarifas", HOURS), unanswered=True),
    "O the weather": Case("lloverá este sábado", ("Tarifas", HOURS), unanswered=True),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_small_case_ends_as_people_expect(kb, name):
    case = CASES[name]
    ids = await kb.add([*(entry(text) for text in case.entries), IDENTITY])
    result = await kb.search(case.query, limit=4)
    answers = [ids.index(hit.id) for hit in result.hits if hit.layer != "fallback"]
    if case.first is not None:
        assert answers[:1] == [case.first]
    assert set(case.found) <= set(answers)
    assert not (set(case.absent) & set(answers) and result.confident)
    assert set(case.corrections) <= set(result.corrections)
    assert case.layer in {None, result.layer}
    if case.unanswered:
        assert not result.confident
        assert any(hit.layer == "fallback" for hit in result.hits)


def test_there_are_cases_of_every_kind():
    assert {name[0] for name in CASES} == set("ABCDEFO")
