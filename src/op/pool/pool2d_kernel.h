/* Two-dimensional pooling on one core: raw contiguous planes of in_height x in_width elements (a
   plane is a sample's channel). Every function is reentrant, allocates nothing, and works on the planes
   [begin, end) of the whole arrays (pointers are to plane 0). scratch: hki_pool2d_scratch_bytes,
   64-byte aligned; it may be NULL where that is 0.

   Maximum: the first one of a window in row-major order wins, NaN counts as greater than any
   number, padding never wins. The gradient goes to that one element; it is found again from x,
   which is cheaper than writing and reading indices. A window of nothing but padding gives -inf.
   Average: the sum divided by the window's size, what reaches beyond the padding left out, or by its elements that are
   not padding.

   Results are a pure function of the geometry and the instruction set; a plane's do not depend on
   the range it is in. */
#ifndef HOCKET_OP_KERNELS_POOL2D_KERNEL_H
#define HOCKET_OP_KERNELS_POOL2D_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hki_pool2d_geometry {
    int64_t in_height, in_width;
    /* (in + 2 pad - kernel) / stride + 1, at least 1; or one more, where the last window begins within in + pad */
    int64_t out_height, out_width;
    int64_t kernel_height, kernel_width;
    int64_t stride_height, stride_width;
    int64_t pad_height, pad_width; /* below the kernel's size */
    bool count_include_pad;        /* average only */
} hki_pool2d_geometry;

/* Of a pass forward, or of a gradient. */
size_t hki_pool2d_scratch_bytes(const hki_pool2d_geometry *geometry, bool backward, bool f64);

void hki_pool2d_max_forward_f32(const hki_pool2d_geometry *geometry, const float *x, float *y,
                                int64_t begin, int64_t end, void *scratch);
void hki_pool2d_max_forward_f64(const hki_pool2d_geometry *geometry, const double *x, double *y,
                                int64_t begin, int64_t end, void *scratch);

/* Overwrites dx of those planes. */
void hki_pool2d_max_backward_f32(const hki_pool2d_geometry *geometry, const float *x,
                                 const float *dy, float *dx, int64_t begin, int64_t end,
                                 void *scratch);
void hki_pool2d_max_backward_f64(const hki_pool2d_geometry *geometry, const double *x,
                                 const double *dy, double *dx, int64_t begin, int64_t end,
                                 void *scratch);

/* y is v where x is the largest of each window, or 0 in padding alone: what max_backward is the transpose of. */
void hki_pool2d_max_pick_f32(const hki_pool2d_geometry *geometry, const float *x, const float *v,
                             float *y, int64_t begin, int64_t end);
void hki_pool2d_max_pick_f64(const hki_pool2d_geometry *geometry, const double *x, const double *v,
                             double *y, int64_t begin, int64_t end);

void hki_pool2d_average_forward_f32(const hki_pool2d_geometry *geometry, const float *x, float *y,
                                    int64_t begin, int64_t end, void *scratch);
void hki_pool2d_average_forward_f64(const hki_pool2d_geometry *geometry, const double *x, double *y,
                                    int64_t begin, int64_t end, void *scratch);

/* Overwrites dx of those planes. */
void hki_pool2d_average_backward_f32(const hki_pool2d_geometry *geometry, const float *dy,
                                     float *dx, int64_t begin, int64_t end, void *scratch);
void hki_pool2d_average_backward_f64(const hki_pool2d_geometry *geometry, const double *dy,
                                     double *dx, int64_t begin, int64_t end, void *scratch);

#endif
