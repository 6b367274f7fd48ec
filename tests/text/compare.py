#!/usr/bin/env python3
"""compare.py [--lines N] [--seed N] [--samples FOLDER]: ids and texts of Hocket's tokenizers beside those of Hugging Face's package.

By a Python that has the package tokenizers, with PYTHONPATH=build/release/python. Trains small tokenizers of every supported kind on lines
of many languages and rubbish, which it makes up itself; then encodes and decodes other lines by both. Prints a line for each tokenizer,
and each difference up to ten; fails where there is one. --samples writes small ones, with what the package makes of some lines, for
python/tests/test_tokenizers.py: tests/text/samples."""
import argparse
import json
import os
import random
import sys
import tempfile
import time

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import hocket as hk

# ---- lines ---------------------------------------------------------------------------------------------------

SCRIPTS = [  # first and last letters of what looks like words of many languages
    (0x61, 0x7A), (0x41, 0x5A), (0xE0, 0xFF), (0x100, 0x17F), (0x391, 0x3C9), (0x410, 0x44F), (0x531, 0x587), (0x5D0, 0x5EA),
    (0x620, 0x64A), (0x905, 0x939), (0x985, 0x9B9), (0xB85, 0xBB9), (0xE01, 0xE30), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137F),
    (0x1780, 0x17B3), (0x1E00, 0x1EFF), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x20000, 0x2A6DF),
    (0xFF21, 0xFF5A), (0x1D400, 0x1D7FF), (0xF900, 0xFAFF)]
MARKS = [0x300, 0x301, 0x302, 0x308, 0x30A, 0x327, 0x345, 0x5B0, 0x64B, 0x94D, 0x93C, 0xE31, 0xE48, 0x20DD, 0xFE0F, 0x3099]
EMOJI = ["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "❤️", "🇩🇪", "🧑🏿‍🚀", "🥹", "🫠", "1️⃣", "™", "©"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\u000b", "\u180e", "\ufeff"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["…", "—", "“", "”", "¿", "、", "。", "״", "॥", "€", "£", "+", "∑", "«", "»"]
ENGLISH = "the of and to a in is that it was for on are as with his they at be this don't I'll we've you're he'd I'm she's it's can't do not n't".split()
CONTROLS = [0, 1, 7, 8, 0x1B, 0x7F, 0x80, 0x9F, 0xAD, 0x61C, 0x200D, 0x200E, 0x2060, 0xFFF9, 0xFFFD, 0xE000, 0xE0001, 0x10FFFF]
SPECIAL = ["<|end|>", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<tool>", "Later", "ÀÉ"]


def word(draw):
    first, last = draw.choice(SCRIPTS)
    letters = [chr(draw.randint(first, min(last, first + 40) if draw.random() < 0.7 else last)) for _ in range(draw.randint(1, 9))]
    if draw.random() < 0.2:
        letters.insert(draw.randint(0, len(letters)), chr(draw.choice(MARKS)))
    text = "".join(letters)
    return text.capitalize() if draw.random() < 0.2 else text


def piece(draw):
    kind = draw.random()
    if kind < 0.35:
        return draw.choice(ENGLISH)
    if kind < 0.65:
        return word(draw)
    if kind < 0.72:
        return str(draw.randint(0, 10 ** draw.randint(1, 12)))
    if kind < 0.8:
        return draw.choice(PUNCTUATION) * draw.choice([1, 1, 1, 2, 3])
    if kind < 0.85:
        return draw.choice(EMOJI)
    if kind < 0.89:
        return chr(draw.choice(CONTROLS))
    if kind < 0.93:
        return draw.choice(SPECIAL)
    if kind < 0.97:
        return "".join(letter() for letter in [lambda: any_letter(draw)] * draw.randint(1, 6))
    if kind < 0.98:
        return draw.choice("aÄ 7.ก") * draw.randint(20, 300)
    return draw.choice(["", "http://www.example.org/a?b=c&d=%20", "x = [i**2 for i in range(10)]", "ſKIÅﬁ", "İI", "½²Ⅷ", "가각", "が", "ΑΣ"])


def any_letter(draw):
    code = draw.randrange(0x110000)
    return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"


def line(draw):
    parts = []
    for _ in range(draw.randint(0, 14)):
        parts.append(piece(draw))
        if draw.random() < 0.8:
            parts.append(" " if draw.random() < 0.8 else draw.choice(SPACES))
    return "".join(parts)


# ---- tokenizers ----------------------------------------------------------------------------------------------

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]|\s+(?!\S)|\s+")


SIZES = {"bytes": 2000, "pieces": 6000, "alphabet": 3000}


def byte_bpe(lines, splitter, **options):
    it = Tokenizer(models.BPE(**options))
    it.pre_tokenizer = splitter
    it.decoder = decoders.ByteLevel()
    it.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=SIZES["bytes"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                      special_tokens=["<|end|>"], show_progress=False))
    return it


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior, invert), pre_tokenizers.ByteLevel(False, True, False)])


