/* Gradients, optimisers and captured steps: see hocket/autograd.h, hocket/optim.h and hocket/graph.h. */
#ifndef HOCKET_TRAINING_HPP
#define HOCKET_TRAINING_HPP

#include <hocket/arithmetic.hpp>
#include <hocket/split.h>
#include <vector>

namespace hk
{

/* ---- recording ------------------------------------------------------------------------------- */

/* Records from here to the end of the block: { hk::record tape; loss = ...; } */
class record
{
  public:
    [[nodiscard]] record() noexcept : scope_(hk_record_scope_begin(true)) {}
    ~record()
    {
        hk_record_scope_end(&scope_);
    }
    record(const record &) = delete;
    record &operator=(const record &) = delete;

  private:
    hk_record_scope scope_;
};

/* Records nothing from here to the end of the block. */
class pause
{
  public:
    [[nodiscard]] pause() noexcept : scope_(hk_record_scope_begin(false)) {}
    ~pause()
    {
        hk_record_scope_end(&scope_);
    }
    pause(const pause &) = delete;
    pause &operator=(const pause &) = delete;

  private:
    hk_record_scope scope_;
};

inline bool is_recording() noexcept
{
    return hk_is_recording();
}

/* One pass for several results: see hk_backward_all. Of one: x.backward(). */
inline status backward(const arrays &ys, hk_source at = here()) noexcept
{
    return status(hk_backward_all_at(at, ys.data(), ys.count()));
}

struct backward_options {
    HKI_OPTION(backward_options, bool, keep)
};
/* See hk_backward_with. */
inline status backward(const arrays &ys, const backward_options &options,
                       hk_source at = here()) noexcept
{
    hk_backward_options c = {};
    c.keep = options.keep;
    return status(hk_backward_with_at(at, ys.data(), ys.count(), &c));
}

struct gradients_options {
    HKI_OPTION(gradients_options, bool, keep)
    HKI_OPTION(gradients_options, bool, create_graph)
};
/* One for each of xs: see hk_gradients. */
inline std::vector<array> gradients(const arrays &ys, const arrays &xs,
                                    const gradients_options &options = {}, hk_source at = here())
{
    hk_gradients_options c = {};
    c.keep = options.keep;
    c.create_graph = options.create_graph;
    std::vector<array> all(static_cast<size_t>(xs.count()));
    hk_gradients_at(at, ys.data(), ys.count(), xs.data(), xs.count(), &c,
                    reinterpret_cast<hk_array **>(all.data()));
    for (array &x : all)
        hk_take(x.get());
    return all;
}
inline array gradient(const array &y, const array &x, const gradients_options &options = {},
                      hk_source at = here())
{
    return gradients({y}, {x}, options, at)[0];
}

/* One for each of ys: see hk_jvp. A tangent that is missing is refused. */
inline std::vector<array> jvp(const arrays &ys, const arrays &xs, const arrays &tangents,
                              hk_source at = here())
{
    std::vector<array> all(static_cast<size_t>(ys.count()));
    std::vector<hk_array *> each(tangents.data(), tangents.data() + tangents.count());
    each.resize(static_cast<size_t>(xs.count()));
    hk_jvp_at(at, ys.data(), ys.count(), xs.data(), xs.count(), each.data(),
              reinterpret_cast<hk_array **>(all.data()));
    for (array &x : all)
        hk_take(x.get());
    return all;
}

struct batch_norm_train_options {
    HKI_OPTION(batch_norm_train_options, double, eps)
    HKI_OPTION(batch_norm_train_options, double, momentum)
    hk_batch_norm_train_options to_c() const noexcept
    {
        return {eps, momentum};
    }
};
/* See hk_batch_norm_train: mean and variance are updated. */
inline array batch_norm_train(const array &x, const array &gamma, const array &beta,
                              const array &mean, const array &variance,
                              const batch_norm_train_options &options = {},
                              hk_source at = here()) noexcept
{
    const hk_batch_norm_train_options c = options.to_c();
    return array::take(hk_batch_norm_train_at(at, x.get(), gamma.get(), beta.get(), mean.get(),
                                              variance.get(), &c));
}

/* ---- updates --------------------------------------------------------------------------------- */

struct sgd_options {
    HKI_OPTION(sgd_options, double, lr)
    HKI_OPTION(sgd_options, double, batch)
    HKI_OPTION(sgd_options, double, weight_decay)
    hk_sgd_options to_c() const noexcept
    {
        return {lr, batch, weight_decay};
    }
};
inline void sgd(const arrays &params, const sgd_options &options, hk_source at = here()) noexcept
{
    const hk_sgd_options c = options.to_c();
    hk_sgd_at(at, params.data(), params.count(), &c);
}

inline array clip_grad_norm(const arrays &params, double norm, hk_source at = here()) noexcept
{
    return array::take(hk_clip_grad_norm_at(at, params.data(), params.count(), norm));
}
inline void clip_grad_value(const arrays &params, double limit, hk_source at = here()) noexcept
{
    hk_clip_grad_value_at(at, params.data(), params.count(), limit);
}

struct optimizer_options {
    HKI_OPTION(optimizer_options, double, lr)
    HKI_OPTION(optimizer_options, double, batch)
    HKI_OPTION(optimizer_options, double, weight_decay)
    HKI_OPTION(optimizer_options, double, momentum)
    HKI_OPTION(optimizer_options, double, beta1)
    HKI_OPTION(optimizer_options, double, beta2)
    HKI_OPTION(optimizer_options, double, rho)
    HKI_OPTION(optimizer_options, double, epsilon)
    HKI_OPTION(optimizer_options, bool, nesterov)
    hk_optimizer_options to_c() const noexcept
    {
        return {lr, batch, weight_decay, momentum, beta1, beta2, rho, epsilon, nesterov};
    }
};

/* hk::optimizer adam("adam", params, {.lr = 0.01}); methods are those of hk_optimizer_create. */
class optimizer : public counted<hk_optimizer, hk_optimizer_retain, hk_optimizer_release>
{
  public:
    optimizer() noexcept = default;
    optimizer(const char *method, const arrays &params, const optimizer_options &options = {},
              hk_source at = here()) noexcept
        : counted(create(method, params, options.to_c(), at))
    {
    }
    /* Its state in parts: see hk_optimizer_create_sharded. Array i on device d is params[i * devices + d]. ranks: hk::group::get(). */
    static optimizer sharded(const char *method, const arrays &params, int devices,
                             hk_group *ranks = nullptr, const optimizer_options &options = {},
                             hk_source at = here()) noexcept
    {
        const hk_optimizer_options c = options.to_c();
        const bool divides = devices > 0 && params.count() % devices == 0;
        return optimizer(hk_optimizer_create_sharded_at(
            at, method, params.data(), devices, divides ? params.count() / devices : 0, ranks, &c));
    }
    hk::status status() const noexcept
    {
        return hk::status(hk_optimizer_status(get()));
    }
    void step(hk_source at = here()) const noexcept
    {
        hk_optimizer_step_at(at, get());
    }
    void set_lr(double lr, hk_source at = here()) const noexcept
    {
        hk_optimizer_set_lr_at(at, get(), lr);
    }
    /* Parameters [first, first + count): so many times the learning rate, and their own weight decay. See hk_optimizer_set_group. */
    hk::status set_group(int first, int count, double factor, double weight_decay,
                         hk_source at = here()) const noexcept
    {
        return hk::status(hk_optimizer_set_group_at(at, get(), first, count, factor, weight_decay));
    }
    double lr() const noexcept
    {
        return hk_optimizer_get_lr(get());
    }
    /* All that it keeps, to be saved or overwritten: see hk_optimizer_array. */
    std::vector<std::pair<std::string, array>> state() const
    {
        std::vector<std::pair<std::string, array>> all;
        for (int i = 0; i < hk_optimizer_array_count(get()); i++) {
            char name[64] = "";
            const array kept = array::share(hk_optimizer_array(get(), i, name, sizeof name));
            all.emplace_back(name, kept);
        }
        return all;
    }

