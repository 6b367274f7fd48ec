"""Tokenizers from files: beside what Hugging Face's package made of the same lines (tests/text/compare.py), and what is refused."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import hocket as hk

ROOT = pathlib.Path(__file__).parents[2]
SAMPLES = ROOT / "tests/text/samples"
LIBRARY = pathlib.Path(os.path.realpath(hk._core.__file__)).parents[2]

try:
    hk.Tokenizer(SAMPLES / "gpt2.json")
except FileNotFoundError:
    pytest.skip("the plug-in for tokenizers is not built", allow_module_level=True)


def made(tmp_path, **parts):
    """A tokenizer of few tokens, with other parts."""
    file = {"version": "1.0", "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                                        "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "##b": 2, "##a": 3, "b": 4}},
            "pre_tokenizer": {"type": "WhitespaceSplit"}}
    file.update(parts)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file))
    return path


@pytest.mark.parametrize("name", ["gpt2", "roberta", "llama3", "bert"])
def test_ids_and_texts_are_those_of_the_package(name):
    tokenizer = hk.Tokenizer(SAMPLES / f"{name}.json")
    for line in (SAMPLES / f"{name}_lines.json").read_text().splitlines():
        text, pair, ids, decoded = json.loads(line)
        assert tokenizer.encode(text, pair) == ids
        assert tokenizer.decode(ids) == decoded


def test_the_vocabulary():
    tokenizer = hk.Tokenizer(SAMPLES / "bert.json")
    assert tokenizer.id("[CLS]") == 2 and tokenizer.token(2) == "[CLS]" and tokenizer.is_special(2)
    assert tokenizer.id("no such token") is None and tokenizer.token(-1) is None and tokenizer.token(10 ** 9) is None
    assert not tokenizer.is_special(10 ** 9)
    assert all(tokenizer.id(tokenizer.token(i)) == i for i in range(tokenizer.size))
    assert repr(tokenizer) == f"<Tokenizer of {tokenizer.size} ids>"


def test_special_tokens_of_strangers(tmp_path):
    tokenizer = hk.Tokenizer(SAMPLES / "bert.json")
    assert tokenizer.encode("[MASK]", special=False) == [4]
    assert 4 not in tokenizer.encode("[MASK]", special=False, special_as_text=True)
    assert tokenizer.decode([2, 4, 3]) == "" and tokenizer.decode([2, 3], special=True) == "[CLS] [SEP]"


def test_batches():
    tokenizer = hk.Tokenizer(SAMPLES / "bert.json")
    batch = tokenizer.encode_batch(["the", ("the of", "a"), ""])
    ids = [tokenizer.encode("the"), tokenizer.encode("the of", "a"), tokenizer.encode("")]
    assert batch.lengths.tolist() == [len(row) for row in ids]
    width = max(map(len, ids))
    assert batch.ids.tolist() == [row + [0] * (width - len(row)) for row in ids]
    assert batch.mask.tolist() == [[True] * len(row) + [False] * (width - len(row)) for row in ids]
    assert max(batch.types[1].tolist()) == 1 and batch.types.shape == batch.ids.shape
    left = tokenizer.encode_batch(["the", "the of"], least=9, pad_left=True)
    assert left.ids.shape == (2, 9) and left.mask.tolist()[0] == [False] * (9 - len(ids[0])) + [True] * len(ids[0])
    assert tokenizer.encode_batch([]).ids.shape == (0, 0)


def test_most_tokens():
    tokenizer = hk.Tokenizer(SAMPLES / "bert.json")
    whole = tokenizer.encode("the of and to")
    assert tokenizer.encode("the of and to", most=4) == whole[:3] + [3]
    assert tokenizer.encode("the of and to", special=False, most=2) == whole[1:3]
    with pytest.raises(hk.ValueError, match="at most 1 tokens are wanted, but 2 are put around a text"):
        tokenizer.encode("the", most=1)


def test_texts_that_are_none():
    tokenizer = hk.Tokenizer(SAMPLES / "gpt2.json")
    with pytest.raises(UnicodeEncodeError):
        tokenizer.encode("\ud800")
    with pytest.raises(TypeError):
        tokenizer.encode(3)
    with pytest.raises(TypeError):
        tokenizer.encode_batch(["a", 3])
    assert tokenizer.decode([-1, 10 ** 12]) == ""


def test_long_words(tmp_path):
    path = made(tmp_path)
    tokenizer = hk.Tokenizer(path)
    assert tokenizer.encode("ab ba aab c " + "a" * 101) == [1, 2, 4, 3, 1, 3, 2, 0, 0]


@pytest.mark.parametrize("parts, message", [
    ({"normalizer": {"type": "Precompiled"}}, 'a normalizer of type "Precompiled" cannot be used'),
    ({"pre_tokenizer": {"type": "Metaspace"}}, 'a pre_tokenizer of type "Metaspace" cannot be used'),
    ({"post_processor": {"type": "Mine"}}, 'a post_processor of type "Mine" cannot be used'),
    ({"decoder": {"type": "CTC"}}, 'a decoder of type "CTC" cannot be used'),
    ({"model": {"type": "Unigram"}}, 'a model of type "Unigram" cannot be used'),
    ({"version": "2.0"}, 'version is "2.0"'),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?<a>b)"}, "behavior": "Isolated", "invert": False}}, "a group of a kind"),
])
def test_what_cannot_be_used_is_named(tmp_path, parts, message):
    with pytest.raises(hk.UnsupportedError, match=message):
        hk.Tokenizer(made(tmp_path, **parts))


@pytest.mark.parametrize("parts, message", [
    ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}, "merges: entry 0"),
    ({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}, 'the id of "a" is no integer'),
    ({"model": {"type": "BPE", "vocab": {}, "merges": [], "unk_token": "u"}}, 'unk_token "u" is not of the vocabulary'),
    ({"model": 3}, "model is an integer"),
    ({"added_tokens": [{"id": 1}]}, "added_tokens: content is missing"),
    ({"truncation": {"strategy": "Best"}}, 'strategy is "Best"'),
    ({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "pair": []}}, 'no ids of "x"'),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a"}, "behavior": "Isolated", "invert": False}}, r"\[ without \]"),
])
def test_what_is_wrong_is_named(tmp_path, parts, message):
    with pytest.raises((hk.ValueError, hk.UnsupportedError), match=message):
        hk.Tokenizer(made(tmp_path, **parts))


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        hk.Tokenizer(tmp_path / "none.json")
    with pytest.raises(OSError):
        hk.Tokenizer(tmp_path)
    path = tmp_path / "text.json"
    path.write_text("{")
    with pytest.raises(hk.ValueError, match="is no JSON"):
        hk.Tokenizer(path)


@pytest.mark.skipif("HOCKET_PYTHON_SANITIZER" in os.environ, reason="another compiler's program lacks the sanitizer's library")
def test_guide(tmp_path):
    """The program of docs/TEXT.md, built as it says."""
    if not (LIBRARY / "libhocket.so").exists():
        pytest.skip("this is no build folder")
    program = re.search(r"^```c\n(.*?)^```$", (ROOT / "docs/TEXT.md").read_text(), re.M | re.S).group(1)
    (tmp_path / "text.c").write_text(program)
    shutil.copy(SAMPLES / "bert.json", tmp_path / "tokenizer.json")
    flags = [f"-I{ROOT / 'include'}", f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}", "-lhocket"]
    subprocess.run(["cc", "text.c", "-o", "text", *flags], cwd=tmp_path, check=True)
    printed = subprocess.run(["./text"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert re.fullmatch(r"\[ *2.* 3\] int32 @cpu:0\nthe of and to\n", printed, re.S), printed
