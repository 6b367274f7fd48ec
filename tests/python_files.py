"""The other side of python_files.c: checks the files that it wrote, and writes those that it reads.

    python_files.py numpy|safetensors FOLDER     77: the package is not here
"""
import pathlib
import sys

kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
try:
    import numpy as np
    if kind == "safetensors":
        import safetensors
        import safetensors.numpy
except ImportError as missing:
    print(missing)
    sys.exit(77)

DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool", "float16", "int8", "int16", "uint16", "uint32", "uint64"]
STEPS = np.arange(24).reshape(2, 3, 4)


def expected(dtype):
    """What values_of in python_files.c gives."""
    if dtype == "bool":
        return STEPS % 3 == 0
    if dtype.startswith("uint"):
        return (STEPS * 3).astype(dtype)
    values = STEPS * 3 - 10
    return (values / 4 if dtype.startswith("float") else values).astype(dtype)


# float32's upper halves; what is cut off here is zero.
BFLOAT16 = (expected("float32").view("uint32") >> 16).astype("uint16").tobytes()
ALL = {dtype: expected(dtype) for dtype in DTYPES} | {
    "layer.0/ü": np.full((), 2.5), "none": np.zeros((3, 0), "int32")}


def check(found, wanted, what):
    found = np.asarray(found)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (what, found.dtype, found.shape)
    assert found.tobytes() == wanted.tobytes(), (what, found, wanted)


def check_all(found, what):
    assert sorted(found.keys()) == sorted(ALL), (what, sorted(found.keys()))
    for name, wanted in ALL.items():
        check(found[name], wanted, (what, name))


if kind == "numpy":
    for dtype in DTYPES:
        check(np.load(folder / f"ours.{dtype}.npy"), expected(dtype), dtype)
    for name in ["ours.npz", "ours.packed.npz"]:
        with np.load(folder / name) as archive:
            check_all(archive, name)
    for dtype in DTYPES:
        values = expected(dtype)
        np.save(folder / f"theirs.{dtype}.npy", values)
        np.save(folder / f"theirs.{dtype}.fortran.npy", np.asfortranarray(values))
        np.save(folder / f"theirs.{dtype}.swapped.npy", values.astype(values.dtype.newbyteorder(">")))
        for version in 2, 3:
            with open(folder / f"theirs.{dtype}.{version}.npy", "wb") as file:
                np.lib.format.write_array(file, values, version=(version, 0))
    np.savez(folder / "theirs.npz", **ALL)
    np.savez_compressed(folder / "theirs.packed.npz", **{n: np.array(v, order="F") for n, v in ALL.items()})
    np.savez(folder / "theirs.none.npz")
else:
    path = folder / "ours.safetensors"
    raw = dict(safetensors.deserialize(path.read_bytes()))
    assert raw["bfloat16"]["dtype"] == "BF16" and raw["bfloat16"]["shape"] == [2, 3, 4], raw["bfloat16"]
    assert bytes(raw["bfloat16"]["data"]) == BFLOAT16
    with safetensors.safe_open(path, framework="numpy") as file:
        check_all({name: file.get_tensor(name) for name in file.keys() if name != "bfloat16"}, path)
        assert file.metadata() == {"step": "12", "note": "ü\n\"\\"}, file.metadata()
    safetensors.numpy.save_file(ALL, folder / "theirs.safetensors", metadata={"step": "12", "note": "ü\n\"\\"})
    with safetensors.safe_open(folder / "ours.none.safetensors", framework="numpy") as file:
        assert not list(file.keys())
