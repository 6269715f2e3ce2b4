"""From a text to its token ids and where each token stands: once, whole, never truncated.

The only file that imports `tokenizers`. A `DocumentTokenizer` works on a private copy of the tokenizer it is given,
whose truncation and padding are off for good, so threads may share it and its fingerprint never changes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from longdoc.errors import CheckpointError, DocumentError
from longdoc.text.cutting import LARGEST_RUN, cut
from longdoc.text.offsets import covered_characters, repair_offsets
from longdoc.text.pairs import PairTemplate, find_pair_template
from longdoc.text.probing import find_cut_pattern, find_glued_separators, split_specials
from longdoc.text.tokenizer_files import CONTROL_TOKENS, TokenizerFiles, read_files, token_content, write_files
from longdoc.text.tokenizer_state import HIDDEN, canonical_state, working_state
from longdoc.types import Document, TokenizedDocument

__all__ = ["DocumentTokenizer", "IdSegment", "TokenSegment"]

PIECE_CHARACTERS = 1 << 14
"""A longer text is cut into pieces of about this many characters. Long calls are slow and hold 80 to 550 bytes a
character; pieces keep memory flat and let one text use all cores."""

BATCH_CHARACTERS = 1 << 18
"""Characters, of one text or of several, that are encoded side by side in one call."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNREADABLE = "\ufffd"  # stands for what could not be read: by a decoder, a reader, or here for a lone surrogate
_CANNOT_ENCODE = (
    "`tokenizer.json` must be able to encode every text, but fails at words that it does not know. Give its model an "
    "unknown token."
)
_NO_LIMIT = 10**9  # transformers writes 1e30 where there is none


class TokenSegment(NamedTuple):
    """Some consecutive tokens of a text: int32[n], int32[n, 2] code points of the whole text, and how many
    characters lie under unknown tokens or are U+FFFD, which stands for what could not be read."""

    token_ids: NDArray[np.int32]
    offsets: NDArray[np.int32]
    unknown_characters: int


class IdSegment(NamedTuple):
    """A `TokenSegment` without offsets, which cost a quarter of the time: int32[n] and the characters not known."""

    token_ids: NDArray[np.int32]
    unknown_characters: int


class _Piece(NamedTuple):
    place: int  # number of the text it comes from
    start: int  # where it begins there
    view: str  # what the tokenizer is shown


