"""Measures the yardstick on a built corpus: TF-IDF and logistic regression, on whole texts and on their first words.

    python data/baseline.py --data data/built/licences --output runs/tfidf

Writes `metrics.json` (whole texts) and `metrics-head.json` (the first 510 words), as `longdoc evaluate` does.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from longdoc.readers import load_labelled
from longdoc.study.baseline import HEAD_WORDS, tfidf_baseline


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with train.jsonl and test.jsonl")
    parser.add_argument("--split", default="test", help="which part to measure on; default: test")
    parser.add_argument("--output", type=Path, required=True, help="the folder for the metrics")
    options = parser.parse_args()
    train, test = (load_labelled([options.data / f"{split}.jsonl"]) for split in ("train", options.split))
    options.output.mkdir(parents=True, exist_ok=True)
    for name, head_words in (("metrics", None), ("metrics-head", HEAD_WORDS)):
        metrics = tfidf_baseline(train, test, head_words)
        text = json.dumps(metrics, indent=2, ensure_ascii=False)
        (options.output / f"{name}.json").write_text(text + "\n", "utf-8")
        view = "whole texts" if head_words is None else f"first {head_words} words"
        print(f"{view}: accuracy {metrics['accuracy']:.3f}, macro F1 {metrics['macro_f1']:.3f}")


if __name__ == "__main__":
    main()
