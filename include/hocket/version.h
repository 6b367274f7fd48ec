/* The version of the headers in use. */
#ifndef HOCKET_VERSION_H
#define HOCKET_VERSION_H

#define HK_VERSION_MAJOR 0
#define HK_VERSION_MINOR 1
#define HK_VERSION_PATCH 0
#define HK_VERSION_STRING "0.1.0"

#endif
