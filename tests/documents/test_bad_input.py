"""Each kind of bad input gives one clear line, and nothing is fetched, run or blown up."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

import openpyxl
import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from kb_search.documents import DocumentError, archives, read_document
from tests.documents.making import docx_bytes, manual_outline, rewrite_zip, write_docx, write_pdf


def reason(path: Path, **limits) -> str:
    with pytest.raises(DocumentError) as caught:
        read_document(path, **limits)
    error = caught.value
    assert error.path == path
    assert str(error) == f"{path}: {error.reason}"
    assert "\n" not in str(error)
    return error.reason


def filled(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def pdf_with_text(path: Path, encryption: StandardEncryption | None = None) -> Path:
    canvas = Canvas(str(path), encrypt=encryption)
    canvas.drawString(72, 700, "Hola.")
    canvas.save()
    return path


def test_a_pdf_with_a_password_is_encrypted(tmp_path):
    path = pdf_with_text(tmp_path / "m.pdf", StandardEncryption("clave", strength=128))
    assert reason(path).startswith("encrypted")


def test_a_pdf_that_only_forbids_changes_is_read(tmp_path):
    encryption = StandardEncryption("", ownerPassword="clave", canModify=0, strength=128)
    path = pdf_with_text(tmp_path / "m.pdf", encryption)
    assert read_document(path).sections[0].text == "Hola."


def test_an_office_file_with_a_password_is_encrypted(tmp_path):
    # What Word writes then is an OLE file with a stream of this name.
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    assert reason(filled(tmp_path / "m.docx", data)).startswith("encrypted")


def test_an_old_office_file_says_how_to_save_it(tmp_path):
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    assert "save it as .docx" in reason(filled(tmp_path / "m.doc", data))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
def test_a_truncated_pdf_is_told(tmp_path, share):
    data = write_pdf(tmp_path / "m.pdf", manual_outline()).read_bytes()
    path = filled(tmp_path / "cut.pdf", data[: int(len(data) * share)])
    assert reason(path).startswith("truncated")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_office_file_is_told(tmp_path, share):
    data = write_docx(tmp_path / "m.docx", manual_outline()).read_bytes()
    path = filled(tmp_path / "cut.docx", data[: int(len(data) * share)])
    assert reason(path).startswith("truncated")


def test_a_damaged_member_of_an_office_file_is_told(tmp_path):
    data = bytearray(write_docx(tmp_path / "m.docx", manual_outline()).read_bytes())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        at = archive.getinfo("word/document.xml").header_offset + 80
    data[at : at + 40] = bytes(40)
    assert "damaged" in reason(filled(tmp_path / "bad.docx", bytes(data)))


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\0" * 64, b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("name", ["m.txt", "m.pdf", "m.docx", "m.md", "m.html"])
def test_an_empty_file_is_told(tmp_path, name, data):
    assert reason(filled(tmp_path / name, data)).startswith("empty")


def test_documents_without_a_word_of_text_are_empty(tmp_path):
    openpyxl.Workbook().save(tmp_path / "m.xlsx")
    assert reason(tmp_path / "m.xlsx").startswith("empty")
    assert reason(filled(tmp_path / "m.html", b"<html><body><br></body></html>")).startswith(
        "empty"
    )
    assert reason(filled(tmp_path / "m.md", b"---\ntags: [a]\n---\n")).startswith("empty")


def test_a_scanned_pdf_says_what_to_do(tmp_path):
    canvas = Canvas(str(tmp_path / "m.pdf"))
    canvas.rect(100, 100, 300, 300, fill=1)
    canvas.save()
    assert reason(tmp_path / "m.pdf").startswith("scanned")
    assert "OCR" in reason(tmp_path / "m.pdf")


def test_a_file_over_the_limit_is_not_even_read(tmp_path):
    path = tmp_path / "m.txt"
    with path.open("wb") as file:
        file.truncate(200_000_000)  # a sparse file: its size is what counts
    assert reason(path) == "too large: 200.0 MB, the limit is 100.0 MB"
    assert reason(filled(tmp_path / "n.txt", b"x" * 11), max_bytes=10).startswith("too large")
    assert read_document(filled(tmp_path / "n.txt", b"x" * 10), max_bytes=10).sections


def test_a_zip_bomb_is_known_by_what_it_declares(tmp_path):
    bomb = rewrite_zip(docx_bytes(), {"word/media/image1.xml": b" " * 80_000_000})
    assert len(bomb) < 200_000
    assert reason(filled(tmp_path / "m.docx", bomb)).startswith("zip bomb")


def test_a_zip_bomb_that_declares_little_is_known_by_what_it_unpacks_to(tmp_path):
    name = b"word/document.xml"
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(b"<w>" + b" " * 30_000_000) + packer.flush()
    crc, size = zlib.crc32(b"<w>"), 3  # the lie
    head = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, crc, len(packed), size, len(name), 0)
    local = b"PK\x03\x04" + head + name
    central = b"PK\x01\x02" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, 0)
    end = b"PK\x05\x06" + struct.pack(
        "<HHHHIIH", 0, 0, 1, 1, len(central + name), len(local + packed), 0
    )
    path = filled(tmp_path / "m.docx", local + packed + central + name + end)
    assert reason(path) == "zip bomb or damaged: word/document.xml unpacks to more than it declares"


def test_an_archive_of_countless_members_is_a_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_MAX_MEMBERS", 5)
    assert reason(filled(tmp_path / "m.docx", docx_bytes())).startswith("zip bomb")


BOMBS = {
    "laughs": "<!DOCTYPE x [<!ENTITY a 'ja'><!ENTITY b '&a;&a;&a;'>]>",
    "external": "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>",
    "remote": "<!DOCTYPE x SYSTEM 'http://127.0.0.1:9/x.dtd'>",
    "after a comment": "<!-- " + "x" * 200_000 + " --><!DOCTYPE x [<!ENTITY a 'ja'>]>",
}


@pytest.mark.parametrize("kind", BOMBS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("member", ["word/document.xml", "word/styles.xml", "_rels/.rels"])
def test_xml_with_entities_in_an_office_file_is_refused_unexpanded(
    tmp_path, kind, encoding, member
):
    xml = f'<?xml version="1.0" encoding="{encoding}"?>{BOMBS[kind]}<x>&a;</x>'
    bomb = rewrite_zip(docx_bytes(), {member: xml.encode(encoding)})
    path = filled(tmp_path / "m.docx", bomb)
    assert reason(path).startswith(f"XML bomb: {member}")


@pytest.mark.parametrize("encoding", ["euc-jp", "utf-7", "nadie"])
def test_xml_in_an_encoding_that_hides_entities_is_refused(tmp_path, encoding):
    xml = f'<?xml version="1.0" encoding="{encoding}"?>{BOMBS["laughs"]}<x>&a;</x>'
    path = filled(
        tmp_path / "m.docx", rewrite_zip(docx_bytes(), {"word/document.xml": xml.encode()})
    )
    assert "word/document.xml" in reason(path)


def test_what_macs_add_to_an_archive_does_no_harm(tmp_path):
    data = rewrite_zip(
        docx_bytes(), {"__MACOSX/word/._document.xml": b"\0\5\x16\7\0\2\0\0Mac OS X"}
    )
    assert read_document(filled(tmp_path / "m.docx", data)).sections[0].text == "Hola."


def test_entities_in_html_reach_neither_files_nor_the_network(tmp_path):
    secret = filled(tmp_path / "secreto.txt", b"contenido secreto")
    page = (
        f'<!DOCTYPE html [<!ENTITY a SYSTEM "{secret.as_uri()}">]>'
        f'<html><base href="http://127.0.0.1:9/"><p>Hola &a;</p>'
        f'<iframe src="{secret.as_uri()}"></iframe></html>'
    )
    text = read_document(filled(tmp_path / "m.html", page.encode())).sections[0].text
    assert "Hola" in text
    assert "secreto" not in text.replace(secret.name, "")


@pytest.mark.parametrize("name", ["m.docx", "m.xlsx", "m.txt", "m.md", "m"])
def test_a_pdf_with_a_wrong_ending_is_read_as_a_pdf(tmp_path, name):
    data = pdf_with_text(tmp_path / "right.pdf").read_bytes()
    document = read_document(filled(tmp_path / name, data))
    assert (document.mime, document.sections[0].text) == ("application/pdf", "Hola.")


def test_wrong_endings_of_other_kinds_are_seen_through(tmp_path):
    assert "wordprocessing" in read_document(filled(tmp_path / "m.pdf", docx_bytes())).mime
    assert read_document(filled(tmp_path / "n.pdf", b"Hola a todos.")).mime == "text/plain"
    page = b"<!doctype html><h1>Hola</h1><p>a todos</p>"
    assert read_document(filled(tmp_path / "o.docx", page)).mime == "text/html"


@pytest.mark.parametrize("name", ["m.pdf", "m.txt", "m.docx", "m.md"])
def test_binary_data_is_no_document(tmp_path, name):
    data = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    assert reason(filled(tmp_path / name, data)).startswith("binary data")


def test_archives_that_are_no_office_files_are_told_apart(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("hola.txt", "hola")
    assert reason(filled(tmp_path / "m.docx", out.getvalue())).startswith("a zip archive, but no")
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("content.xml", "<x/>")
    assert reason(filled(tmp_path / "m.odt", out.getvalue())).startswith("an OpenDocument file")


def test_a_path_that_is_no_file_is_told(tmp_path):
    assert reason(tmp_path / "nada.txt") == "not found"
    assert reason(tmp_path) == "not a regular file"
    os.mkfifo(tmp_path / "tubo.txt")
    assert reason(tmp_path / "tubo.txt") == "not a regular file"


def test_a_file_without_the_right_to_read_it_is_told(tmp_path, monkeypatch):
    path = filled(tmp_path / "m.txt", b"Hola.")

    def refused(*_args: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)  # to the superuser no file is unreadable
    assert reason(path) == "unreadable: no right to read it"


def test_any_error_of_a_library_becomes_one_line(tmp_path):
    broken = rewrite_zip(docx_bytes(), {"word/document.xml": b"<w:document>"})
    assert reason(filled(tmp_path / "m.docx", broken)).startswith("damaged")
