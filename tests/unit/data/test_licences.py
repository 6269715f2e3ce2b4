"""The recipe of the licence corpus, on licence files of our own making."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.readers import load_labelled

ROOT = Path(__file__).resolve().parents[3]


def load_recipe():
    spec = importlib.util.spec_from_file_location("licences_recipe", ROOT / "data" / "licences.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


licences = load_recipe()
LABELS = {"Permissive": 60, "Copyleft": 40, "Rare": 3}


def words(seed: int, count: int) -> str:
    random = np.random.default_rng(seed)
    return " ".join(f"w{number}" for number in random.integers(0, 5000, count))


def write(folder: Path, key: str, text: str, category: str = "Permissive", more: str = "") -> None:
    front = f"---\nkey: {key}\nname: {key.title()}\ncategory: {category}\n{more}---\n"
    (folder / f"{key}.LICENSE").write_text(front + text, "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """103 different texts of 30 to 1300 words, one label too rare, and four that the rules drop."""
    folder = tmp_path_factory.mktemp("licences")
    number = 0
    for category, count in LABELS.items():
        for _ in range(count):
            write(folder, f"text-{number:03}", words(number, 30 + 13 * number), category)
            number += 1
    write(folder, "old", words(900, 50), more="is_deprecated: yes\n")
    write(folder, "any", words(901, 50), more="is_generic: yes\n")
    write(folder, "what", words(902, 50), more="is_unknown: yes\n")
    write(folder, "nothing", " \n\n")
    return folder


def rows(output: Path, split: str) -> list[dict]:
    return [json.loads(line) for line in (output / f"{split}.jsonl").read_text("utf-8").splitlines()]


def test_unusable_texts_and_rare_labels_are_dropped_and_counted(folder, tmp_path):
    assert licences.build(folder, tmp_path / "out", None, 5)
    stats = json.loads((tmp_path / "out" / "stats.json").read_text("utf-8"))
    everything = [row for split in licences.SPLITS for row in rows(tmp_path / "out", split)]

    assert stats["dropped"] == {"empty": 1, "is_deprecated": 1, "is_generic": 1, "is_unknown": 1, "small_label": 3}
    assert Counter(row["label"] for row in everything) == {"Permissive": 60, "Copyleft": 40}
    assert len({row["id"] for row in everything}) == 100
    assert [stats["splits"][split]["documents"] for split in licences.SPLITS] == [
        len(rows(tmp_path / "out", split)) for split in licences.SPLITS
    ]


def test_a_text_keeps_its_own_dashes_and_loses_outer_blank_lines(tmp_path):
    write(tmp_path, "dashes", "\n\nOne\n---\ntwo\n\n", more="language: de\nis_exception: yes\n")
    (licence,), dropped = licences.read_licences(tmp_path)

    assert licence.text == "One\n---\ntwo"
    assert (licence.language, licence.exception, licence.label) == ("de", True, "Permissive")
    assert not dropped


def test_a_file_without_its_block_of_facts_is_refused_by_name(tmp_path):
    (tmp_path / "plain.LICENSE").write_text("Do as you like.")

    with pytest.raises(SystemExit) as refusal:
        licences.read_licences(tmp_path)

    assert str(refusal.value) == (
        "plain.LICENSE must begin with a block of YAML between two lines `---`, but does not."
    )


def test_near_duplicates_form_families_across_chains():
    base = [f"w{number}" for number in range(100)]
    variant = " ".join([*base[:95], "a", "b", "c", "d", "e"])  # 91 of 101 shingles shared
    third = " ".join(["x", "y", "z", *variant.split()[3:]])  # near the variant, less so to the first
    families = licences.find_families([" ".join(base), variant, third, words(1, 100), " ".join(base).upper()])

    assert families[0] == families[1] == families[2] == families[4]
    assert families[3] != families[0]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000))
def test_families_are_those_of_the_jaccard_similarity_written_out(seed):
    random = np.random.default_rng(seed)
    texts = [" ".join(f"w{n}" for n in random.integers(0, 2, random.integers(1, 14))) for _ in range(7)]

    def shingles(text: str) -> set[tuple[str, ...]]:
        parts = text.split()
        return {tuple(parts[start : start + 5]) for start in range(max(1, len(parts) - 4))}

    group = list(range(len(texts)))
    for left in range(len(texts)):
        for right in range(left):
            a, b = shingles(texts[left]), shingles(texts[right])
            if len(a & b) / len(a | b) >= 0.6:
                group = [group[right] if member == group[left] else member for member in group]
    found = licences.find_families(texts)
    for left in range(len(texts)):
        for right in range(left):
            assert (found[left] == found[right]) == (group[left] == group[right])


def test_families_never_straddle_splits(folder, tmp_path):
    crowded = tmp_path / "source"
    crowded.mkdir()
    for number in range(40):
        for version in ("a", "b", "c"):
            write(crowded, f"family-{number:02}-{version}", f"{words(number, 200)} {version}")
    licences.build(crowded, tmp_path / "out", None, 1)
    homes: dict[str, set[str]] = {}
    for split in licences.SPLITS:
        for row in rows(tmp_path / "out", split):
            homes.setdefault(row["family"], set()).add(split)

    assert len(homes) == 40
    assert all(len(splits) == 1 for splits in homes.values())
    assert set.union(*homes.values()) == set(licences.SPLITS)


def test_splits_have_the_stated_shares():
    found = Counter(licences.split_of(f"family {number}") for number in range(20_000))

    for split, share in licences.SPLITS.items():
        assert found[split] / 20_000 == pytest.approx(share, abs=0.01)


def test_the_same_texts_give_the_same_bytes_and_nothing_is_made_twice(folder, tmp_path):
    assert licences.build(folder, tmp_path / "one", 30, 3)
    assert licences.build(folder, tmp_path / "two", 30, 3)
    assert not licences.build(folder, tmp_path / "one", 30, 3)
    assert licences.build(folder, tmp_path / "one", 40, 3)  # another recipe

    assert licences.build(folder, tmp_path / "one", 30, 3)
    files = [
        sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*")) for name in ("one", "two")
    ]
    assert files[0] == files[1]
    for path in files[0]:
        if (tmp_path / "one" / path).is_file():
            assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()


def test_a_subset_keeps_labels_splits_and_long_texts(folder, tmp_path):
    licences.build(folder, tmp_path / "all", None, 3)
    licences.build(folder, tmp_path / "some", 40, 3)
    for split in licences.SPLITS:
        whole, part = rows(tmp_path / "all", split), rows(tmp_path / "some", split)
        assert {row["id"] for row in part} <= {row["id"] for row in whole}
        for label in ("Permissive", "Copyleft"):
            of_label = [row for row in whole if row["label"] == label]
            chosen = [row for row in part if row["label"] == label]
            assert len(chosen) >= min(2, len(of_label))
            assert len(chosen) == pytest.approx(0.4 * len(of_label), abs=2)
            longest = max(of_label, key=lambda row: len(row["text"].split()))
            assert longest["id"] in {row["id"] for row in chosen}
    assert sum(len(rows(tmp_path / "some", split)) for split in licences.SPLITS) == 40


def test_a_subset_that_is_too_small_is_refused(folder, tmp_path):
    with pytest.raises(SystemExit) as refusal:
        licences.build(folder, tmp_path / "out", 3, 1)

    assert str(refusal.value) == "`--subset` must be at least 12, but is 3 instead."


def test_the_longest_test_texts_are_files_with_their_labels(folder, tmp_path):
    licences.build(folder, tmp_path / "out", None, 4)
    test = {row["id"]: row for row in rows(tmp_path / "out", "test")}
    listed = json.loads((tmp_path / "out" / "stats.json").read_text("utf-8"))["long"]
    longest = sorted(test.values(), key=lambda row: -len(row["text"].split()))[:4]

    assert [entry["id"] for entry in listed] == [f"{row['id']}.txt" for row in longest]
    assert [entry["label"] for entry in listed] == [row["label"] for row in longest]
    for row in longest:
        assert (tmp_path / "out" / "long" / f"{row['id']}.txt").read_text("utf-8") == row["text"]


def test_a_folder_that_is_not_ours_is_left_alone(folder, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")

    with pytest.raises(SystemExit) as refusal:
        licences.build(folder, tmp_path, None, 1)

    assert (
        str(refusal.value)
        == f"{tmp_path} is there already and was not made by this recipe; name another with --output."
    )
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_the_samples_are_readable_labelled_and_multilingual():
    documents = load_labelled([ROOT / "data" / "samples" / "notes.jsonl"])

    assert Counter(document.label for document in documents) == {"contract": 8, "clinic": 8, "travel": 8}
    assert {document.language for document in documents} == {"en", "de", "ar", "zh"}
