"""Vectors as they come from an embedder, checked and brought to length 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kb_search.errors import EmbedderFailed

_SHORTEST = 1e-6
_ROUND = 1e-5


def unit_vectors(
    answer: Sequence[Sequence[float]], *, count: int, dimension: int | None
) -> list[list[float]]:
    """The vectors, each of length 1; `dimension` None takes that of the first.

    Raises:
        EmbedderFailed: there are more or fewer than `count`, or one of them is none.
    """
    try:
        if len(answer) != count:
            raise EmbedderFailed(
                f"the embedder gave {len(answer)} vectors for {count} texts", reason="bad answer"
            )
        wanted = len(answer[0]) if dimension is None and count else dimension
        return [_unit(vector, wanted) for vector in answer]
    except (TypeError, ValueError) as error:
        raise EmbedderFailed(
            f"the embedder gave something else than vectors: {error}", reason="bad answer"
        ) from error


def _unit(vector: Sequence[float], dimension: int | None) -> list[float]:
    if len(vector) != dimension or not dimension:
        raise EmbedderFailed(
            f"the embedder gave {len(vector)} numbers instead of {dimension}", reason="bad answer"
        )
    length = math.hypot(*vector)
    if not math.isfinite(length):
        raise EmbedderFailed("the embedder gave a vector with NaN", reason="bad answer")
    if length < _SHORTEST:
        raise EmbedderFailed("the embedder gave a vector of zeros", reason="bad answer")
    if abs(length - 1) < _ROUND:
        return list(vector)
    return [number / length for number in vector]
