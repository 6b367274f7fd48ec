/* hk::array, a counted value: see hocket/array.h. A copy shares the elements, as a second handle does. Nothing needs HK_SCOPE:
 * an array that nobody names any more is released at the end of its statement.
 *
 * Nothing throws but value(), to_vector() and hk::check, which say so: arrays carry their failure, as in C. */
#ifndef HOCKET_ARRAY_HPP
#define HOCKET_ARRAY_HPP

#include <hocket/base.hpp>

namespace hk
{

/* Enables what takes a number in the place of an array: hk::add(x, 1). See hocket/number.h. */
template <class T> using if_number = std::enable_if_t<std::is_arithmetic_v<T>, int>;

template <class T, if_number<T> = 0> hk_operand operand_of(T value) noexcept
{
    if constexpr (std::is_floating_point_v<T>)
        return hk_operand_of_real(static_cast<double>(value));
    else if constexpr (std::is_unsigned_v<T>)
        return hk_operand_of_uint(value);
    else
        return hk_operand_of_int(value);
}

/* The end of a slice that goes on to the end of its axis. */
inline constexpr int64_t to_end = INT64_MAX;

/* What array::slice takes of one axis: {} all of it, an index (the axis disappears), or {begin, end, step}. */
struct part {
    enum { WHOLE, INDEX, RANGE } kind = WHOLE;
    int64_t begin = 0, end = 0, step = 1;
    part() noexcept = default;
    part(int64_t index) noexcept : kind(INDEX), begin(index) {}
    part(int64_t from, int64_t to, int64_t stride = 1) noexcept
        : kind(RANGE), begin(from), end(to), step(stride)
    {
    }
};

/* An index with the line that it stands on, for x[i]. */
struct position {
    int64_t index;
    hk_source at;
    position(int64_t number, hk_source line = here()) noexcept : index(number), at(line) {}
};

class array : public counted<hk_array, hk_array_retain, hk_array_release>
{
  public:
    /* No array, such as an input that is left out; calls that need one refuse it. */
    array() noexcept = default;
    /* One axis of float32: {1, 2.5, 3}. Other dtypes and shapes: hk::from_host. */
    array(std::initializer_list<float> values, hk_source at = here()) noexcept
        : counted(hk_take(hk_from_host_at(at, values.begin(),
                                          shape_of(static_cast<int64_t>(values.size())), HK_F32,
                                          hk_device{nullptr})))
    {
    }
    /* The result of a call of the C ABI, which need not be kept in a scope any more. */
    static array take(hk_array *result) noexcept
    {
        return array(hk_take(result));
    }
    /* A handle of somebody else's, who keeps its count. */
    static array share(hk_array *handle) noexcept
    {
        return array(handle ? hk_array_retain(handle) : nullptr);
    }
    bool is_empty() const noexcept
    {
        return !get();
    }

    /* ---- facts, never blocking */

    int ndim() const noexcept
    {
        return hk_ndim(get());
    }
    int64_t dim(int axis) const noexcept
    {
        return hk_dim(get(), axis);
    }
    hk::shape shape() const noexcept
    {
        return hk_dims_get(get());
    }
    hk::shape strides() const noexcept
    {
        return hk_strides_get(get());
    }
    int64_t size() const noexcept
    {
        return hk_size(get());
    }
    hk_dtype dtype() const noexcept
    {
        return hk_array_dtype(get());
    }
    hk::device device() const noexcept
    {
        return hk_array_device(get());
    }
    bool is_contiguous() const noexcept
    {
        return hk_is_contiguous(get());
    }
    bool is_ready() const noexcept
    {
        return hk_is_ready(get());
    }
    status error_now() const noexcept
    {
        return status(hk_error_now(get()));
    }

    /* ---- blockers */

    status wait() const noexcept
    {
        return status(hk_wait(get()));
    }
    status wait_for(int64_t timeout_ns) const noexcept
    {
        return status(hk_wait_for(get(), timeout_ns));
    }
    /* The only element as a double; NaN where that fails. */
    double item(hk_source at = here()) const noexcept
    {
        return hk_item_at(at, get(), nullptr);
    }
    /* The same of complex ones too; NaNs where that fails. */
    std::complex<double> item_complex(hk_source at = here()) const noexcept
    {
        const hk_complex value = hk_item_complex_at(at, get(), nullptr);
        return {value.real, value.imag};
    }
    /* All elements in C order, converted to T as by hk::cast, into `out` of `count` elements, which is size(). */
    template <class T> status to_host(T *out, size_t count, hk_source at = here()) const noexcept
    {
        if (!get() || dtype() == dtype_of<T>::value)
            return status(hk_to_host_at(at, get(), out, count * sizeof(T)));
        const array converted = cast_for_host(dtype_of<T>::value, at);
        return status(hk_to_host_at(at, converted.get(), out, count * sizeof(T)));
    }
    /* The text that hk_print prints, without the line's end. */
    std::string to_string() const
    {
        char *text = hk_to_string(get());
        std::string copy = text ? text : "(out of memory)";
        free(text);
        return copy;
    }
    int print(FILE *stream = stdout) const noexcept
    {
        return hk_print(get(), stream);
    }
#ifdef __cpp_exceptions
    /* Waits; throws hk::error where x has failed, else gives x. */
    array value() const
    {
        check(wait());
        return *this;
    }
    /* to_host into a new vector; throws hk::error where that fails. */
    template <class T> std::vector<T> to_vector(hk_source at = here()) const
    {
        std::vector<T> values(static_cast<size_t>(size()));
        check(to_host(values.data(), values.size(), at));
        return values;
    }
#endif

