/* Inside of arrays: storage, handles, views. */
#ifndef HOCKET_ARRAY_ARRAY_H
#define HOCKET_ARRAY_ARRAY_H

#include "array/tensor.h"
#include "base/hooks.h"
#include "engine/engine.h"

#include <hocket/array.h>
#include <string.h>

/* What can be said of an array without its memory and its elements: all that operators look at when they are called.
 * is_contiguous: C order, no gaps; strides in elements; size: elements. */
#define HKI_SHAPE_VIEW_FIELDS                                                                      \
    hk_dtype dtype;                                                                                \
    bool is_contiguous;                                                                            \
    hk_dims shape;                                                                                 \
    int64_t strides[HK_MAX_NDIM];                                                                  \
    int64_t size;
typedef struct hki_shape_view {
    HKI_SHAPE_VIEW_FIELDS
} hki_shape_view;

struct hk_array {
    atomic_uint refs;
    bool failed;    /* at the call: no dimensions, one reserved byte range to carry the record */
    bool read_only; /* views whose elements share memory, and memory for reading */
    union {
        hki_shape_view view;
        struct {
            HKI_SHAPE_VIEW_FIELDS /* the same; size 0 where failed */
        };
    };
    int64_t offset; /* in elements */
    hki_storage *storage;
    size_t scope_slot;           /* index + 1 in its owner's list, 0: none; that thread only */
    _Atomic(void *) scope_owner; /* the thread's scope list that owns a count of it; NULL: none */
    _Atomic(void *)
        autograd; /* the autograd room's record of it; dropped by hki_array_autograd_drop */
};

typedef enum hki_storage_mark {
    HKI_IS_LENT = 1,     /* a loan of HK_BORROW_EXTERNAL or HK_BORROW_EXTERNAL_READ is out */
    HKI_IS_GRADIENT = 2, /* hk_attach_grad made it: backward passes write it */
    /* Its device puts off what it computes (hki_device_puts_off): its memory is addresses, until
     * something is needed, and no matter of the run-ahead window; hki_put_off_keeps is to be asked
     * before it is given back. */
    HKI_IS_SIMULATED = 4,
    HKI_IS_LATE = 8 /* of the host's: a copy to it may be put off; the same is to be asked */
} hki_storage_mark;

/* Memory of one device, shared by all arrays that view it. Counted twice in one word: handles (arrays)
 * and uses (unfinished tasks), so that bytes which only unfinished tasks hold can be told from those
 * that the program still holds: the former fill the run-ahead window. Thread-safe. */
struct hki_storage {
    hki_var var; /* byte ranges from 0; its runtime is NULL where `record` is set */
    hki_device *device;
    uint64_t bytes;         /* 0 for empty arrays and failed ones */
    bool is_pinned : 1;     /* its memory is of device->pinned */
    bool is_small : 1;      /* its memory is `room` */
    bool is_foreign : 1;    /* its memory is the program's: see hk_from_memory */
    atomic_bool is_passing; /* its memory goes back to the system when it is freed */
    atomic_uchar marks;     /* hki_storage_mark bits */
    _Atomic(unsigned char)
        released;      /* see released.c; 0 but where it carries the record of a released handle */
    atomic_uint names; /* who knows it by its address alone, and one for all of counts */
    /* The device's address, which only its class functions understand; NULL until a task that writes
     * has been prepared; never NULL when bytes is 0, so that kernels need not care. */
    _Atomic(void *) data;
    _Atomic(uint64_t) counts; /* handles << 32 | uses */
    const hk_status *record;  /* counted; NULL but for a failed array that no runtime can carry */
    /* So that an array is one allocation: the handle that it is made with, and the memory of one of at most
     * HKI_SMALL_BYTES in the host's memory, from the first address here that is a multiple of that. */
    hk_array first;
    union {
        char room[2 * HKI_SMALL_BYTES];
        struct {
            void (*free)(void *context); /* NULL: nobody wants to know */
            void *context;
            hki_storage *next; /* of those that are to be freed */
        } foreign;
    };
};

