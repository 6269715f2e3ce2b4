"""What every reader keeps, enumerated over `READERS`: a new reader needs one entry in `SAMPLES` and nothing else."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from docx_kit import docx, paragraph
from longdoc.errors import DataError
from longdoc.readers import READERS, ReadConfig, Source, find_sources, read_documents, read_source, source_digest
from longdoc.types import Document, DocumentFailure, Record
from pdf_kit import pdf
from reader_kit import documents_of, failures_of, write

Texts = list[str | None]


def write_text(folder: Path, texts: Texts, suffix: str) -> Path:
    data = (texts[0] or "").encode("utf-8")
    return write(folder / f"in{suffix}", gzip.compress(data) if suffix.endswith(".gz") else data)


def write_word(folder: Path, texts: Texts, suffix: str) -> Path:
    return write(folder / f"in{suffix}", docx(paragraph(escape(texts[0] or ""))))


def write_pdf(folder: Path, texts: Texts, suffix: str) -> Path:
    return write(folder / f"in{suffix}", pdf([texts[0] or ""]))


def write_html(folder: Path, texts: Texts, suffix: str) -> Path:
    page = f"<!doctype html><title>t</title><p>{escape(texts[0] or '')}</p>"
    return write(folder / f"in{suffix}", compressed(page.encode("utf-8"), suffix))


def write_email(folder: Path, texts: Texts, suffix: str) -> Path:
    message = EmailMessage()
    message["Subject"] = "s"
    message.set_content(texts[0] or "")
    return write(folder / f"in{suffix}", compressed(message.as_bytes(), suffix))


def write_xml(folder: Path, texts: Texts, suffix: str) -> Path:
    page = f"<page><p>{escape(texts[0] or '')}</p></page>"
    return write(folder / f"in{suffix}", compressed(page.encode("utf-8"), suffix))


def write_jsonl(folder: Path, texts: Texts, suffix: str) -> Path:
    lines = "".join(json.dumps({"id": f"i{n}", "text": text}) + "\n\n" for n, text in enumerate(texts))
    return write(folder / f"in{suffix}", compressed(lines.rstrip("\n").encode("utf-8"), suffix))


def write_csv(folder: Path, texts: Texts, suffix: str) -> Path:
    out = io.StringIO(newline="")
    rows = csv.writer(out, delimiter="\t" if ".tsv" in suffix else ",")
    rows.writerow(["id", "text"])
    for number, text in enumerate(texts):
        rows.writerow([f"i{number}"] if text is None else [f"i{number}", text])
    return write(folder / f"in{suffix}", compressed(out.getvalue().removesuffix("\r\n").encode("utf-8"), suffix))


def write_parquet(folder: Path, texts: Texts, suffix: str) -> Path:
    pq.write_table(table_of(texts), folder / f"in{suffix}", row_group_size=7)
    return folder / f"in{suffix}"


def write_arrow(folder: Path, texts: Texts, suffix: str) -> Path:
    table = table_of(texts)
    with pa.OSFile(str(folder / f"in{suffix}"), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=11)
    return folder / f"in{suffix}"


def write_dataset(folder: Path, texts: Texts, suffix: str) -> Path:
    from datasets import Dataset

    Dataset(table_of(texts)).save_to_disk(folder / "in", num_shards=min(2, len(texts)))
    return folder / "in"


def table_of(texts: Texts) -> pa.Table:
    return pa.table({"id": [f"i{number}" for number in range(len(texts))], "text": pa.array(texts, pa.string())})


def compressed(data: bytes, suffix: str) -> bytes:
    if suffix.endswith(".gz"):
        return gzip.compress(data)
    return zstandard.compress(data) if suffix.endswith(".zst") else data


@dataclass(frozen=True)
class Sample:
    """How to make an input for a reader. A text of None is a record that is bad in that format.

    `many`: whether one source holds many documents.  `line`: the line or row of document number n.  `encoded`:
    whether a file of the format can be in one encoding or another.
    """

    write: Callable[[Path, Texts, str], Path]
    many: bool = True
    line: Callable[[int], int] = lambda number: number + 1
    encoded: bool = True


SAMPLES = {
    "text": Sample(write_text, many=False, line=lambda number: 0),
    "Word": Sample(write_word, many=False, line=lambda number: 0, encoded=False),
    "PDF": Sample(write_pdf, many=False, line=lambda number: 0, encoded=False),
    "HTML": Sample(write_html, many=False, line=lambda number: 0),
    "e-mail": Sample(write_email, many=False, line=lambda number: 0),
    "XML": Sample(write_xml, many=False, line=lambda number: 0),
    "JSON Lines": Sample(write_jsonl, line=lambda number: 2 * number + 1),
    "CSV": Sample(write_csv, line=lambda number: number + 2),
    "Parquet": Sample(write_parquet),
    "Arrow": Sample(write_arrow),
    "datasets folder": Sample(write_dataset),
    "hub dataset": Sample(write_dataset),  # offline the library loads the same folder, see `kind`
}
KINDS = [(reader.name, suffix) for reader in READERS for suffix in reader.suffixes or ("",)]


@dataclass
class Kind:
    """One reader with one suffix, in a folder of its own."""

    sample: Sample
    suffix: str
    folder: Path
    hub: bool

    def source(self, texts: Texts) -> Source:
        path = self.sample.write(self.folder, texts if self.sample.many else texts[:1], self.suffix)
        (source,) = find_sources(["hf:org/in" if self.hub else path])
        return source


@pytest.fixture(params=KINDS, ids=[f"{name}{suffix}" for name, suffix in KINDS])
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kind]:
    name, suffix = request.param
    if name == "hub dataset":
        import datasets

        from longdoc.readers.dataset_folder import _load_from_hub

        def load(identifier: str) -> object:
            return datasets.DatasetDict(train=datasets.load_from_disk(str(tmp_path / identifier.split("/")[1])))

        monkeypatch.setattr(datasets, "load_dataset", load)
        _load_from_hub.cache_clear()
    yield Kind(SAMPLES[name], suffix, tmp_path, name == "hub dataset")
    if name == "hub dataset":
        _load_from_hub.cache_clear()


def test_every_reader_has_a_sample() -> None:
    assert set(SAMPLES) == {reader.name for reader in READERS}


def test_no_two_readers_open_one_name() -> None:
    for _, suffix in KINDS:
        assert sum(reader.opens(Path(f"in{suffix}")) for reader in READERS if suffix) == bool(suffix)


TEXTS: Texts = ["plain", "für 😀\r\n", "", None, "two\nlines", 'a "quote", a comma', " \t ", None, "end"] * 4


def test_records_come_in_order_with_right_places_and_ids(kind: Kind) -> None:
    source = kind.source(["a", "b", None, "c"])
    records = list(read_source(source))
    assert [record.place.line for record in records] == [kind.sample.line(number) for number in range(len(records))]
    assert {record.place.path for record in records} == {source.name}
    if kind.sample.many:
        assert [document.text for document in documents_of(records)] == ["a", "b", "c"]
        assert [document.id for document in documents_of(records)] == ["i0", "i1", "i3"]
        names = {"i2", f"{source.name}:{kind.sample.line(2)}"}  # its own id, where the format can still tell it
        assert all(failure.id in names for failure in failures_of(records))
        assert len(failures_of(records)) == 1
        assert not any(record.ends_early for record in records)
    else:
        assert [document.id for document in documents_of(records)] == [source.name]


def test_texts_are_not_changed(kind: Kind) -> None:
    expected = [text for text in TEXTS if text is not None]
    documents = documents_of(list(read_source(kind.source(TEXTS))))
    assert [document.text for document in documents] == (expected if kind.sample.many else expected[:1])


def test_every_cursor_gives_the_same_rest(kind: Kind) -> None:
    source = kind.source(TEXTS)
    records = list(read_source(source))
    assert records
    for index, record in enumerate(records):
        assert list(read_source(source, cursor=record.cursor)) == records[index:]
    assert len({record.cursor for record in records}) == len(records)
    assert sorted(record.cursor for record in records) == [record.cursor for record in records]


def test_two_readings_and_two_at_once_are_the_same(kind: Kind) -> None:
    source = kind.source(TEXTS)
    pairs = list(zip(read_source(source), read_source(source), strict=True))
    assert all(left == right for left, right in pairs)


def test_meta_says_how_the_text_was_decoded_and_can_be_written_down(kind: Kind) -> None:
    for document in documents_of(list(read_source(kind.source(TEXTS)))):
        assert document.meta.get("encoding") == ("utf-8" if kind.sample.encoded else None)
        json.dumps(dict(document.meta), allow_nan=False)


def test_a_source_is_unchanged_by_reading_and_its_digest_follows_the_content(kind: Kind) -> None:
    source = kind.source(["one", "two"])
    before = source_digest(source)
    assert len(before) == 64
    list(read_source(source))
    assert source_digest(source) == before
    if kind.hub:
        return  # its files lie where the library keeps them
    if source.path.is_dir():
        shutil.rmtree(source.path)
    assert source_digest(kind.source(["one!", "two!"])) != before


def test_memory_does_not_grow_with_the_number_of_records(kind: Kind) -> None:
    if not kind.sample.many:
        assert len(list(read_source(kind.source(["x"])))) == 1
        return
    size = 20_000
    source = kind.source([f"{number:>{size}}" for number in range(1500)])  # 30 MB in all
    arrow = 0
    lengths = set()
    tracemalloc.start()
    try:
        for record in read_source(source):
            assert isinstance(record.document, Document)
            lengths.add(len(record.document.text))
            arrow = max(arrow, pa.total_allocated_bytes())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lengths == {size}
    assert peak + arrow < 10 << 20


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("damage", ["cut", "zeros", "ones"])
def test_damage_is_a_failure_or_a_refusal_and_never_an_exception(kind: Kind, keep: float, damage: str) -> None:
    source = kind.source([f"text {number} " * 20 for number in range(60)])
    if kind.hub:
        return  # reading the library's own files is the library's matter
    path = sorted(source.path.glob("*.arrow"))[0] if source.path.is_dir() else source.path
    data = path.read_bytes()
    middle = int(keep * len(data))
    broken = {"cut": b"", "zeros": b"\0" * 16 + data[middle + 16 :], "ones": b"\xff" * 16 + data[middle + 16 :]}[damage]
    path.write_bytes(data[:middle] + broken)
    records: list[Record] = []
    with suppress(DataError):  # the damage may have hit the name of the text column
        records.extend(read_source(source))
    assert all(isinstance(record.document, (Document, DocumentFailure)) for record in records)
    for index, record in enumerate(records):
        assert list(read_source(source, cursor=record.cursor)) == records[index:]


def test_a_folder_of_all_formats_is_read_in_one_go(tmp_path: Path) -> None:
    for name, suffix in KINDS:
        if suffix:
            SAMPLES[name].write(write(tmp_path / f"{name}{suffix}" / ".keep", "").parent, ["one", "two"], suffix)
    texts = [document.text for document in documents_of(list(read_documents([tmp_path], ReadConfig())))]
    singles = sum(not SAMPLES[name].many for name, suffix in KINDS if suffix)
    plurals = sum(SAMPLES[name].many for name, suffix in KINDS if suffix)
    assert sorted(texts) == ["one"] * (singles + plurals) + ["two"] * plurals