def gpt2(lines):
    it = byte_bpe(lines, pre_tokenizers.ByteLevel(add_prefix_space=False))
    it.post_processor = processors.ByteLevel(trim_offsets=False)
    it.add_tokens([AddedToken("<tool>", lstrip=True, rstrip=True), AddedToken("Later", single_word=True, normalized=False)])
    return it


def roberta(lines):
    it = byte_bpe(lines, pre_tokenizers.ByteLevel(add_prefix_space=True))
    it.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    it.post_processor = processors.RobertaProcessing(("</s>", it.token_to_id("</s>")), ("<s>", it.token_to_id("<s>")))
    it.enable_truncation(40)
    return it


def llama3(lines):
    it = byte_bpe(lines, split(LLAMA3), ignore_merges=True)
    it.add_special_tokens(["<s>", "</s>"])
    it.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", it.token_to_id("<s>"))])])
    return it


def qwen2(lines):
    it = byte_bpe(lines, split(QWEN2))
    it.normalizer = normalizers.NFC()
    it.add_special_tokens(["<tool>"])
    return it


def o200k(lines):
    return byte_bpe(lines, split(O200K))


def cl100k(lines):
    return byte_bpe(lines, split(CL100K, "removed", True))


def digits(lines):
    it = byte_bpe(lines, pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.Punctuation("contiguous"),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    it.enable_truncation(30, direction="left")
    return it


def word_piece(lines, normalizer, splitter, decoder=None):
    it = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    it.normalizer = normalizer
    it.pre_tokenizer = splitter
    it.decoder = decoder or decoders.WordPiece()
    it.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=SIZES["pieces"], limit_alphabet=SIZES["alphabet"], show_progress=False,
                                                            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    return it


def bert(lines):
    it = word_piece(lines, normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer())
    it.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, it.token_to_id(t)) for t in ("[CLS]", "[SEP]")])
    it.add_tokens([AddedToken("ÀÉ", normalized=True)])
    return it


def bert_cased(lines):
    it = word_piece(lines, normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer())
    it.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    it.enable_truncation(32)
    return it


def plain_words(lines):
    it = word_piece(lines, normalizers.Sequence([normalizers.Replace("\0", ""), normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip(),
                                                 normalizers.Replace(Regex(r"\d+"), "0"), normalizers.Replace("ß", "ss")]),
                    pre_tokenizers.Whitespace(), decoders.WordPiece(cleanup=False))
    return it


def letters_bpe(lines):
    it = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=True, end_of_word_suffix="</w>"))
    it.normalizer = normalizers.Replace("\0", "")
    it.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split("e", "merged_with_next")])
    it.decoder = decoders.BPEDecoder()
    it.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=3000, limit_alphabet=500, special_tokens=["[UNK]"], end_of_word_suffix="</w>",
                                                      show_progress=False))
    return it


