/* Arrays: n-dimensional, typed, on one device; views share storage.
 *
 * An hk_array is a counted handle. Functions never return NULL: what cannot be done gives a *failed*
 * array, whose record hk_wait returns. A result belongs to the innermost HK_SCOPE of the calling thread,
 * else to the caller, who releases it. Shape, dtype and device are immutable after create; handles may
 * be used from any thread. Array arguments are borrowed: releasing them right after the call is fine,
 * however much of it is still to run. */
#ifndef HOCKET_ARRAY_H
#define HOCKET_ARRAY_H

#include <hocket/device.h>
#include <hocket/number.h>

HK_BEGIN_DECLS

/* A shape: sizes of up to HK_MAX_NDIM axes, outermost first. */
typedef struct hk_dims {
    int ndim;
    int64_t dims[HK_MAX_NDIM];
} hk_dims;

/* count sizes from an array; more than HK_MAX_NDIM gives a shape that every call refuses. */
HK_API hk_dims hk_dims_of(const int64_t *sizes, size_t count);

/* hk_shape(2, 3) is the shape (2, 3); hk_shape() is that of a scalar. */
#ifndef __cplusplus
#define hk_shape(...)                                                                              \
    hk_dims_of((const int64_t[]){0, __VA_ARGS__} + 1,                                              \
               sizeof((const int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t) - 1)
#endif

/* ---- scopes ---------------------------------------------------------------------------------- */

/* Marks a position in this thread's list of results; ending it releases what was made since and still
 * belongs to the scope: one count of each. So release by hand only what you retained or took.
 *
 * Ends belong to the thread that began, innermost first. Ending an outer scope ends those within it; a
 * scope that has ended, or is another thread's, is left alone. */
typedef struct hk_scope {
    void *owner;
    size_t mark, outer_mark, depth;
} hk_scope;
HK_API hk_scope hk_scope_begin(void);
HK_API void hk_scope_end(hk_scope *scope);

/* As if no scope of this thread were open, until they are resumed: results belong to the caller. For what a callback of Hocket's
 * runs that counts results by itself, as the program of a front end does. Returns what hk_scopes_resume takes; pairs nest. */
HK_API size_t hk_scopes_suspend(void);
HK_API void hk_scopes_resume(size_t suspended);

/* Takes x out of its scope: it now belongs to the caller, who releases it. Returns x. When x belongs to
 * no scope, nothing changes; when to another thread's, the caller gets a count of its own. */
HK_API hk_array *hk_take(hk_array *x);

#ifdef __cplusplus
HK_END_DECLS
struct hki_scope_guard {
    hk_scope scope;
    hki_scope_guard() : scope(hk_scope_begin()) {}
    ~hki_scope_guard()
    {
        hk_scope_end(&scope);
    }
    hki_scope_guard(const hki_scope_guard &) = delete;
    hki_scope_guard &operator=(const hki_scope_guard &) = delete;
};
#define HK_SCOPE hki_scope_guard HKI_JOIN(hki_scope_, __LINE__)
template <class... T> inline hk_dims hk_shape(T... sizes)
{
    const int64_t all[] = {0, static_cast<int64_t>(sizes)...};
    return hk_dims_of(all + 1, sizeof...(sizes));
}
HK_BEGIN_DECLS
#else
/* Results made after this line are released when the enclosing block ends, however it ends. */
#define HK_SCOPE                                                                                   \
    hk_scope HKI_JOIN(hki_scope_, __LINE__) __attribute__((cleanup(hk_scope_end), unused)) =       \
        hk_scope_begin()
#endif

HK_API hk_array *hk_array_retain(hk_array *x);
/* Drops one count; NULL is ignored. Never blocks; work in flight keeps what it needs. A handle without counts must not be used:
 * where HOCKET_CHECK is 1, a use is told on the standard error and fails as an array does. */
HK_API void hk_array_release(hk_array *x);

/* ---- facts, never blocking ---------------------------------------------------------------------- */

/* A failed-at-the-call array has ndim 0, size 0, dtype HK_F32; so has NULL. */
HK_API int hk_ndim(const hk_array *x);
/* Size of an axis; a negative axis counts from the end; 0 when out of range. */
HK_API int64_t hk_dim(const hk_array *x, int axis);
HK_API hk_dims hk_dims_get(const hk_array *x);
/* How far apart neighbours along each axis are, in elements; 0 along axes that are broadcast. */
HK_API hk_dims hk_strides_get(const hk_array *x);
HK_API int64_t hk_size(const hk_array *x); /* elements */
HK_API hk_dtype hk_array_dtype(const hk_array *x);
HK_API hk_device hk_array_device(const hk_array *x);
HK_API bool hk_is_contiguous(const hk_array *x); /* C order, no gaps */

/* Calls that write into x fail: a broadcast view, or memory for reading. False for NULL. */
HK_API bool hk_is_read_only(const hk_array *x);
/* Whether another library may read or write x's memory at any time: the program gave it
 * (hk_from_memory), or has lent it by HK_BORROW_EXTERNAL or HK_BORROW_EXTERNAL_READ and not got it
 * back. True for all arrays that share the memory. False for NULL. */
HK_API bool hk_is_shared(const hk_array *x);
/* Whether x lies between the lowest and the highest place of `of`'s elements, and has its dtype:
 * hk_view(of, its shape, its strides, *offset) is such a view. *offset: elements from the first one
 * of `of` to that of x. False, and *offset stays, where x has no elements or either is NULL or
 * failed at its call. Does not block, and counts neither. */
HK_API bool hk_is_within(const hk_array *x, const hk_array *of, int64_t *offset);

/* hk_wait would not block: what writes x, of what has been issued, has finished or failed. True for NULL. */
HK_API bool hk_is_ready(hk_array *x);
/* x's record as far as it is known now: ok where nothing has failed yet. Calls on their way may fail x, or heal it. */
HK_API const hk_status *hk_error_now(hk_array *x);

/* ---- making, from host memory --------------------------------------------------------------------- */

/* A new array with the host values at `data`, C order, dtype as given; data is read before it returns.
 * Bools become 0 or 1. A zeroed device is the default one. */
HK_API hk_array *hk_from_host(const void *data, hk_dims shape, hk_dtype dtype, hk_device device);
/* A scalar array, 0-d. Integers are exact, and must be in range. For an integer dtype the fraction of a real number is cut off and
 * the rest must fit. Where the dtype is not complex, the imaginary part of a complex number must be 0. The macro of this name takes
 * any number of C, an hk_complex, too: hk_scalar(1, HK_I64, device). */
HK_API hk_array *hk_scalar(hk_number value, hk_dtype dtype, hk_device device);

typedef struct hk_memory_options {
    const int64_t
        *strides; /* elements, one for each axis, not negative; NULL: C order without gaps */
    /* Called once with context, when nothing uses the memory any more; before hk_from_memory returns where that fails. By
     * hk_array_release, or by a thread of Hocket's own, without a lock of Hocket's. Not in a forked child; maybe
     * not in the last moments of a process. It may call anything of Hocket's. NULL: the memory lasts as long as the process. */
    void (*free)(void *context);
    void *context;
    bool is_read_only; /* nothing may write: such calls fail */
} hk_memory_options;
/* A new array over the program's memory, without a copy: `data`, on a CPU device, aligned for its dtype; bools are 0 or 1. Until
 * `free` is called the program neither writes there, but by what it has borrowed, nor frees it; to read it, it waits
 * for what writes the array. Where two elements may share a place, the array is read only. options may be NULL. */
HK_API hk_array *hk_from_memory(void *data, hk_dims shape, hk_dtype dtype, hk_device device,
                                const hk_memory_options *options);

/* ---- views: share storage, never copy --------------------------------------------------------------- */

/* Elements begin … end-1 of an axis. Negative axis, begin and end count from the end. begin == end gives
 * an empty array; begin > end, or what lies outside the axis, is an error: nothing is clamped. */
HK_API hk_array *hk_slice(hk_array *x, int axis, int64_t begin, int64_t end);
/* Entry `index` of an axis, which disappears. */
HK_API hk_array *hk_index(hk_array *x, int axis, int64_t index);
/* Axes in reverse order; in another: hk_permute_dims. */
HK_API hk_array *hk_transpose(hk_array *x);
/* The same values stretched to `shape` by NumPy's broadcasting rules: strides of 0, read only. */
HK_API hk_array *hk_broadcast_to(hk_array *x, hk_dims shape);
/* The next four give several views, each in the scope; of none (count <= 0) they write nothing. What cannot be done fails the views.
 *
 * x in parts of one size along an axis, which hk_concat joins again: parts[0] … parts[count-1]. count divides the axis. */
HK_API void hk_split(hk_array *x, int axis, int count, hk_array **parts);
/* The entries of an axis, which disappears; they are as many as count. Array API: unstack. */
HK_API void hk_unstack(hk_array *x, int axis, int count, hk_array **parts);
/* Of vectors, views of one shape, whose axis i is as long as vector i: grids[i] has the elements of vector i along axis i. Read only.
 * Array API: meshgrid with indexing "ij". */
HK_API void hk_meshgrid(hk_array *const *vectors, int count, hk_array **grids);
/* Views of one shape, to which all are stretched as by hk_broadcast_to. */
HK_API void hk_broadcast_arrays(hk_array *const *x, int count, hk_array **views);
/* Any view: element (i, j, …) is the one that lies offset + i strides[0] + j strides[1] … elements
 * behind x's first. strides: one for each axis of shape; NULL: C order without gaps. All elements
 * lie between the lowest and the highest place of x's, or the call fails. Where two may share a
 * place, such as in windows that slide, the view is read only; gradients are summed. */
HK_API hk_array *hk_view(hk_array *x, hk_dims shape, const int64_t *strides, int64_t offset);

/* ---- blockers ------------------------------------------------------------------------------------- */

/* Blocks until what was issued before and writes x has finished; returns x's record, the same each
 * time. In a task: HK_WOULD_DEADLOCK. Like all blockers here, HK_INTERRUPTED where a hook says so (hk_wait_hooks). */
HK_API const hk_status *hk_wait(hk_array *x);
/* The same for at most timeout_ns nanoseconds, then HK_TIMEOUT: nothing has failed, and x is what it was. 0 or less: never blocks.
 * The limit may be passed by a millisecond, or by what the system takes to run the thread again. */
HK_API const hk_status *hk_wait_for(hk_array *x, int64_t timeout_ns);
/* Blocks; copies all elements of x, C order, into `out` of exactly `bytes` bytes. Nothing is written
 * when the status is a failure; x's own failure comes before a wrong `bytes`. */
HK_API const hk_status *hk_to_host(hk_array *x, void *out, size_t bytes);
/* Blocks; the value of the only element of x as a double; NaN on failure, with the record in *status
 * where status is not NULL. Fails for complex dtypes. */
HK_API double hk_item(hk_array *x, const hk_status **status);
/* The same of any dtype as a complex number, whose parts are NaN on failure. */
HK_API hk_complex hk_item_complex(hk_array *x, const hk_status **status);
/* Blocks; prints the values as NumPy does, with dtype where it is not float32, and the device:
 *   [[1. 2.]
 *    [3. 4.]] @cpu:0
 * and ends the line. Above 1000 elements, only the first and last 3 of each axis. A failed array prints
 * its record. Returns as hk_status_print. */
HK_API int hk_print(hk_array *x, FILE *stream);
/* Blocks; the same text, without the line's end, in a malloc'ed string, which the caller frees; NULL when
 * memory ran out. */
HK_API char *hk_to_string(hk_array *x);

/* ---- padding ---------------------------------------------------------------------------------------- */

/* What hk_pad adds at the ends of an axis. */
typedef enum hk_pad_mode {
    HK_PAD_CONSTANT, /* a value */
    HK_PAD_EDGE,     /* the entry at that end, again and again */
    HK_PAD_REFLECT, /* the entries next to the end, which is not repeated, in reverse: less than the axis has */
    HK_PAD_WRAP /* the entries at the other end: at most as many as the axis has */
} hk_pad_mode;

/* ---- between elements -------------------------------------------------------------------------------- */

/* What hk_quantile gives where the place it seeks lies between two elements. */
typedef enum hk_quantile_method {
    HK_QUANTILE_LINEAR,   /* as far between them as the place */
    HK_QUANTILE_LOWER,    /* the smaller one */
    HK_QUANTILE_HIGHER,   /* the larger one */
    HK_QUANTILE_MIDPOINT, /* their mean */
    HK_QUANTILE_NEAREST   /* the nearer one; midway that with the even place */
} hk_quantile_method;

/* What hk_interpolate makes an element of: along each axis of 1, 2 or 4 elements. */
typedef enum hk_interpolation {
    HK_INTERPOLATE_NEAREST,
    HK_INTERPOLATE_LINEAR,
    HK_INTERPOLATE_CUBIC /* Keys's kernel with a = -0.75 */
} hk_interpolation;

/* Where in x hk_interpolate seeks element i of an axis of m, where x has n and scale is m / n. */
typedef enum hk_coordinates {
    HK_COORDINATES_HALF_PIXEL,    /* (i + 0.5) / scale - 0.5 */
    HK_COORDINATES_ALIGN_CORNERS, /* i (n - 1) / (m - 1): the first and the last stay */
    HK_COORDINATES_ASYMMETRIC     /* i / scale */
} hk_coordinates;

/* What hk_grid_sample makes an element of. */
typedef enum hk_sampling {
    HK_SAMPLE_LINEAR,  /* the four elements around the place */
    HK_SAMPLE_NEAREST, /* the nearest one; midway that of the even row or column */
    HK_SAMPLE_CUBIC    /* the sixteen around it, by Keys's kernel with a = -0.75 */
} hk_sampling;

/* What hk_grid_sample finds outside an image. */
typedef enum hk_beyond {
    HK_BEYOND_ZEROS,
    HK_BEYOND_BORDER,    /* the nearest element within */
    HK_BEYOND_REFLECTION /* the image in a mirror at its edges, again and again */
} hk_beyond;

/* ---- Fourier transforms ------------------------------------------------------------------------------- */

/* By what a transform of length n is divided, and its reverse. */
typedef enum hk_fft_norm {
    HK_FFT_BACKWARD, /* by 1, and its reverse by n */
    HK_FFT_ORTHO,    /* both by sqrt(n) */
    HK_FFT_FORWARD   /* by n, and its reverse by 1 */
} hk_fft_norm;

/* ---- norms of matrices -------------------------------------------------------------------------------- */

/* What hk_matrix_norm computes: the standard's ord. */
typedef enum hk_norm_order {
    HK_NORM_FRO,      /* Frobenius: the root of the sum of squares */
    HK_NORM_NUC,      /* nuclear: the sum of singular values */
    HK_NORM_2,        /* the largest singular value */
    HK_NORM_MINUS_2,  /* the smallest */
    HK_NORM_1,        /* the largest sum of absolute values of a column */
    HK_NORM_MINUS_1,  /* the smallest */
    HK_NORM_INF,      /* the largest of a row */
    HK_NORM_MINUS_INF /* the smallest */
} hk_norm_order;

/* ---- elements in place ---------------------------------------------------------------------------- */

typedef enum hk_borrow_mode {
    HK_BORROW_READ,         /* waits for calls that write x; later ones wait until it is returned */
    HK_BORROW_WRITE,        /* waits for all calls on x; later ones wait until it is returned */
    HK_BORROW_EXTERNAL,     /* waits as for writing, and then holds nothing back: see below */
    HK_BORROW_EXTERNAL_READ /* the same for reading: waits for calls that write x */
} hk_borrow_mode;

/* x's elements, lent to the program. */
typedef struct hk_loan {
    void *data;      /* x's first element; hk_strides_get tells where the others are; NULL: none */
    uint64_t number; /* of the loan, never used again; 0: none */
} hk_loan;

/* Blocks; lends the elements of an array of a CPU device, without a copy, until hk_data_return. The
 * loan keeps the memory, also when x is released. Elements that were never written are zeros.
 * Fails, with *loan zeroed, with x's own record; where x's device has memory of its own
 * (HK_UNSUPPORTED); or where x is read only and the mode is one of writing.
 *
 * Calls that a loan holds back are issued and return as ever. A thread that waits for one of them
 * while the loan is its own would wait for itself: HK_WOULD_DEADLOCK. A call of such a thread that
 * finds the run-ahead window full is issued beyond it. Only what is of x is held back: other
 * elements of the array that x views are free.
 *
 * HK_BORROW_EXTERNAL is for memory that two libraries share for long (DLPack, the buffer protocol):
 * the program itself keeps order. It reads after hk_wait(x), writes while no call on x is
 * unfinished, and calls only see what it wrote before them. What it writes is not seen by the tape:
 * gradients that are to read x fail. HK_BORROW_EXTERNAL_READ is the same for who only reads, of
 * which gradients know nothing. In the serial engine, where calls run at once, all loans are like
 * that. */
HK_API const hk_status *hk_data_borrow(hk_array *x, hk_borrow_mode mode, hk_loan *loan);
/* From any thread; loan->data must not be used any more. Fails where the loan is not out: returned before, or never made. Loans
 * that are out when their runtime ends hold nothing back any more, which the standard error tells, and are to be returned all
 * the same. Does not block. */
HK_API const hk_status *hk_data_return(const hk_loan *loan);

/* ---- writing ---------------------------------------------------------------------------------------- */

/* x becomes the host values at `data` (C order, x's dtype, exactly `bytes` bytes), in program order;
 * data is read before it returns. Does not wait for readers of the old values. What cannot be done fails
 * x; an array that was failed at the call has no dimensions and stays as it is. */
HK_API void hk_write(hk_array *x, const void *data, size_t bytes);
/* Accepts the bytes that x held before a call that failed before it wrote (for its inputs, mainly), in
 * program order. Where a kernel had already begun to write, or x never held a value, x stays failed. */
HK_API void hk_recover(hk_array *x);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(hk_array *, hk_from_host,
      (hk_source at, const void *data, hk_dims shape, hk_dtype dtype, hk_device device),
      (data, shape, dtype, device))
#define hk_from_host(...) hk_from_host_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_from_memory, hk_memory_options,
              (hk_source at, void *data, hk_dims shape, hk_dtype dtype, hk_device device,
               const hk_memory_options *options),
              (data, shape, dtype, device, options))
