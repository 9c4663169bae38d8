"""Bytes to text, for files that do not say, or say wrongly, how they are encoded."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SPANISH = frozenset("áéíóúüñçÁÉÍÓÚÜÑÇàèìòùÀÈÌÒÙ¿¡ºª«»€–—“”‘’…·©®")
_ONE_BYTE = ("cp1252", "cp850", "mac_roman")
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HIGH = re.compile(rb"[\x80-\xff]+")
_SAMPLE = 1 << 16


class BinaryData(ValueError):
    """The bytes are no text."""


def decode_text(data: bytes, *, declared: str | None = None) -> str:
    """The text of a file, NUL characters dropped.

    Tried in this order: a byte order mark, UTF-16 or UTF-32 by the pattern of their NULs, UTF-8,
    the `declared` encoding, UTF-8 with a few broken bytes, then the one-byte encoding of Western
    Europe in which the text looks most like Spanish.

    Raises:
        BinaryData: this is no text in any of them.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").replace("\0", "")
    wide = _wide_encoding(data[:_SAMPLE])
    if wide:
        return data.decode(wide, "replace").replace("\0", "")
    if _looks_binary(data[:_SAMPLE]):
        raise BinaryData("binary data, no text")
    data = data.replace(b"\0", b"")
    for candidate in ("utf-8", declared or "ascii"):
        try:
            return data.decode(candidate)
        except (UnicodeDecodeError, LookupError):
            continue
    if _mostly_utf8(data):
        return data.decode("utf-8", "replace")
    return data.decode(_likeliest_one_byte(data[: 16 * _SAMPLE]), "replace")


def _wide_encoding(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: Western text has a NUL in fixed places of each unit."""
    if len(sample) < 4 or b"\0" not in sample:
        return None
    counts = [sample[start::4].count(0) / (len(sample) / 4) for start in range(4)]
    full = [share > 0.6 for share in counts]
    none = [share < 0.1 for share in counts]
    if full[1] and full[2] and full[3] and none[0]:
        return "utf-32-le"
    if full[0] and full[1] and full[2] and none[3]:
        return "utf-32-be"
    if full[1] and full[3] and none[0] and none[2]:
        return "utf-16-le"
    if full[0] and full[2] and none[1] and none[3]:
        return "utf-16-be"
    return None


def _looks_binary(sample: bytes) -> bool:
    if not sample:
        return False
    return (sample.count(0) + len(_CONTROL.findall(sample))) / len(sample) > 0.02


def _mostly_utf8(data: bytes) -> bool:
    """Whether the bytes above ASCII are UTF-8 sequences but for one in ten."""
    high = sum(len(run) for run in _HIGH.findall(data))
    broken = data.decode("utf-8", "replace").count("\ufffd")
    return broken * 10 < high


def _likeliest_one_byte(data: bytes) -> str:
    high = b"".join(_HIGH.findall(data))

    def likeness(encoding: str) -> int:
        text = high.decode(encoding, "replace")
        return sum(1 if char in _SPANISH else -1 for char in text)

    return max(_ONE_BYTE, key=likeness)  # the first of equals: cp1252
