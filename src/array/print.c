/* Values as text, the way NumPy 1.24 prints them with its default options. */
#include "array/array.h"
#include "array/integer_element.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRECISION = 8,    /* digits behind the point */
    THRESHOLD = 1000, /* elements above which only edges are shown */
    EDGE_ITEMS = 3,
    LINE_WIDTH = 75,
    NUMBER_BYTES = 64
};

/* ---- one number ------------------------------------------------------------------------------------------ */

/* A finite float as digits d0.d1d2… · 10^exponent, without trailing zeros. */
typedef struct decimal {
    bool negative;
    char digits[32];
    int count, exponent;
} decimal;

static bool reads_back(const char *text, double value, hk_dtype dtype)
{
    uint64_t read = 0, element = 0;
    if (dtype == HK_F32)
        return hki_read_float(text, NULL) == (float)value;
    hki_dtype_store(dtype, &read, hki_read_double(text, NULL));
    hki_dtype_store(dtype, &element, value);
    return read == element;
}

static void decimal_round(decimal *self, double value, int digits)
{
    char text[NUMBER_BYTES];
    hki_format(text, sizeof text, "%.*e", digits - 1, value);
    self->count = 0;
    const char *at = text;
    for (; *at != 'e'; at++) /* what is no digit is a sign or the point */
        if (*at >= '0' && *at <= '9')
            self->digits[self->count++] = *at;
    self->exponent = (int)strtol(at + 1, NULL, 10);
    while (self->count > 1 && self->digits[self->count - 1] == '0')
        self->count--;
}

/* The shortest digits that read back as the same value of the dtype; where that needs more than
 * max_fraction digits behind the point (of d0.d1… when scientific), rounded to those. */
static decimal decimal_of(double value, hk_dtype dtype, bool scientific, int max_fraction)
{
    decimal self = {.negative = signbit(value)};
    int most = dtype == HK_F64 ? 17 : 9;
    for (int digits = 1; digits <= most; digits++) {
        char text[NUMBER_BYTES];
        hki_format(text, sizeof text, "%.*e", digits - 1, value);
        if (digits == most || reads_back(text, value, dtype)) {
            decimal_round(&self, value, digits);
            break;
        }
    }
    int whole = scientific ? 1 : self.exponent + 1; /* digits before the point; may be negative */
    if (value != 0 && self.count - whole > max_fraction)
        decimal_round(&self, value, max_fraction + whole > 0 ? max_fraction + whole : 1);
    return self;
}

/* "-12" and "345" of -12.345, or "1" and "2345" when scientific; returns the length of the fraction. */
static int decimal_parts(const decimal *self, bool scientific, bool has_sign, char *whole,
                         char *fraction)
{
    int exponent = scientific ? 0 : self->exponent, length = 0;
    char *at = whole;
    if (self->negative || has_sign)
        *at++ = self->negative ? '-' : '+';
    if (exponent < 0)
        *at++ = '0';
    for (int i = 0; i <= exponent; i++)
        *at++ = i < self->count ? self->digits[i] : '0';
    *at = '\0';
    if (self->count == 1 && self->digits[0] == '0') {
        fraction[0] = '\0';
        return 0;
    }
    for (int i = exponent + 1; i < 0; i++)
        fraction[length++] = '0';
    for (int i = exponent >= 0 ? exponent + 1 : 0; i < self->count; i++)
        fraction[length++] = self->digits[i];
    fraction[length] = '\0';
    return length;
}

/* ---- the format that all numbers share ------------------------------------------------------------------- */

typedef struct number_format {
    hk_dtype dtype;
    bool scientific;
    int left, right;     /* widths before and behind the point */
    int exponent_digits; /* at least 2 */
    bool has_sign;       /* also a + */
} number_format;

static int integer_text(hk_dtype dtype, const void *element, char *text)
{
    const int64_t value = hki_integer_load(dtype, element, 0);
    return dtype == HK_U64 ? snprintf(text, NUMBER_BYTES, "%" PRIu64, (uint64_t)value)
                           : snprintf(text, NUMBER_BYTES, "%" PRId64, value);
}

