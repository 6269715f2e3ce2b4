"""The tokenizer as the rest of the house sees it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from longdoc.errors import CheckpointError, DocumentError
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document
from tokenizer_kit import KINDS, NAMES, across_words, odd_texts, raw, shown_differently, word_level, wrapped

TEXT = "It's 42 o'clock → 😀 naïve ｶﾞ 中文, [SEP] of </s>\nthe e\u0301nd. "


def ids_and_offsets(tokenizer: DocumentTokenizer, text: str) -> tuple[list[int], list[list[int]]]:
    found = tokenizer.tokenize(Document("d", text))
    return found.token_ids.tolist(), found.offsets.tolist()


def fingerprint_and_tokens(tokenizer: DocumentTokenizer, text: str) -> tuple[str, tuple[list[int], list[list[int]]]]:
    return tokenizer.fingerprint, ids_and_offsets(tokenizer, text)


class TestWhatIsFoundOut:
    @pytest.mark.parametrize(
        ("kind", "lead", "trail", "pad", "unknown"),
        [
            ("wordpiece", (101,), (102,), 0, 100),
            ("byte_level", (0,), (1,), 2, 3),
            ("byte_level_prefix_no_merges", (0,), (1,), 2, 3),
            ("unigram_nfkc", (0,), (1,), 2, 3),
            ("word_level", (1,), (2,), 2, 0),  # no name for padding: another special token
        ],
    )
    def test_specials(self, kind: str, lead: tuple[int, ...], trail: tuple[int, ...], pad: int, unknown: int) -> None:
        tokenizer = wrapped(kind)
        assert (tokenizer.lead, tokenizer.trail, tokenizer.specials) == (lead, trail, len(lead) + len(trail))
        assert (tokenizer.unknown_id, tokenizer.vocab_size) == (unknown, raw(kind).get_vocab_size())
        # The raw word piece tokenizer of the kit is wrapped without names: its own padding section is gone, too.
        assert tokenizer.pad_id == (102 if kind == "wordpiece" else pad)

    def test_the_folder_says_more_than_the_tokenizer_alone(self, minilm_folder: Path) -> None:
        tokenizer = DocumentTokenizer.from_folder(minilm_folder)
        assert (tokenizer.pad_id, tokenizer.unknown_id, tokenizer.vocab_size) == (0, 100, 30522)
        assert (tokenizer.lead, tokenizer.trail, tokenizer.model_max_length) == ((101,), (102,), 512)
        assert DocumentTokenizer.from_folder(str(minilm_folder)).fingerprint == tokenizer.fingerprint  # type: ignore[arg-type]

    def test_padding_may_be_named_by_the_padding_section_alone(self, minilm_folder: Path) -> None:
        tokenizer = DocumentTokenizer((minilm_folder / "tokenizer.json").read_text(encoding="utf-8"))
        assert tokenizer.pad_id == 0

    def test_a_tokenizer_without_specials(self) -> None:
        plain = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = DocumentTokenizer(plain.to_str())
        assert (tokenizer.lead, tokenizer.trail, tokenizer.specials, tokenizer.pad_id) == ((), (), 0, 0)

    def test_a_word_that_stands_in_for_padding_is_still_a_word(self, tmp_path: Path) -> None:
        plain = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
        plain.enable_padding()  # which says that "[PAD]" has the id 0
        tokenizer = DocumentTokenizer(plain.to_str())
        assert (tokenizer.pad_id, tokenizer.unknown_id) == (0, None)
        assert ids_and_offsets(tokenizer, "aab") == ([0, 2], [[0, 1], [1, 3]])
        tokenizer.save(tmp_path)
        assert "pad_token" not in json.loads((tmp_path / "tokenizer_config.json").read_text())

    @pytest.mark.parametrize(
        ("limit", "found"),
        [(512, 512), (None, None), (1e30, None), (int(1e30), None), (0, None), (8192.0, 8192), ("512", None)],
    )
    def test_the_limit(self, limit: object, found: int | None) -> None:
        assert DocumentTokenizer(raw("word_level").to_str(), {"model_max_length": limit}).model_max_length == found

    @pytest.mark.parametrize("serialised", ["", "{}", "[]", '{"model": {"type": "Secret"}}', "\x00"])
    def test_what_is_no_tokenizer_is_refused(self, serialised: str) -> None:
        with pytest.raises(CheckpointError) as caught:
            DocumentTokenizer(serialised)
        assert re.fullmatch(
            r"`tokenizer.json` must hold a tokenizer that the `tokenizers` library opens, but does not \(\w+\). "
            r"Make it with `AutoTokenizer.from_pretrained\(...\).save_pretrained\(...\)`.",
            str(caught.value),
        )

    def test_a_tokenizer_that_fails_at_unknown_words_is_refused(self) -> None:
        tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="<no such token>"))
        message = (
            "`tokenizer.json` must be able to encode every text, but fails at words that it does not know. "
            "Give its model an unknown token."
        )
        with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
            DocumentTokenizer(tokenizer.to_str())

    def test_a_repr_is_short(self) -> None:
        assert repr(wrapped("word_level")) == f"DocumentTokenizer(vocab_size=4, fingerprint={FINGERPRINT[:12]})"


FINGERPRINT = hashlib.sha256(raw("word_level").to_str().encode()).hexdigest()


class TestFingerprint:
    def test_it_is_the_sha256_of_the_serialised_tokenizer(self) -> None:
        assert wrapped("word_level").fingerprint == FINGERPRINT

    def test_truncation_and_padding_do_not_change_it(self) -> None:
        set_up = word_level()
        set_up.enable_truncation(7)
        set_up.enable_padding(length=9)
        assert DocumentTokenizer(set_up.to_str()).fingerprint == FINGERPRINT

    def test_neither_does_use(self) -> None:
        tokenizer = DocumentTokenizer(raw("byte_level").to_str(), NAMES)
        before = tokenizer.fingerprint
        for text in odd_texts(20, seed=1):
            list(tokenizer.segments(text))
            list(tokenizer.id_segments(text))
        serialised, settings, vocabularies = tokenizer.__reduce__()[1]
        assert DocumentTokenizer(serialised, settings, vocabularies).fingerprint == before == tokenizer.fingerprint
        assert tokenizer._tokenizer.truncation is None
        assert tokenizer._tokenizer.padding is None

    def test_the_vocabulary_and_lowercasing_do_change_it(self) -> None:
        prints = {wrapped(kind).fingerprint for kind in ("word_level", "word_level_lowercase", "word_level_nfc")}
        prints.add(DocumentTokenizer(word_level(words=("x",)).to_str()).fingerprint)
        assert len(prints) == 4


class TestTokens:
    @pytest.mark.parametrize("kind", KINDS)
    def test_ids_are_those_of_the_library(self, kind: str) -> None:
        for text in [TEXT, "", " ", "a", *odd_texts(60, seed=2)]:
            if not shown_differently(kind, text):
                expected = raw(kind).encode(text, add_special_tokens=False).ids
                assert wrapped(kind).tokenize(Document("d", text)).token_ids.tolist() == expected

    def test_nothing_is_truncated_though_the_file_says_so(self, minilm_folder: Path) -> None:
        assert json.loads((minilm_folder / "tokenizer.json").read_text())["truncation"]["max_length"] == 128
        tokenizer = DocumentTokenizer.from_folder(minilm_folder)
        assert len(tokenizer.tokenize(Document("d", "word " * 3000))) == 3000
        assert len(tokenizer.tokenize(Document("d", "word"))) == 1

    @pytest.mark.parametrize("kind", KINDS)
    def test_all_ways_give_the_same(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("longdoc.text.tokenizing.PIECE_CHARACTERS", 30)
        monkeypatch.setattr("longdoc.text.tokenizing.BATCH_CHARACTERS", 100)
        tokenizer = wrapped(kind)
        texts = ["", TEXT, TEXT * 3, "a", *odd_texts(15, seed=3)]
        documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
        together = tokenizer.tokenize_many(documents)
        for document, found, ids in zip(documents, together, tokenizer.ids_of_many(texts), strict=True):
            alone = tokenizer.tokenize(document)
            segments = list(tokenizer.segments(document.text))
            assert (found.id, found.characters) == (document.id, len(document.text))
            for other in (alone, found):
                assert np.array_equal(np.concatenate([part.token_ids for part in segments]), other.token_ids)
                assert np.array_equal(np.concatenate([part.offsets for part in segments]), other.offsets)
                assert sum(part.unknown_characters for part in segments) == other.unknown_characters
            for parts in (ids, list(tokenizer.id_segments(document.text))):
                assert np.array_equal(np.concatenate([part.token_ids for part in parts]), alone.token_ids)
                assert sum(part.unknown_characters for part in parts) == alone.unknown_characters
        assert len(list(tokenizer.segments(TEXT * 3))) > 1

    def test_of_no_documents_there_is_nothing(self) -> None:
        assert wrapped("byte_level").tokenize_many([]) == []
        assert wrapped("byte_level").ids_of_many([]) == []

    def test_a_control_token_that_the_file_does_not_call_special_is_still_text(self) -> None:
        state = json.loads(raw("byte_level").to_str())
        for token in state["added_tokens"]:
            token["special"] = False
        text = "x </s> <mask> y"
        ids, offsets = ids_and_offsets(DocumentTokenizer(json.dumps(state), NAMES), text)
        assert not {1, 4} & {*ids}
        assert offsets[-1] == [14, 15]
        without_names = ids_and_offsets(DocumentTokenizer(json.dumps(state)), text)[0]
        assert {1, 4} & {*without_names} == {4}  # what nobody calls special is an ordinary word of this vocabulary

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "wordpiece"])
    def test_a_vocabulary_that_holds_control_tokens_does_not_find_them_in_a_text(self, kind: str) -> None:
        names = ["[UNK]", "[CLS]", "[SEP]"] if kind.startswith("word") else ["<s>", "</s>", "<pad>", "<unk>", "<mask>"]
        control = {raw(kind).token_to_id(name) for name in names} - {wrapped(kind).unknown_id}
        text = "".join(f"{name} a{name}b, {name}{name}" for name in names) + "\U0010ffff</s>"
        ids, offsets = ids_and_offsets(wrapped(kind), text)
        assert not control & {*ids}
        assert offsets[-1][1] == len(text)

    def test_unknown_characters_are_those_under_unknown_tokens(self) -> None:
        found = wrapped("wordpiece").tokenize(Document("d", "two ☃☃ and 😀😀😀 men"))
        assert (found.unknown_characters, found.characters) == (5, 18)
        assert wrapped("byte_level").tokenize(Document("d", "two ☃☃")).unknown_characters == 0

    @pytest.mark.parametrize("whole", [False, True])
    def test_a_run_that_cannot_be_cut_is_refused_above_the_limit(
        self, whole: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("longdoc.text.tokenizing.LARGEST_RUN", 100)
        monkeypatch.setattr("longdoc.text.tokenizing.PIECE_CHARACTERS", 10)
        tokenizer = DocumentTokenizer(across_words().to_str()) if whole else wrapped("byte_level")
        assert len(tokenizer.tokenize(Document("d", "x" * 100))) > 0
        for way in (tokenizer.segments, tokenizer.id_segments):
            with pytest.raises(DocumentError, match=r"^The text must have a place where it can be cut ") as caught:
                list(way("x" * 101))
            assert (caught.value.reason, caught.value.stage) == ("too_large", "tokenize")
        long = "word " * 100
        if whole:
            with pytest.raises(DocumentError):
                tokenizer.tokenize(Document("d", long))
        else:
            assert len(tokenizer.tokenize(Document("d", long))) >= 100

    def test_an_error_of_the_library_does_not_quote_the_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Upset:
            def encode_batch(self, texts: list[str], add_special_tokens: bool) -> None:
                raise ValueError(f"cannot encode {texts[0]}")

        tokenizer = DocumentTokenizer(raw("word_level").to_str())
        monkeypatch.setattr(tokenizer, "_tokenizer", Upset())
        with pytest.raises(DocumentError) as caught:
            tokenizer.tokenize(Document("d", "secret"))
        assert (caught.value.reason, caught.value.stage) == ("unreadable", "tokenize")
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


class TestSaving:
    @pytest.mark.parametrize("kind", ["byte_level", "unigram_nfkc", "word_level"])
    def test_what_is_saved_is_opened_again(self, kind: str, tmp_path: Path) -> None:
        tokenizer = wrapped(kind)
        tokenizer.save(tmp_path / "model")
        again = DocumentTokenizer.from_folder(tmp_path / "model")
        for name in ("fingerprint", "lead", "trail", "pad_id", "unknown_id", "vocab_size", "model_max_length"):
            assert getattr(again, name) == getattr(tokenizer, name), name
        assert ids_and_offsets(again, TEXT) == ids_and_offsets(tokenizer, TEXT)

    @pytest.mark.parametrize("kind", ["byte_level", "unigram_nfkc"])
    def test_transformers_opens_it(self, kind: str, tmp_path: Path) -> None:
        from transformers import AutoTokenizer

        tokenizer = wrapped(kind)
        tokenizer.save(tmp_path)
        theirs = AutoTokenizer.from_pretrained(tmp_path)
        ids = tokenizer.tokenize(Document("d", "naïve café, it's 42")).token_ids.tolist()
        assert theirs("naïve café, it's 42")["input_ids"] == [*tokenizer.lead, *ids, *tokenizer.trail]
        assert (theirs.pad_token_id, theirs.cls_token_id, theirs.sep_token_id) == (2, 0, 1)
        assert theirs.model_max_length == int(1e30)

    def test_the_default_encoders_folder_keeps_its_files_and_limit(self, minilm_folder: Path, tmp_path: Path) -> None:
        from transformers import AutoTokenizer

        DocumentTokenizer.from_folder(minilm_folder).save(tmp_path)
        assert (tmp_path / "vocab.txt").read_bytes() == (minilm_folder / "vocab.txt").read_bytes()
        ours, theirs = AutoTokenizer.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(minilm_folder)
        text = "Naïve [MASK] e\u0301nd 中文 ☃. " * 99
        assert ours(text)["input_ids"] == theirs(text)["input_ids"]
        assert len(ours(text)["input_ids"]) > 500
        assert (ours.model_max_length, ours.pad_token, ours.mask_token) == (512, "[PAD]", "[MASK]")


class TestSharing:
    def test_threads_may_share_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("longdoc.text.tokenizing.PIECE_CHARACTERS", 40)
        tokenizer = wrapped("wordpiece")
        texts = [TEXT * (1 + number % 5) for number in range(48)]
        serial = [ids_and_offsets(tokenizer, text) for text in texts]
        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(lambda text: ids_and_offsets(tokenizer, text), texts)) == serial

    def test_a_spawned_process_gets_the_same(self) -> None:
        tokenizer = wrapped("byte_level")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            fingerprint, found = pool.submit(fingerprint_and_tokens, tokenizer, TEXT).result()
        assert fingerprint == tokenizer.fingerprint
        assert found == ids_and_offsets(tokenizer, TEXT)


def test_torch_is_not_needed() -> None:
    script = (
        "import sys, longdoc.text.chunking, longdoc.text.batching, longdoc.text.tokenizing\n"
        "print('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("point", [0xD83D, 0xFFFD])
def test_what_could_not_be_read_is_unknown_even_where_the_tokenizer_drops_it(minilm_folder: Path, point: int) -> None:
    stranger = chr(point)
    tokenizer = DocumentTokenizer.from_folder(minilm_folder)
    text = f"a{stranger} b and {stranger}{stranger} more"
    (segment,) = tokenizer.segments(text)
    (ids,) = tokenizer.id_segments(text)
    assert segment.unknown_characters == ids.unknown_characters == 3
    plain = text.replace(stranger, "")
    assert segment.token_ids.tolist() == next(tokenizer.segments(plain)).token_ids.tolist(), "BERT drops it in silence"
    assert next(tokenizer.id_segments(plain)).unknown_characters == 0
