"""CSV: cells, headers, delimiters, quotes."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longdoc.errors import DataError
from longdoc.readers import find_sources, read_source
from longdoc.types import LabelledSpan
from reader_kit import QUICK, documents_of, failed_lines, failures_of, records_of, write

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


def table(rows: list[list[str]], delimiter: str = ",", lineterminator: str = "\r\n") -> str:
    out = io.StringIO(newline="")
    quoting = csv.QUOTE_MINIMAL if lineterminator == "\r\n" else csv.QUOTE_ALL  # else it leaves a lone CR bare
    csv.writer(out, delimiter=delimiter, lineterminator=lineterminator, quoting=quoting).writerows(rows)
    return out.getvalue()


@QUICK
@given(st.lists(st.tuples(CELLS, CELLS), max_size=5), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]))
def test_texts_come_back_whatever_they_hold(rows: list[tuple[str, str]], delimiter: str, ending: str) -> None:
    content = table([["note", "text", "n"], *([a, b, "1"] for a, b in rows)], delimiter, ending)
    with tempfile.TemporaryDirectory() as folder:
        records = records_of(write(Path(folder) / "in.csv", content))
    assert [document.text for document in documents_of(records)] == [text for _, text in rows]
    assert [document.meta["note"] for document in documents_of(records)] == [note for note, _ in rows]
    assert not failures_of(records)


def test_places_are_physical_lines(tmp_path: Path) -> None:
    records = records_of(write(tmp_path / "in.csv", 'id,text\na,"one\ntwo\n\nthree"\n\nb,x\n"c","y"\n'))
    assert [(document.id, document.text) for document in documents_of(records)] == [
        ("a", "one\ntwo\n\nthree"),
        ("b", "x"),
        ("c", "y"),
    ]
    assert [record.place.line for record in records] == [2, 7, 8]


def test_every_field_finds_its_place(tmp_path: Path) -> None:
    content = (
        "id,text,label,labels,target,spans,language,note\n"
        '007,Ada came.,letter,"[""b"", ""a""]",3.5,"[{""start"": 0, ""end"": 3, ""label"": ""person""}]",en,n\n'
        ",x,,,,,,\n"
    )
    first, second = documents_of(records_of(write(tmp_path / "in.csv", content)))
    assert (first.id, first.label, first.labels, first.target, first.language) == (
        "007",
        "letter",
        ("b", "a"),
        3.5,
        "en",
    )
    assert first.spans == (LabelledSpan(0, 3, "person"),)
    assert first.meta["note"] == "n"
    assert (second.id, second.label, second.labels) == ("in.csv:3", None, None)
    assert (second.target, second.spans, second.language) == (None, None, None)


@pytest.mark.parametrize(
    ("header", "cell", "detail"),
    [
        ("labels", "b;a", "`labels` is not valid JSON at character 0."),
        ("labels", '"{""a"": 1}"', "`labels` must be a list of strings, but is an object instead."),
        ("target", "three", "`target` must be a number, but is a string instead."),
        ("target", "1_0", "`target` must be a number, but is a string instead."),
        ("target", "nan", "`target` must be a finite number, but is not."),
        ("spans", '"[{""start"": 2}]"', "`spans[0].end` must be an integer, but is null instead."),
    ],
)
def test_a_bad_cell_beside_the_text_leaves_the_text_without_it(
    tmp_path: Path, header: str, cell: str, detail: str
) -> None:
    records = records_of(write(tmp_path / "in.csv", f"text,{header}\nbefore,\nx,{cell}\nafter,\n"))
    assert [document.text for document in documents_of(records)] == ["before", "x", "after"]
    assert [getattr(document, header) for document in documents_of(records)] == [None] * 3
    assert [record.gold_fault for record in records] == ["", detail, ""]


def test_the_given_delimiter_and_the_name_of_the_file_come_before_finding_out(tmp_path: Path) -> None:
    content = "id:text\na:b,c\n"
    (document,) = documents_of(records_of(write(tmp_path / "in.csv", content), delimiter=":"))
    assert (document.id, document.text) == ("a", "b,c")
    (document,) = documents_of(records_of(write(tmp_path / "in.tsv", "id\ttext\na\tb,c\n")))
    assert (document.id, document.text) == ("a", "b,c")


def test_a_file_of_one_column_is_not_cut_at_other_signs(tmp_path: Path) -> None:
    records = records_of(write(tmp_path / "in.csv", "text\na;b|c\n\nlast"))
    assert [document.text for document in documents_of(records)] == ["a;b|c", "", "last"]


@pytest.mark.parametrize("content", ["", "\n\n", "id,text\n", "id,text"])
def test_no_rows_are_no_records(tmp_path: Path, content: str) -> None:
    assert records_of(write(tmp_path / "in.csv", content)) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,text,text\n1,a,b\n",
            "The column `text` occurs twice in in.csv. Rename one of the two, so that it is clear which one is meant.",
        ),
        (
            "doc,body,Label Name\n1,a,b\n",
            "in.csv has no column `text`. Columns found: `doc`, `body` and 1 more column whose name is not shown, "
            "since it may be text (the first row may be no header). "
            "Name the column that holds the documents in `read.fields.text`.",
        ),
        (
            "1,The patient Ada Poe was seen today,A\n",
            "in.csv has no column `text`. Its first line has 3 cells that do not look like names of columns: "
            "is there a header line, and is `read.delimiter` right? "
            "Name the column that holds the documents in `read.fields.text`.",
        ),
        (
            "Anna Mueller,HIV positive\nBert Maier,HIV negative\n",
            "in.csv has no column `text`. Columns found: 2 columns whose names are not shown, since they may be text "
            "(the first row may be no header). Name the column that holds the documents in `read.fields.text`.",
        ),
        (
            "Ada Poe,text,Ada Poe\n",
            "The column number 3 occurs twice in in.csv. "
            "Rename one of the two, so that it is clear which one is meant.",
        ),
        (
            "7,Ada Poe,Ada Poe\n",
            "The column number 3 occurs twice in in.csv. "
            "Rename one of the two, so that it is clear which one is meant.",
        ),
    ],
)
def test_a_header_that_cannot_be_right_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError) as refused:
        records_of(write(tmp_path / "in.csv", content))
    assert str(refused.value) == message
    assert refused.value.__context__ is None


def test_empty_names_may_repeat_as_tables_with_an_index_have_them(tmp_path: Path) -> None:
    (document,) = documents_of(records_of(write(tmp_path / "in.csv", ",text,\n0,a,\n")))
    assert document.text == "a"


class TestQuotes:
    """A stray quote costs its own row, or says that it costs the rest; it never swallows rows unseen."""

    def read(self, tmp_path: Path, content: str) -> tuple[list[str], list[int], list[str]]:
        records = records_of(write(tmp_path / "in.csv", content))
        ids = [document.id for document in documents_of(records)]
        return ids, failed_lines(records), [failure.detail for failure in failures_of(records)]

    def test_never_closed(self, tmp_path: Path) -> None:
        ids, lines, details = self.read(tmp_path, 'id,text\n1,a\n2,"b\n3,c\n\n4,d\n')
        assert (ids, lines) == (["1", "3", "4"], [3])
        assert details == [
            "The row that begins on line 3 has a quote that is not closed or not doubled, or a carriage return outside "
            "quotes."
        ]

    def test_never_closed_on_the_last_line(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, 'id,text\n1,a\n2,"b')[:2] == (["1"], [3])

    def test_closed_by_a_quote_of_a_later_row(self, tmp_path: Path) -> None:
        ids, lines, _ = self.read(tmp_path, 'id,text\n1,a\n2,"b\n3,c\n4,"d"\n5,"e\nf"\n6,g\n')
        assert (ids, lines) == (["1", "3", "4", "5", "6"], [3])

    def test_closed_by_the_last_quote_of_a_later_row_with_too_many_cells(self, tmp_path: Path) -> None:
        ids, lines, details = self.read(tmp_path, 'id,text,n\n1,"b,x\n2,c,x\n3,d,x\n4,"e",x\n')
        assert (ids, lines) == (["2", "3", "4"], [2])
        assert details[0].startswith("The row that begins on line 2 has a quote")

    def test_a_carriage_return_outside_quotes(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, "id,text\n1,a\rb\n2,c\n")[:2] == (["2"], [2])

    def test_not_doubled_inside_one_line(self, tmp_path: Path) -> None:
        content = 'id,text\n1,"he said "no" twice"\n2,b\n3,"5\'10" tall"\n4,d\n'
        assert self.read(tmp_path, content)[:2] == (["2", "4"], [2, 4])

    def test_not_doubled_in_a_text_of_several_lines(self, tmp_path: Path) -> None:
        content = 'id,text\n1,a\n2,"first\nsecond "x" y\nthird, with a comma\nend"\n3,c\n'
        ids, lines, details = self.read(tmp_path, content)
        assert (ids, lines) == (["1"], [3])
        assert details == [
            "The row that begins on line 3 has a quote that is not closed or not doubled, or a carriage return outside "
            "quotes. The rows after it cannot be told apart from its text and are not read."
        ]

    def test_closed_by_chance_with_the_wrong_number_of_cells(self, tmp_path: Path) -> None:
        content = 'id,text,n\n1,a,x\n2,"b\n3,c,x\n4,d,x\n5,"e",x\n'
        assert self.read(tmp_path, content)[:2] == (["1", "3", "4", "5"], [3])

    def test_a_good_text_of_several_lines_that_look_like_rows_stays_whole(self, tmp_path: Path) -> None:
        records = records_of(write(tmp_path / "in.csv", 'id,text\n1,"a\n2,b\n3,c"\n4,d\n'))
        assert [document.text for document in documents_of(records)] == ["a\n2,b\n3,c", "d"]

    def test_a_quote_left_open_in_front_of_a_large_rest(self, tmp_path: Path) -> None:
        rows = "".join(f"{number},{'x' * 50}\n" for number in range(21_000))
        records = records_of(write(tmp_path / "in.csv", f'id,text\nbad,"x\n{rows}'), max_bytes=100)
        assert failed_lines(records) == [2]
        assert len(documents_of(records)) == 21_000
        assert failures_of(records)[0].reason == "too_large"

    @QUICK
    @given(st.text('a,"\n', max_size=40))
    def test_any_row_of_quotes_ends(self, rest: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder) / "in.csv", f"id,text\n1,first\n{rest}")
            records = records_of(path)
            assert records[0].document.id == "1"
            for index, record in enumerate(records):
                assert records_of(path, cursor=record.cursor) == records[index:]


def test_cells_over_the_limit_of_the_csv_module_are_read_and_the_limit_is_put_back(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = write(tmp_path / "in.csv", f"id,text\na,{'x' * 200_000}\nb,y\n")
    assert [len(document.text) for document in documents_of(records_of(path))] == [200_000, 1]
    assert csv.field_size_limit() == before


def test_the_limit_is_put_back_when_the_last_of_several_readings_ends(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    (source,) = find_sources([write(tmp_path / "in.csv", "id,text\na,x\nb,y\n")])
    first, second = read_source(source), read_source(source)
    next(first)
    next(second)
    first.close()
    assert csv.field_size_limit() > before
    second.close()
    assert csv.field_size_limit() == before


def test_a_row_of_another_width_says_so(tmp_path: Path) -> None:
    records = records_of(write(tmp_path / "in.csv", 'id,text\na,b,c\n"d\ne"\nf,g\n'))
    assert [document.id for document in documents_of(records)] == ["f"]
    assert [failure.detail for failure in failures_of(records)] == [
        "Line 2 must have 2 cells, as the header has, but has 3 instead.",
        "The row from line 3 to 4 must have 2 cells, as the header has, but has 1 instead.",
    ]


def test_damage_is_found_in_its_place_also_where_an_encoding_is_given(tmp_path: Path) -> None:
    rows = "".join(f"{number},text number {number}\n" for number in range(30_000))
    data = gzip.compress(f"id,text\n{rows}".encode())
    records = records_of(write(tmp_path / "in.csv.gz", data[: len(data) // 2]), encoding="cp1252")
    assert len(documents_of(records)) > 5000
    assert failed_lines(records) == [len(records) + 1]


def test_a_legacy_encoding_is_guessed_from_enough_text(tmp_path: Path) -> None:
    rows = [["id", "text"]] + [[str(n), "El niño acudió según su médico; la exploración fue rápida"] for n in range(20)]
    path = write(tmp_path / "in.csv", table(rows, ";").encode("cp1252"))
    documents = documents_of(records_of(path))
    assert {document.text for document in documents} == {rows[1][1]}
    assert documents[0].meta["encoding_source"] == "guessed"


def test_only_a_row_of_the_right_width_has_an_id_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "id,text\nP1,x\nP2\nP3,y,z\nP4,w\n")
    records = records_of(path)
    assert [document.id for document in documents_of(records)] == ["P1", "P4"]
    assert [failure.id for failure in failures_of(records)] == ["in.csv:3", "in.csv:4"]
    too_long = records_of(write(tmp_path / "long.csv", f"id,text\nP1,{'x' * 101}\n"), max_bytes=100)
    assert [failure.id for failure in failures_of(too_long)] == ["P1"]


def test_a_quote_that_swallows_the_rest_ends_the_file_early(tmp_path: Path) -> None:
    lost = records_of(write(tmp_path / "lost.csv", 'id,text\n1,a\n2,"b\nc\nd\n'))
    assert [record.ends_early for record in lost] == [False, True]
    kept = records_of(write(tmp_path / "kept.csv", 'id,text\n1,a\n2,"b\n3,c\n'))
    assert not any(record.ends_early for record in kept)
    assert [document.id for document in documents_of(kept)] == ["1", "3"]