#define hk_from_memory(...) hk_from_memory_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_scalar, (hk_source at, hk_number value, hk_dtype dtype, hk_device device),
      (value, dtype, device))
#define hk_scalar(value, ...) hk_scalar_at(HK_SOURCE, HK_NUMBER(value), __VA_ARGS__)
HK_AT(hk_array *, hk_slice, (hk_source at, hk_array *x, int axis, int64_t begin, int64_t end),
      (x, axis, begin, end))
#define hk_slice(...) hk_slice_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_index, (hk_source at, hk_array *x, int axis, int64_t index), (x, axis, index))
#define hk_index(...) hk_index_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_transpose, (hk_source at, hk_array *x), (x))
#define hk_transpose(...) hk_transpose_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_view,
      (hk_source at, hk_array *x, hk_dims shape, const int64_t *strides, int64_t offset),
      (x, shape, strides, offset))
#define hk_view(...) hk_view_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_broadcast_to, (hk_source at, hk_array *x, hk_dims shape), (x, shape))
#define hk_broadcast_to(...) hk_broadcast_to_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_split, (hk_source at, hk_array *x, int axis, int count, hk_array **parts),
           (x, axis, count, parts))
#define hk_split(...) hk_split_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_unstack, (hk_source at, hk_array *x, int axis, int count, hk_array **parts),
           (x, axis, count, parts))
