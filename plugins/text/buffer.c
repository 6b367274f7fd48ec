/* Buffers that grow, texts that are kept, and what went wrong. */
#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool text_wrong(hk_text_problem *problem, hk_code code, const char *format, ...)
{
    if (problem->code != HK_OK)
        return false;
    va_list args;
    va_start(args, format);
    problem->code = code;
    vsnprintf(problem->message, sizeof problem->message, format, args);
    va_end(args);
    /* A name of the file may have been cut within a letter. */
    problem->message[text_utf8_length(problem->message, strlen(problem->message))] = 0;
    return false;
}

bool text_no_memory(hk_text_problem *problem)
{
    return text_wrong(problem, HK_OUT_OF_MEMORY, "out of host memory");
}

/* Room for `more` behind `count`; false: there is none. */
static bool grow(void **data, size_t count, size_t *capacity, size_t more, size_t size)
{
    enum { FIRST = 64 };
    if (more > SIZE_MAX / 2 / size - count)
        return false;
    if (count + more <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : FIRST;
    while (wanted < count + more)
        wanted *= 2;
    void *grown = realloc(*data, wanted * size);
    if (!grown)
        return false;
    *data = grown;
    *capacity = wanted;
    return true;
}

#define GROW(self, more)                                                                           \
    ((self)->failed || ((self)->failed = !grow((void **)&(self)->data, (self)->count,              \
                                               &(self)->capacity, (more), sizeof *(self)->data)))

void text_buffer_add(text_buffer *self, const char *data, size_t bytes)
{
    if (!bytes || GROW(self, bytes))
        return;
    memcpy(self->data + self->count, data, bytes);
    self->count += bytes;
}

void text_buffer_put(text_buffer *self, uint32_t letter)
{
    char data[4];
    size_t bytes;
    if (letter < 0x80) {
        data[0] = (char)letter;
        bytes = 1;
    } else if (letter < 0x800) {
        data[0] = (char)(0xC0 | letter >> 6);
        bytes = 2;
    } else if (letter < 0x10000) {
        data[0] = (char)(0xE0 | letter >> 12);
        bytes = 3;
    } else {
        data[0] = (char)(0xF0 | letter >> 18);
        bytes = 4;
    }
    for (size_t i = 1; i < bytes; i++)
        data[i] = (char)(0x80 | (letter >> 6 * (bytes - 1 - i) & 0x3F));
    text_buffer_add(self, data, bytes);
}

void text_buffer_clear(text_buffer *self)
{
    self->count = 0;
    (void)GROW(self, 1);
}

void text_buffer_free(text_buffer *self)
{
    free(self->data);
    *self = (text_buffer){.data = NULL};
}

void text_pieces_add(text_pieces *self, size_t begin, size_t end)
{
    if (!GROW(self, 1))
        self->data[self->count++] = (text_piece){begin, end};
}

void text_pieces_free(text_pieces *self)
{
    free(self->data);
    *self = (text_pieces){.data = NULL};
}

void text_ids_add(text_ids *self, int64_t id)
{
    if (!GROW(self, 1))
        self->data[self->count++] = (int32_t)id;
}

void text_ids_free(text_ids *self)
{
    free(self->data);
    *self = (text_ids){.data = NULL};
}

void text_cuts_add(text_cuts *self, size_t begin, size_t end, const text_added *token)
{
    if (!GROW(self, 1))
        self->data[self->count++] = (text_cut){begin, end, token};
}

void text_cuts_free(text_cuts *self)
{
    free(self->data);
    *self = (text_cuts){.data = NULL};
}

bool text_string_copy(text_string *self, const char *data, size_t bytes, hk_text_problem *problem)
{
    char *copy = malloc(bytes + 1);
    if (!copy)
        return text_no_memory(problem);
    memcpy(copy, data, bytes);
    copy[bytes] = 0;
    free(self->data);
    *self = (text_string){copy, bytes};
    return true;
}

void text_string_free(text_string *self)
{
    free(self->data);
    *self = (text_string){.data = NULL};
}
