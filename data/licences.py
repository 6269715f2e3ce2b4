"""Makes a labelled corpus of long legal texts from the installed package `licensedcode-data` (ScanCode's licences).

    python data/licences.py                        # everything: data/built/licences
    python data/licences.py --subset 600           # a smaller part with the same shape: data/built/licences-600

Task: which of ScanCode's categories a licence text belongs to. Rules, in order:

1. Texts that ScanCode marks deprecated, generic or unknown, and empty ones, are dropped.
2. A category is a label if at least `MINIMUM_MEMBERS` texts are left in it.
3. Texts whose sets of 5-word shingles have Jaccard similarity >= 0.6 are one family (computed exactly, transitively).
4. A family goes as a whole into train, validation or test, by a hash of its first key: 70, 10 and 20 per cent.
5. `--subset N` takes N texts in all: splits and labels keep their shares (at least two of each label in each split, as
   far as there are any), and within a split and label every n-th text in order of length, both ends included.

The same package gives the same bytes. A folder that was made by the same recipe is left as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml

HERE = Path(__file__).resolve().parent
SPLITS = {"train": 0.70, "validation": 0.10, "test": 0.20}
MINIMUM_MEMBERS = 30
SHINGLE_WORDS = 5
SAME_FAMILY = 0.6
DROPPED_FLAGS = ("is_deprecated", "is_generic", "is_unknown")


@dataclass(frozen=True)
class Licence:
    """One text with its category; the fields are those of a line in the written files."""

    id: str
    text: str
    label: str
    language: str
    name: str
    spdx: str
    exception: bool
    family: str = ""

    @property
    def words(self) -> int:
        return len(self.text.split())


def licence_folder() -> Path:
    """Where the installed package keeps its texts."""
    spec = importlib.util.find_spec("licensedcode")
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location) / "data" / "licenses"
        if folder.is_dir():
            return folder
    raise SystemExit("The package `licensedcode-data` is not installed. Install it: pip install 'longdoc[demo]'")


def read_licences(folder: Path) -> tuple[list[Licence], Counter[str]]:
    """The usable texts of a folder of `*.LICENSE` files in order of their keys, and how many were dropped for what."""
    licences, dropped = [], Counter[str]()
    for path in sorted(folder.glob("*.LICENSE")):
        parts = re.split(r"^---[ \t]*$\n?", path.read_text("utf-8"), maxsplit=2, flags=re.MULTILINE)
        if len(parts) != 3 or parts[0].strip():
            raise SystemExit(f"{path.name} must begin with a block of YAML between two lines `---`, but does not.")
        about, text = yaml.safe_load(parts[1]), parts[2].strip("\n")
        reason = next((flag for flag in DROPPED_FLAGS if about.get(flag)), None if text.strip() else "empty")
        if reason:
            dropped[reason] += 1
            continue
        licences.append(
            Licence(
                id=path.stem,
                text=text,
                label=str(about["category"]),
                language=str(about.get("language", "en")),
                name=str(about["name"]),
                spdx=str(about.get("spdx_license_key", "")),
                exception=bool(about.get("is_exception")),
            )
        )
    return licences, dropped


def keep_large_labels(licences: Sequence[Licence], minimum: int = MINIMUM_MEMBERS) -> list[Licence]:
    """Without the texts of labels that have too few members to be learned and measured."""
    members = Counter(licence.label for licence in licences)
    return [licence for licence in licences if members[licence.label] >= minimum]


def find_families(texts: Sequence[str], threshold: float = SAME_FAMILY) -> list[int]:
    """A family number for each text: texts with Jaccard similarity >= threshold of their word shingles share one."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    numbers: dict[tuple[str, ...], int] = {}
    rows, columns, sizes = [], [], []
    for row, text in enumerate(texts):
        words = re.findall(r"\w+", text.lower())
        starts = range(max(1, len(words) - SHINGLE_WORDS + 1))
        shingles = {tuple(words[start : start + SHINGLE_WORDS]) for start in starts}
        sizes.append(len(shingles))
        for shingle in shingles:
            rows.append(row)
            columns.append(numbers.setdefault(shingle, len(numbers)))
    incidence = csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), shape=(len(texts), len(numbers)))
    shared = (incidence @ incidence.T).tocoo()
    union = np.take(sizes, shared.row) + np.take(sizes, shared.col) - shared.data
    alike = shared.data >= threshold * union
    graph = csr_matrix((alike[alike], (shared.row[alike], shared.col[alike])), shape=(len(texts), len(texts)))
    return [int(number) for number in connected_components(graph, directed=False)[1]]


def name_families(licences: Sequence[Licence]) -> list[Licence]:
    """Each text with the name of its family: the first key, in order, of its members."""
    numbers = find_families([licence.text for licence in licences])
    names: dict[int, str] = {}
    for licence, number in zip(licences, numbers, strict=True):
        names[number] = min(licence.id, names.get(number, licence.id))
    return [
        Licence(**{**asdict(licence), "family": names[number]})
        for licence, number in zip(licences, numbers, strict=True)
    ]


def split_of(family: str) -> str:
    """The split of a family: a hash of its name, cut at the shares of `SPLITS`."""
    position = int.from_bytes(hashlib.sha256(family.encode()).digest()[:8], "big") / 2**64
    for split, share in SPLITS.items():
        if position < share:
            return split
        position -= share
    return list(SPLITS)[-1]


