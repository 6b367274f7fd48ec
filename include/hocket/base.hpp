/* What the other C++ headers need: source lines, counted handles, statuses, shapes, devices, the runtime.
 *
 * The C++ headers are a thin layer, all inline, over the C ABI: what a call does, where it blocks and how it fails
 * stands in the C header of the same name. C++17 and C++20, g++ and clang++. */
#ifndef HOCKET_BASE_HPP
#define HOCKET_BASE_HPP

#include <array>
#include <complex>
#include <cstdlib>
#include <hocket/hocket.h>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hk
{

/* ---- source lines ---------------------------------------------------------------------------- */

/* The line of the call. As a default argument it is the line that calls the function, in C++17 too. */
constexpr hk_source here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) noexcept
{
    return hk_source{file, line};
}

/* ---- element types --------------------------------------------------------------------------- */

inline constexpr hk_dtype f32 = HK_F32, f64 = HK_F64, f16 = HK_F16, bf16 = HK_BF16,
                          boolean = HK_BOOL, i8 = HK_I8, i16 = HK_I16, i32 = HK_I32, i64 = HK_I64,
                          u8 = HK_U8, u16 = HK_U16, u32 = HK_U32, u64 = HK_U64, c64 = HK_C64,
                          c128 = HK_C128;

/* The dtype of a C++ type: float, double, int8_t to int64_t, uint8_t to uint64_t, bool, or std::complex of
 * float or double. */
template <class T> struct dtype_of;
template <> struct dtype_of<float> {
    static constexpr hk_dtype value = HK_F32;
};
template <> struct dtype_of<double> {
    static constexpr hk_dtype value = HK_F64;
};
template <> struct dtype_of<int32_t> {
    static constexpr hk_dtype value = HK_I32;
};
template <> struct dtype_of<int64_t> {
    static constexpr hk_dtype value = HK_I64;
};
template <> struct dtype_of<uint8_t> {
    static constexpr hk_dtype value = HK_U8;
};
template <> struct dtype_of<int8_t> {
    static constexpr hk_dtype value = HK_I8;
};
template <> struct dtype_of<int16_t> {
    static constexpr hk_dtype value = HK_I16;
};
template <> struct dtype_of<uint16_t> {
    static constexpr hk_dtype value = HK_U16;
};
template <> struct dtype_of<uint32_t> {
    static constexpr hk_dtype value = HK_U32;
};
template <> struct dtype_of<uint64_t> {
    static constexpr hk_dtype value = HK_U64;
};
template <> struct dtype_of<bool> {
    static constexpr hk_dtype value = HK_BOOL;
};
template <> struct dtype_of<std::complex<float>> {
    static constexpr hk_dtype value = HK_C64;
};
template <> struct dtype_of<std::complex<double>> {
    static constexpr hk_dtype value = HK_C128;
};

/* ---- options --------------------------------------------------------------------------------- */

/* A number that with_... is told: 0 is 0, and not the default. */
template <typename T> inline T option_of(T value) noexcept
{
    return value;
}
inline double option_of(double value) noexcept
{
    return value == 0 ? HK_ZERO : value;
}

/* A field of an options struct, such as sum_options: zero means the default, HK_ZERO 0 itself. By name, in C++20 and in C++17:
 *     hk::sum(x, {.axes = {0}, .keepdims = true})
 *     hk::sum(x, hk::sum_options().with_axes({0}).with_keepdims(true)) */
/* An axis whose default is not the first one. */
#define HKI_AXIS_OPTION(owner, name)                                                               \
    int64_t name = {};                                                                             \
    owner with_##name(int64_t value) const                                                         \
    {                                                                                              \
        owner changed = *this;                                                                     \
        changed.name = value == 0 ? HK_FIRST_AXIS : value;                                         \
        return changed;                                                                            \
    }

#define HKI_OPTION(owner, type, name)                                                              \
    type name = {};                                                                                \
    owner with_##name(type value) const                                                            \
    {                                                                                              \
        owner changed = *this;                                                                     \
        changed.name = option_of(value);                                                           \
        return changed;                                                                            \
    }

/* Two numbers, of height and width: .kernel = {2, 2}. */
using int_pair = std::array<int64_t, 2>;
/* Three, of depth, height and width. */
using int_triple = std::array<int64_t, 3>;

