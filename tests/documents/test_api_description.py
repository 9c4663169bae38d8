from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kb_search.documents import DocumentError, operation_schema, read_document

API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "API de la tienda", "version": "2", "description": "Pedidos y clientes."},
    "paths": {
        "/clientes": {
            "parameters": [{"$ref": "#/components/parameters/Idioma"}],
            "get": {
                "operationId": "listarClientes",
                "responses": {"200": {"description": "La lista"}},
            },
            "post": {
                "summary": "Crear un cliente nuevo",
                "operationId": "crearCliente",
                "tags": ["clientes"],
                "description": "Da de alta a un cliente.",
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Cliente"}}
                    }
                },
                "responses": {
                    "201": {"description": "Creado"},
                    "409": {"description": "Ya existe"},
                },
            },
        },
        "/clientes/{id}": {
            "delete": {
                "summary": "Borrar un cliente",
                "deprecated": True,
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
                ],
                "responses": {},
            }
        },
    },
    "components": {
        "parameters": {
            "Idioma": {
                "name": "idioma",
                "in": "query",
                "description": "Lengua de la respuesta",
                "schema": {"type": "string", "enum": ["es", "ca"]},
            }
        },
        "schemas": {
            "Cliente": {
                "type": "object",
                "required": ["nombre"],
                "properties": {
                    "nombre": {"type": "string", "description": "Nombre completo"},
                    "invitado_por": {"$ref": "#/components/schemas/Cliente"},
                },
            }
        },
    },
}


@pytest.fixture(params=["json", "yaml"])
def path(request, tmp_path) -> Path:
    text = json.dumps(API) if request.param == "json" else yaml.safe_dump(API, sort_keys=False)
    path = tmp_path / f"api.{request.param}"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_operation_is_a_section_below_the_api(path):
    document = read_document(path)
    assert document.title == "API de la tienda"
    assert document.tags == ("clientes",)
    assert document.metadata["operations"] == 3
    assert document.headings == (
        ("API de la tienda",),
        ("API de la tienda", "GET /clientes"),
        ("API de la tienda", "Crear un cliente nuevo (POST /clientes)"),
        ("API de la tienda", "Borrar un cliente (DELETE /clientes/{id})"),
    )
    assert document.sections[0].text == "Pedidos y clientes."


def test_the_text_of_an_operation_has_what_is_needed_to_choose_and_call_it(path):
    section = read_document(path).sections[2]
    assert section.aliases == (
        "crear cliente",
        "crear, añadir, registrar, dar de alta, nuevo",
    )
    assert section.text == (
        "POST /clientes\nCrear un cliente nuevo\n\nDa de alta a un cliente.\n\n"
        "Parámetros:\n- idioma (string: es | ca, en la consulta): Lengua de la respuesta\n\n"
        "Cuerpo de la petición:\n- nombre (string, obligatorio): Nombre completo\n"
        "- invitado_por (object)\n\n"
        "Respuestas:\n- 201: Creado\n- 409: Ya existe"
    )
    assert "Obsoleta" in read_document(path).sections[3].text
    assert "- id (integer, en la ruta, obligatorio)" in read_document(path).sections[3].text


def test_the_whole_schema_of_an_operation_is_there_on_demand(path):
    document = read_document(path)
    section = document.sections[2]
    assert (section.metadata["method"], section.metadata["path"]) == ("POST", "/clientes")
    schema = operation_schema(document.metadata, section.metadata)
    assert schema["operation"]["requestBody"] == API["paths"]["/clientes"]["post"]["requestBody"]
    assert schema["references"] == {
        "#/components/parameters/Idioma": API["components"]["parameters"]["Idioma"],
        "#/components/schemas/Cliente": API["components"]["schemas"]["Cliente"],
    }


def test_swagger_two_is_read_too(tmp_path):
    described = {
        "swagger": "2.0",
        "info": {"title": "Vieja"},
        "paths": {
            "/p": {
                "post": {
                    "summary": "Crear",
                    "parameters": [
                        {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/P"}},
                        {"name": "v", "in": "header", "type": "string"},
                    ],
                }
            }
        },
        "definitions": {"P": {"allOf": [{"properties": {"nombre": {"type": "string"}}}]}},
    }
    (tmp_path / "a.json").write_text(json.dumps(described), encoding="utf-8")
    text = read_document(tmp_path / "a.json").sections[-1].text
    assert "Cuerpo de la petición:\n- nombre (string)" in text
    assert "Parámetros:\n- v (string, en la cabecera)" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "x"}', "no API description"),
        ("- a\n- b\n", "no API description"),
        ('{"openapi": "3.0.0", "paths": {}}', "no operation"),
        ('{"openapi": ', "malformed JSON"),
        ("openapi: [\n", "malformed YAML"),
        ("openapi: &a [*a]\n", "bomb"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_and_yaml_that_describe_no_api_are_refused_with_the_reason(tmp_path, text, reason):
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=reason):
        read_document(tmp_path / "a.yaml")


def test_several_hundred_operations_are_several_hundred_sections(tmp_path):
    paths = {f"/recurso{n}": {"get": {"summary": f"Leer el recurso {n}"}} for n in range(400)}
    described = {"openapi": "3.0.0", "info": {"title": "Grande"}, "paths": paths}
    (tmp_path / "a.json").write_text(json.dumps(described), encoding="utf-8")
    sections = read_document(tmp_path / "a.json").sections
    assert len(sections) == 401
    assert sections[-1].heading_path == ("Grande", "Leer el recurso 399 (GET /recurso399)")