static int digits_of_exponent(int exponent)
{
    return abs(exponent) >= 100 ? 3 : 2;
}

static void widen(int *width, int least)
{
    if (*width < least)
        *width = least;
}

static void format_floats(number_format *self, const double *values, int64_t count)
{
    double most = 0, least = INFINITY;
    bool infinite = false, signed_infinite = false, undefined = false;
    for (int64_t i = 0; i < count; i++) {
        double size = fabs(values[i]);
        if (isfinite(size) && size > 0) {
            most = fmax(most, size);
            least = fmin(least, size);
        }
        undefined |= isnan(size);
        infinite |= isinf(size) && values[i] > 0;
        signed_infinite |= isinf(size) && (values[i] < 0 || self->has_sign);
    }
    if (most > 0) {
        double ratio = self->dtype == HK_F32 ? (double)((float)most / (float)least) : most / least;
        self->scientific = most >= 1e8 || least < 0.0001 || ratio > 1000;
    }
    bool finite = false;
    for (int64_t i = 0; i < count; i++) {
        char whole[NUMBER_BYTES], fraction[NUMBER_BYTES];
        if (!isfinite(values[i]))
            continue;
        decimal number = decimal_of(values[i], self->dtype, self->scientific, PRECISION);
        int length = decimal_parts(&number, self->scientific, self->has_sign, whole, fraction);
        widen(&self->left, (int)strlen(whole));
        widen(&self->right, length);
        widen(&self->exponent_digits, digits_of_exponent(number.exponent));
        finite = true;
    }
    int behind = self->right + 1; /* with the point, and the exponent */
    if (finite && self->scientific)
        behind += self->exponent_digits + 2;
    if (undefined)
        widen(&self->left, 3 - behind);
    if (infinite)
        widen(&self->left, 3 - behind);
    if (signed_infinite)
        widen(&self->left, 4 - behind);
}

static int format_width(const number_format *self)
{
    return self->left + 1 + self->right + (self->scientific ? self->exponent_digits + 2 : 0);
}

static const char *non_finite_text(double value, bool has_sign)
{
    static const char *const texts[] = {"+nan", "+inf", "-inf"};
    const char *text = texts[isnan(value) ? 0 : value > 0 ? 1 : 2];
    return *text == '+' && !has_sign ? text + 1 : text;
}

static void float_text(const number_format *self, double value, char *text, size_t bytes)
{
    char whole[NUMBER_BYTES], fraction[NUMBER_BYTES];
    if (!isfinite(value)) {
        snprintf(text, bytes, "%*s", format_width(self), non_finite_text(value, self->has_sign));
        return;
    }
    decimal number = decimal_of(value, self->dtype, self->scientific, PRECISION);
    /* Digits that stand there only for the column, or for the point, are true ones too. */
    int digits = self->scientific ? self->right + 1 : number.exponent + 1;
    if (value != 0 && number.count < digits)
        decimal_round(&number, value, digits);
    int length = decimal_parts(&number, self->scientific, self->has_sign, whole, fraction);
    if (self->scientific) {
        memset(fraction + length, '0', (size_t)(self->right - length));
        fraction[self->right] = '\0';
        snprintf(text, bytes, "%*s.%se%c%0*d", self->left, whole, fraction,
                 number.exponent < 0 ? '-' : '+', self->exponent_digits, abs(number.exponent));
    } else {
        snprintf(text, bytes, "%*s.%-*s", self->left, whole, self->right, fraction);
    }
}

