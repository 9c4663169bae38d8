"""Texts of the tests' own: tagged notes, and an API description of several hundred operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# subject: (tag, a word that only its notes say)
SUBJECTS = {
    "Limonero": ("frutales", "azahar"),
    "Tomatera": ("huerto", "tutor"),
    "Rosal": ("jardín", "pulgón"),
    "Orquídea": ("interior", "corteza"),
    "Olivo": ("frutales", "aceituna"),
    "Lavanda": ("aromáticas", "espliego"),
    "Lavadora": ("electrodomésticos", "tambor"),
    "Nevera": ("electrodomésticos", "escarcha"),
    "Horno": ("cocina", "bandeja"),
    "Cafetera": ("cocina", "cal"),
    "Bicicleta": ("movilidad", "cadena"),
    "Patinete": ("movilidad", "manillar"),
    "Coche": ("movilidad", "aceite"),
    "Caldera": ("calefacción", "purgador"),
    "Radiador": ("calefacción", "válvula"),
    "Persiana": ("carpintería", "lama"),
    "Puerta": ("carpintería", "bisagra"),
    "Parqué": ("suelos", "barniz"),
    "Azulejo": ("suelos", "lechada"),
    "Grifo": ("fontanería", "junta"),
    "Cisterna": ("fontanería", "flotador"),
    "Enchufe": ("electricidad", "borne"),
    "Lámpara": ("electricidad", "casquillo"),
    "Portátil": ("informática", "batería"),
    "Impresora": ("informática", "tóner"),
    "Router": ("redes", "antena"),
    "Televisor": ("salón", "mando"),
    "Sofá": ("salón", "tapicería"),
    "Colchón": ("dormitorio", "funda"),
    "Armario": ("dormitorio", "balda"),
}
# aspect: (tag, the phrase that its note of a subject says)
ASPECTS = {
    "Compra": ("presupuesto", "comparar tres precios antes de decidir"),
    "Limpieza": ("mantenimiento", "pasar un paño húmedo sin jabón"),
    "Reparación": ("averías", "cambiar la pieza gastada por otra igual"),
    "Garantía": ("papeles", "guardar la factura durante dos años"),
    "Transporte": ("mudanza", "envolver las esquinas con mantas viejas"),
    "Instalación": ("montaje", "medir dos veces el hueco de la pared"),
    "Invierno": ("temporada", "protegerlo de las heladas de enero"),
    "Verano": ("temporada", "evitar el sol directo del mediodía"),
    "Seguridad": ("riesgos", "desconectar todo antes de tocar nada"),
    "Reciclaje": ("residuos", "llevarlo al punto limpio del barrio"),
}


def write_notes(folder: Path) -> list[tuple[str, str]]:
    """300 notes with front matter; (subject, aspect) of each, in the order of their names."""
    pairs = []
    for subject, (tag, word) in SUBJECTS.items():
        for aspect, (aspect_tag, phrase) in ASPECTS.items():
            (folder / note_name(subject, aspect)).write_text(
                "---\n"
                f"title: '{subject}: {aspect.lower()}'\n"
                f"tags: [{tag}, {aspect_tag}]\n"
                f"aliases: [{aspect.lower()} de {subject.lower()}]\n"
                "---\n\n"
                f"Apuntes de casa sobre {subject.lower()}. Lo más útil fue {phrase}, sobre todo"
                f" por el {word}.\n\n"
                "## Detalles\n\n"
                f"Se anotó lo que costó y lo que duró; la próxima vez, mirar antes el {word}.\n",
                encoding="utf-8",
            )
            pairs.append((subject, aspect))
    return pairs


def note_name(subject: str, aspect: str) -> str:
    return f"{subject}-{aspect}.md"


RESOURCES = {
    "pedido": "pedidos",
    "factura": "facturas",
    "producto": "productos",
    "proveedor": "proveedores",
    "almacén": "almacenes",
    "envío": "envios",
    "devolución": "devoluciones",
    "cupón": "cupones",
    "usuario": "usuarios",
    "contrato": "contratos",
    "pago": "pagos",
    "tarifa": "tarifas",
    "incidencia": "incidencias",
    "presupuesto": "presupuestos",
    "categoría": "categorias",
    "impuesto": "impuestos",
    "dirección": "direcciones",
    "contacto": "contactos",
    "albarán": "albaranes",
    "empleado": "empleados",
    "sucursal": "sucursales",
    "suscripción": "suscripciones",
    "informe": "informes",
    "notificación": "notificaciones",
    "cliente": "clientes",
}
FEMININE = {
    "factura",
    "devolución",
    "tarifa",
    "incidencia",
    "categoría",
    "dirección",
    "sucursal",
    "suscripción",
    "notificación",
}
# (method, path behind the resource, summary)
OPERATIONS = (
    ("get", "", "Listar {plural}"),
    ("post", "", "Crear {one}"),
    ("get", "/{id}", "Consultar {one}"),
    ("put", "/{id}", "Sustituir {one}"),
    ("patch", "/{id}", "Modificar {one}"),
    ("delete", "/{id}", "Eliminar {one}"),
    ("get", "/{id}/historial", "Ver los cambios de {one}"),
    ("post", "/{id}/archivo", "Archivar {one}"),
    ("delete", "/{id}/archivo", "Recuperar {one} del archivo"),
    ("post", "/{id}/notas", "Añadir una nota a {one}"),
    ("get", "/{id}/notas", "Leer las notas de {one}"),
    ("get", "/busqueda", "Buscar entre {plural}"),
    ("post", "/importacion", "Importar {plural} desde un fichero"),
    ("get", "/exportacion", "Exportar {plural} a un fichero"),
)


def api_description(title: str = "API de gestión") -> dict[str, Any]:
    """350 operations on 25 resources, as a program would write them."""
    paths: dict[str, Any] = {}
    for one, plural in RESOURCES.items():
        article = "una" if one in FEMININE else "un"
        for method, rest, summary in OPERATIONS:
            said = summary.format(one=f"{article} {one}", plural=plural)
            paths.setdefault(f"/{plural}{rest}", {})[method] = {
                "summary": said,
                "operationId": f"{method}{plural.title()}{rest.title().replace('/', '')}",
                "tags": [plural],
                "parameters": [
                    {
                        "name": "idioma",
                        "in": "query",
                        "description": "Idioma de los mensajes de error",
                        "schema": {"type": "string"},
                    }
                ],
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": f"#/components/schemas/{plural}"}}
                    }
                },
                "responses": {"200": {"description": f"Datos de {plural}"}},
            }
    return {
        "openapi": "3.0.3",
        "info": {"title": title, "version": "1", "description": f"{title} de una tienda."},
        "paths": paths,
        "components": {
            "schemas": {
                plural: {
                    "type": "object",
                    "properties": {
                        "nombre": {"type": "string", "description": f"Nombre de {one}"},
                        "cliente_id": {"type": "integer", "description": "Cliente al que va"},
                    },
                }
                for one, plural in RESOURCES.items()
            }
        },
    }


def write_api(path: Path, title: str = "API de gestión") -> Path:
    path.write_text(json.dumps(api_description(title), ensure_ascii=False), encoding="utf-8")
    return path
