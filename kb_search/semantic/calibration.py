"""What a model's cosines mean: how near it puts a question to its answer, and to any other text.

Models differ: unrelated texts have a cosine of .8 in one and of .1 in another. A few questions with
their answers, embedded once when vectors of a model are first wanted, tell the two levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

from kb_search.semantic.numbers import unit_vectors

if TYPE_CHECKING:
    from kb_search.semantic.embedders import Embedder

_PAIRS = (
    ("¿A qué hora abre la tienda?", "Horario: lunes a sábado, de nueve a siete."),
    ("como recupero mi clave", "Para restablecer la contraseña, pulse el enlace de acceso."),
    ("cuánto tarda en llegar el pedido", "Los envíos llegan en un plazo de tres a cinco días."),
    ("puedo devolver unos zapatos", "Se admiten devoluciones y cambios durante treinta días."),
    ("¿Aceptan tarjeta?", "Formas de pago: efectivo, tarjeta de crédito y transferencia."),
    ("qué papeles necesito para matricularme", "Documentos de inscripción: DNI, foto y título."),
    ("me duele la cabeza y tengo fiebre", "Síntomas de la gripe: temperatura alta y malestar."),
    ("dónde puedo aparcar", "Hay estacionamiento gratuito detrás del edificio."),
    ("quiero darme de baja", "La suscripción se cancela desde el perfil, sin penalización."),
    ("¿Hacen facturas a empresas?", "Emitimos comprobantes fiscales a nombre de una sociedad."),
    ("en qué idiomas trabajáis", "Hablamos español, inglés y portugués con nuestros clientes."),
    ("se puede ir con perro", "Las mascotas son bienvenidas si van atadas con correa."),
)
# An alias must be nearer to a question than questions are to one another, by this factor.
_ALIAS_FACTOR = 1.3
_LEAST_RISE = 0.01
_USUAL_RISE = 0.2


@dataclass(frozen=True)
class Levels:
    """Cosines of a model (-1..1): of a question with texts about something else (`apart`) and with
    its answer (`near`). Questions are nearer to each other than to texts, whatever they are about:
    `alias_excess` is what an alias owes to that.
    """

    apart: float
    near: float
    alias_excess: float = 0.0

    def nearness(self, cosine: float) -> float:
        """The cosine on the model's own scale: 0 for something else, 1 for a usual answer."""
        return (cosine - self.apart) / (self.near - self.apart)


async def measured_levels(embedder: Embedder, *, dimension: int | None) -> tuple[Levels, int]:
    """The levels of an embedder's model, and the numbers in its vectors.

    Raises:
        EmbedderFailed: it gives no vectors.
    """
    questions, answers = zip(*_PAIRS, strict=True)
    asked = unit_vectors(
        await embedder.embed(list(questions), kind="query"), count=len(_PAIRS), dimension=dimension
    )
    told = unit_vectors(
        await embedder.embed(list(answers), kind="passage"),
        count=len(_PAIRS),
        dimension=len(asked[0]),
    )
    near = [_cosine(q, a) for q, a in zip(asked, told, strict=True)]
    apart = [_cosine(asked[i], told[j]) for i, j in product(range(len(_PAIRS)), repeat=2) if i != j]
    level = _mean(apart)
    asked_alike = [_cosine(a, b) for a, b in combinations(asked, 2)]
    excess = max(0.0, _ALIAS_FACTOR * (_mean(asked_alike) - level))
    # a model that cannot tell them apart has no scale of its own: one like most models'
    rise = _mean(near) - level
    near_level = level + (rise if rise > _LEAST_RISE else _USUAL_RISE)
    return Levels(level, near_level, excess), len(asked[0])


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
