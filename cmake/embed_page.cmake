# Called as a script: cmake -DPAGE=folder -DOUTPUT=file -P embed_page.cmake
# Puts the style and scripts of the folder into its timeline.html, cuts that at @data@, and writes both parts
# as C arrays: page_head and page_tail.
cmake_minimum_required(VERSION 3.25)

file(READ "${PAGE}/timeline.html" html)
file(READ "${PAGE}/timeline.css" style)
set(script "")
foreach(name model draw view panel timeline selfcheck)
  file(READ "${PAGE}/${name}.js" text)
  string(APPEND script "${text}\n")
endforeach()
string(REPLACE "@style@" "${style}" html "${html}")
string(REPLACE "@script@" "${script}" html "${html}")

string(FIND "${html}" "@data@" cut)
if(cut EQUAL -1)
  message(FATAL_ERROR "${PAGE}/timeline.html has no @data@")
endif()
string(SUBSTRING "${html}" 0 ${cut} page_head)
math(EXPR cut "${cut} + 6")
string(SUBSTRING "${html}" ${cut} -1 page_tail)

set(code "/* Generated from src/trace/page/ by cmake/embed_page.cmake. */\n")
foreach(part page_head page_tail)
  string(HEX "${${part}}" bytes)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND code "static const unsigned char ${part}[] = {${bytes}};\n")
endforeach()
file(WRITE "${OUTPUT}" "${code}")