class DocumentTokenizer:
    """A tokenizer of the `tokenizers` library, as this package uses it. Threads may share one, and copies can be
    sent to other processes.

    Literal control tokens in a text (`[SEP]`, `</s>`) are ordinary text. The text is never changed, but the tokenizer
    is shown a space where it would otherwise glue two words by deleting the character between them (form feed and its
    kin), and U+FFFD for a lone surrogate: one character for one, so offsets stay true.

    Args:
        serialised: the content of a `tokenizer.json`.
        settings: names of the control tokens (`pad_token` ...) and `model_max_length`, as in `tokenizer_config.json`.
        vocabularies: further files to be written by `save`, such as `vocab.txt`.

    Attributes:
        lead, trail: ids of the special tokens around a text, as the tokenizer itself puts them; `specials` counts them.
        pair: how it puts two texts into one row; None where it does so in no order that could be used.
        special_ids: all ids that no text can spell: control tokens, and what else the tokenizer calls special.
        mask_id: id that hides a token from a model that is to guess it, or None.
        pad_id: id for padding; where the tokenizer names none, another special one (padding is never read).
        unknown_id: id that stands for what the tokenizer does not know, or None.
        vocab_size: the largest id + 1.
        highest_id: the highest id that it gives for a text: of tokens that a text can spell, of those around it, and of
            padding. Control tokens that are none of these may have higher ones.
        model_max_length: tokens that the model was made for, specials included, or None where nothing is said.
        segmented: whether long texts can be cut without changing tokens; otherwise they are encoded whole.
        fingerprint: sha256 of the serialised tokenizer.

    Raises:
        CheckpointError: `serialised` cannot be read, or cannot encode every text.
    """

    def __init__(
        self,
        serialised: str,
        settings: Mapping[str, Any] | None = None,
        vocabularies: Mapping[str, bytes] | None = None,
    ) -> None:
        self._settings = dict(settings or {})
        self._vocabularies = dict(vocabularies or {})
        named = {name: token_content(self._settings.get(name)) for name in CONTROL_TOKENS}
        try:
            given = json.loads(serialised)
            state = canonical_state(given, named.values())
            original: Tokenizer = Tokenizer.from_str(json.dumps(state))
        except Exception as error:
            raise CheckpointError(
                f"`tokenizer.json` must hold a tokenizer that the `tokenizers` library opens, but does not "
                f"({type(error).__name__}). Make it with `AutoTokenizer.from_pretrained(...).save_pretrained(...)`."
            ) from None
        self._serialised: str = original.to_str()
        self.fingerprint = hashlib.sha256(self._serialised.encode()).hexdigest()
        numbered = set(original.get_vocab(with_added_tokens=True).values())
        self.vocab_size: int = max(numbered, default=-1) + 1
        limit = self._settings.get("model_max_length")
        self.model_max_length = int(limit) if isinstance(limit, int | float) and 0 < limit < _NO_LIMIT else None

        self.lead, self.trail = _specials(original)
        self.specials = len(self.lead) + len(self.trail)
        self.pair: PairTemplate | None = find_pair_template(partial(_pair, original))
        ids = {name: original.token_to_id(token) for name, token in named.items() if token is not None}
        model = state["model"]
        own_unknown = model.get("unk_id", original.token_to_id(model.get("unk_token") or ""))
        self.unknown_id: int | None = ids.get("unk_token") if own_unknown is None else own_unknown
        own_pad = original.token_to_id((given.get("padding") or {}).get("pad_token") or "")
        stand_ins = (ids.get("pad_token"), own_pad, *self.trail[-1:], *self.lead[:1], self.unknown_id, 0)
        self.pad_id: int = next(number for number in stand_ins if number is not None)

        numbers = (*self.lead, *self.trail, *ids.values(), self.unknown_id, own_pad)
        control = {original.id_to_token(number) or "" for number in numbers if number is not None}
        control |= {token["content"] for token in state["added_tokens"] if token["special"]}
        self.mask_id: int | None = ids.get("mask_token")
        self.special_ids = frozenset(number for token in control if (number := original.token_to_id(token)) is not None)
        given_ids = (numbered - self.special_ids) | {*self.lead, *self.trail, self.pad_id}
        self.highest_id: int = max(given_ids | ({self.unknown_id} if self.unknown_id is not None else set()))
        used = {"pad_token": self.pad_id, "unk_token": self.unknown_id}
        if len(self.lead) == len(self.trail) == 1:
            used |= {"cls_token": self.lead[0], "sep_token": self.trail[0]}
        names = {name: original.id_to_token(number) or "" for name, number in used.items() if number is not None}
        self._names = {name: token for name, token in names.items() if token in control}

        self._tokenizer: Tokenizer = Tokenizer.from_str(json.dumps(working_state(state, control)))
        self._tokenizer.encode_special_tokens = True
        self._shown_as = {HIDDEN: "\ufffd"}
        try:
            glued = find_glued_separators(self._probe, self.unknown_id)
            self._shown_as |= dict.fromkeys(glued, " ")
            every = range(self.vocab_size)
            surfaces = self._tokenizer.decode_batch([[number] for number in every])
            surfaces += [self._tokenizer.id_to_token(number) or "" for number in every]  # decoders may hide spaces
            added = [token["content"] for token in state["added_tokens"] if not token["special"]]
            self._cut_pattern = find_cut_pattern(self._probe, self._probe_ids, surfaces, added)
        except DocumentError:
            raise CheckpointError(_CANNOT_ENCODE) from None
        self.segmented = self._cut_pattern is not None

    @classmethod
    def from_folder(cls, folder: Path) -> DocumentTokenizer:
        """The tokenizer of a model folder: `tokenizer.json`, with `tokenizer_config.json`, `special_tokens_map.json`
        and `config.json` for the names of control tokens and the limit, where they are present.

        Raises:
            CheckpointError: there is no `tokenizer.json`, or one of the files cannot be read.
        """
        return cls(*read_files(Path(folder)))

    def __reduce__(self) -> tuple[type[DocumentTokenizer], tuple[str, dict[str, Any], dict[str, bytes]]]:
        return DocumentTokenizer, (self._serialised, self._settings, self._vocabularies)

    def __repr__(self) -> str:
        return f"DocumentTokenizer(vocab_size={self.vocab_size}, fingerprint={self.fingerprint[:12]})"

    def save(self, folder: Path) -> None:
        """Write the files from which `from_folder` and `AutoTokenizer` make this tokenizer again."""
        files = TokenizerFiles(self._serialised, {**self._names, **self._settings}, self._vocabularies)
        write_files(Path(folder), files)

    def segments(self, text: str) -> Iterator[TokenSegment]:
        """The tokens of a text, piece by piece. Joined, they equal those of the whole text.

        Time is linear in the text's length, and memory is bounded where the text has places to cut.

        Raises:
            DocumentError: `too_large`, where there is no place to cut for too long (`cutting.LARGEST_RUN`);
                `unreadable`, where the tokenizer itself fails.
        """
        return (segment for _, segment in self._segments([text]))

    def id_segments(self, text: str) -> Iterator[IdSegment]:
        """As `segments`, without offsets, which saves about a quarter of the time."""
        return (segment for _, segment in self._id_segments([text]))

    def ids_of_many(self, texts: Sequence[str]) -> list[list[IdSegment]]:
        """As `id_segments` for each text, side by side on all cores."""
        found: list[list[IdSegment]] = [[] for _ in texts]
        for place, segment in self._id_segments(texts):
            found[place].append(segment)
        return found

    def tokenize(self, document: Document) -> TokenizedDocument:
        """All tokens of a document, without specials. Raises as `segments` does; an empty text has no tokens."""
        return self.tokenize_many([document])[0]

    def tokenize_many(self, documents: Sequence[Document]) -> list[TokenizedDocument]:
        """As `tokenize` for each document, side by side on all cores."""
        found: list[list[TokenSegment]] = [[] for _ in documents]
        for place, segment in self._segments([document.text for document in documents]):
            found[place].append(segment)
        return [
            TokenizedDocument(
                id=document.id,
                token_ids=np.concatenate([part.token_ids for part in parts]),
                offsets=np.concatenate([part.offsets for part in parts]),
                characters=len(document.text),
                unknown_characters=sum(part.unknown_characters for part in parts),
            )
            for document, parts in zip(documents, found, strict=True)
        ]

    def _segments(self, texts: Iterable[str]) -> Iterator[tuple[int, TokenSegment]]:
        for batch in self._batches(texts):
            encodings = self._encode([piece.view for piece in batch])
            for piece, encoding in zip(batch, encodings, strict=True):
                yield piece.place, self._segment(piece.view, encoding, piece.start)

    def _id_segments(self, texts: Iterable[str]) -> Iterator[tuple[int, IdSegment]]:
        for batch in self._batches(texts):
            # How much text lies under unknown tokens takes offsets. Most texts have none, and a piece that does is
            # encoded again; but a run without a place to cut is often one unknown word, and too long to do so.
            with_offsets = any(len(piece.view) > 2 * PIECE_CHARACTERS for piece in batch)
            encodings = self._encode([piece.view for piece in batch], with_offsets)
            for piece, encoding in zip(batch, encodings, strict=True):
                ids = _ids(encoding)
                unknown = 0
                if _UNREADABLE in piece.view or (self.unknown_id is not None and (ids == self.unknown_id).any()):
                    full = encoding if with_offsets else self._encode([piece.view])[0]
                    unknown = self._segment(piece.view, full).unknown_characters
                yield piece.place, IdSegment(ids, unknown)

    def _batches(self, texts: Iterable[str]) -> Iterator[list[_Piece]]:
        """Pieces of the texts, in order, in groups that are encoded together; at least one piece a text."""
        batch: list[_Piece] = []
        characters = 0
        for place, text in enumerate(texts):
            for start, end in cut(text, self._cut_pattern, PIECE_CHARACTERS, LARGEST_RUN):
                batch.append(_Piece(place, start, self._view(text[start:end])))
                characters += end - start
                if characters >= BATCH_CHARACTERS:
                    yield batch
                    batch, characters = [], 0
        if batch:
            yield batch

    def _view(self, text: str) -> str:
        for character, shown in self._shown_as.items():
            if character in text:
                text = text.replace(character, shown)
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _SURROGATE.sub(_UNREADABLE, text)
        return text

    def _encode(self, views: list[str], with_offsets: bool = True) -> list[Encoding]:
        encode = self._tokenizer.encode_batch if with_offsets else self._tokenizer.encode_batch_fast
        try:
            encodings: list[Encoding] = encode(views, add_special_tokens=False)
        except Exception as error:  # its message may quote the text
            raise DocumentError(
                "unreadable",
                f"The tokenizer must know the text or have an unknown token, but failed with {type(error).__name__}.",
                stage="tokenize",
            ) from None
        return encodings

    def _segment(self, view: str, encoding: Encoding, start: int = 0) -> TokenSegment:
        ids = _ids(encoding)
        flat = np.fromiter(chain.from_iterable(encoding.offsets), dtype=np.int32, count=2 * len(ids))
        offsets = repair_offsets(flat.reshape(-1, 2), view)
        unread = offsets[ids == self.unknown_id] if self.unknown_id is not None else offsets[:0]
        if _UNREADABLE in view:  # tokenizers may drop it in silence
            places = np.array([found.start() for found in re.finditer(_UNREADABLE, view)], dtype=np.int32)
            unread = np.concatenate([unread, np.stack([places, places + 1], axis=1)])
        return TokenSegment(ids, offsets + np.int32(start), covered_characters(unread))

    def _probe(self, texts: Sequence[str]) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        views = [self._view(text) for text in texts]
        parts = [self._segment(view, encoding) for view, encoding in zip(views, self._encode(views), strict=True)]
        return [(part.token_ids, part.offsets) for part in parts]

    def _probe_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._encode([self._view(text) for text in texts], with_offsets=False)]


def _specials(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    for word in ("a", "0", ".", "e"):
        try:
            full, body = (tokenizer.encode(word, add_special_tokens=special).ids for special in (True, False))
        except Exception:  # the library's own, of no class
            raise CheckpointError(_CANNOT_ENCODE) from None
        if (found := split_specials(full, body)) is not None:
            return found
    raise CheckpointError(
        "`tokenizer.json` must put its special tokens before and after the text, but does something else. "
        "Only tokenizers of encoder models can be used."
    )


def _pair(tokenizer: Tokenizer, first: str, second: str) -> list[tuple[int, int, int | None]]:
    try:
        encoding = tokenizer.encode(first, second)
    except Exception:  # a word-level model without an unknown token refuses words
        return []
    return list(zip(encoding.ids, encoding.type_ids, encoding.sequence_ids, strict=True))


def _ids(encoding: Encoding) -> NDArray[np.int32]:
    return np.fromiter(encoding.ids, dtype=np.int32, count=len(encoding))
