"""Batch prediction in a few lines of Python: `predict.py MODEL FILE_OR_FOLDER ... > answers.jsonl`."""

import json
import sys

import longdoc
from longdoc.readers import read_documents


def main() -> None:
    """One JSON line a document, in input order; failures are lines too."""
    if len(sys.argv) < 3:
        sys.exit("usage: predict.py MODEL FILE_OR_FOLDER ...")
    pipe = longdoc.Pipeline.load(sys.argv[1])
    for result in pipe.stream(record.document for record in read_documents(sys.argv[2:])):
        print(json.dumps(result.to_dict(), ensure_ascii=False))


if __name__ == "__main__":
    main()
