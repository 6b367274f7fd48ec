/* Files that a command writes, each named by an option. False after a message that names both. */
#ifndef HOCKET_CLI_OUTPUT_FILE_H
#define HOCKET_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* path NULL: the option was not given, and *file stays as it is. */
bool open_output(const char *option, const char *path, FILE **file);
/* Whether all has been written; file NULL: it was not opened. */
bool close_output(const char *option, const char *path, FILE *file);
/* Whether a file can be written, tried before a long piece of work rather than after it. */
bool may_write(const char *option, const char *path);
/* Whether a file can be put in its place (hk_save does so), as far as its folder tells; makes none. */
bool may_replace(const char *option, const char *path);

#endif
