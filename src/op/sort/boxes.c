/* Boxes around what has been found in images: which to keep where several are about the same. The number of them follows from
 * values, which are looked at on the host. */
#include "op/sort/selection.h"

#include "array/array.h"
#include "base/option.h"
#include "base/source.h"
#include "op/call/composed.h"
#include "op/shape/join.h"

#include <hocket/index.h>
#include <math.h>
#include <stdlib.h>

typedef struct suppression {
    const hk_non_max_suppression_options *options;
    double overlap;
    int64_t samples, classes, count; /* boxes of a sample */
    double *boxes, *scores;
    struct candidate *sorted;
    int64_t *found, found_count; /* (sample, class, box) */
} suppression;

/* ---- boxes -------------------------------------------------------------------------------------------- */

typedef struct box {
    double low[2], high[2];
} box;

static box box_of(const suppression *self, int64_t sample, int64_t i)
{
    const double *numbers = self->boxes + (sample * self->count + i) * 4;
    box it;
    for (int axis = 0; axis < 2; axis++) {
        const double a = numbers[axis], b = numbers[axis + 2];
        it.low[axis] = self->options->is_centered ? a - b / 2 : fmin(a, b);
        it.high[axis] = self->options->is_centered ? a + b / 2 : fmax(a, b);
    }
    return it;
}

static double area_of(const box *it)
{
    return (it->high[0] - it->low[0]) * (it->high[1] - it->low[1]);
}

static bool overlap(const suppression *self, const box *a, const box *b)
{
    box both;
    for (int axis = 0; axis < 2; axis++) {
        both.low[axis] = fmax(a->low[axis], b->low[axis]);
        both.high[axis] = fmin(a->high[axis], b->high[axis]);
        if (!(both.high[axis] > both.low[axis]))
            return false;
    }
    const double common = area_of(&both);
    return common / (area_of(a) + area_of(b) - common) > self->overlap;
}

typedef struct candidate {
    double score;
    int64_t box;
} candidate;

/* The highest score first, of equal ones the first box; a NaN last. */
static int by_score(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const double x = isnan(a->score) ? -INFINITY : a->score;
    const double y = isnan(b->score) ? -INFINITY : b->score;
    return x != y ? (x > y ? -1 : 1) : (a->box > b->box) - (a->box < b->box);
}

/* Adds the boxes of one class of one sample that are kept. */
static void keep_boxes(suppression *self, int64_t sample, int64_t class)
{
    const double *scores = self->scores + (sample * self->classes + class) * self->count;
    const double least = self->options->least_score;
    const bool has_least = hki_option_is_set(least);
    const int64_t first = self->found_count, most = self->options->most;
    int64_t count = 0;
    for (int64_t i = 0; i < self->count; i++)
        if (!has_least || scores[i] > least)
            self->sorted[count++] = (candidate){scores[i], i};
    qsort(self->sorted, (size_t)count, sizeof *self->sorted, by_score);
    for (int64_t i = 0; i < count && (most == 0 || self->found_count - first < most); i++) {
        const box it = box_of(self, sample, self->sorted[i].box);
        bool is_free = true;
        for (int64_t j = first; j < self->found_count && is_free; j++) {
            const box kept = box_of(self, sample, self->found[3 * j + 2]);
            is_free = !overlap(self, &it, &kept);
        }
        if (!is_free)
            continue;
        int64_t *row = self->found + 3 * self->found_count++;
        row[0] = sample, row[1] = class, row[2] = self->sorted[i].box;
    }
}

/* ---- the call ------------------------------------------------------------------------------------------- */