def take_subset(splits: dict[str, list[Licence]], total: int) -> dict[str, list[Licence]]:
    """`total` texts of all splits together, by rule 5 above."""
    cells: dict[tuple[str, str], list[Licence]] = defaultdict(list)
    for split, licences in splits.items():
        for licence in licences:
            cells[split, licence.label].append(licence)
    available = {cell: len(licences) for cell, licences in cells.items()}
    quotas = share_out(min(total, sum(available.values())), available, floor=2)
    subset: dict[str, list[Licence]] = {split: [] for split in splits}
    for (split, label), licences in cells.items():
        by_length = sorted(licences, key=lambda licence: (licence.words, licence.id))
        ranks = np.linspace(0, len(by_length) - 1, quotas[split, label]).round().astype(int)
        subset[split] += [by_length[rank] for rank in ranks]
    return {split: sorted(licences, key=lambda licence: licence.id) for split, licences in subset.items()}


def share_out(total: int, available: dict[tuple[str, str], int], floor: int) -> dict[tuple[str, str], int]:
    """`total` divided in proportion to `available`, with at least `floor` each where there are that many."""
    everything = sum(available.values())
    exact = {cell: total * count / everything for cell, count in available.items()}
    quotas = {cell: min(count, max(floor, int(exact[cell]))) for cell, count in available.items()}
    while (missing := total - sum(quotas.values())) != 0:
        step = 1 if missing > 0 else -1
        free = [
            cell
            for cell, quota in quotas.items()
            if (quota < available[cell] if step > 0 else quota > min(floor, available[cell]))
        ]
        if not free:
            raise SystemExit(f"`--subset` must be at least {sum(quotas.values())}, but is {total} instead.")
        quotas[max(free, key=lambda cell: (step * (exact[cell] - quotas[cell]), cell))] += step
    return quotas


def describe(licences: Sequence[Licence]) -> dict[str, object]:
    """Counts and lengths of a split, in words, which need no tokenizer."""
    words = [licence.words for licence in licences] or [0]
    return {
        "documents": len(licences),
        "families": len({licence.family for licence in licences}),
        "words": {f"p{share}": int(np.percentile(words, share)) for share in (10, 50, 90)} | {"max": max(words)},
        "labels": dict(sorted(Counter(licence.label for licence in licences).items())),
        "languages": dict(sorted(Counter(licence.language for licence in licences).items())),
    }


def write_corpus(output: Path, splits: dict[str, list[Licence]], long: int, about: dict[str, object]) -> None:
    """The files of the corpus, all at once: a folder beside is filled first and then takes the place of `output`."""
    if output.exists() and not (output / "stats.json").is_file():
        raise SystemExit(f"{output} is there already and was not made by this recipe; name another with --output.")
    unfinished = output.with_name(output.name + ".tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "long").mkdir(parents=True)
    for split, licences in splits.items():
        lines = [json.dumps(asdict(licence), ensure_ascii=False) + "\n" for licence in licences]
        (unfinished / f"{split}.jsonl").write_text("".join(lines), "utf-8", newline="\n")
    longest = sorted(splits["test"], key=lambda licence: (-licence.words, licence.id))[:long]
    for licence in longest:
        (unfinished / "long" / f"{licence.id}.txt").write_text(licence.text, "utf-8", newline="\n")
    stats = about | {
        "splits": {split: describe(licences) for split, licences in splits.items()},
        "long": [{"id": f"{licence.id}.txt", "label": licence.label, "words": licence.words} for licence in longest],
    }
    (unfinished / "stats.json").write_text(json.dumps(stats, ensure_ascii=False, indent=2) + "\n", "utf-8")
    shutil.rmtree(output, ignore_errors=True)
    unfinished.rename(output)


def recipe_digest(folder: Path, arguments: Iterable[object]) -> str:
    """What the written bytes depend on: this file, the texts, the arguments."""
    digest = hashlib.sha256(Path(__file__).read_bytes() + repr(tuple(arguments)).encode())
    for path in sorted(folder.glob("*.LICENSE")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def build(folder: Path, output: Path, subset: int | None, long: int) -> bool:
    """Makes the corpus in `output`; False when it is there already, made by the same recipe."""
    recipe = recipe_digest(folder, (subset, long))
    stats = output / "stats.json"
    if stats.is_file() and json.loads(stats.read_text("utf-8")).get("recipe") == recipe:
        return False
    licences, dropped = read_licences(folder)
    kept = name_families(keep_large_labels(licences))
    splits: dict[str, list[Licence]] = {split: [] for split in SPLITS}
    for licence in kept:
        splits[split_of(licence.family)].append(licence)
    if subset is not None:
        splits = take_subset(splits, subset)
    counts = dict(sorted(dropped.items())) | {"small_label": len(licences) - len(kept)}
    write_corpus(output, splits, long, {"recipe": recipe, "dropped": counts})
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, help="folder to write; default: data/built/licences[-N]")
    parser.add_argument("--subset", type=int, metavar="N", help="take N texts in all instead of everything")
    parser.add_argument("--long", type=int, default=20, metavar="N", help="how many of the longest test texts as files")
    parser.add_argument("--source", type=Path, help="a folder of .LICENSE files; default: the installed package")
    options = parser.parse_args(arguments)
    name = "licences" if options.subset is None else f"licences-{options.subset}"
    output = options.output or HERE / "built" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    made = build(options.source or licence_folder(), output, options.subset, options.long)
    stats = json.loads((output / "stats.json").read_text("utf-8"))
    counts = ", ".join(f"{part['documents']} {split}" for split, part in stats["splits"].items())
    print(f"{output}: {counts} documents" + ("" if made else " (made before)"))


if __name__ == "__main__":
    sys.exit(main())
