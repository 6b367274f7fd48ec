#!/usr/bin/env python3
"""Pages of the C and C++ headers for Sphinx: header_pages.py SOURCE_FOLDER OUTPUT_FOLDER.

A comment of a header is text, and documents the declarations behind it. Functions of C are entries that can be linked and looked up;
each page names the programs of examples/ that call its functions. Bodies, and what only passes lines of calls on, are left out.
"""

import os
import re
import sys

_comment = re.compile(r"/\*(.*?)\*/", re.S)
_section = re.compile(r"^-+ (.*?) -*$")
_function = re.compile(r"HK_API\s+([^;{]*?\))\s*(HK_\w+(?:\([^)]*\))?\s*)*;([ \t]*/\*.*?\*/)?", re.S)
_name = re.compile(r"(hk_\w+)\s*\(")
_guards = re.compile(r"^\s*(#include .*|#ifndef HOCKET_\w+_HP*|#define HOCKET_\w+_HP*|HK_BEGIN_DECLS|HK_END_DECLS|#pragma .*)\s*$", re.M)
GENERATED = {"ops.hpp": "What hocket/ops.h has, as functions of ``hk``: ``hk::matmul(x, y)``, ``hk::sum(x, hk::sum_options().with_axes({0}))``. Inputs that may be "
                        "NULL may be left out, and where x and y meet element by element one of them may be a number. "
                        "The page of operators says what each does."}


# ---- text ----------------------------------------------------------------------------------------------------------


def _lines(comment):
    return [re.sub(r"^\s*\*? ?", "", line, count=1).rstrip() if i else line.strip() for i, line in enumerate(comment.strip().split("\n"))]


def _escaped(text, functions):
    """Markup is taken for text; names of functions become links."""
    def word(found):
        name = found.group(0)
        if name in functions:
            return f"\\ :c:func:`{name}`\\ "
        if marked := re.fullmatch(r"\*([\w ]+)\*|`([^`]+)`", name):
            return f"\\ *{marked.group(1)}*\\ " if marked.group(1) else f"\\ ``{marked.group(2)}``\\ "
        return re.sub(r"([*|_`\\])", r"\\\1", name)
    return re.sub(r"(?<!\w)\*\w[\w ]*\*(?!\w)|`[^`\n]+`|[\w*|`\\]+", word, text)


def _text(comment, functions):
    """reStructuredText: paragraphs, lists, and what is indented as code."""
    lines, made, paragraph = _lines(comment), [], []

    def flush():
        if paragraph:
            made.extend([_escaped(" ".join(paragraph), functions), ""])
            paragraph.clear()

    i = 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("    "):
            flush()
            block = []
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i]):
                block.append(lines[i])
                i += 1
            while block and not block[-1]:
                block.pop()
            language = "c" if any(row.rstrip().endswith((";", "{", "}")) for row in block) else "text"
            made += [f".. code-block:: {language}", "   :force:", ""] + ["   " + row[4:] for row in block] + [""]
            continue
        if not line:
            flush()
        elif re.match(r"- ", line):
            flush()
            paragraph.append(line)
        else:
            paragraph.append(line.strip())
        i += 1
    flush()
    return made


# ---- code ----------------------------------------------------------------------------------------------------------


def _without_cplusplus(source):
    """What a C compiler reads."""
    kept, stack = [], []
    for line in source.split("\n"):
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b(.*)", line)
        word = directive and directive.group(1)
        is_cplusplus = bool(directive) and "__cplusplus" in directive.group(2)
        if word in ("if", "ifdef", "ifndef"):
            stack.append((is_cplusplus, not (is_cplusplus and word == "ifdef")))
            if is_cplusplus:
                continue
        elif word in ("else", "elif") and stack and stack[-1][0]:
            stack[-1] = (True, not stack[-1][1])
            continue
        elif word == "endif" and stack and stack.pop()[0]:
            continue
        if all(shown for _, shown in stack):
            kept.append(line)
    return "\n".join(kept)


def _without_lines_of_calls(source):
    """HK_AT(…) and the macros beside them, which pass on where a call stands."""
    source = re.sub(r"^HK_AT\w*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*?$", "", source, flags=re.M)
    source = re.sub(r"^#define hk_\w+\(\.\.\.\)\s*(?:\\\n\s*)?.*_at\((?:.*\\\n)*.*\)\s*$", "", source, flags=re.M)
    return re.sub(r"/\* The same with the source position[^*]*\*/", "", source)


def _code(source):
    source = re.sub(r"^namespace hk\n\{\n|^\} // namespace hk$", "", source, flags=re.M)
    return re.sub(r"\n{2,}", "\n", re.sub(r"^/\* clang-format o\w+ \*/$", "", _guards.sub("", source), flags=re.M)).replace("HK_API ", "").strip("\n")


