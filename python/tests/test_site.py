"""Pages of the documentation site that are made of sources: each function of the headers, each program, each link of a document."""
import importlib.util
import os
import re

import pytest

import hocket as hk

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = os.path.join(ROOT, "include", "hocket")


def tool(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, "tools", name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


header_pages, document_pages = tool("header_pages"), tool("document_pages")


def header(name):
    with open(os.path.join(INCLUDE, name), encoding="utf-8") as file:
        return file.read()


HEADERS = sorted(name for name in os.listdir(INCLUDE) if name.endswith(".h"))


@pytest.mark.parametrize("name", HEADERS)
def test_each_function_of_a_header_is_an_entry_once(name):
    source = header(name)
    page = header_pages.page(name, source, set(), [])
    declared = re.findall(r"^HK_API [^;(]*?\b(hk_\w+)\(", source, re.M)
    entries = re.findall(r"^(?:\.\. c:function::| {16}).*?\b(hk_\w+)\(", page, re.M)
    assert len(set(entries)) == len(entries)
    missing = {name for name in declared if name not in entries and not re.search(rf"\b{name}\(hk_source at", source)}
    assert not missing


def test_what_is_kept_from_a_header():
    page = header_pages.page("small.h", '''/* A page.
 *
 *     hk_one(2);
 */
#ifndef HOCKET_SMALL_H
#define HOCKET_SMALL_H

#include <hocket/base.h>

/* ---- parts of it ---- */

/* Options of hk_one, which *must* not be `NULL`. */
typedef struct hk_one_options {
    int a_b; /* why */
} hk_one_options;
HK_API int hk_one(const hk_one_options *options);
HK_API void hk_two(const char *format, ...) HK_PRINTF(1, 2); /* also */

/* Inline. */
static inline int hk_three(int x)
{
    return x;
}
#ifdef __cplusplus
int hidden;
#else
#define HK_SHOWN 1
#endif
HK_AT(int, hk_one, (hk_source at, int (*x)(int)), (x))
#define hk_one(...) hk_one_at(HK_SOURCE, __VA_ARGS__)

#endif
''', {"hk_one"}, [])
    assert page.startswith("<hocket/small.h>\n======") and ".. code-block:: c\n   :force:\n\n   hk_one(2);" in page
    assert "Parts of it\n-----------" in page and "\\ :c:func:`hk_one`\\ , which \\ *must*\\  not be \\ ``NULL``\\ ." in page
    assert ".. c:function:: int hk_one(const hk_one_options *options)\n                void hk_two(const char *format, ...)\n" in page
    assert "``hk_two``: also" in page and ".. c:function:: int hk_three(int x)" in page and "#define HK_SHOWN 1" in page
    for gone in ("hidden", "HK_AT", "_at(", "return x", "#endif", "#include", "HK_API", "HK_PRINTF"):
        assert gone not in page


def test_bodies_of_cplusplus_are_left_out():
    page = header_pages.page("small.hpp", '''/* A class. */
class thing : public base
{
  public:
    explicit thing(int x) noexcept : base(x) {}
    int get(hk_source at = here()) const noexcept
    {
        if (this) {
            return 1;
        }
        return 2;
    }
};
''', set(), [])
    assert "explicit thing(int x) noexcept;" in page and "int get() const noexcept;\n   };" in page


def test_links_between_documents_are_mended(tmp_path):
    known = document_pages.places(ROOT)
    for path in known:
        assert os.path.exists(os.path.join(ROOT, path)), path
    copied = set()
    text = "[a](MACHINES.md#in-a-program) ![b](images/book_lenet.svg) [c](../src/op/README.md) [`d`](../include/hocket/nn.h)\n```\n[e](x.md)\n```\n"
    made = document_pages.relinked(text, "docs/LIMITS.md", "about/limits.md", known, ROOT, copied)
    assert made == ("[a](../guides/machines.md#in-a-program) ![b](../files/docs/images/book_lenet.svg) c [`d`](../reference/c/nn_h.rst)\n"
                    "```\n[e](x.md)\n```\n")
    assert copied == {"docs/images/book_lenet.svg"}
    with pytest.raises(SystemExit, match="there is no nowhere.md"):
        document_pages.relinked("[x](nowhere.md)", "docs/LIMITS.md", "about/limits.md", known, ROOT, copied)


def test_documents_programs_and_notebooks_become_pages(tmp_path):
    document_pages.documents(ROOT, str(tmp_path), document_pages.places(ROOT))
    document_pages.example_pages(ROOT, str(tmp_path))
    document_pages.notebook_pages(ROOT, str(tmp_path))
    document_pages.command_page(ROOT, str(tmp_path))
    assert "## hocket train" in (tmp_path / "reference" / "command.md").read_text()
    index = (tmp_path / "examples" / "index.md").read_text()
    for path in document_pages.programs(ROOT):
        assert os.path.basename(path) in index and (tmp_path / document_pages.program_page(path)).exists()
    page = (tmp_path / "notebooks" / "parallel.md").read_text()
    picture = re.search(r"!\[What ran\]\((\S+)\)", page).group(1)
    assert (tmp_path / "notebooks" / picture).read_bytes().startswith(b"<svg")


@pytest.mark.parametrize("page", sorted(os.path.join(folder, name) for folder in ("guides", "start") for name in
                                        os.listdir(os.path.join(ROOT, "docs", "site", folder))) + ["index.md"])
def test_names_of_guides_exist(page):
    """Those of C, of C++ and of Python."""
    with open(os.path.join(ROOT, "docs", "site", page), encoding="utf-8") as file:
        text = file.read()
    headers = "".join(header(name) for name in os.listdir(INCLUDE))
    assert not [name for name in re.findall(r"\b(?:hk|HK)_\w+\b", text) if not re.search(rf"\b{name}\b", headers)]
    assert not [name for name in re.findall(r"\bhk::(\w+)", text) if not re.search(rf"\b{name}\b", headers)]
    for path in re.findall(r"\bhk\.([a-zA-Z_]\w*(?:\.\w+)*)\b(?!\")", text):
        thing = hk
        for name in path.split("."):
            thing = getattr(thing, name, None)
        assert thing is not None, path
