import pytest
from mcp.types import Prompt, PromptArgument
from mcp.types import Tool as McpTool

from kb_search import Entry, QueryError
from kb_search.toolbox import Toolbox, tools_of_openapi

TOOLS = [
    (
        "enviar_factura",
        "Manda una factura por correo electrónico a un cliente.",
        ["cliente", "importe"],
    ),
    ("crearCita", "Reserva una cita en el calendario.", ["fecha", "hora"]),
    ("cancelarCita", "Anula una cita que ya estaba reservada.", ["cita"]),
    ("buscar_vuelos", "Busca vuelos baratos entre dos aeropuertos.", ["origen", "destino"]),
    ("traducir_texto", "Traduce un texto a otro idioma.", ["texto", "idioma"]),
    ("consultar_tiempo", "Da la previsión meteorológica de una ciudad.", ["ciudad"]),
    ("convertir_moneda", "Convierte un importe de una divisa a otra.", ["importe", "divisa"]),
    ("resumir_documento", "Resume un documento largo en pocas líneas.", ["documento"]),
    ("pedir_pizza", "Encarga una pizza a domicilio.", ["direccion", "sabor"]),
    ("HTTPServerStatus", "Comprueba si un servidor web responde.", ["url"]),
]
INTENTS = {
    "quiero mandarle la factura a un cliente": "enviar_factura",
    "anula mi cita del martes": "cancelarCita",
    "resérvame una cita para mañana": "crearCita",
    "vuelos de Madrid a Lima": "buscar_vuelos",
    "¿qué tiempo hará en Soria?": "consultar_tiempo",
    "cuántos dólares son 20 euros, conviértelo": "convertir_moneda",
    "tradúceme esto": "traducir_texto",
    "pide una piza": "pedir_pizza",
    "server status": "HTTPServerStatus",
}


def schema(names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


def as_mcp(name, description, names):
    return McpTool(name=name, description=description, input_schema=schema(names))


def as_openai(name, description, names):
    inner = {"name": name, "description": description, "parameters": schema(names)}
    return {"type": "function", "function": inner}


def as_anthropic(name, description, names):
    return {"name": name, "description": description, "input_schema": schema(names)}


@pytest.fixture
def toolbox(kb, collection):
    return Toolbox(kb, collection=collection)


@pytest.mark.parametrize("form", [as_mcp, as_openai, as_anthropic])
async def test_an_intent_gets_the_handful_that_fits(toolbox, form):
    report = await toolbox.fill(form(*tool) for tool in TOOLS)
    assert report.added == len(TOOLS)
    for intent, name in INTENTS.items():
        found = await toolbox.pick(intent, limit=3)
        assert len(found) <= 3
        assert found[0].name == name, intent
        assert found[0].description
        assert 0 < found[0].score <= 1


async def test_a_definition_comes_back_as_it_was_given(toolbox):
    await toolbox.fill([as_openai(*TOOLS[0])])
    (found,) = await toolbox.pick("factura")
    assert found.definition == as_openai(*TOOLS[0])


async def test_what_fits_nothing_gets_nothing(toolbox):
    await toolbox.fill(as_mcp(*tool) for tool in TOOLS)
    assert await toolbox.pick("xyzzy plugh") == []


async def test_filling_again_leaves_exactly_what_is_given(toolbox):
    await toolbox.fill(as_mcp(*tool) for tool in TOOLS)
    report = await toolbox.fill(as_mcp(*tool) for tool in TOOLS)
    assert (report.added, report.updated, report.unchanged) == (0, 0, len(TOOLS))
    changed = ("enviar_factura", "Manda una factura por burofax.", ["cliente"])
    report = await toolbox.fill([as_mcp(*changed), as_mcp(*TOOLS[1])])
    assert (report.added, report.updated, report.unchanged) == (0, 1, 1)
    assert await toolbox.pick("vuelos baratos") == []
    assert [found.name for found in await toolbox.pick("burofax")] == ["enviar_factura"]
    await toolbox.fill([])
    assert await toolbox.pick("burofax") == []


async def test_prompts_are_found_by_their_arguments_too(toolbox):
    prompts = [
        Prompt(
            name="revisar",
            description="Revisa código.",
            arguments=[
                PromptArgument(
                    name="lenguaje", description="Lenguaje de programación", required=True
                )
            ],
        ),
        Prompt(name="saludo", description="Saluda con cortesía."),
    ]
    await toolbox.fill(prompts)
    assert [found.name for found in await toolbox.pick("lenguaje de programación")] == ["revisar"]


async def test_operations_of_an_openapi_document_become_tools(toolbox):
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/pedidos/{id}": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
                ],
                "get": {"operationId": "verPedido", "summary": "Muestra un pedido."},
                "delete": {"summary": "Cancela un pedido.", "description": "No se puede deshacer."},
            },
            "/clientes": {
                "post": {
                    "operationId": "altaCliente",
                    "summary": "Da de alta a un cliente.",
                    "requestBody": {
                        "content": {"application/json": {"schema": {"type": "object"}}}
                    },
                }
            },
        },
    }
    tools = tools_of_openapi(document)
    assert [tool["name"] for tool in tools] == ["verPedido", "DELETE /pedidos/{id}", "altaCliente"]
    assert tools[0]["parameters"] == {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
    }
    assert tools[2]["parameters"]["properties"] == {"body": {"type": "object"}}
    await toolbox.fill(tools)
    (found, *_) = await toolbox.pick("cancelar el pedido")
    assert (found.definition["method"], found.definition["path"]) == ("DELETE", "/pedidos/{id}")


async def test_a_collection_of_something_else_is_not_overwritten(kb, toolbox):
    (id_,) = await kb.add([Entry(section="s", title="t", content="c")])
    with pytest.raises(QueryError, match="more than a toolbox"):
        await toolbox.fill([as_mcp(*TOOLS[0])])
    assert await kb.get(id_)


@pytest.mark.parametrize("wrong", [{}, {"name": ""}, {"name": 3}, "enviar"])
async def test_a_definition_has_a_name(toolbox, wrong):
    with pytest.raises(QueryError):
        await toolbox.fill([wrong])