def _without_bodies(source):
    """Bodies of functions, and what constructors begin with."""
    lines, kept, skip = source.split("\n"), [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if skip is not None:
            if line.strip() == "}" and indent == skip:
                skip = None
            continue
        before = kept[-1].strip() if kept else ""
        if line.strip() == "{" and not re.match(r"(class|struct|namespace|union|enum|public|extern)\b", before):
            while kept and re.match(r"\s*: \w|\s*, \w+\(", kept[-1]):
                kept.pop()
            kept[-1] = re.sub(r"\s*: \w+\(.*$", "", kept[-1]) + ";"
            skip = indent
            continue
        kept.append(re.sub(r"(\)[^(){}]*?)\s*(: \w+\(.*?\) )?\{\}?.*\}$", r"\1;", line) if re.search(r"\).*\{.*\}$", line) else line)
    return re.sub(r",?\s*hk_source at = here\(\)", "", "\n".join(kept))


def _parts(source):
    """("text", …) of comments that begin a line, and ("code", …) of what stands between them."""
    at = 0
    for found in _comment.finditer(source):
        begins_line = source.rfind("\n", 0, found.start()) + 1 == found.start()
        if begins_line:
            yield "code", source[at:found.start()]
            yield "text", found.group(1)
            at = found.end()
    yield "code", source[at:]


def _c_declarations(source):
    """What a program in C is to know: inline functions without bodies, nothing that takes the line of a call."""
    source = _without_bodies(_without_lines_of_calls(_without_cplusplus(source)))
    source = re.sub(r"^static inline [^;{}]*\bhk_source at\b[^;{}]*;\n", "", source, flags=re.M)
    source = re.sub(r"^#define hk_\w+\((?:out, )?x, y\) *\\\n.*\)\n", "", source, flags=re.M)
    return re.sub(r"^static inline ", "HK_API ", source, flags=re.M)


def functions_of(source):
    """Names of the functions that a header declares."""
    found = _function.finditer(_c_declarations(source))
    return [_name.search(one.group(1)).group(1) for one in found if "hk_source at" not in one.group(1)]


# ---- pages ---------------------------------------------------------------------------------------------------------


def _entries(code, text, functions, known):
    """Declarations, with the text before them: functions as entries, which hold it all, and the rest as code."""
    found = [one for one in _function.finditer(code) if _name.search(one.group(1)).group(1) not in known and "hk_source at" not in one.group(1)]
    rest = _code(_function.sub("", code))
    block = [".. code-block:: c", ""] + ["   " + line for line in rest.split("\n")] + [""] if rest.strip() else []
    if not found:
        return text + block
    signatures, notes = [], []
    for one in found:
        name = _name.search(one.group(1)).group(1)
        known.add(name)
        signatures.append(" ".join(one.group(1).split()))
        if one.group(3):
            notes += [f"``{name}``: " + _escaped(" ".join(_comment.search(one.group(3)).group(1).split()), functions), ""]
    body = text + block + notes
    return [f".. c:function:: {signatures[0]}"] + [" " * 16 + one for one in signatures[1:]] + [""] + ["   " + line if line else "" for line in body] + [""]


def page(name, source, functions, users):
    """The reStructuredText of a header. functions: of all headers. users: programs that call those of this one."""
    title = f"<hocket/{name}>"
    lines, text, known = [title, "=" * len(title), ""], [], set()
    is_c = name.endswith(".h")
    source = re.sub(r"#endif\s*\Z", "", source)  # of the guard
    source = _c_declarations(source) if is_c else _without_bodies(source)
    for kind, part in _parts(source):
        if kind == "text" and part.strip().startswith("clang-format"):
            continue
        if kind == "code" and _code(part).strip():
            if is_c:
                for block in re.split(r"\n[ \t]*\n", part):  # a comment documents what stands without a gap behind it
                    if _code(block).strip():
                        lines += _entries(block, text, functions, known)
                        text = []
            else:
                lines += text + [".. code-block:: cpp", ""] + ["   " + line for line in _code(part).split("\n")] + [""]
            text = []
        elif kind == "text":
            section = _section.match(" ".join(part.split()))
            if section:
                heading = section.group(1)[0].upper() + section.group(1)[1:]
                lines += text + [heading, "-" * len(heading), ""]
                text = []
            else:
                lines += text
                text = _text(part, functions)
    lines += text
    if users:
        lines += ["Programs that call these", "------------------------", "",
                  ", ".join(f":doc:`{user} </examples/{user.replace('/', '_').rsplit('.', 1)[0]}>`" for user in users), ""]
    return "\n".join(lines) + "\n"


def _read(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r" Written by tools/opgen[^;]*; `make generate`\.", "", file.read())


def _calls(folder):
    """{program: the names that it mentions} of the C programs of examples/."""
    programs = sorted(name for name in os.listdir(folder) if name.endswith(".c"))
    return {name: set(re.findall(r"\bhk_\w+", _read(os.path.join(folder, name)))) for name in programs}


def _users(functions, calls, everywhere):
    """At most six programs, those that call the most of these."""
    own = set(functions) - everywhere
    scored = sorted((-len(own & names), program) for program, names in calls.items() if own & names)
    return sorted(program for _, program in scored[:6])


def main():
    root, target = sys.argv[1:]
    include = os.path.join(root, "include", "hocket")
    headers = {name: _read(os.path.join(include, name)) for name in sorted(os.listdir(include)) if name.endswith((".h", ".hpp"))}
    declared = {name: functions_of(source) for name, source in headers.items() if name.endswith(".h")}
    calls = _calls(os.path.join(root, "examples"))
    everywhere = {name for name in set().union(*calls.values()) if sum(name in names for names in calls.values()) > len(calls) / 2}
    functions = set().union(*declared.values())
    for folder, kind, language in (("c", ".h", "C"), ("cxx", ".hpp", "C++")):
        os.makedirs(os.path.join(target, folder), exist_ok=True)
        names = [name for name in headers if name.endswith(kind)]
        names.sort(key=lambda name: (name != "hocket" + kind, name))
        for name in names:
            source = f"/* {GENERATED[name]} */" if name in GENERATED else headers[name]
            with open(os.path.join(target, folder, name.replace(".", "_") + ".rst"), "w", encoding="utf-8") as out:
                out.write(page(name, source, functions, _users(declared.get(name, ()), calls, everywhere)))
        with open(os.path.join(target, folder, "index.rst"), "w", encoding="utf-8") as out:
            title = f"{language} reference"
            out.write(f"{title}\n{'=' * len(title)}\n\n.. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {name.replace('.', '_')}\n" for name in names))


if __name__ == "__main__":
    main()