/* A single float, alone: all its digits, with the sign in any case or not; `zero` stands for a fraction of none. */
static void scalar_text(hk_dtype dtype, double value, bool has_sign, const char *zero, char *text,
                        size_t bytes)
{
    char whole[NUMBER_BYTES], fraction[NUMBER_BYTES];
    double size = fabs(value);
    if (!isfinite(value)) {
        snprintf(text, bytes, "%s", non_finite_text(value, has_sign));
        return;
    }
    bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
    decimal number = decimal_of(value, dtype, scientific, INT16_MAX);
    int length = decimal_parts(&number, scientific, has_sign, whole, fraction);
    if (scientific)
        snprintf(text, bytes, "%s%s%se%c%0*d", whole, length ? "." : "", fraction,
                 number.exponent < 0 ? '-' : '+', digits_of_exponent(number.exponent),
                 abs(number.exponent));
    else
        snprintf(text, bytes, "%s%s%s", whole, length ? "." : zero, fraction);
}

/* A complex number, alone: (1+2j), or 2j, as Python writes it. */
static void complex_text(hk_dtype part, hk_complex value, char *text, size_t bytes)
{
    char real[NUMBER_BYTES] = "", imag[NUMBER_BYTES];
    const bool is_imaginary = value.real == 0 && !signbit(value.real);
    if (!is_imaginary)
        scalar_text(part, value.real, false, "", real, sizeof real);
    scalar_text(part, value.imag, !is_imaginary, "", imag, sizeof imag);
    snprintf(text, bytes, is_imaginary ? "%s%sj" : "(%s%sj)", real, imag);
}

/* ---- what is shown ------------------------------------------------------------------------------------------ */

/* The elements to print, copied out of the array: all, or `edges` at both ends of each axis. */
typedef struct picture {
    const hk_array *x;
    hk_array *values; /* x where they can be read; counted */
    bool summary;
    hk_dims shape; /* of what is copied */
    int64_t count;
    char *elements;
    bool unset;
    number_format format, imaginary;
    FILE *stream;
    int column, spaces; /* of the line so far, and of these the spaces not yet written */
} picture;

static bool is_cut(const picture *self, int axis)
{
    return self->summary && self->x->shape.dims[axis] > 2 * EDGE_ITEMS;
}

static bool picture_init(picture *self, const hk_array *x)
{
    *self = (picture){.x = x, .shape = x->shape, .summary = hk_size(x) > THRESHOLD};
    for (int i = 0; i < self->shape.ndim; i++)
        if (is_cut(self, i))
            self->shape.dims[i] = 2 * EDGE_ITEMS;
    if (!hki_dims_size(&self->shape, &self->count) || x->failed)
        self->count = 0;
    self->elements = malloc((size_t)self->count * HKI_ELEMENT_BYTES + HKI_ELEMENT_BYTES);
    return self->elements != NULL;
}

static void picture_read(void *argument)
{
    picture *self = argument;
    hki_tensor tensor;
    hki_tensor_init(&tensor, self->values);
    size_t element_bytes = hk_dtype_bytes(tensor.dtype);
    self->unset =
        !atomic_load_explicit(&tensor.storage->data, memory_order_acquire) && tensor.size > 0;
    if (self->unset)
        return;
    hki_tensor_resolve(&tensor);
    for (int64_t i = 0; i < self->count; i++) {
        int64_t rest = i, offset = 0;
        for (int axis = self->shape.ndim - 1; axis >= 0; axis--) {
            int64_t at = rest % self->shape.dims[axis];
            rest /= self->shape.dims[axis];
            if (is_cut(self, axis) && at >= EDGE_ITEMS)
                at += tensor.dims[axis] - 2 * EDGE_ITEMS;
            offset += at * tensor.strides[axis];
        }
        memcpy(self->elements + (size_t)i * element_bytes,
               (const char *)tensor.data + offset * (int64_t)element_bytes, element_bytes);
    }
}

static const void *element(const picture *self, int64_t index)
{
    return self->elements + (size_t)index * hk_dtype_bytes(self->x->dtype);
}

