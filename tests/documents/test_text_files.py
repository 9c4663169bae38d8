from __future__ import annotations

from pathlib import Path

import pytest

from kb_search.documents import DocumentError, read_document


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def told(document) -> list[tuple[tuple[str, ...], str]]:
    return [(section.heading_path, section.text) for section in document.sections]


MARKDOWN = """---
title: Manual de la tienda
tags: [envíos, "#pagos"]
aliases:
  - guía de compra
resumen: Cómo se compra.
revisado: 2026-02-01
---
Antes de todo.

# Manual
## Devoluciones

Se piden en **treinta** días.
La línea sigue.

### Plazos

- Península: 2 días
  - Ceuta: 4
- [Aviso](https://tienda.example/aviso) y [otro](otro.md)

| Destino | Precio |
|---|---|
| Ceuta | 9 € |

```
# no es un título
coste  =  9
```

## Pagos ##

Con [[Tarjetas|tarjeta]] <b>o</b> efectivo.<!-- nota -->
"""


def test_markdown_gives_its_tree_and_its_front_matter(tmp_path):
    document = read_document(written(tmp_path / "nota.md", MARKDOWN))
    assert document.title == "Manual de la tienda"
    assert document.tags == ("envíos", "pagos")
    assert document.aliases == ("guía de compra",)
    assert document.summary == "Cómo se compra."
    assert document.metadata == {"revisado": "2026-02-01"}
    items = "- Península: 2 días\n  - Ceuta: 4\n- Aviso (https://tienda.example/aviso) y otro"
    code = "# no es un título\ncoste  =  9"
    assert told(document) == [
        (("Manual de la tienda",), "Antes de todo."),
        (("Manual",), ""),
        (("Manual", "Devoluciones"), "Se piden en treinta días. La línea sigue."),
        (
            ("Manual", "Devoluciones", "Plazos"),
            f"{items}\n\nDestino | Precio\nCeuta | 9 €\n\n{code}",
        ),
        (("Manual", "Pagos"), "Con tarjeta o efectivo."),
    ]


def test_malformed_front_matter_costs_only_itself(tmp_path):
    document = read_document(written(tmp_path / "n.md", "---\ntags: [a\n---\n# Envíos\n\nHoy.\n"))
    assert document.tags == ()
    assert "YAML" in document.metadata["front_matter_error"]
    assert told(document) == [(("Envíos",), "Hoy.")]


def test_toml_front_matter_and_a_ruler_at_the_start_are_told_apart(tmp_path):
    toml = written(tmp_path / "a.md", '+++\ntitle = "Envíos"\ntags = ["a"]\n+++\nHoy.\n')
    assert (read_document(toml).title, read_document(toml).tags) == ("Envíos", ("a",))
    ruler = written(tmp_path / "b.md", "---\nHoy no.\n\n---\nMañana.\n")
    assert "Hoy no." in read_document(ruler).sections[0].text


