"""Small PDF files written by hand."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["pdf"]


def pdf(pages: Sequence[str], trailer: str = "", title: str = "") -> bytes:
    """A file whose pages hold the lines of `pages` (ASCII) in Helvetica; an empty string is a page with a drawing."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>"
        )
        shown = "\n".join(f"({_escaped(line)}) Tj T*" for line in page.split("\n"))
        content = f"BT /F1 12 Tf 72 720 Td 14 TL\n{shown}\nET" if page else "72 72 100 100 re f"
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({_escaped(title)}) >>")
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = len(out)
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{rows}".encode("ascii")
    out += f"trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R {trailer} >>\n".encode("ascii")
    return bytes(out + f"startxref\n{table}\n%%EOF\n".encode("ascii"))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