static inline bool hki_storage_has(const hki_storage *storage, unsigned mark)
{
    return atomic_load_explicit(&storage->marks, memory_order_acquire) & mark;
}

/* A new storage with one handle, whose fields are not set, and no memory yet; NULL when host memory is
 * short. The device's runtime is not NULL. */
hki_storage *hki_storage_create(hki_device *device, uint64_t bytes);
/* The same, of pinned memory where the device has some. */
hki_storage *hki_storage_create_pinned(hki_device *device, uint64_t bytes);
/* The same over memory of the program's: bytes > 0 at `data`, of the host's memory. The last user of the storage calls free, or
 * has a thread of the library's own do so where it may have locks or be in a task. NULL, with free not called: no memory. */
hki_storage *hki_storage_create_foreign(hki_device *device, uint64_t bytes, void *data,
                                        void (*free)(void *context), void *context);
/* A storage without memory that just carries the record (retained); its variable has no runtime. The device's runtime is
 * not NULL, and may have ended. */
hki_storage *hki_storage_create_detached(hki_device *device, const hk_status *record);
void hki_storage_retain_handle(hki_storage *storage);
void hki_storage_release_handle(hki_storage *storage);
void hki_storage_retain_use(hki_storage *storage);
void hki_storage_release_use(hki_storage *storage);
/* A name keeps the address from standing for another storage, and nothing else: memory and all the rest go with the
 * last handle and use. Retained by who has a handle. */
void hki_storage_retain_name(hki_storage *storage);
void hki_storage_release_name(hki_storage *storage);
/* By who has a name: retains a handle. False: there is none any more, and there never will be. */
bool hki_storage_try_retain_handle(hki_storage *storage);
/* Where nobody else has a handle and no task uses it: makes it as good as a new storage, but that its memory may be
 * there already. False: somebody may still use it. */
bool hki_storage_renew(hki_storage *storage);
/* Makes the memory real, once; thread-safe. False when the device has no more. Its bytes are not set. */
bool hki_storage_materialise(hki_storage *storage);
/* Gives the memory of `from`, at which nobody will look any more but the one task that calls this and uses it, to `to`, a
 * new one of the same device and size. False: somebody may still look, or it does not fit; nothing has changed. */
bool hki_storage_pass_on(hki_storage *from, hki_storage *to);
/* What is left of where its memory comes from, for error records. */
hk_device_memory hki_storage_memory(const hki_storage *storage);
/* Where kernels of its device, and of no other, find its memory; NULL if that is not made yet. */
static inline char *hki_storage_kernel_data(const hki_storage *storage)
{
    char *data = atomic_load_explicit(&storage->data, memory_order_acquire);
    /* The memory of an array without elements is no device's, and what is not made yet is nowhere. */
    return storage->bytes && data ? data + storage->device->kernel_offset : data;
}

/* Where they find x's first element; x has elements, and its storage has been materialised. */
static inline char *hki_array_kernel_data(const hk_array *x)
{
    const hki_storage *storage = x->storage;
    char *data = atomic_load_explicit(&storage->data, memory_order_acquire);
    return data + storage->device->kernel_offset + x->offset * (int64_t)hki_dtype_bytes(x->dtype);
}

/* Tells a capture that this thread is in that `operation` cannot be done again, and why. */
static inline void hki_array_uncapturable(const char *operation, const char *why)
{
    hki_hooks.capture_refuse(HK_OK, operation, why);
}

/* All makers below return an array that the innermost scope (else the caller) owns, never NULL: when
 * host memory is short, a static failed array, for which counting is harmless. */

/* Contiguous, C order, storage of its own, nothing written yet. The dtype and shape are valid (see
 * hki_dims_bytes). Failed when the device is, or when its runtime is not alive. */
