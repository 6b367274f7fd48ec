"""Tokenizers that others made, from files."""

import collections as _collections

from . import _core

__all__ = ["Tokenizer"]

TokenBatch = _collections.namedtuple("TokenBatch", "ids mask types lengths")


class Tokenizer:
    """What turns texts into the ids that a network reads, from a tokenizer.json of Hugging Face: byte-level BPE or WordPiece::

        tokenizer = hk.Tokenizer("tokenizer.json")
        ids = tokenizer.encode("Hello world")
        text = tokenizer.decode(ids)

    docs/TEXT.md lists what files may have. What one asks for besides raises UnsupportedError, which names it.
    """

    def __init__(self, path):
        self._handle = _core._tokenizer_load(path)

    @property
    def size(self):
        """The largest id, and one: rows that an embedding needs."""
        return self._handle.size()

    def encode(self, text, pair=None, special=True, special_as_text=False, most=None):
        """The ids of a text, or of two, as a list of ints.

        Without ``special`` nothing is put around them, as ``[CLS]``. With ``special_as_text`` a ``[CLS]`` within them is text, and not that
        token. ``most``: as many ids at most; None: as the file says; -1: any number.
        """
        return self._handle.encode(text, pair, not special, special_as_text, _most(most))

    def encode_batch(self, texts, special=True, special_as_text=False, most=None, least=0, pad_left=False):
        """The ids of many texts, or of pairs (text, text), as a named tuple of Arrays (texts, tokens): ids, mask and types; and lengths, of how many tokens are no
        padding.

        All rows are as long as the longest, and have ``least`` ids at least. What the file says of padding holds.
        """
        rows = [(text, None) if isinstance(text, str) else tuple(text) for text in texts]
        return TokenBatch(*self._handle.encode_batch(rows, not special, special_as_text, _most(most), least, pad_left))

    def decode(self, ids, special=False):
        """The text of ids, a list or an Array with one axis. Special tokens are left out unless ``special``."""
        return self._handle.decode(ids.tolist() if isinstance(ids, _core.Array) else list(ids), special)

    def token(self, id):
        """The token of that id as the file has it, or None."""
        return self._handle.token(id)

    def id(self, token):
        """The id of a token, as ``"[SEP]"``, or None."""
        return self._handle.id(token)

    def is_special(self, id):
        """Whether decoding leaves it out."""
        return self._handle.is_special(id)

    def __repr__(self):
        return f"<Tokenizer of {self.size} ids>"


def _most(most):
    return 0 if most is None else -1 if most < 0 else most
