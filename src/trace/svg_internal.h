/* Parts of the picture of lanes, shared by its files. */
#ifndef HOCKET_TRACE_SVG_INTERNAL_H
#define HOCKET_TRACE_SVG_INTERNAL_H

#include "trace/timeline.h"

/* Lengths are in pixels. */
enum {
    SVG_WIDTH = 1200,
    SVG_GUTTER = 170, /* for labels, left of the lanes */
    SVG_MARGIN = 24,
    SVG_TOP = 76, /* of the first lane */
    SVG_ROW = 24,
    SVG_ROW_GAP = 4,
    SVG_PROCESS_GAP = 16,
    SVG_AXIS = 34,
    SVG_LEGEND_ROW = 22,
    SVG_CHARACTER = 6,  /* the gutter's room for one */
    SVG_TEXT = 11,      /* size of the font */
    SVG_BOLD_TEXT = 14, /* as wide as 12, bold */
};

typedef struct hki_svg {
    const hki_timeline *timeline;
    hki_writer *writer;
    int64_t begin_ns, end_ns;
    double scale; /* pixels a nanosecond */
    double min_slice;
    int lane_count; /* that are drawn */
    double *lane_y; /* top, by lane */
    bool *has_waits;
    double bottom; /* of the last lane */
} hki_svg;

/* A text by value: hki_write(writer, "x=\"%s\"", hki_svg_px(x).text). */
typedef struct hki_svg_text {
    char text[48];
} hki_svg_text;

/* A length, without the locale's say. */
hki_svg_text hki_svg_px(double value);

typedef struct hki_svg_unit {
    const char *name;
    int64_t ns;
} hki_svg_unit;

hki_svg_unit hki_svg_unit_for(int64_t ns);
/* With its unit, and three digits that count. */
hki_svg_text hki_svg_time(int64_t ns);

/* Which operations have which colour, and how long their slices took. Returns where it ends. */
double hki_svg_write_legend(const hki_svg *self);

#endif