hk_array *hki_array_create(hki_device *device, hk_dims shape, hk_dtype dtype);
/* The same in pinned memory, where the device has some. */
hk_array *hki_array_create_pinned(hki_device *device, hk_dims shape, hk_dtype dtype);
/* The same where the caller has the bytes of hki_dims_bytes already. */
hk_array *hki_array_create_sized(hki_device *device, const hk_dims *shape, hk_dtype dtype,
                                 uint64_t bytes, bool is_pinned);
/* Writes all elements, in C order, to the host's memory. HK_OK; or a code, with a message in `why`. */
typedef hk_code (*hki_fill_fn)(void *context, void *to, size_t bytes, char *why, size_t why_bytes);
enum { HKI_FILL_WHY_BYTES = 1024 };
/* A new array on the device (zeroed: the default one), with values that `fill` writes before this returns. Fails by its code and
 * message, or as hk_from_host does. Bools are to be 0 or 1. */
hk_array *hki_array_create_filled(const char *operation, hk_dims shape, hk_dtype dtype,
                                  hk_device device, hki_fill_fn fill, void *context);
/* A view of x's storage, read-only if x is; strides and offset in elements, from the storage's begin, and
 * within it. A view of a failed array is failed by the same record and has no dimensions. */
hk_array *hki_array_view(hk_array *x, hk_dims shape, const int64_t *strides, int64_t offset);
/* The real or the imaginary parts of x, which is complex, as a view: steps of x's elements are two of its. Not on the tape: for
 * operators with a gradient of their own. Belongs to the scope. */
hk_array *hki_array_part(hk_array *x, bool is_imaginary);
/* Returns `failed`, a view of x that is refused: it is on the tape all the same, for its gradients must fail, not stay as they
 * were. */
hk_array *hki_array_refuse_view(hk_array *x, hk_array *failed);
/* Gives a count of x (taken) to this thread's innermost scope, if there is one. Returns x; the static
 * failed array, which no scope has, when x is NULL or host memory is short, x is then released. */
hk_array *hki_scope_add(hk_array *x);
/* Ends the scope. An x of its goes to the one around it, else to the caller; another x stays where it is. Returns x. */
hk_array *hki_scope_end_with(hk_scope *scope, hk_array *x);
/* Releases x now, where it belongs to that scope. */
void hki_scope_drop(const hk_scope *scope, hk_array *x);
/* A failed array without dimensions. Its record is the earliest of: the failures of `inputs` (which may
 * still be on their way; NULL ones are skipped) and the one given; when an input's runtime or the
 * device's is not alive, the record that says so. Issues a task that carries it, which counts as a root
 * failure if no input failed. A failed device's record replaces code and message. device NULL: the
 * default one. `operation` is static text. May block like any call (run-ahead window). */
hk_array *hki_array_create_failed(hki_device *device, const char *operation,
                                  hk_array *const *inputs, int input_count, hk_code code,
                                  const char *format, ...) HK_PRINTF(6, 7);
/* Fails x by a record that is no root failure: others need its values, and it does not have them.
 */
void hki_array_withhold(hk_array *x, const char *operation, const hk_status *record);
/* Fails the range of `out` in program order, in the same way, for an in-place call that cannot be made;
 * its bytes stand, so that hk_recover accepts them. Does nothing to an array that was failed at the call
 * or whose runtime is not alive; with out NULL, just notes the failure. */
void hki_array_fail_in_place(hk_array *out, const char *operation, hk_array *const *inputs,
                             int input_count, hk_code code, const char *format, ...)
    HK_PRINTF(6, 7);

/* NULL when tasks may name x. Else x must not be in a task's accesses, and the result (counted) says why:
 * x is NULL, its runtime has ended or belongs to a parent process, or no runtime could carry its record.
 * Operators ask this of every input and output first; hki_array_create_failed takes such inputs. */
