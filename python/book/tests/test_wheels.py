"""Two wheels share the folder of the package: neither has a file of the other's, and both are of one version."""
import pathlib
import tomllib

BOOK = pathlib.Path(__file__).resolve().parent.parent
ROOT = BOOK.parent.parent


def names_of(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


def test_no_file_is_in_both():
    own, book = names_of(ROOT / "python" / "hocket"), names_of(BOOK / "hocket")
    assert book and not own & book
    assert {name.split("/")[0] for name in book} == {"_dialects", "book", "mxnet", "torch", "torchvision"}


def test_both_have_one_version_and_the_book_needs_it():
    assert project(ROOT)["version"] == project(BOOK)["version"]
    assert f"hocket=={project(ROOT)['version']}" in project(BOOK)["dependencies"]


def test_the_library_stands_without_the_book():
    for path in (ROOT / "python" / "hocket").rglob("*.py"):
        text = path.read_text()
        assert not any(f"{name}" in text for name in ("_dialects", "hocket.torch", "hocket.mxnet", "hocket.book")), path
