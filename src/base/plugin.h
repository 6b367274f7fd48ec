/* Plug-ins: libraries of this build that are opened when they are needed, libhocket_NAME.so. */
#ifndef HOCKET_BASE_PLUGIN_H
#define HOCKET_BASE_PLUGIN_H

#include <stddef.h>

/* The plug-in of that name, from beside the library, or the program that is linked with it whole,
 * else from where the loader looks; or, where the name has a slash, the file. A handle of dlopen's;
 * NULL: what is wrong stands in `problem`. */
void *hki_plugin_open(const char *name, char *problem, size_t bytes);

#endif