def test_a_yaml_bomb_in_front_matter_is_left_out(tmp_path):
    lines = ["a: &a [x,x,x,x,x,x,x,x,x,x]"]
    lines += [
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    document = read_document(
        written(tmp_path / "n.md", "---\n" + "\n".join(lines) + "\n---\nHoy.\n")
    )
    assert "bomb" in document.metadata["front_matter_error"]
    assert document.sections[0].text == "Hoy."


HTML = """<!DOCTYPE html><html lang="es"><head><title>Envíos - Tienda</title>
<meta name="description" content="Cómo enviamos."><meta name="keywords" content="envíos, plazos">
<style>p{}</style></head><body><nav><h2>Menú</h2><a href=/>Inicio</a></nav>
<main><p>Antes.</p><h1>Envíos<a class="headerlink" href="#x">¶</a></h1>
<p>Salen en <b>un</b>
 día.<br>Y llegan en dos.</p><h2>Plazos</h2><ul><li>Ceuta<ul><li>4 días</li></ul></li><li>Resto</li></ul>
<h4>Festivos</h4><pre>a   b
 c</pre><script>x()</script><div hidden>oculto</div>
<table><tr><th>Destino</th><th>Precio</th></tr><tr><td>Ceuta</td><td><p>9</p> €</td></tr></table>
<h2>Pagos</h2>Texto suelto &amp; o\ufb01cial</main><footer>Pie</footer></body></html>"""


def test_html_gives_the_tree_of_its_main_part(tmp_path):
    document = read_document(written(tmp_path / "p.html", HTML))
    assert (document.title, document.summary) == ("Envíos", "Cómo enviamos.")
    assert document.tags == ("envíos", "plazos")
    assert told(document) == [
        (("Envíos",), "Antes."),
        (("Envíos",), "Salen en un día.\nY llegan en dos."),
        (("Envíos", "Plazos"), "- Ceuta\n  - 4 días\n- Resto"),
        (("Envíos", "Plazos", "Festivos"), "a   b\n c\n\nDestino | Precio\nCeuta | 9 €"),
        (("Envíos", "Pagos"), "Texto suelto & oficial"),
    ]


def test_html_without_a_main_part_loses_only_navigation_and_foot(tmp_path):
    page = "<nav>Menú</nav><h1>Envíos</h1><p>Hoy.</p><footer>Pie</footer>"
    assert told(read_document(written(tmp_path / "p.html", page))) == [(("Envíos",), "Hoy.")]


def test_html_nested_very_deeply_is_read_or_refused_never_read_in_part(tmp_path):
    page = "<div>" * 1_500 + "fondo" + "</div>" * 1_500
    assert "fondo" in read_document(written(tmp_path / "p.html", page)).sections[0].text
    page = "<p>Hola</p>" + "<div>" * 10_000 + "fondo" + "</div>" * 10_000
    with pytest.raises(DocumentError, match="nested too deeply"):
        read_document(written(tmp_path / "p.html", page))


def test_a_page_is_decoded_as_it_declares(tmp_path):
    page = '<html><head><meta charset="iso-8859-15"></head><body><h1>Precio</h1><p>9 €</p></body></html>'
    document = read_document(written(tmp_path / "p.html", page, "iso-8859-15"))
    assert document.sections[0].text == "9 €"


def test_plain_text_has_the_headings_that_it_underlines(tmp_path):
    text = (
        "Manual\n======\n\nIntro del ma-\nnual.\n\nEnvíos\n------\n\nSalen hoy.\n\n"
        "Plazos\n~~~~~~\n\nDos días.\n\nPagos\n-----\n\nCon tarjeta.\n"
    )
    document = read_document(written(tmp_path / "m.txt", text))
    assert document.title == "Manual"
    assert told(document) == [
        (("Manual",), "Intro del manual."),
        (("Manual", "Envíos"), "Salen hoy."),
        (("Manual", "Envíos", "Plazos"), "Dos días."),
        (("Manual", "Pagos"), "Con tarjeta."),
    ]


def test_plain_text_has_the_numbered_and_capital_lines_that_stand_alone(tmp_path):
    text = "1. Objeto\n\nEl contrato.\n\n1.1 Alcance\n\nTodo.\n\n2. Precio\n\nNueve euros.\n"
    assert read_document(written(tmp_path / "a.txt", text)).headings == (
        ("1. Objeto",),
        ("1. Objeto", "1.1 Alcance"),
        ("2. Precio",),
    )
    text = "CONDICIONES\n\nSon estas.\n\nPRECIOS\n\nSon estos.\n"
    assert read_document(written(tmp_path / "b.txt", text)).headings == (
        ("CONDICIONES",),
        ("PRECIOS",),
    )


def test_plain_text_without_headings_is_one_section_named_after_the_file(tmp_path):
    text = "Hola.\n\n1. Abra la caja.\n\n2. Ciérrela.\n\nAdiós\n"
    document = read_document(written(tmp_path / "aviso.txt", text))
    assert told(document) == [(("aviso",), text.strip())]


@pytest.mark.parametrize(
    "encoding",
    [
        "utf-8",
        "utf-8-sig",
        "cp1252",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "cp850",
        "mac_roman",
    ],
)
def test_spanish_text_is_decoded_whatever_wrote_it(tmp_path, encoding):
    text = "¿Cuándo llega el pedido? Mañana, según la información de la compañía. ¡Qué rápido!"
    document = read_document(written(tmp_path / "m.txt", text, encoding))
    assert document.sections[0].text == text


def test_euro_signs_and_quotes_of_windows_are_decoded(tmp_path):
    document = read_document(written(tmp_path / "m.txt", "Son “9 €” – más IVA…", "cp1252"))
    assert document.sections[0].text == "Son “9 €” – más IVA…"


def test_utf8_with_a_broken_byte_stays_utf8(tmp_path):
    path = tmp_path / "m.txt"
    path.write_bytes("canción, año, ñu, café, más, qué".encode() + b"\xff fin")
    assert read_document(path).sections[0].text == "canción, año, ñu, café, más, qué fin"


def test_nul_characters_are_dropped(tmp_path):
    path = written(tmp_path / "m.txt", "El pedido\0 sale hoy y llega mañana sin falta a casa." * 3)
    assert "\0" not in read_document(path).sections[0].text
    assert read_document(path).sections[0].text.startswith("El pedido sale")


def test_an_overlong_section_is_cut_at_paragraph_ends_without_overlap(tmp_path):
    paragraphs = [f"Párrafo {number}. " + "palabra " * 40 for number in range(100)]
    text = "# Largo\n\n" + "\n\n".join(paragraphs) + "\n\n# Corto\n\nFin.\n"
    document = read_document(written(tmp_path / "m.md", text))
    parts = [section for section in document.sections if section.heading_path == ("Largo",)]
    assert len(parts) == 5
    assert [part.part for part in parts] == [1, 2, 3, 4, 5]
    assert [part.position for part in parts] == [0, 1, 2, 3, 4]
    assert max(len(part.text) for part in parts) <= 8_000
    assert "\n\n".join(part.text for part in parts).split("\n\n") == [p.strip() for p in paragraphs]
    assert document.sections[-1].part is None
    assert document.headings == (("Largo",), ("Corto",))


def test_a_paragraph_without_end_is_cut_at_sentences_then_at_words(tmp_path):
    document = read_document(written(tmp_path / "a.md", "Una frase corta. " * 1_000))
    assert all(section.text.endswith("corta.") for section in document.sections)
    document = read_document(written(tmp_path / "b.md", "x" * 20_000))
    assert "".join(section.text for section in document.sections) == "x" * 20_000


def test_control_characters_in_a_page_do_no_harm(tmp_path):
    page = "<h1>En\x01víos</h1><p>Hoy<nav>Menú</nav>\x02\ufffe mañana.</p>" + "<p>Texto.</p>" * 20
    document = read_document(written(tmp_path / "p.html", page))
    assert document.headings == (("Envíos",),)
    assert "Hoy mañana" in document.sections[0].text.replace("\n\n", " ")


def test_a_file_of_several_main_headings_is_named_after_itself(tmp_path):
    text = "## Plazos\n\nDos días.\n\n## Pagos\n\nCon tarjeta.\n"
    assert read_document(written(tmp_path / "Política.md", text)).title == "Política"
    assert read_document(written(tmp_path / "n.md", "## Plazos\n\nDos días.\n")).title == "Plazos"
    text = "CONDICIONES\n\nSon estas.\n\nPRECIOS\n\nSon estos.\n"
    assert read_document(written(tmp_path / "b.txt", text)).title == "b"