#define hk_unstack(...) hk_unstack_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_meshgrid, (hk_source at, hk_array *const *vectors, int count, hk_array **grids),
           (vectors, count, grids))
#define hk_meshgrid(...) hk_meshgrid_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_broadcast_arrays, (hk_source at, hk_array *const *x, int count, hk_array **views),
           (x, count, views))
#define hk_broadcast_arrays(...) hk_broadcast_arrays_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_to_host, (hk_source at, hk_array *x, void *out, size_t bytes),
      (x, out, bytes))
#define hk_to_host(...) hk_to_host_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_data_borrow,
      (hk_source at, hk_array *x, hk_borrow_mode mode, hk_loan *loan), (x, mode, loan))
#define hk_data_borrow(...) hk_data_borrow_at(HK_SOURCE, __VA_ARGS__)
HK_AT(double, hk_item, (hk_source at, hk_array *x, const hk_status **status), (x, status))
#define hk_item(...) hk_item_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_complex, hk_item_complex, (hk_source at, hk_array *x, const hk_status **status),
      (x, status))
#define hk_item_complex(...) hk_item_complex_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_write, (hk_source at, hk_array *x, const void *data, size_t bytes), (x, data, bytes))
#define hk_write(...) hk_write_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_recover, (hk_source at, hk_array *x), (x))
#define hk_recover(...) hk_recover_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
