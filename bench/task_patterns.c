#include "task_patterns.h"

#include <string.h>

enum { INDEPENDENT = 64, READERS = 64 };

static task_call chain_at(int i, int width)
{
    (void)i, (void)width;
    return (task_call){.write = 0, .reads = {0}, .read_count = 1};
}

static task_call independent_at(int i, int width)
{
    (void)width;
    return (task_call){.write = i};
}

static task_call fresh_at(int i, int width)
{
    (void)i, (void)width;
    return (task_call){.write = -1, .reads = {0}, .read_count = 1};
}

/* Of two rows of data one is written from the other, in turns; ends meet. */
static task_call ring_at(int i, int width)
{
    int x = i % width, from = i / width * width, to = width - from;
    return (task_call){.write = to + x,
                       .reads = {from + x, from + (x + 1) % width, from + (x + width - 1) % width},
                       .read_count = 3};
}

/* The same where ends do not meet: Task Bench's stencil_1d. */
static task_call stencil_at(int i, int width)
{
    int x = i % width, from = i / width * width, to = width - from;
    task_call call = {.write = to + x, .reads = {from + x}, .read_count = 1};
    if (x > 0)
        call.reads[call.read_count++] = from + x - 1;
    if (x < width - 1)
        call.reads[call.read_count++] = from + x + 1;
    return call;
}

static task_call fan_at(int i, int width)
{
    (void)width;
    if (i == 0)
        return (task_call){.write = 0};
    return (task_call){.write = i, .reads = {0}, .read_count = 1};
}

static const struct {
    const char *name;
    int data, period, width;
    task_call (*at)(int i, int width);
} table[TASK_PATTERNS] = {
    {"chain", 1, 1, 0, chain_at},
    {"independent", INDEPENDENT, INDEPENDENT, 0, independent_at},
    {"y=x+1", 1, 1, 0, fresh_at},
    {"stencil 8", 16, 16, 8, ring_at},
    {"stencil 64", 128, 128, 64, ring_at},
    {"fan-out 64", READERS + 1, READERS + 1, 0, fan_at},
    {"stencil_1d 8", 16, 16, 8, stencil_at},
    {"stencil_1d 64", 128, 128, 64, stencil_at},
};

void task_pattern_init(task_pattern *pattern, int number)
{
    *pattern = (task_pattern){
        .name = table[number].name, .data = table[number].data, .period = table[number].period};
    for (int i = 0; i < pattern->period; i++)
        pattern->calls[i] = table[number].at(i, table[number].width);
}

int task_pattern_find(const char *name)
{
    int number = 0;
    while (number < TASK_PATTERNS && strcmp(table[number].name, name))
        number++;
    return number < TASK_PATTERNS ? number : -1;
}

const char *task_pattern_name(int number)
{
    return table[number].name;
}