const hk_status *hki_array_gone(const hk_array *x);
/* The static failed array for when host memory is short. */
hk_array *hki_array_no_memory(void);
extern hk_array hki_no_memory_array; /* it, perhaps without its record yet: to compare with */

/* The bytes of x's storage that its elements span, at least one: for an array without elements, the
 * one behind the storage's last. */
hki_range hki_array_range(const hk_array *x);
/* False where no element of one is in the memory of the other: they are apart, or blocks side by
 * side in rows of one pitch. */
bool hki_arrays_overlap(const hk_array *a, const hk_array *b);
/* An access to x: mode as for tasks; HKI_HEAL is dropped when x does not fill its range. */
hki_access hki_array_access(const hk_array *x, unsigned mode);

/* Blocks until what was issued before and writes x has finished; then, unless x is failed or in a task, calls
 * body (may be NULL) while later writers are held back. Returns the record, counted; x may be NULL. */
const hk_status *hki_array_read(hk_array *x, void (*body)(void *), void *argument);

/* A wait for x, which tasks may name: that may be interrupted. */
hki_waiting hki_array_waiting(hk_array *x);

/* x where threads can read it: x itself, or, where its device's memory is not the host's, a new
 * contiguous array of the default device with its values on their way, or with its failure. Counted,
 * in no scope; NULL for NULL. Also x itself where hki_array_read will not call its body: when x has
 * failed at the call, or in a task. May block like any call. */
hk_array *hki_array_readable(hk_array *x, const char *operation);

/* "float32(2,3)" into text. */
void hki_shape_view_describe(const hki_shape_view *view, char *text, size_t bytes);
/* The same; "failed" for an array failed at the call, "NULL" for NULL. */
void hki_array_describe(const hk_array *x, char *text, size_t bytes);
void hki_arrays_describe(hk_array *const *x, int count, char *text, size_t bytes);
/* "(2,3)", "(4,)", "()" into text. */
void hki_dims_describe(const hk_dims *shape, char *text, size_t bytes);

/* The element there as a double, nearest; of a complex one the real part. */
double hki_dtype_load(hk_dtype dtype, const void *element);
/* Stores a value, rounded to nearest (float types, and the real part of complex ones) or towards 0; bool: whether it is not 0. False, with
 * nothing stored, when an integer type has no such value. */
bool hki_dtype_store(hk_dtype dtype, void *element, double value);
/* The same of both parts; the imaginary one of a dtype that is not complex is 0, and another value is not stored. */
hk_complex hki_complex_load(hk_dtype dtype, const void *element);
bool hki_complex_store(hk_dtype dtype, void *element, hk_complex value);

/* Stores a number of the program: integers exactly, real ones as hki_dtype_store does. False, with nothing stored, when the dtype
 * has no such value. */
bool hki_number_store(hk_dtype dtype, void *element, hk_number number);
/* Integers take no real numbers, and only complex dtypes complex ones. */
bool hki_dtype_has_kind(hk_dtype dtype, hk_number_kind kind);
/* True: *value is the number, exactly. */
bool hki_number_is_double(hk_number number, double *value);
/* "7", "0.5", "1 +2j" into text. */
void hki_number_describe(hk_number number, char *text, size_t bytes);

/* A storage has at most this many bytes. */
#define HKI_MAX_BYTES ((uint64_t)1 << 62)

/* False when ndim or a size is out of range or the product overflows; *size is the element count. */
bool hki_dims_size(const hk_dims *shape, int64_t *size);
/* False when the dtype is none, the shape is not valid or needs more than HKI_MAX_BYTES; `why` (may be
 * NULL) then says what is wrong, as the message of an error record. Axes of size 0 count as 1 for the
 * limit, so that strides fit too. */
bool hki_dims_bytes(const hk_dims *shape, hk_dtype dtype, uint64_t *bytes, char *why,
                    size_t why_bytes);
