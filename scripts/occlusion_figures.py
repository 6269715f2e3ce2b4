"""What evidence claims and what happens when the strongest passage is taken away, readout by readout.

python scripts/occlusion_figures.py --data train.jsonl.gz --test test.jsonl.gz --rows /tmp/rows

Every head learns on the same documents over the frozen default encoder; the documents of the test are explained.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

import longdoc
from longdoc.readers import load_labelled

READOUTS = {
    "vectors, mean": {"kind": "vectors", "merger": "mean"},
    "vectors, max": {"kind": "vectors", "merger": "max"},
    "vectors, attention": {"kind": "vectors", "merger": "attention"},
    "vectors, gated attention": {"kind": "vectors", "merger": "gated_attention"},
    "vectors, hierarchical": {"kind": "vectors", "merger": "hierarchical"},
    "logits, mean": {"kind": "logits", "merger": "mean"},
    "logits, max": {"kind": "logits", "merger": "max"},
    "logits, logsumexp": {"kind": "logits", "merger": "logsumexp"},
    "logits, noisy-or": {"kind": "logits", "merger": "noisy_or"},
    "label attention": {"kind": "label_attention"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--rows", required=True, help="a folder where rows of the frozen encoder are kept")
    parser.add_argument("--learned", type=int, default=48)
    parser.add_argument("--explained", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=40)
    given = parser.parse_args()
    documents = load_labelled([given.data])[: given.learned]
    asked = list(itertools.islice(load_labelled([given.test]), given.explained))
    print("| readout | scores | claimed | measured | off by half, nine tenths | held |\n" + "| --- " * 6 + "|")
    for name, readout in READOUTS.items():
        training = {"freeze": ["encoder"], "rows_folder": given.rows, "num_train_epochs": given.epochs}
        training |= {"head_learning_rate": 5e-3, "per_device_train_batch_size": 8, "seed": 0}
        model = {"task": "multi_label", "readout": readout}
        pipe = longdoc.train({"model": model, "training": training}, train_documents=documents)
        checks = [e.occlusion for d in asked for e in pipe.explain(d).evidence or () if e.occlusion is not None]
        claimed, measured, held = map(np.array, zip(*checks, strict=True))
        off = np.quantile(np.abs(claimed - measured) / np.abs(claimed), [0.5, 0.9])
        print(
            f"| {name} | {len(checks)} | {np.median(claimed):.2f} | {np.median(measured):.2f} | "
            f"{off[0]:.0%}, {off[1]:.0%} | {held.mean():.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