static bool picture_format(picture *self)
{
    hk_dtype dtype = self->x->dtype;
    self->format = (number_format){.dtype = hki_dtype_of_parts(dtype)};
    self->imaginary = (number_format){.dtype = self->format.dtype, .has_sign = true};
    if (hki_dtype_is_inexact(dtype)) {
        double *values = malloc((size_t)self->count * sizeof *values + 1);
        if (!values)
            return false;
        for (int64_t i = 0; i < self->count; i++)
            values[i] = hki_dtype_load(dtype, element(self, i));
        format_floats(&self->format, values, self->count);
        for (int64_t i = 0; i < self->count; i++)
            values[i] = hki_complex_load(dtype, element(self, i)).imag;
        if (hki_dtype_is_complex(dtype))
            format_floats(&self->imaginary, values, self->count);
        free(values);
    } else if (dtype == HK_BOOL) {
        self->format.left = 5;
    } else {
        for (int64_t i = 0; i < self->count; i++) {
            char text[NUMBER_BYTES];
            widen(&self->format.left, integer_text(dtype, element(self, i), text));
        }
    }
    return true;
}

/* Both parts, each as wide as all of its kind; what fills up the second one stands behind the j. */
static void complex_element_text(const picture *self, hk_complex value, char *text, size_t bytes)
{
    char real[NUMBER_BYTES], imag[NUMBER_BYTES];
    float_text(&self->format, value.real, real, sizeof real);
    float_text(&self->imaginary, value.imag, imag, sizeof imag);
    int length = (int)strlen(imag);
    while (length > 0 && imag[length - 1] == ' ')
        length--;
    snprintf(text, bytes, "%s%.*sj%s", real, length, imag, imag + length);
}

static void element_text(const picture *self, int64_t index, char *text, size_t bytes)
{
    hk_dtype dtype = self->x->dtype;
    bool alone = self->x->shape.ndim == 0;
    char integer[NUMBER_BYTES];
    if (hki_dtype_is_complex(dtype)) {
        const hk_complex value = hki_complex_load(dtype, element(self, index));
        if (alone)
            complex_text(self->format.dtype, value, text, bytes);
        else
            complex_element_text(self, value, text, bytes);
        return;
    }
    if (hki_dtype_is_real(dtype)) {
        double value = hki_dtype_load(dtype, element(self, index));
        if (alone)
            scalar_text(dtype, value, false, ".0", text, bytes);
        else
            float_text(&self->format, value, text, bytes);
        return;
    }
    if (dtype == HK_BOOL)
        snprintf(integer, sizeof integer, "%s",
                 *(const uint8_t *)element(self, index) ? "True" : "False");
    else
        integer_text(dtype, element(self, index), integer);
    snprintf(text, bytes, "%*s", alone ? 0 : self->format.left, integer);
}

/* ---- lines and brackets ------------------------------------------------------------------------------------- */

static void put_spaces(picture *self)
{
    fprintf(self->stream, "%*s", self->spaces, "");
    self->spaces = 0;
}

/* Appends to the line, or to a new one of the given indent where it would not fit; a line ends without
 * spaces. */
static void put_word(picture *self, const char *word, int indent, int width)
{
    int length = (int)strlen(word), visible = length;
    if (self->column + length > width && self->column > indent) {
        fputc('\n', self->stream);
        self->column = self->spaces = indent;
    }
    while (visible > 0 && word[visible - 1] == ' ')
        visible--;
    if (visible)
        put_spaces(self);
    fprintf(self->stream, "%.*s", visible, word);
    self->spaces += length - visible;
    self->column += length;
}

static void put_separator(picture *self)
{
    self->spaces++;
    self->column++;
}

/* Prints the axes from `axis` on, starting at element `first` of what is shown, `stride` elements. */
static void put_axis(picture *self, int axis, int64_t first, int64_t count)
{
    int ndim = self->shape.ndim, indent = axis + 1;
    int64_t dim = self->shape.dims[axis], inner = count / dim;
    fputc('[', self->stream);
    self->column = indent;
    for (int64_t i = 0; i < dim; i++) {
        for (int pass = is_cut(self, axis) && i == EDGE_ITEMS ? 0 : 1; pass < 2; pass++) {
            bool dots = pass == 0;
            if (axis == ndim - 1) {
                char text[3 * NUMBER_BYTES] = "...";
                if (!dots)
                    element_text(self, first + i, text, sizeof text);
                if (i)
                    put_separator(self);
                put_word(self, text, indent, LINE_WIDTH - ndim);
                continue;
            }
            for (int line = axis; i && line < ndim - 1; line++)
                fputc('\n', self->stream);
            if (i)
                fprintf(self->stream, "%*s", indent, "");
            if (dots)
                fputs("...", self->stream);
            else
                put_axis(self, axis + 1, first + i * inner, inner);
        }
    }
    put_spaces(self);
    fputc(']', self->stream);
}

