"""Several vocabularies, one for each language, in the word table of one encoder with one position encoding.

Each vocabulary is a run of rows of the table. The encoder sees ordinary token ids, and positions are shared as they
are: nothing but the ids knows of languages.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.limits import check_integers

__all__ = ["LanguageVocabularies"]


class LanguageVocabularies:
    """Where the vocabulary of each language lies in one table.

    Args:
        sizes: tokens in the vocabulary of each language; the first has number 1.

    Attributes:
        total: rows of the table: the encoder's `vocab_size`.
        languages: the codes, in the order of their numbers.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        for code, size in sizes.items():
            if size < 1:
                raise UsageError(f"`sizes[{code!r}]` must be at least 1, but is {size} instead.")
        self.languages = tuple(sizes)
        self._sizes = torch.tensor(list(sizes.values()), dtype=torch.int64)
        self._starts = self._sizes.cumsum(0) - self._sizes
        self.total = int(self._sizes.sum())

    def token_ids(self, ids: Tensor, languages: Tensor | int) -> Tensor:
        """Ids in the vocabularies of the languages -> ids in the one table, int64 (N, L), on the CPU.

        Args:
            ids: integers (N, L).
            languages: numbers of languages, from 1; anything that broadcasts to (N, L), or one for all tokens.

        Raises:
            UsageError: not integers, shapes that do not fit, a number without a vocabulary, or an id past the end of
                its vocabulary, which would be a word of another language.
        """
        check_integers(ids, "ids")
        if isinstance(languages, int):
            languages = torch.tensor(languages)
        check_integers(languages, "languages")
        try:
            languages = languages.expand_as(ids)
        except RuntimeError:
            raise UsageError(
                f"`languages` must broadcast to {tuple(ids.shape)}, the shape of `ids`, but has shape "
                f"{tuple(languages.shape)} instead."
            ) from None
        if bool(((languages < 1) | (languages > len(self.languages))).any()):
            raise UsageError(f"`languages` must be in [1, {len(self.languages)}]: every token needs a vocabulary.")
        own = languages.to(torch.int64) - 1
        if bool(((ids < 0) | (ids >= self._sizes[own])).any()):
            raise UsageError("`ids` must lie in the vocabularies of their languages, but at least one does not.")
        return ids.to(torch.int64) + self._starts[own]