/* What is wrong, where hki_dims_bytes is false. */
void hki_dims_explain(const hk_dims *shape, hk_dtype dtype, char *why, size_t why_bytes);
bool hki_dims_equal(const hk_dims *a, const hk_dims *b);
/* NumPy's rules; false when the shapes do not go together. */
bool hki_dims_broadcast(const hk_dims *a, const hk_dims *b, hk_dims *out);
/* C-order strides in elements. Returns the element count; the shape is valid. */
int64_t hki_dims_strides(const hk_dims *shape, int64_t strides[HK_MAX_NDIM]);

/* An axis whose steps may lead to places that others reach too, as those of windows do; -1: no two elements are in one place. */
int hki_dims_overlapping_axis(const hk_dims *shape, const int64_t *strides);
/* Two elements may be in one place; false only where none are. */
static inline bool hki_dims_may_overlap(const hk_dims *shape, const int64_t *strides)
{
    return hki_dims_overlapping_axis(shape, strides) >= 0;
}
/* Elements from the first to the last, 0 where there are none; false where those are too many. Strides are not negative. */
bool hki_dims_reach(const hk_dims *shape, const int64_t *strides, int64_t *count);

/* Where the elements of a tensor lie, as the engine is told. */
typedef struct hki_span {
    uint64_t begin, end; /* bytes of the storage, from the first to the last; equal: no elements */
    /* That a kernel must move: of a broadcast tensor, what it shows; of one with gaps, its
     * elements. */
    uint64_t moved_bytes;
    uint32_t pitch; /* see hki_range; 0, too, where elements lie in no such rows */
    bool is_dense;  /* the elements fill it without gaps, so that pitch is 0 */
    bool fills;     /* they fill it, or the rows of that pitch */
} hki_span;
hki_span hki_tensor_span(const hki_tensor *tensor);
/* The same without a pitch: all bytes from the first to the last. */
hki_span hki_span_flat(hki_span span);
/* As hki_array_access, of a tensor of this storage with that span. */
hki_access hki_span_access(const hki_span *span, hki_storage *storage, unsigned mode);
/* A handle of its own to the tensor's elements, counted for the caller, in no scope, off the tape; NULL when
 * host memory is short. */
hk_array *hki_array_of(const hki_tensor *tensor);

/* Fills all but data; retains nothing. */
static inline void hki_tensor_init(hki_tensor *tensor, const hk_array *x)
{
    tensor->data = NULL;
    tensor->storage = x->storage;
    tensor->offset = x->offset;
    tensor->size = x->size;
    tensor->dtype = x->dtype;
    tensor->is_contiguous = x->is_contiguous;
    tensor->ndim = x->shape.ndim;
    memcpy(tensor->dims, x->shape.dims, sizeof tensor->dims);
    memcpy(tensor->strides, x->strides, sizeof tensor->strides);
}

static inline void hki_shape_view_init(hki_shape_view *view, const hki_tensor *tensor)
{
    view->dtype = tensor->dtype;
    view->is_contiguous = tensor->is_contiguous;
    view->shape.ndim = tensor->ndim;
    memcpy(view->shape.dims, tensor->dims, sizeof view->shape.dims);
    memcpy(view->strides, tensor->strides, sizeof view->strides);
    view->size = tensor->size;
}

/* Sets data from the storage, which must be materialised if the tensor has elements. */
static inline void hki_tensor_resolve(hki_tensor *tensor)
{
    char *base = hki_storage_kernel_data(tensor->storage);
    /* A view without elements waits for nobody: its storage's memory may not be made yet. */
    tensor->data = base ? base + tensor->offset * (int64_t)hki_dtype_bytes(tensor->dtype) : NULL;
}

/* "float32(2,3), NULL" into text; ndim -1 for NULL. */
void hki_tensors_describe(const hki_tensor *tensors, int count, char *text, size_t bytes);
/* What traces tell of it. */
hki_trace_operand hki_tensor_operand(const hki_tensor *tensor, bool is_output);

#endif
