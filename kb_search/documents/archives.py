"""Office files are zip archives of XML: looked over before any library opens them."""

from __future__ import annotations

import io
import zipfile
import zlib
from xml.parsers import expat

from kb_search.documents.unreadable import Unreadable

# What an honest office file of the largest allowed size unpacks to; a bomb passes both at once.
MAX_UNPACKED_BYTES = 1_000_000_000
MAX_RATIO = 200
_SMALL_BYTES = 50_000_000  # below this no ratio is suspicious: blank sheets pack 1,000 to one
_MAX_MEMBERS = 50_000
_CHUNK = 1 << 16
_LOCAL_HEADER = 30
_STRANGE = {
    expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING],
    expat.errors.codes[expat.errors.XML_ERROR_INCORRECT_ENCODING],
}


def check_archive(data: bytes) -> list[str]:
    """The member names of an office file that is safe to unpack.

    Every member is unpacked piece by piece and counted, as the size that an archive declares
    may be a lie; every XML member is read up to its root element, as office files have no use
    for a document type, where entities are declared.

    Raises:
        Unreadable: damaged, encrypted, a zip bomb, or XML with a document type.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise Unreadable("truncated or damaged: the archive inside has no directory") from error
    with archive:
        members = archive.infolist()
        if len(members) > _MAX_MEMBERS:
            raise Unreadable(f"zip bomb: {len(members):,} members in the archive")
        _refuse_declared(members, len(data))
        left = MAX_UNPACKED_BYTES
        for member in members:
            left -= _check_member(data, member, left)
    return [member.filename for member in members]


def _refuse_declared(members: list[zipfile.ZipInfo], packed: int) -> None:
    declared = sum(member.file_size for member in members)
    if declared > MAX_UNPACKED_BYTES or (declared > _SMALL_BYTES and declared > MAX_RATIO * packed):
        raise Unreadable(f"zip bomb: {packed:,} bytes would unpack to {declared:,}")
    if any(member.flag_bits & 0x1 for member in members):
        raise Unreadable("encrypted: the archive inside needs a password")


def _check_member(data: bytes, member: zipfile.ZipInfo, left: int) -> int:
    """Unpack one member piece by piece; returns its true size in bytes."""
    packed = _packed_bytes(data, member)
    watch = _PrologWatch(member.filename)
    if member.compress_type == zipfile.ZIP_STORED:
        watch.feed(packed)
        return len(packed)
    if member.compress_type != zipfile.ZIP_DEFLATED:
        raise Unreadable("the archive inside is packed in a way that office files do not use")
    unpacker = zlib.decompressobj(-15)
    size = 0
    rest: bytes | memoryview = packed
    try:
        while rest and not unpacker.eof:
            piece = unpacker.decompress(rest, _CHUNK * 16)
            size += len(piece)
            if size > min(member.file_size, left):
                raise Unreadable(
                    f"zip bomb or damaged: {member.filename} unpacks to more than it declares"
                )
            watch.feed(piece)
            rest = unpacker.unconsumed_tail
    except zlib.error as error:
        raise Unreadable(f"truncated or damaged: {member.filename} cannot be unpacked") from error
    if size < member.file_size:
        raise Unreadable(f"truncated or damaged: {member.filename} ends too early")
    return size


def _packed_bytes(data: bytes, member: zipfile.ZipInfo) -> memoryview:
    at = member.header_offset
    header = data[at : at + _LOCAL_HEADER]
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise Unreadable("truncated or damaged: the archive inside is inconsistent")
    start = at + _LOCAL_HEADER
    start += int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    if start + member.compress_size > len(data):
        raise Unreadable("truncated or damaged: the archive inside is inconsistent")
    return memoryview(data)[start : start + member.compress_size]


class _PrologWatch:
    """Reads the XML of one member up to its root element and refuses a document type."""

    def __init__(self, name: str) -> None:
        # Every member is tried: which of them are read as XML, the archive itself says.
        self._name = name
        self._parser: expat.XMLParserType | None = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.StartElementHandler = self._root

    def feed(self, piece: bytes | memoryview) -> None:
        for start in range(0, len(piece), _CHUNK):
            if self._parser is None:
                return
            try:
                self._parser.Parse(bytes(piece[start : start + _CHUNK]), False)
            except (expat.ExpatError, LookupError, ValueError) as error:
                # What is no XML here is none to the libraries either; but they know encodings
                # that expat does not, and would see what is hidden in one.
                if not isinstance(error, expat.ExpatError) or error.code in _STRANGE:
                    raise Unreadable(f"{self._name} is XML in a strange encoding") from error
                self._parser = None

    def _refuse(self, *_: object) -> None:
        raise Unreadable(
            f"XML bomb: {self._name} declares a document type, which may hold entities"
        )

    def _root(self, *_: object) -> None:
        self._parser = None
