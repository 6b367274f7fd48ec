/* Walks and paths: the same elements in the same order, whatever is joined, cut and widened. */
#include "op/cuda/cuda_walk.h"

#include "tests/check.h"

#include <string.h>

enum { OPERANDS = 3, MOST = 4096 };

/* Where operand `operand` of a walk is at element `index`. */
static int64_t walk_at(const hki_cuda_walk *walk, int operand, int64_t index)
{
    int64_t at = (intptr_t)walk->data[operand];
    for (int axis = walk->ndim - 1; axis >= 0; axis--) {
        at += index % walk->dims[axis] * walk->steps[axis][operand];
        index /= walk->dims[axis];
    }
    return at;
}

/* The same of a path, as kernels find it. */
static int64_t path_at(const hki_cuda_path *path, int operand, int64_t element)
{
    uint32_t index = (uint32_t)(element / path->width);
    int64_t at = (intptr_t)path->data[operand];
    for (int axis = path->ndim - 1; axis > 0; axis--) {
        uint32_t outer = hki_cuda_divide(index, path->dims[axis]);
        at += (int64_t)(index - outer * path->dims[axis].divisor) * path->steps[axis][operand];
        index = outer;
    }
    return at + (int64_t)index * path->steps[0][operand];
}

typedef struct shape {
    int ndim;
    int64_t dims[4];
    int64_t strides[OPERANDS][4]; /* in floats */
} shape;

static const shape shapes[] = {
    {0, {0}, {{0}}},
    {1, {37}, {{1}, {1}, {0}}},
    {1, {64}, {{1}, {1}, {1}}},
    {2, {8, 16}, {{16, 1}, {16, 1}, {0, 1}}},
    {2, {8, 16}, {{16, 1}, {20, 1}, {1, 0}}},
    {2, {8, 16}, {{16, 1}, {1, 8}, {16, 1}}},
    {3, {3, 1, 5}, {{5, 5, 1}, {5, 7, 1}, {0, 0, 0}}},
    {3, {4, 6, 12}, {{72, 12, 1}, {96, 16, 1}, {72, 12, 1}}},
    {4, {2, 3, 4, 8}, {{96, 32, 8, 1}, {96, 32, 8, 1}, {0, 8, 0, 1}}},
    {4, {3, 2, 4, 5}, {{40, 20, 5, 1}, {1, 3, 6, 24}, {1, 3, 6, 24}}},
};

static hki_cuda_walk walk_of(const shape *from, intptr_t offset)
{
    hki_cuda_walk walk;
    hki_cuda_walk_init(&walk, OPERANDS);
    for (int axis = 0; axis < from->ndim; axis++) {
        int64_t steps[OPERANDS];
        for (int i = 0; i < OPERANDS; i++)
            steps[i] = from->strides[i][axis] * (int64_t)sizeof(float);
        hki_cuda_walk_add_axis(&walk, from->dims[axis], steps);
    }
    for (int i = 0; i < OPERANDS; i++)
        walk.data[i] = (char *)((i + 1) * (intptr_t)0x10000 + offset);
    return walk;
}

static void test_same(const hki_cuda_walk *walk, const hki_cuda_walk *other)
{
    CHECK_EQ_I64(other->size, walk->size);
    for (int i = 0; i < OPERANDS; i++) {
        bool same = true;
        for (int64_t index = 0; same && index < walk->size; index++)
            same = walk_at(walk, i, index) == walk_at(other, i, index);
        CHECK(same);
    }
}

static void test_paths(const hki_cuda_walk *walk)
{
    const int item_bytes[OPERANDS] = {sizeof(float), sizeof(float), sizeof(float)};
    for (int width = 1; width <= 4; width *= 2) {
        hki_cuda_path path;
        hki_cuda_path_init(&path, walk, width, item_bytes);
        CHECK(path.width == 1 || path.width == width);
        CHECK_EQ_I64((int64_t)path.count * path.width, walk->size);
        for (int i = 0; i < OPERANDS; i++) {
            bool same = true;
            for (int64_t index = 0; same && index < walk->size; index += path.width) {
                const int64_t at = path_at(&path, i, index);
                const int64_t step = path.wide >> i & 1 ? (int64_t)sizeof(float) : 0;
                same = at == walk_at(walk, i, index);
                if (path.width > 1 && step)
                    same = same && at % (path.width * (int64_t)sizeof(float)) == 0;
                for (int64_t j = 1; same && j < path.width; j++)
                    same = at + j * step == walk_at(walk, i, index + j);
            }
            CHECK(same);
        }
    }
}

