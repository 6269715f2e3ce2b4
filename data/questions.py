"""Makes questions of labelled spans: for each document and each label one row with its question and right answers.

    python data/questions.py --data train.jsonl.gz --output train-questions.jsonl

This is how CUAD was published (Hendrycks et al. 2021, arXiv 2103.06268): every clause type is a question to the whole
contract, its clauses are the right answers, and a contract without such a clause has none. A corpus with `spans` in
longdoc's form ({"start", "end", "label"}) becomes one for `task: question_answering`; any span of the label will do as
an answer. Rows are in the order of the input, the labels of a document in the order of `--labels` (all that occur,
sorted). The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

QUESTION = 'Highlight the parts (if any) of this contract related to "{label}" that should be reviewed by a lawyer.'


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file, gzipped or not."""
    with _opened(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def questions_of(
    document: dict[str, Any], labels: Sequence[str], template: str = QUESTION, absent: bool = True
) -> Iterator[dict[str, Any]]:
    """The rows of one document.

    Args:
        document: `id`, `text`, `spans`, and `language` or `lang` if any.
        labels: one question each.
        template: the question, with `{label}` in it.
        absent: also those that the document has no span of.
    """
    for label in labels:
        places = sorted({(span["start"], span["end"]) for span in document["spans"] if span["label"] == label})
        if places or absent:
            yield {
                "id": f"{document['id']}/{label}",
                "text": document["text"],
                "question": template.format(label=label),
                "answers": [{"start": start, "end": end} for start, end in places],
                "language": document.get("language") or document.get("lang"),
                "label_asked": label,
            }


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="JSON Lines with spans, .gz or not")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    parser.add_argument("--labels", nargs="*", help="ask for these alone")
    parser.add_argument("--question", default=QUESTION, help="the question, with {label} in it")
    parser.add_argument("--longest", type=int, help="leave out documents of more characters")
    parser.add_argument("--documents", type=int, help="take so many documents at most, the first ones")
    parser.add_argument("--only-present", action="store_true", help="leave out questions that have no answer")
    options = parser.parse_args(arguments)
    if "{label}" not in options.question:
        parser.error("--question must have {label} in it, but has not.")
    documents = read_rows(options.data)
    known = sorted({span["label"] for document in documents for span in document["spans"]})
    labels = options.labels or known
    if unknown := sorted(set(labels) - set(known)):
        parser.error(f"--labels must name labels of the data, but {len(unknown)} are none: {', '.join(unknown)}.")
    kept = [d for d in documents if options.longest is None or len(d["text"]) <= options.longest]
    rows = [
        row
        for document in kept[: options.documents]
        for row in questions_of(document, labels, options.question, not options.only_present)
    ]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    answered = sum(bool(row["answers"]) for row in rows)
    print(f"{len(rows)} questions about {len(kept[: options.documents])} documents, {answered} with an answer")


def _opened(path: Path) -> TextIO:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


if __name__ == "__main__":
    main()