    /* ---- views: share storage, never copy */

    array slice(int axis, int64_t begin, int64_t end, hk_source at = here()) const noexcept
    {
        return take(hk_slice_at(at, get(), axis, begin, end == to_end ? dim(axis) : end));
    }
    /* The axes one after another: x.slice({0, {1, 3}, {}, {0, hk::to_end, 2}}); axes not named stay whole. */
    array slice(std::initializer_list<part> parts, hk_source at = here()) const noexcept
    {
        array view = *this;
        int axis = 0;
        for (const part &wanted : parts) {
            view = view.part_of(axis, wanted, at);
            axis += wanted.kind != part::INDEX;
        }
        return view;
    }
    array index(int axis, int64_t entry, hk_source at = here()) const noexcept
    {
        return take(hk_index_at(at, get(), axis, entry));
    }
    array operator[](const position &entry) const noexcept
    {
        return index(0, entry.index, entry.at);
    }
    array transpose(hk_source at = here()) const noexcept
    {
        return take(hk_transpose_at(at, get()));
    }
    array broadcast_to(const hk::shape &wanted, hk_source at = here()) const noexcept
    {
        return take(hk_broadcast_to_at(at, get(), wanted));
    }
    /* Any view: see hk_view. strides: one for each axis of the shape; one that is missing is refused as -1. */
    array view(const hk::shape &wanted, const hk::shape &strides, int64_t offset = 0,
               hk_source at = here()) const noexcept
    {
        int64_t all[HK_MAX_NDIM];
        for (int axis = 0; axis < HK_MAX_NDIM; axis++)
            all[axis] = axis < strides.ndim ? strides.dims[axis] : -1;
        return take(hk_view_at(at, get(), wanted, all, offset));
    }
    /* As to_device, into ordinary memory of the host: hk_to_pageable. */
    array to_pageable(hk_device device, hk_source at = here()) const noexcept
    {
        return take(hk_to_pageable_at(at, get(), device));
    }
    array contiguous(hk_source at = here()) const noexcept
    {
        return take(hk_contiguous_at(at, get()));
    }

    /* ---- writing, in place, for every handle */

    /* x becomes src, broadcast and converted: hk_assign. x may be a view: x[0].assign(1). */
    void assign(const array &src, hk_source at = here()) const noexcept
    {
        hk_assign_at(at, get(), src.get());
    }
    void assign(double value, hk_source at = here()) const noexcept
    {
        assign(like(value, at), at);
    }
    /* x becomes `count` values, which is size(), in C order, converted to its dtype. */
    template <class T>
    void write(const T *values, size_t count, hk_source at = here()) const noexcept
    {
        if (get() && dtype() != dtype_of<T>::value) {
            const array flat = take(hk_from_host_at(
                at, values, shape_of(static_cast<int64_t>(count)), dtype_of<T>::value, device()));
            assign(take(hk_reshape_at(at, flat.get(), shape())), at);
        } else {
            hk_write_at(at, get(), values, count * sizeof(T));
        }
    }
    template <class T>
    void write(const std::vector<T> &values, hk_source at = here()) const noexcept
    {
        write(values.data(), values.size(), at);
    }
    template <class T>
    void write(std::initializer_list<T> values, hk_source at = here()) const noexcept
    {
        write(values.begin(), values.size(), at);
    }
    void recover(hk_source at = here()) const noexcept
    {
        hk_recover_at(at, get());
    }

    /* ---- gradients: hocket/autograd.h */

    void attach_grad(hk_grad_mode mode = HK_GRAD_WRITE, hk_source at = here()) const noexcept
    {
        hk_attach_grad_at(at, get(), mode);
    }
    array grad(hk_source at = here()) const noexcept
    {
        /* It is x's, or a failed array of the scope's. */
        HK_SCOPE;
        return share(hk_grad_at(at, get()));
    }
    array detach(hk_source at = here()) const noexcept
    {
        return take(hk_detach_at(at, get()));
    }
    status backward(hk_source at = here()) const noexcept
    {
        return status(hk_backward_at(at, get()));
    }
    status backward_from(const array &dy, hk_source at = here()) const noexcept
    {
        return status(hk_backward_from_at(at, get(), dy.get()));
    }

    /* A number as an array () of x's dtype, on its device. */
    array like(double value, hk_source at = here()) const noexcept
    {
        return take(hk_full_at(at, hk_dims{}, value, dtype(), hk_array_device(get())));
    }