static void test_parts(const hki_cuda_walk *walk, int64_t most)
{
    int64_t begin = 0;
    while (begin < walk->size) {
        hki_cuda_walk part;
        int64_t count = hki_cuda_walk_part(walk, begin, most, &part);
        CHECK(count > 0 && count <= most && begin + count <= walk->size);
        CHECK_EQ_I64(part.size, count);
        bool same = true;
        for (int64_t index = 0; index < count; index++)
            for (int i = 0; i < OPERANDS; i++)
                same = same && walk_at(&part, i, index) == walk_at(walk, i, begin + index);
        CHECK(same);
        if (count <= 0)
            break;
        begin += count;
    }
    CHECK_EQ_I64(begin, walk->size);
}

static void test_walks(void)
{
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (intptr_t offset = 0; offset <= 16; offset += 4) {
            const hki_cuda_walk walk = walk_of(&shapes[s], offset);
            hki_cuda_walk merged = walk;
            hki_cuda_walk_merge(&merged);
            test_same(&walk, &merged);
            test_paths(&walk);
            test_parts(&walk, 1);
            test_parts(&walk, 7);
            test_parts(&walk, 24);
            test_parts(&walk, MOST);
        }
    }
}

/* What all operands step through evenly is one axis, which is read at once where it is aligned. */
static void test_widths(void)
{
    const int item_bytes[OPERANDS] = {sizeof(float), sizeof(float), sizeof(float)};
    hki_cuda_path path;
    hki_cuda_walk walk = walk_of(&shapes[2], 0);
    hki_cuda_path_init(&path, &walk, 4, item_bytes);
    CHECK_EQ_I64(path.width, 4);
    walk = walk_of(&shapes[2], 4); /* begins in between */
    hki_cuda_path_init(&path, &walk, 4, item_bytes);
    CHECK_EQ_I64(path.width, 1);
    walk = walk_of(&shapes[1], 0); /* 37 elements */
    hki_cuda_path_init(&path, &walk, 4, item_bytes);
    CHECK_EQ_I64(path.width, 1);
    walk = walk_of(&shapes[3], 0); /* rows and one for all of them */
    hki_cuda_path_init(&path, &walk, 4, item_bytes);
    CHECK_EQ_I64(path.width, 4);
    CHECK_EQ_I64(path.wide, 7);
    walk = walk_of(&shapes[4], 0); /* one for each row */
    hki_cuda_path_init(&path, &walk, 4, item_bytes);
    CHECK_EQ_I64(path.width, 4);
    CHECK_EQ_I64(path.wide, 3);
    walk = walk_of(&shapes[5], 0); /* a transpose */
    hki_cuda_path_init(&path, &walk, 4, item_bytes);
    CHECK_EQ_I64(path.width, 1);
}

/* More elements than there are indices. */
static void test_huge(void)
{
    hki_cuda_walk walk, part;
    hki_cuda_path path;
    const int64_t sizes[3] = {3, INT64_C(1) << 33, 5}, steps[3][OPERANDS] = {{0}, {20, 20}, {4, 4}};
    hki_cuda_walk_init(&walk, OPERANDS);
    for (int axis = 0; axis < 3; axis++)
        hki_cuda_walk_add_axis(&walk, sizes[axis], steps[axis]);
    for (int i = 0; i < OPERANDS; i++)
        walk.data[i] = (char *)(intptr_t)0x10000;
    int64_t begin = 0, parts = 0;
    while (begin < walk.size) {
        int64_t count = hki_cuda_walk_part(&walk, begin, HKI_CUDA_MAX_INDEX, &part);
        hki_cuda_path_init(&path, &part, 1, NULL);
        CHECK_EQ_I64(path.count, count);
        CHECK_EQ_I64((intptr_t)part.data[0], walk_at(&walk, 0, begin));
        begin += count;
        parts++;
    }
    CHECK_EQ_I64(begin, walk.size);
    CHECK(parts >= walk.size / HKI_CUDA_MAX_INDEX && parts <= walk.size / HKI_CUDA_MAX_INDEX + 6);
}

/* Axes in the order of memory have the same elements in another order. */
static void test_sort(void)
{
    hki_cuda_walk walk = walk_of(&shapes[9], 0), sorted = walk;
    hki_cuda_walk_sort(&sorted, 1);
    int64_t sum[2][OPERANDS] = {{0}};
    for (int64_t i = 0; i < walk.size; i++) {
        for (int j = 0; j < OPERANDS; j++) {
            sum[0][j] += walk_at(&walk, j, i) * walk_at(&walk, j, i);
            sum[1][j] += walk_at(&sorted, j, i) * walk_at(&sorted, j, i);
        }
    }
    CHECK(memcmp(sum[0], sum[1], sizeof sum[0]) == 0);
    for (int axis = 1; axis < sorted.ndim; axis++)
        CHECK(sorted.steps[axis][1] <= sorted.steps[axis - 1][1]);
}

int main(void)
{
    test_walks();
    test_widths();
    test_huge();
    test_sort();
    return check_result();
}
