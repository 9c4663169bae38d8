"""Where an entry says what was asked: matched words by field, and the best passage of its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kb_search.words import fold

# A letter or digit with the accents of a decomposed text, a soft hyphen or a zero-width character.
_LETTER = "[^\\W_][\u0300-\u036f\u00ad\u200b-\u200d]*"
# A telephone number, else a run of letters and digits with what belongs inside a word.
_COMPOUND = re.compile(
    rf"\+?\d{{1,4}}(?:[ .-]\d{{2,4}}){{2,}}(?!\d)|\.?(?:{_LETTER})+(?:[-.'’＇@/+#]+(?:{_LETTER})+)*(?:\+\+|#)?"  # noqa: RUF001, E501 - as typed
)
# Most texts have none of what makes a compound: a word is then a run of letters and digits.
_JOINED = re.compile(
    r"[^\W_][-.'’＇@/+#]+[^\W_]|\+\+|#|\d \d|\.net\b|[\u0300-\u036f\u00ad\u200b-\u200d]",  # noqa: RUF001 - as typed
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[^\W_]+")
_PART = re.compile(rf"(?:{_LETTER})+(?:\+\+|#(?!\w))?|\.net\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…]+[\"»”)]*\s+|\n\s*\n")
# As much of a text as the database indexes (schema.sql, section 3).
_READ_CHARS = 250_000
_ELLIPSIS = "…"
# A word met again in the same passage counts this much of the first time.
_AGAIN = 0.1


@dataclass(frozen=True)
class Match:
    """A place where a text says a word: its offsets, the needle it belongs to, its folded form."""

    start: int
    end: int
    needle: int
    word: str


@dataclass(frozen=True)
class Snippet:
    """A passage, and the offsets of the matches in it."""

    text: str
    highlights: tuple[tuple[int, int], ...]


class Text:
    """A text and its matches: the places whose folded word is a key of `needle_of`."""

    def __init__(self, text: str, needle_of: Mapping[str, int]) -> None:
        self.text = text
        self.matches = tuple(_matches(text, needle_of)) if needle_of else ()


def _matches(text: str, needle_of: Mapping[str, int]) -> Iterator[Match]:
    """In order, disjoint."""
    words = _COMPOUND if _JOINED.search(text, 0, _READ_CHARS) else _PLAIN
    for compound in words.finditer(text, 0, _READ_CHARS):
        word = compound.group()
        whole = _key(word)
        needle = needle_of.get(whole)
        if needle is not None:
            yield Match(compound.start(), compound.end(), needle, whole)
        elif len(whole) != len(word):
            yield from _parts(text, compound.start(), compound.end(), needle_of)


def _parts(text: str, start: int, end: int, needle_of: Mapping[str, int]) -> Iterator[Match]:
    for part in _PART.finditer(text, start, end):
        key = _key(part.group())
        if key in needle_of:
            yield Match(part.start(), part.end(), needle_of[key], key)


def word_count(text: str) -> int:
    """How many words a text has, compounds as one."""
    return sum(1 for _ in _COMPOUND.finditer(text, 0, _READ_CHARS))


@lru_cache(maxsize=50_000)
def _key(word: str) -> str:
    """The word as the database's vocabulary has it."""
    folded = fold(word)
    if folded.endswith("++"):
        folded = folded[:-2] + "plusplus"
    elif folded.endswith("#"):
        folded = folded[:-1] + "sharp"
    elif folded == ".net":
        folded = "dotnet"
    return "".join(char for char in folded if char.isalnum())


def matched_on(fields: Sequence[tuple[str, Sequence[Text]]], notes: Mapping[int, str]) -> str:
    """What matched where, such as `title: tarifas; alias: cobra; content: proyecto ×2`.

    `notes` has a remark on a needle that is no word of the question:
    `title: facturación (typed facturaicón)`.
    """
    parts = []
    for name, texts in fields:
        counts: Counter[str] = Counter()
        shown: dict[str, str] = {}
        for text in texts:
            for match in text.matches:
                counts[match.word] += 1
                if match.word not in shown:
                    label = text.text[match.start : match.end].lower()
                    note = notes.get(match.needle)
                    shown[match.word] = f"{label} ({note})" if note else label
        if counts:
            words = (
                shown[word] if count == 1 else f"{shown[word]} ×{count}"
                for word, count in counts.most_common()
            )
            parts.append(f"{name}: {', '.join(words)}")
    return "; ".join(parts)


def snippet(content: Text, weights: Sequence[float], *, chars: int) -> Snippet:
    """The passage of about `chars` characters with the densest weighted matches.

    The start of the text where nothing matches. Cut at the ends of sentences where they are near,
    else of words, with an ellipsis where the text goes on.
    """
    text, found = content.text, content.matches
    start, end = _densest(found, weights, chars) if found else (0, 0)
    start, end = _widened(text, start, end, chars)
    head = _ELLIPSIS if start > 0 else ""
    tail = _ELLIPSIS if text[end:].strip() else ""
    shift = len(head) - start
    return Snippet(
        head + text[start:end] + tail,
        tuple((m.start + shift, m.end + shift) for m in found if start <= m.start and m.end <= end),
    )


def _densest(found: Sequence[Match], weights: Sequence[float], chars: int) -> tuple[int, int]:
    """The span (start, end) of at most `chars` characters whose matches weigh most."""
    inside: Counter[int] = Counter()
    total, best = 0.0, -1.0
    span = (found[0].start, found[0].end)
    first = 0
    for match in found:
        total += weights[match.needle] * (_AGAIN if inside[match.needle] else 1.0)
        inside[match.needle] += 1
        while match.end - found[first].start > chars and found[first] is not match:
            gone = found[first].needle
            inside[gone] -= 1
            total -= weights[gone] * (_AGAIN if inside[gone] else 1.0)
            first += 1
        if total > best + 1e-9:
            best = total
            span = (found[first].start, match.end)
    return span


def _widened(text: str, start: int, end: int, chars: int) -> tuple[int, int]:
    """The span grown to about `chars` characters, its ends moved to those of sentences or words."""
    if len(text) <= chars * 1.15:
        return 0, len(text)
    room = max(0, chars - (end - start))
    earliest = max(0, start - room // 2)
    ends = [0, *(m.end() for m in _SENTENCE_END.finditer(text, max(0, start - chars), start))]
    sentence = ends[-1] if ends[-1] or start <= chars else 0
    if earliest <= sentence <= start or (sentence == 0 and start <= room):
        begin = sentence
    else:
        begin = _word_start(text, earliest, start)
    stop = min(len(text), max(end, begin + chars))
    if stop < len(text):
        stop = _good_end(text, max(end, begin + chars // 2), stop)
    return begin, stop


def _word_start(text: str, place: int, most: int) -> int:
    """The first place from `place` on where a word starts, at most `most`."""
    if place == 0:
        return 0
    while place < most and not (text[place - 1].isspace() and not text[place].isspace()):
        place += 1
    return place


def _good_end(text: str, least: int, most: int) -> int:
    """The last end of a sentence between the two, else of a word."""
    sentence = 0
    for match in _SENTENCE_END.finditer(text, least, min(len(text), most + 2)):
        sentence = match.start() + len(match.group().rstrip())
    if least <= sentence <= most:
        return sentence
    place = most
    while place > least and not text[place].isspace():
        place -= 1
    return place if place > least else most