/* ---- counted handles ------------------------------------------------------------------------- */

/* A handle of the C ABI as a value: a copy is one count more, a moved-from or default one is empty (NULL). */
template <class T, T *(*retain_fn)(T *), void (*release_fn)(T *)> class counted
{
  public:
    counted() noexcept = default;
    counted(const counted &other) noexcept
        : handle_(other.handle_ ? retain_fn(other.handle_) : nullptr)
    {
    }
    counted(counted &&other) noexcept : handle_(other.give()) {}
    counted &operator=(const counted &other) noexcept
    {
        counted copy(other);
        std::swap(handle_, copy.handle_);
        return *this;
    }
    counted &operator=(counted &&other) noexcept
    {
        counted moved(std::move(other));
        std::swap(handle_, moved.handle_);
        return *this;
    }
    ~counted()
    {
        if (handle_)
            release_fn(handle_);
    }
    /* Borrowed, for calls of the C ABI. */
    T *get() const noexcept
    {
        return handle_;
    }
    /* The caller gets this count, and releases it; empty afterwards. */
    T *give() noexcept
    {
        return std::exchange(handle_, nullptr);
    }

  protected:
    /* Takes the count that it is given. */
    explicit counted(T *owned) noexcept : handle_(owned) {}

  private:
    T *handle_ = nullptr;
};

/* ---- statuses -------------------------------------------------------------------------------- */

/* A record: see hocket/status.h. Counted, so it stays valid. Text lives as long as the record. */
class status : public counted<const hk_status, hk_status_retain, hk_status_release>
{
  public:
    /* What a function of the C ABI lent. An empty one is a failure that says so. */
    explicit status(const hk_status *lent = nullptr) noexcept
        : counted(lent ? hk_status_retain(lent) : nullptr)
    {
    }
    bool ok() const noexcept
    {
        return hk_ok(get());
    }
    explicit operator bool() const noexcept
    {
        return ok();
    }
    hk_code code() const noexcept
    {
        return hk_status_code(get());
    }
    const char *message() const noexcept
    {
        return hk_status_message(get());
    }
    const char *operation() const noexcept
    {
        return hk_status_operation(get());
    }
    const char *device() const noexcept
    {
        return hk_status_device(get());
    }
    const char *inputs() const noexcept
    {
        return hk_status_inputs(get());
    }
    const char *file() const noexcept
    {
        return hk_status_file(get());
    }
    int line() const noexcept
    {
        return hk_status_line(get());
    }
    uint64_t count() const noexcept
    {
        return hk_status_count(get());
    }
    /* Returns 0 for an ok status and 1 for a failure, so that main can return it. */
    int print(FILE *stream = stderr) const noexcept
    {
        return hk_status_print(get(), stream);
    }
    /* The record in one line. */
    std::string text() const
    {
        if (ok())
            return message();
        std::string all = *operation() ? std::string(operation()) + " failed" : "failed";
        if (*device())
            all += std::string(" on ") + device();
        if (*file())
            all += std::string(" at ") + file() + ":" + std::to_string(line());
        all += std::string(": ") + hk_code_name(code()) + ": " + message();
        if (*inputs())
            all += std::string("; inputs: ") + inputs();
        return all;
    }
};

/* What the few functions throw that say so; what() is the record's text. */
class error : public std::runtime_error
{
  public:
    explicit error(const hk::status &record) : std::runtime_error(record.text()), record_(record) {}
    const hk::status &status() const noexcept
    {
        return record_;
    }

  private:
    hk::status record_;
};

/* Throws hk::error where the status is a failure. Without exceptions (-fno-exceptions) these are left out. */
#ifdef __cpp_exceptions
inline void check(const status &record)
{
    if (!record.ok())
        throw error(record);
}
#endif

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Sizes of up to HK_MAX_NDIM axes; {2, 3}, and {} for a scalar. More give a shape that every call refuses. */
struct shape : hk_dims {
    shape() noexcept : hk_dims{} {}
    shape(const hk_dims &sizes) noexcept : hk_dims(sizes) {}
    shape(std::initializer_list<int64_t> sizes) noexcept
        : hk_dims(hk_dims_of(sizes.begin(), sizes.size()))
    {
    }
    shape(const std::vector<int64_t> &sizes) noexcept
        : hk_dims(hk_dims_of(sizes.data(), sizes.size()))
    {
    }
    int64_t operator[](int axis) const noexcept
    {
        return dims[axis];
    }
    const int64_t *begin() const noexcept
    {
        return dims;
    }
    const int64_t *end() const noexcept
    {
        return dims + ndim;
    }
    friend bool operator==(const shape &a, const shape &b) noexcept
    {
        if (a.ndim != b.ndim)
            return false;
        for (int axis = 0; axis < a.ndim; axis++)
            if (a.dims[axis] != b.dims[axis])
                return false;
        return true;
    }
    friend bool operator!=(const shape &a, const shape &b) noexcept
    {
        return !(a == b);
    }
};

