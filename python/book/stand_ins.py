"""Small made-up files in the formats that the book's chapters fetch, under the names by which they fetch them.

What they say is noise: they let cells run where there is no network. Images need Pillow; without it they are left out.
"""

import gzip
import io
import json
import os
import random
import struct
import tarfile
import zipfile

WORDS = """the of and to in is was for on that by as at with his her from an be this which he it are or had not but were one all their has man
woman king queen home beautiful love chip intel nvidia apple baby go beijing china tokyo japan bad worst big biggest do did company business play guitar
good movie great terrible time traveller machine said market share street fourth dimension space year people first two new""".split()
NOUNS = [f"w{i}" for i in range(3400)]


class _Maker:
    def __init__(self, folder):
        self.folder, self.random = folder, random.Random(7)

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def zip(self, name, files):
        with zipfile.ZipFile(os.path.join(self.folder, name), "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)

    def tar(self, name, files):
        with tarfile.open(os.path.join(self.folder, name), "w:gz" if name.endswith("gz") else "w") as archive:
            for path, content in files.items():
                info = tarfile.TarInfo(path)
                data = content.encode() if isinstance(content, str) else content
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))

    def sentence(self, count, words=WORDS):
        return " ".join(self.random.choices(words, k=count))

    def image(self, width, height, kind="PNG", colors=None):
        from PIL import Image
        made = io.BytesIO()
        small = [tuple(self.random.randrange(256) for _ in range(3)) if colors is None else self.random.choice(colors) for _ in range(16)]
        picture = Image.new("RGB", (4, 4))
        picture.putdata(small)
        picture.resize((width, height), Image.NEAREST if colors else Image.BILINEAR).save(made, kind)
        return made.getvalue()


# ---- texts and tables ---------------------------------------------------------------------------------------------------


def _texts(make):
    lines = "\n".join(make.sentence(10) for _ in range(1500))
    make.file("timemachine.txt", lines)
    pairs = "".join(f"{make.sentence(n)}.\t{make.sentence(n)} !\n" for n in [1, 2, 3] * 250)
    make.zip("fra-eng.zip", {"fra-eng/fra.txt": "Go.\tVa !\nHi.\tSalut !\nI lost.\tJ'ai perdu .\nHe's calm.\tIl est calme .\nI'm home.\tJe suis chez moi .\n" + pairs})
    make.zip("ptb.zip", {f"ptb/ptb.{part}.txt": "\n".join(make.sentence(15, WORDS[:30] + NOUNS[:600]) for _ in range(2500))
                         for part in ("train", "valid", "test")})
    make.zip("wikitext-2-v1.zip", {f"wikitext-2/wiki.{part}.tokens": "\n".join(
        " . ".join(make.sentence(8) for _ in range(4)) + " ." for _ in range(200)) for part in ("train", "valid", "test")})
    head = "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\n"
    make.zip("snli_1.0.zip", {f"snli_1.0/snli_1.0_{part}.txt": head + "".join(
        f"{make.random.choice(['entailment', 'contradiction', 'neutral'])}\t( {make.sentence(6)} )\t( {make.sentence(4)} )\n"
        for _ in range(count)) for part, count in (("train", 1400), ("test", 260))})
    make.tar("aclImdb_v1.tar.gz", {f"aclImdb/{part}/{label}/{i}_1.txt": make.sentence(60) for part, count in (("train", 170), ("test", 32))
                                   for label in ("pos", "neg") for i in range(count)})
    for name, size in (("glove.6B.50d", 50), ("glove.6B.100d", 100), ("glove.42B.300d", 300), ("wiki.en", 300)):
        make.zip(name + ".zip", {f"{name}/vec.txt": "".join(
            " ".join([word, *(f"{make.random.gauss(0, 1):.4f}" for _ in range(size))]) + "\n" for word in WORDS + (NOUNS if size == 50 else []))})


def _tables(make):
    def number():
        return f"{make.random.gauss(0, 1):.3f}"

    make.file("airfoil_self_noise.dat", "".join("\t".join(number() for _ in range(6)) + "\n" for _ in range(1503)))
    columns = ["Id", "MSSubClass", "MSZoning", "LotFrontage", "LotArea", "YrSold", "SaleType", "SaleCondition"]

    def house(i):
        return f"{i},60,{make.random.choice(['RL', 'RM'])},{make.random.choice(['65', 'NA'])},{make.random.randrange(5000, 15000)},2008,WD,Normal"

    make.file("kaggle_house_pred_train.csv", ",".join(columns + ["SalePrice"]) + "\n" + "".join(
        f"{house(i)},{make.random.randrange(100000, 300000)}\n" for i in range(1, 301)))
    make.file("kaggle_house_pred_test.csv", ",".join(columns) + "\n" + "".join(house(i) + "\n" for i in range(301, 401)))
    rated = "".join(f"{user}\t{item}\t{make.random.randrange(1, 6)}\t{make.random.randrange(10 ** 6)}\n"
                    for user in range(1, 301) for item in make.random.sample(range(1, 301), 20))
    make.zip("ml-100k.zip", {"ml-100k/u.data": rated})
    make.zip("ctr.zip", {f"ctr/{part}.csv": "".join("\t".join(
        [str(make.random.randrange(2))] + [f"v{make.random.randrange(5)}" for _ in range(34)]) + "\n" for _ in range(count))
        for part, count in (("train", 2100), ("test", 300))})