def fallback(lines):
    it = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    it.normalizer = normalizers.Sequence([normalizers.Replace("\0", ""), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    it.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    it.train_from_iterator((text[:60] for text in lines[:2000]), trainers.BpeTrainer(
        vocab_size=1500, limit_alphabet=300, special_tokens=["<unk>"] + [f"<0x{i:02X}>" for i in range(256)], show_progress=False))
    return it


KINDS = [gpt2, roberta, llama3, qwen2, o200k, cl100k, digits, bert, bert_cased, plain_words, letters_bpe, fallback]

# ---- comparing -----------------------------------------------------------------------------------------------


def compare(name, path, lines):
    theirs, ours = Tokenizer.from_file(path), hk.Tokenizer(path)
    differences, seconds = 0, [0.0, 0.0]
    for at, text in enumerate(lines):
        pair = lines[at - 1] if at % 10 == 0 and at else None
        special = at % 7 != 0
        start = time.perf_counter()
        wanted = theirs.encode(text, pair, add_special_tokens=special).ids
        middle = time.perf_counter()
        got = ours.encode(text, pair, special=special)
        seconds[0] += middle - start
        seconds[1] += time.perf_counter() - middle
        same = wanted == got
        if same and at % 3 == 0:
            wanted, got = theirs.decode(wanted, skip_special_tokens=special), ours.decode(got, special=not special)
            same = wanted == got
        if not same:
            differences += 1
            if differences <= 10:
                print(f"{name}: line {at}: {text!r}\n    theirs {wanted!r}\n    ours   {got!r}")
    check_batch(theirs, ours, lines[:50])
    print(f"{name}: {len(lines)} lines, {differences} differences; {seconds[0]:.1f} s theirs, {seconds[1]:.1f} s ours", flush=True)
    return differences


def check_batch(theirs, ours, lines):
    theirs.no_truncation() if theirs.truncation is None else None
    theirs.enable_padding()
    wanted = theirs.encode_batch(lines)
    got = ours.encode_batch(lines)
    mask = got.mask.tolist()
    assert [[i for i, m in zip(e.ids, e.attention_mask) if m] for e in wanted] == [[i for i, m in zip(r, k) if m] for r, k in zip(got.ids.tolist(), mask)]
    assert [e.attention_mask for e in wanted] == [[int(m) for m in row] for row in mask]
    assert [e.type_ids for e in wanted] == got.types.tolist()


def write_samples(folder, training, lines):
    SIZES.update(bytes=360, pieces=700, alphabet=300)
    for kind in (gpt2, roberta, llama3, bert):
        it = kind(training)
        it.save(os.path.join(folder, f"{kind.__name__}.json"), pretty=False)
        with open(os.path.join(folder, f"{kind.__name__}_lines.json"), "w") as file:
            for at, text in enumerate(lines[:40]):
                pair = lines[at - 1] if at % 10 == 9 else None
                ids = it.encode(text, pair).ids
                json.dump([text, pair, ids, it.decode(ids)], file)
                file.write("\n")
    return False


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lines", type=int, default=10000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--keep", help="a folder for the tokenizers")
    arguments.add_argument("--train", type=int, default=5000, help="lines to train on")
    arguments.add_argument("--kinds", default="", help="some of them, with commas between")
    arguments.add_argument("--samples", help="write small tokenizers and lines into this folder, and compare nothing")
    options = arguments.parse_args()
    draw = random.Random(options.seed)
    training, lines = [line(draw) for _ in range(options.train)], [line(draw) for _ in range(options.lines)]
    if options.samples:
        return write_samples(options.samples, training, lines)
    differences = 0
    print(f"tokenizers {tokenizers.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        folder = options.keep or folder
        os.makedirs(folder, exist_ok=True)
        for kind in KINDS:
            if options.kinds and kind.__name__ not in options.kinds.split(","):
                continue
            path = os.path.join(folder, f"{kind.__name__}.json")
            if not (options.keep and os.path.exists(path)):
                kind(training).save(path)
            differences += compare(kind.__name__, path, lines)
    return differences > 0


if __name__ == "__main__":
    sys.exit(main())