/* ---- devices --------------------------------------------------------------------------------- */

/* A device, also by its name: hk::ones({2, 3}, hk::f32, "cpu:1"). {} is the default one. */
class device
{
  public:
    device() noexcept = default;
    device(const hk_device &handle) noexcept : handle_(handle) {}
    device(const char *name) noexcept : handle_(hk_device_named(name)) {}
    device(const std::string &name) noexcept : device(name.c_str()) {}
    operator hk_device() const noexcept
    {
        return handle_;
    }
    const char *name() const noexcept
    {
        return hk_device_name(named());
    }
    const char *kind() const noexcept
    {
        return hk_device_kind(named());
    }
    int cores() const noexcept
    {
        return hk_device_cores(named());
    }
    hk::status status() const noexcept
    {
        return hk::status(hk_device_status(named()));
    }
    hk_device_memory memory() const noexcept
    {
        return hk_device_get_memory(named());
    }
    /* Blocks: hk_wait_device. */
    hk::status wait() const noexcept
    {
        return hk::status(hk_wait_device(named()));
    }
    friend bool operator==(const device &a, const device &b) noexcept
    {
        return a.named().handle == b.named().handle;
    }
    friend bool operator!=(const device &a, const device &b) noexcept
    {
        return !(a == b);
    }

  private:
    hk_device named() const noexcept
    {
        return handle_.handle ? handle_ : hk_device_default();
    }
    hk_device handle_ = {};
};

/* All devices of the default runtime. */
inline std::vector<device> devices()
{
    std::vector<device> all;
    for (int i = 0; i < hk_device_count(); i++)
        all.push_back(hk_device_at(i));
    return all;
}

/* ---- the runtime ----------------------------------------------------------------------------- */

/* See hk_runtime_options. */
struct runtime_options {
    HKI_OPTION(runtime_options, int, cpu_devices)
    HKI_OPTION(runtime_options, int, cpu_cores)
    HKI_OPTION(runtime_options, hk_engine, engine)
    HKI_OPTION(runtime_options, uint64_t, run_ahead_calls)
    HKI_OPTION(runtime_options, uint64_t, run_ahead_bytes)
    HKI_OPTION(runtime_options, int64_t, inline_ns)
    HKI_OPTION(runtime_options, uint64_t, memory_bytes)
    HKI_OPTION(runtime_options, const hk_sim_options *, sim)
    HKI_OPTION(runtime_options, int, sim_count)
    HKI_OPTION(runtime_options, const char *, cuda)
    HKI_OPTION(runtime_options, uint64_t, cuda_memory_bytes)
    HKI_OPTION(runtime_options, bool, cuda_tf32)
    HKI_OPTION(runtime_options, bool, cuda_own_sums)
    HKI_OPTION(runtime_options, bool, flush_subnormals)
    hk_runtime_options to_c() const noexcept
    {
        return {cpu_devices,       cpu_cores,    engine,        run_ahead_calls, run_ahead_bytes,
                inline_ns,         memory_bytes, sim,           sim_count,       cuda,
                cuda_memory_bytes, cuda_tf32,    cuda_own_sums, flush_subnormals};
    }
};

inline status runtime_init(const runtime_options &options = {}) noexcept
{
    const hk_runtime_options c = options.to_c();
    return status(hk_runtime_init(&c));
}

inline void runtime_deinit() noexcept
{
    hk_runtime_deinit();
}

/* Blocks: see hk_wait_all. */
inline status wait_all() noexcept
{
    return status(hk_wait_all());
}

inline void failures_clear() noexcept
{
    hk_failures_clear();
}

} // namespace hk

#endif
