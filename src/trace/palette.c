#include "trace/palette.h"

#include <string.h>

static const struct {
    const char *prefix;
    uint32_t colour;
} families[] = {
    {"conv2d_backward_weight", 0x6fc0f0},
    {"conv", 0x78aef5},
    {"linear", 0xa594f2},
    {"matmul", 0x8f9df0},
    {"max_pool", 0x62c9d9},
    {"avg_pool", 0x62c9d9},
    {"relu", 0x6fd3a8},
    {"sigmoid", 0x6fd3a8},
    {"tanh", 0x6fd3a8},
    {"exp", 0xc6dd82},
    {"log", 0xc6dd82},
    {"softmax", 0xf393bb},
    {"sgd", 0xa3d46a},
    {"sum", 0xdfb37c},
    {"mean", 0xdfb37c},
    {"max", 0xdfb37c},
    {"min", 0xdfb37c},
    {"arg", 0xdfb37c},
    {"add", 0xf4d465},
    {"sub", 0xf4d465},
    {"multiply", 0xf4d465},
    {"divide", 0xf4d465},
    {"square", 0xf4d465},
    {"random", 0xd5cbe8},
    {"load", 0xd5cbe8},
    {"full", 0xdcd8cf},
    {"zeros", 0xdcd8cf},
    {"ones", 0xdcd8cf},
};
enum { FAMILY_COUNT = sizeof families / sizeof *families };

/* For what belongs to no family. */
static const uint32_t others[] = {0xe8a798, 0x9fc7e8, 0xcfc06f, 0xc3a6e0, 0x8fd0c0, 0xe6b3d6};
enum { OTHER_COUNT = sizeof others / sizeof *others };

enum { COPY_COLOUR = 0xb9c3d1, COLLECTIVE_COLOUR = 0xf7a75a, INK = 0x24354d };

uint32_t hki_mix_colours(uint32_t colour, uint32_t other, int share)
{
    uint32_t mixed = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        uint32_t a = colour >> shift & 0xff, b = other >> shift & 0xff;
        mixed |= (a * (uint32_t)share + b * (uint32_t)(100 - share)) / 100 << shift;
    }
    return mixed;
}

static uint32_t text_hash(const char *text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

bool hki_call_is_copy(const hki_timeline *timeline, const hki_call_event *call)
{
    return timeline->queues[call->queue].is_copy || !strcmp(call->operation, "copy") ||
           !strcmp(call->operation, "to_device");
}

uint32_t hki_call_colour(const hki_timeline *timeline, const hki_call_event *call)
{
    uint32_t hash = text_hash(call->operation), colour = others[hash % OTHER_COUNT];
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (!strncmp(call->operation, families[i].prefix, strlen(families[i].prefix))) {
            colour = families[i].colour;
            break;
        }
    }
    if (call->is_collective)
        return COLLECTIVE_COLOUR;
    if (hki_call_is_copy(timeline, call))
        return COPY_COLOUR;
    /* Members of a family differ a little. */
    colour = hki_mix_colours(colour, 0xffffff, 88 + 4 * (int)(hash >> 8 & 3));
    return call->is_backward ? hki_mix_colours(colour, INK, 83) : colour;
}