static void put_all(picture *self)
{
    char text[3 * NUMBER_BYTES];
    const hk_array *x = self->x;
    if (!self->count) {
        fputs("[]", self->stream);
    } else if (!x->shape.ndim) {
        element_text(self, 0, text, sizeof text);
        fputs(text, self->stream);
    } else {
        put_axis(self, 0, 0, self->count);
    }
    if (x->dtype != HK_F32)
        fprintf(self->stream, " %s", hk_dtype_name(x->dtype));
    fprintf(self->stream, " @%s", x->storage->device->name);
}

static const hk_status *never_written(const hk_array *x)
{
    const hki_status_facts facts = {.operation = "print", .device = x->storage->device->name};
    return hki_status_create(HK_INVALID_ARGUMENT, &facts, "the array was never written");
}

/* Where the text goes. Unlike open_memstream, it knows when it could not grow. */
typedef struct sink {
    char *text; /* ends with a zero byte; NULL: nothing written yet */
    size_t length, capacity;
    bool is_short;
} sink;

static ssize_t sink_write(void *cookie, const char *data, size_t bytes)
{
    sink *self = cookie;
    if (!self->is_short && self->capacity - self->length <= bytes) {
        const size_t capacity = 2 * (self->length + bytes) + 256;
        char *text = realloc(self->text, capacity);
        self->is_short = !text;
        if (text) {
            self->text = text;
            self->capacity = capacity;
        }
    }
    if (self->is_short)
        return 0;
    memcpy(self->text + self->length, data, bytes);
    self->length += bytes;
    self->text[self->length] = '\0';
    return (ssize_t)bytes;
}

/* Writes the values, or the record of why there are none. False when memory ran out. */
static bool put_array(picture *self, hk_array *x, bool *failed)
{
    bool complete = true;
    self->values = hki_array_readable(x, "print");
    const hk_status *status = hki_array_read(self->values, picture_read, self);
    if (hk_ok(status) && self->unset)
        status = never_written(x);
    *failed = hk_status_print(status, self->stream);
    if (!*failed && (complete = picture_format(self)))
        put_all(self);
    hk_status_release(status);
    hk_array_release(self->values);
    return complete;
}

/* The text, without the line's end; NULL when memory ran out. *failed: it is an error record. */
static char *text_of(hk_array *x, bool *failed)
{
    picture self = {0};
    sink to = {0};
    hki_array_uncapturable("print",
                           "what the program reads is not in the graph; print after replays");
    FILE *stream = fopencookie(&to, "w", (cookie_io_functions_t){.write = sink_write});
    if (!stream)
        return NULL;
    bool complete = !x || picture_init(&self, x);
    self.stream = stream;
    if (complete)
        complete = put_array(&self, x, failed);
    free(self.elements);
    if (fclose(stream) || !complete || to.is_short || !to.text) {
        free(to.text);
        return NULL;
    }
    if (to.length && to.text[to.length - 1] == '\n') /* a record's */
        to.text[to.length - 1] = '\0';
    return to.text;
}

char *hk_to_string(hk_array *x)
{
    bool failed;
    return text_of(x, &failed);
}

int hk_print(hk_array *x, FILE *stream)
{
    bool failed = true;
    char *text = text_of(x, &failed);
    fprintf(stream, "%s\n", text ? text : "hocket: print failed: out of host memory");
    failed |= !text;
    free(text);
    return failed;
}