# ---- images -------------------------------------------------------------------------------------------------------------


def _images(make):
    colors = [(0, 0, 0), (128, 0, 0), (0, 128, 0), (128, 128, 0), (0, 0, 128), (128, 0, 128)]
    voc = {}
    for name, count in (("train", 33), ("val", 32)):
        voc[f"VOCdevkit/VOC2012/ImageSets/Segmentation/{name}.txt"] = "\n".join(f"{name}_{i}" for i in range(count))
        for i in range(count):
            voc[f"VOCdevkit/VOC2012/JPEGImages/{name}_{i}.jpg"] = make.image(500, 375, "JPEG")
            voc[f"VOCdevkit/VOC2012/SegmentationClass/{name}_{i}.png"] = make.image(500, 375, "PNG", colors)
    make.tar("VOCtrainval_11-May-2012.tar", voc)
    bananas = {}
    for name, count in (("train", 64), ("val", 32)):
        bananas[f"banana-detection/bananas_{name}/label.csv"] = "img_name,label,xmin,ymin,xmax,ymax\n" + "".join(
            f"{i}.png,0,{50 + i},60,{120 + i},140\n" for i in range(count))
        bananas |= {f"banana-detection/bananas_{name}/images/{i}.png": make.image(256, 256) for i in range(count)}
    make.zip("banana-detection.zip", bananas)
    make.zip("hotdog.zip", {f"hotdog/{part}/{kind}/{i}.png": make.image(256, 256) for part in ("train", "test")
                            for kind in ("hotdog", "not-hotdog") for i in range(24 if part == "train" else 8)})
    make.zip("pokemon.zip", {f"pokemon/{kind}/{i}.png": make.image(64, 64) for kind in ("abra", "zubat") for i in range(300)})
    classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    make.zip("kaggle_cifar10_tiny.zip", {"kaggle_cifar10_tiny/trainLabels.csv": "id,label\n" + "".join(
        f"{i},{classes[i % 10]}\n" for i in range(1, 201))} | {f"kaggle_cifar10_tiny/{part}/{i}.png": make.image(32, 32)
                                                               for part, count in (("train", 200), ("test", 5)) for i in range(1, count + 1)})
    breeds = [f"breed_{i:03}" for i in range(20)]
    make.zip("kaggle_dog_tiny.zip", {"kaggle_dog_tiny/labels.csv": "id,breed\n" + "".join(
        f"dog{i},{breeds[i % 20]}\n" for i in range(80))} | {f"kaggle_dog_tiny/{part}/dog{i}.jpg": make.image(280, 260, "JPEG")
                                                               for part, numbers in (("train", range(80)), ("test", range(80, 85)))
                                                               for i in numbers})


def _digits(make):
    """CIFAR-10 and MNIST as the folders that their archives give."""
    def pixels(count):
        return bytes(make.random.getrandbits(8) for _ in range(count))

    for name, count in [(f"data_batch_{i}", 24) for i in range(1, 6)] + [("test_batch", 32)]:
        make.file(f"datasets/cifar-10-batches-bin/{name}.bin", b"".join(bytes([i % 10]) + pixels(3072) for i in range(count)))
    for part, count in (("train", 600), ("t10k", 200)):
        images = struct.pack(">4I", 0x803, count, 28, 28) + pixels(784 * count)
        labels = struct.pack(">2I", 0x801, count) + bytes(i % 10 for i in range(count))
        for kind, content in (("images-idx3", images), ("labels-idx1", labels)):
            make.file(f"datasets/mnist/{part}-{kind}-ubyte.gz", gzip.compress(content))


def bert(folder, name):
    """The file of a small BERT with random parameters, for one that was trained: of PyTorch's, or of MXNet's."""
    inner = name.removesuffix(".zip")
    path, words = os.path.join(folder, inner + ".params"), ["<unk>", "<pad>", "<mask>", "<cls>", "<sep>"] + WORDS
    if "torch" in name:
        import torch
        from d2l import torch as d2l
        net = d2l.BERTModel(len(words), 256, ffn_num_hiddens=512, num_heads=4, num_blks=2, dropout=0.2, max_len=512)
        tokens = torch.zeros(2, 8, dtype=torch.long)
        net(tokens, tokens, torch.tensor([8.0, 8.0]), torch.tensor([[1], [2]]))
        torch.save(net.state_dict(), path)
    else:
        from d2l import mxnet as d2l
        from mxnet import np
        net = d2l.BERTModel(len(words), 256, 512, 4, 2, 0.1, 512)
        net.initialize()
        net(np.zeros((2, 8)), np.zeros((2, 8)), np.array([8, 8]), np.array([[1], [2]]))
        net.save_parameters(path)
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        archive.writestr(f"{inner}/vocab.json", json.dumps(words))
        archive.write(path, f"{inner}/pretrained.params")


def begun(net):
    """A network of MXNet's zoo with random parameters, for one with those of its makers."""
    from mxnet import np
    net.initialize()
    net(np.zeros((1, 3, 224, 224)))
    return net


def write(folder):
    """All of them into a folder."""
    make = _Maker(folder)
    os.makedirs(folder, exist_ok=True)
    _texts(make)
    _tables(make)
    _digits(make)
    try:
        import PIL  # noqa: F401
    except ImportError:
        return
    _images(make)
