"""Embedders that tests can do anything with."""

import asyncio
import math
from collections import Counter

from kb_search.errors import EmbedderFailed

TOPICS = (
    ("cliente", "clientes", "abonado", "abonados"),
    ("pérdida", "baja", "bajas", "dejan"),
    ("cuenta", "sesión", "usuario", "contraseña", "entrar"),
    ("horario", "hora", "abre", "abren", "nueve"),
)


class TopicEmbedder:
    """Texts about the same topics are near; everything else is told apart by its words a little."""

    def __init__(self, _settings=None, *, model="topics", dimension=24):
        self.model = model
        self.dimension = dimension
        self.texts = []
        self.fault = None
        self.gate = None

    async def embed(self, texts, *, kind):
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.fault, Exception):
            raise self.fault
        self.texts += [(text, kind) for text in texts]
        vectors = [self.vector(text) for text in texts]
        return self.fault(vectors) if self.fault is not None else vectors

    async def close(self):
        pass

    def vector(self, text):
        counts: Counter[int] = Counter()
        for word in text.lower().replace("¿", " ").replace("?", " ").split():
            bare = word.strip(".,:;")
            topic = next((nr for nr, words in enumerate(TOPICS) if bare in words), None)
            if topic is None:
                place = len(TOPICS) + sum(map(ord, bare)) % (self.dimension - len(TOPICS) - 1)
                counts[place] += 1
            else:
                counts[topic] += 3
        numbers = [float(counts[place]) for place in range(self.dimension)]
        numbers[-1] = 0.3
        length = math.hypot(*numbers)
        return [number / length for number in numbers]

    def passages(self):
        return [text for text, kind in self.texts if text != "" and kind]


def never():
    """A gate that stays shut."""
    return asyncio.Event()


def with_nan(vectors):
    return [[math.nan, *vector[1:]] for vector in vectors]


def with_zeros(vectors):
    return [[0.0] * len(vector) for vector in vectors]


def shorter(vectors):
    return [vector[:-1] for vector in vectors]


def no_vectors(vectors):
    return "<html>502 Bad Gateway</html>"


def down():
    return EmbedderFailed("the embedder at localhost cannot be reached")


class StuckEmbedder(TopicEmbedder):
    """Tells what the cosines mean, then never answers again."""

    async def embed(self, texts, *, kind):
        if len(self.texts) > 20:
            await never().wait()
        return await super().embed(texts, kind=kind)