static bool check(hki_call *call, suppression *self, const hk_array *boxes, const hk_array *scores)
{
    char text[224], scores_text[224];
    if (!boxes || !scores)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is NULL", boxes ? "scores" : "boxes");
    if (boxes->failed || scores->failed)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s has failed",
                               boxes->failed ? "boxes" : "scores");
    hki_array_describe(boxes, text, sizeof text);
    hki_array_describe(scores, scores_text, sizeof scores_text);
    const int64_t *dims = boxes->shape.dims, *of_scores = scores->shape.dims;
    const bool is_one = boxes->shape.ndim == 2;
    self->samples = is_one ? 1 : dims[0];
    self->count = is_one ? dims[0] : dims[1];
    self->classes = is_one ? 1 : of_scores[1];
    if (!hki_dtype_is_real(boxes->dtype) || !hki_dtype_is_real(scores->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "boxes is %s and scores %s: both must be of floats", text,
                               scores_text);
    if (is_one ? dims[1] != 4 || scores->shape.ndim != 1 || of_scores[0] != self->count
               : boxes->shape.ndim != 3 || dims[2] != 4 || scores->shape.ndim != 3 ||
                     of_scores[0] != self->samples || of_scores[2] != self->count)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "boxes is %s and scores %s: they must be (count,4) and (count,), or "
                               "(n,count,4) and (n,classes,count)",
                               text, scores_text);
    if (!(self->overlap >= 0 && self->overlap <= 1))
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "overlap is %g, but must be from 0 to 1",
                               self->overlap);
    if (self->options->most < 0 || isnan(self->options->least_score))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "most is %" PRId64
                               " and least_score %g, but most must be 0 or more, and least_score "
                               "a number",
                               self->options->most, self->options->least_score);
    return true;
}

static bool read_doubles(hki_call *call, hk_array *x, double *values)
{
    x = hki_as(x, HK_F64);
    const hk_status *status = (hk_to_host)(x, values, (size_t)x->size * sizeof *values);
    return hk_ok(status) ||
           hki_call_refuse(call, hk_status_code(status), "%s", hk_status_message(status));
}

static hk_array *find(hki_call *call, suppression *self, hk_array *boxes, hk_array *scores)
{
    const int64_t kept = self->options->most && self->options->most < self->count
                             ? self->options->most
                             : self->count;
    const size_t most = (size_t)(self->samples * self->classes * kept);
    self->boxes = malloc((size_t)boxes->size * sizeof(double) + 1);
    self->scores = malloc((size_t)scores->size * sizeof(double) + 1);
    self->sorted = malloc((size_t)self->count * sizeof *self->sorted + 1);
    self->found = malloc(most * 3 * sizeof(int64_t) + 1);
    if (!self->boxes || !self->scores || !self->sorted || !self->found) {
        hki_call_refuse(call, HK_OUT_OF_MEMORY, "there was no host memory for copies of boxes");
        return NULL;
    }
    if (!read_doubles(call, boxes, self->boxes) || !read_doubles(call, scores, self->scores))
        return NULL;
    for (int64_t i = 0; i < self->samples * self->classes; i++)
        keep_boxes(self, i / self->classes, i % self->classes);
    const hk_device device = {boxes->storage->device};
    if (boxes->shape.ndim == 3)
        return (hk_from_host)(self->found, hk_shape(self->found_count, 3), HK_I64, device);
    for (int64_t i = 0; i < self->found_count; i++)
        self->found[i] = self->found[3 * i + 2];
    return (hk_from_host)(self->found, hk_shape(self->found_count), HK_I64, device);
}

hk_array *(hk_non_max_suppression)(hk_array *boxes, hk_array *scores, double overlap,
                                   const hk_non_max_suppression_options *options)
{
    HKI_TAKE_OPTIONS(hk_non_max_suppression_options, options);
    static const hk_non_max_suppression_options none = {0};
    hki_call call = {.code = HK_OK};
    suppression self = {.options = options ? options : &none, .overlap = overlap};
    hk_array *result;
    hki_array_uncapturable("non_max_suppression", "the shape of its result depends on values");
    {
        HK_SCOPE;
        hk_array *inputs[] = {boxes, scores};
        result = check(&call, &self, boxes, scores) ? find(&call, &self, boxes, scores) : NULL;
        result =
            hk_take(result ? result : hki_refuse_many("non_max_suppression", inputs, 2, &call));
    }
    free(self.found);
    free(self.sorted);
    free(self.scores);
    free(self.boxes);
    return hki_scope_add(result);
}