  private:
    explicit array(hk_array *owned) noexcept : counted(owned) {}

    static hk_dims shape_of(int64_t count) noexcept
    {
        return hk_dims_of(&count, 1);
    }
    array cast_for_host(hk_dtype wanted, hk_source at) const noexcept
    {
        HK_PAUSE;
        return take(hk_cast_at(at, get(), wanted));
    }
    array part_of(int axis, const part &wanted, hk_source at) const noexcept
    {
        const int64_t end = wanted.end == to_end ? dim(axis) : wanted.end;
        switch (wanted.kind) {
        case part::INDEX:
            return index(axis, wanted.begin, at);
        case part::RANGE:
            if (wanted.step == 1)
                return slice(axis, wanted.begin, end, at);
            return take(hk_slice_step_at(at, get(), axis, wanted.begin, end, wanted.step));
        default: /* the whole of an axis that is not there is refused */
            return axis < ndim() ? *this : slice(axis, 0, to_end, at);
        }
    }
};

/* A list of arrays as the C ABI takes it: of {x, y}, or of what holds them. Borrowed, for the length of a call. */
class arrays
{
  public:
    arrays(std::initializer_list<array> list) noexcept : arrays(list.begin(), list.size()) {}
    arrays(const std::vector<array> &list) noexcept : arrays(list.data(), list.size()) {}
    template <size_t N> arrays(const std::array<array, N> &list) noexcept : arrays(list.data(), N)
    {
    }
    template <size_t N> arrays(const array (&list)[N]) noexcept : arrays(list, N) {}
    arrays(const array *first, size_t count) noexcept
        : handles_(reinterpret_cast<hk_array *const *>(first)), count_(static_cast<int>(count))
    {
    }
    hk_array *const *data() const noexcept
    {
        return handles_;
    }
    int count() const noexcept
    {
        return count_;
    }

  private:
    hk_array *const *handles_;
    int count_;
};
static_assert(sizeof(array) == sizeof(hk_array *) && std::is_standard_layout<array>::value,
              "an array is its handle, so that a row of them is a row of handles");

/* A new array of host values, of the dtype of T: hk::from_host<float>({1, 2, 3, 4}, {2, 2}). */
template <class T>
array from_host(const T *values, size_t count, const shape &wanted, hk_device device = {},
                hk_source at = here()) noexcept
{
    const int64_t size = static_cast<int64_t>(count);
    const array flat =
        array::take(hk_from_host_at(at, values, hk_dims_of(&size, 1), dtype_of<T>::value, device));
    return array::take(hk_reshape_at(at, flat.get(), wanted)); /* which checks the count */
}
template <class T>
array from_host(std::initializer_list<T> values, const shape &wanted = {-1},
                const hk::device &device = {}, hk_source at = here()) noexcept
{
    return from_host(values.begin(), values.size(), wanted, device, at);
}
template <class T>
array from_host(const std::vector<T> &values, const shape &wanted = {-1},
                const hk::device &device = {}, hk_source at = here()) noexcept
{
    return from_host(values.data(), values.size(), wanted, device, at);
}

/* A new array over the program's memory: see hk_from_memory, whose options say when it is let go of. */
template <class T>
array from_memory(T *values, const shape &shape, const device &device = {},
                  const hk_memory_options &options = {}, hk_source at = here()) noexcept
{
    return array::take(hk_from_memory_at(at, values, shape, dtype_of<T>::value, device, &options));
}

/* The elements of x, lent to the program until the block ends, without a copy: see hk_data_borrow. */
class loan
{
  public:
    /* Blocks. */
    [[nodiscard]] loan(const array &x, hk_borrow_mode mode, hk_source at = here()) noexcept
        : status_(hk_data_borrow_at(at, x.get(), mode, &loan_)), dtype_(x.dtype()),
          strides_(x.strides())
    {
    }
    loan(const loan &) = delete;
    loan &operator=(const loan &) = delete;
    ~loan()
    {
        if (loan_.number)
            hk_data_return(&loan_);
    }
    const hk::status &status() const noexcept
    {
        return status_;
    }
    /* x's first element; null where nothing was lent, or T is not the type of x's elements. */
    template <class T> T *data() const noexcept
    {
        return dtype_ == dtype_of<T>::value ? static_cast<T *>(loan_.data) : nullptr;
    }
    /* How far apart neighbours along each axis are, in elements. */
    const shape &strides() const noexcept
    {
        return strides_;
    }

  private:
    hk_loan loan_ = {};
    hk::status status_;
    hk_dtype dtype_;
    shape strides_;
};

#ifdef __cpp_exceptions
/* Waits; throws hk::error where x has failed, else gives x. */
inline array check(const array &x)
{
    return x.value();
}
#endif

inline hk_operand operand_of(const array &x) noexcept
{
    return hk_operand_of_array(x.get());
}

} // namespace hk

#endif
