/* Functions of a program as tasks: see hocket/kernel.h.
 *
 *     hk::run("scale", {hk::reads(x), hk::writes(y)}, [factor](const hk::task_call &call) {
 *         const float *from = call.data<float>(0);
 *         float *to = call.data<float>(1);
 *         for (int64_t i = 0; i < call.view(1).shape.dims[0]; i++)
 *             to[i] = factor * from[i];
 *     });
 */
#ifndef HOCKET_KERNEL_HPP
#define HOCKET_KERNEL_HPP

#include <exception>
#include <hocket/array.hpp>
#include <hocket/kernel.h>
#include <utility>

namespace hk
{

inline hk_access reads(const array &x) noexcept
{
    return hk_reads(x.get());
}
inline hk_access writes(const array &x) noexcept
{
    return hk_writes(x.get());
}
inline hk_access updates(const array &x) noexcept
{
    return hk_updates(x.get());
}

inline hk_access accumulates(const array &x) noexcept
{
    return hk_accumulates(x.get());
}

/* A call, while its function runs. */
class task_call
{
  public:
    explicit task_call(hk_task_call *handle) noexcept : handle_(handle) {}
    hk_task_call *get() const noexcept
    {
        return handle_;
    }
    hk_task_view view(int index) const noexcept
    {
        return hk_task_view_of(handle_, index);
    }
    /* Of an array without gaps, of that type; else nullptr, and the call fails. */
    template <class T> T *data(int index) const noexcept
    {
        const hk_task_view of = view(index);
        int64_t step = 1;
        bool fits = of.dtype == dtype_of<std::remove_const_t<T>>::value;
        for (int i = of.shape.ndim - 1; i >= 0; i--) {
            fits = fits && (of.shape.dims[i] == 1 || of.strides[i] == step);
            step *= of.shape.dims[i];
        }
        if (!fits)
            hk_task_refuse(handle_, "array %d is %s, but the function takes %s without gaps", index,
                           hk_dtype_name(of.dtype),
                           hk_dtype_name(dtype_of<std::remove_const_t<T>>::value));
        return fits ? static_cast<T *>(of.data) : nullptr;
    }
    void refuse(const std::string &why) const noexcept
    {
        hk_task_refuse(handle_, "%s", why.c_str());
    }
    bool is_cancelled() const noexcept
    {
        return hk_task_is_cancelled(handle_);
    }

  private:
    hk_task_call *handle_;
};

/* Calls function(const hk::task_call &) when its turn is, on a worker; with waits, on a thread
 * beside the cores. The function is moved, and destroyed when it has run or never will; what it
 * captures must live that long. What it throws fails what it writes. name: static text. */
template <class Function>
void run(const char *name, std::initializer_list<hk_access> accesses, Function function,
         bool waits = false, hk_source at = here())
{
    auto *owned = new Function(std::move(function));
    hk_kernel kernel = {};
    kernel.name = name;
    kernel.waits = waits;
    kernel.cpu = [](hk_task_call *call) {
        try {
            (**static_cast<Function *const *>(hk_task_args(call)))(task_call(call));
        } catch (const std::exception &thrown) {
            hk_task_refuse(call, "%s", thrown.what());
        } catch (...) {
            hk_task_refuse(call, "the function has thrown something that is no std::exception");
        }
    };
    kernel.release = [](void *args) { delete *static_cast<Function **>(args); };
    hk_run_at(at, &kernel, accesses.begin(), static_cast<int>(accesses.size()), &owned,
              sizeof owned, nullptr);
}

/* Arrays that the program fills itself: see hk_promise_create. One that goes without having been
 * kept breaks. */
class promise
{
  public:
    explicit promise(std::initializer_list<hk_access> accesses, const char *name = nullptr,
                     hk_source at = here())
    {
        hk_promise_options options = {};
        options.name = name;
        handle_ =
            hk_promise_create_at(at, accesses.begin(), static_cast<int>(accesses.size()), &options);
    }
    promise(promise &&other) noexcept : handle_(other.handle_)
    {
        other.handle_ = nullptr;
    }
    promise &operator=(promise &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    promise(const promise &) = delete;
    promise &operator=(const promise &) = delete;
    ~promise()
    {
        hk_promise_break(handle_, "the promise went without having been kept");
    }
    hk_task_view view(int index = 0) const noexcept
    {
        return hk_promise_view(handle_, index);
    }
    bool is_open() const noexcept
    {
        return hk_promise_is_open(handle_);
    }
    void keep() noexcept
    {
        hk_promise_keep(std::exchange(handle_, nullptr));
    }
    void fail(const std::string &why) noexcept
    {
        hk_promise_break(std::exchange(handle_, nullptr), "%s", why.c_str());
    }

  private:
    hk_promise *handle_ = nullptr;
};

/* The priority of what this thread issues while the object lives: see hk_priority_set. */
class priority
{
  public:
    explicit priority(int value) noexcept : before_(hk_priority_set(value)) {}
    ~priority()
    {
        hk_priority_set(before_);
    }
    priority(const priority &) = delete;
    priority &operator=(const priority &) = delete;

  private:
    int before_;
};

} // namespace hk

#endif
