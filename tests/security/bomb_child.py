"""Reads a folder, and prints the outcome of each file and the most memory that this process has had, in bytes."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from longdoc.readers import read_documents
from longdoc.types import Document


def main() -> None:
    found = {}
    for record in read_documents([sys.argv[1]]):
        document = record.document
        found[document.id] = "ok" if isinstance(document, Document) else document.reason
    print(json.dumps({"found": found, "peak": peak()}))


def peak() -> int:
    """Linux counts to `ru_maxrss` what the process was that started this one; `VmHWM` is its own."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
