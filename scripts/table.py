"""Print rows of metrics side by side: `table.py "name=metrics.json" ...`."""

import json
import sys
from pathlib import Path

COLUMNS = (("accuracy", "accuracy"), ("macro_f1", "macro F1"), ("expected_calibration_error", "calibration error"))


def cell(metrics: dict, name: str) -> str:
    """A value with its 95 % interval where there is one."""
    if metrics.get(name) is None:
        return "-"
    low_high = metrics.get("intervals", {}).get(name)
    return f"{metrics[name]:.3f}" + (f" ({low_high[0]:.3f} to {low_high[1]:.3f})" if low_high else "")


def main() -> None:
    """Read the files and print the table."""
    rows = []
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        metrics = json.loads(Path(path).read_text(encoding="utf-8"))
        rows.append([name, *(cell(metrics, key) for key, _ in COLUMNS), str(metrics.get("documents", "-"))])
    table = [["", *(title for _, title in COLUMNS), "documents"], *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