    /* The whole state of a parameter, and the other way: see hk_optimizer_gather. */
    array gather(int index, hk_source at = here()) const noexcept
    {
        return array::take(hk_optimizer_gather_at(at, get(), index));
    }
    void scatter(int index, const array &state, hk_source at = here()) const noexcept
    {
        hk_optimizer_scatter_at(at, get(), index, state.get());
    }

  private:
    explicit optimizer(hk_optimizer *made) noexcept : counted(made) {}
    static hk_optimizer *create(const char *method, const arrays &params,
                                const hk_optimizer_options &options, hk_source at) noexcept
    {
        return hk_optimizer_create_at(at, method, params.data(), params.count(), &options);
    }
};

/* ---- captured steps -------------------------------------------------------------------------- */

struct capture_options {
    HKI_OPTION(capture_options, bool, exact)
    hk_capture_options to_c() const noexcept
    {
        return {exact};
    }
};

class graph : public counted<hk_graph, hk_graph_retain, hk_graph_release>
{
  public:
    graph() noexcept = default;
    /* Takes the count of one that the C ABI made. */
    static graph take(hk_graph *made) noexcept
    {
        return graph(made);
    }
    hk::status status() const noexcept
    {
        return hk::status(hk_graph_status(get()));
    }
    hk_graph_facts facts() const noexcept
    {
        return hk_graph_get_facts(get());
    }
    std::string to_string() const
    {
        char *text = hk_graph_to_string(get());
        std::string copy = text ? text : "(out of memory)";
        free(text);
        return copy;
    }
    void replay(const arrays &bound = {}, hk_source at = here()) const noexcept
    {
        hk_replay_at(at, get(), bound.data(), bound.count());
    }

  private:
    explicit graph(hk_graph *owned) noexcept : counted(owned) {}
};

/* Runs `calls` once and notes what it calls: graph step = hk::capture({x, y}, [&] { train(x, y); }); then step.replay({x, y}).
 * Results that are to be kept go into variables from outside. Where `calls` throws, the capture ends and is dropped. */
template <class F>
graph capture(const arrays &bound, F &&calls, const capture_options &options = {})
{
    struct ending {
        bool is_due = true;
        ~ending()
        {
            if (is_due)
                hk_graph_release(hk_capture_end(nullptr));
        }
    } end;
    const hk_capture_options c = options.to_c();
    hk_capture_begin(bound.data(), bound.count());
    std::forward<F>(calls)();
    end.is_due = false;
    return graph::take(hk_capture_end(&c));
}

} // namespace hk

#endif
