/* Random arrays, data sets, loaders, and work that devices share: see hocket/random.h, hocket/data.h and
 * hocket/collective.h. */
#ifndef HOCKET_DATA_HPP
#define HOCKET_DATA_HPP

#include <hocket/array.hpp>

namespace hk
{

/* ---- random numbers -------------------------------------------------------------------------- */

/* A stream of numbers of its own; the default one, {}, stands for the thread's, which hk::seed begins anew. */
class generator : public counted<hk_generator, hk_generator_retain, hk_generator_release>
{
  public:
    generator() noexcept = default;
    explicit generator(uint64_t seed) noexcept : counted(hk_generator_create(seed)) {}
    /* Of the thread's stream where this is {}. */
    hk_generator_state state() const noexcept
    {
        return hk_generator_get_state(get());
    }
    void set_state(const hk_generator_state &state) const noexcept
    {
        hk_generator_set_state(get(), state);
    }
};

inline void seed(uint64_t seed) noexcept
{
    hk_seed(seed);
}

/* Uniform in [low, high). */
inline array random_uniform_from(const generator &stream, double low, double high,
                                 const shape &shape, hk_dtype dtype = HK_F32,
                                 const device &device = {}, hk_source at = here()) noexcept
{
    return array::take(
        hk_random_uniform_from_at(at, stream.get(), low, high, shape, dtype, device));
}
/* Uniform in [0, 1). */
inline array random_uniform(const shape &shape, hk_dtype dtype = HK_F32, const device &device = {},
                            hk_source at = here()) noexcept
{
    return array::take(hk_random_uniform_at(at, shape, dtype, device));
}
inline array random_normal_from(const generator &stream, double mean, double std,
                                const shape &shape, hk_dtype dtype = HK_F32,
                                const device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_random_normal_from_at(at, stream.get(), mean, std, shape, dtype, device));
}
inline array random_normal(const shape &shape, hk_dtype dtype = HK_F32, const device &device = {},
                           hk_source at = here()) noexcept
{
    return array::take(hk_random_normal_at(at, shape, dtype, device));
}
inline array random_int_from(const generator &stream, int64_t low, int64_t high, const shape &shape,
                             hk_dtype dtype = HK_I64, const device &device = {},
                             hk_source at = here()) noexcept
{
    return array::take(hk_random_int_from_at(at, stream.get(), low, high, shape, dtype, device));
}
inline array random_int(int64_t low, int64_t high, const shape &shape, hk_dtype dtype = HK_I64,
                        const device &device = {}, hk_source at = here()) noexcept
{
    return array::take(hk_random_int_at(at, low, high, shape, dtype, device));
}
/* Integers least … most, both included: hk_number_of_int and hk_number_of_uint make them. */
inline array random_between_from(const generator &stream, hk_number least, hk_number most,
                                 const shape &shape, hk_dtype dtype = HK_I64,
                                 const device &device = {}, hk_source at = here()) noexcept
{
    return array::take(
        hk_random_between_from_at(at, stream.get(), least, most, shape, dtype, device));
}

/* 1 with that probability, else 0. */
inline array random_bernoulli_from(const generator &stream, double probability, const shape &shape,
                                   hk_dtype dtype = HK_BOOL, const device &device = {},
                                   hk_source at = here()) noexcept
{
    return array::take(
        hk_random_bernoulli_from_at(at, stream.get(), probability, shape, dtype, device));
}
inline array random_bernoulli(double probability, const shape &shape, hk_dtype dtype = HK_BOOL,
                              const device &device = {}, hk_source at = here()) noexcept
{
    return random_bernoulli_from({}, probability, shape, dtype, device, at);
}
/* Exponential with mean scale, or 1. */
inline array random_exponential_from(const generator &stream, double scale, const shape &shape,
                                     hk_dtype dtype = HK_F32, const device &device = {},
                                     hk_source at = here()) noexcept
{
    return array::take(
        hk_random_exponential_from_at(at, stream.get(), scale, shape, dtype, device));
}
inline array random_exponential(const shape &shape, hk_dtype dtype = HK_F32,
                                const device &device = {}, hk_source at = here()) noexcept
{
    return random_exponential_from({}, 1, shape, dtype, device, at);
}
inline array random_gamma_from(const generator &stream, double concentration, double scale,
                               const shape &shape, hk_dtype dtype = HK_F32,
                               const device &device = {}, hk_source at = here()) noexcept
{
    return array::take(
        hk_random_gamma_from_at(at, stream.get(), concentration, scale, shape, dtype, device));
}
inline array random_gamma(double concentration, const shape &shape, hk_dtype dtype = HK_F32,
                          const device &device = {}, hk_source at = here()) noexcept
{
    return random_gamma_from({}, concentration, 1, shape, dtype, device, at);
}
/* 0 … n-1 in random order. */
inline array random_permutation(int64_t n, const device &device = {}, const generator &stream = {},
                                hk_source at = here()) noexcept
{
    return array::take(hk_random_permutation_from_at(at, stream.get(), n, device));
}
/* The entries of x's first axis in random order. */
inline array shuffle(const array &x, const generator &stream = {}, hk_source at = here()) noexcept
{
    return array::take(hk_random_shuffle_from_at(at, stream.get(), x.get()));
}
/* So many of 0 … n-1, each once at most where replace is false, by weights where there are any. */
inline array random_choice(int64_t n, const shape &shape, bool replace, const array &weights = {},
                           const device &device = {}, const generator &stream = {},
                           hk_source at = here()) noexcept
{
    return array::take(
        hk_random_choice_from_at(at, stream.get(), n, shape, replace, weights.get(), device));
}
/* An index of each row along the last axis, by the exponentials of its logits. */
inline array random_categorical(const array &logits, const generator &stream = {},
                                hk_source at = here()) noexcept
{
    return array::take(hk_random_categorical_from_at(at, stream.get(), logits.get()));
}

/* ---- several devices ------------------------------------------------------------------------- */

static_assert(sizeof(device) == sizeof(hk_device) && std::is_standard_layout<device>::value,
              "a device is its handle, so that a row of them is a row of handles");

inline void all_reduce(const arrays &list,
                       hk_all_reduce_algorithm algorithm = HK_ALL_REDUCE_DEFAULT,
                       hk_source at = here()) noexcept
{
    hk_all_reduce_by_at(at, list.data(), list.count(), algorithm);
}

/* Array i on device d is list[i * devices + d]: see hk_all_reduce_list. */
inline void all_reduce_list(const arrays &list, int devices,
                            hk_all_reduce_algorithm algorithm = HK_ALL_REDUCE_DEFAULT,
                            hk_source at = here()) noexcept
{
    hk_all_reduce_list_at(at, list.data(), devices, devices > 0 ? list.count() / devices : 0,
                          algorithm);
}

/* Slice i of x on devices[i]: see hk_split_and_load. shares: none, or one for each device; one that is missing is refused
 * as -1. */
inline std::vector<array> split_and_load(const array &x, const std::vector<device> &devices,
                                         std::vector<int64_t> shares = {}, hk_source at = here())
{
    std::vector<array> slices(devices.size());
    if (!shares.empty())
        shares.resize(devices.size(), -1);
    hk_split_and_load_at(at, x.get(), reinterpret_cast<const hk_device *>(devices.data()),
                         static_cast<int>(devices.size()), shares.empty() ? nullptr : shares.data(),
                         reinterpret_cast<hk_array **>(slices.data()));
    for (array &slice : slices)
        hk_take(slice.get());
    return slices;
}

/* ---- data ------------------------------------------------------------------------------------ */

struct data_set_options {
    HKI_OPTION(data_set_options, int, class_count)
    HKI_OPTION(data_set_options, uint64_t, byte_limit)
    hk_data_set_options to_c() const noexcept
    {
        return {class_count, byte_limit};
    }
};

struct csv_options {
    HKI_OPTION(csv_options, char, delimiter)
    HKI_OPTION(csv_options, bool, has_header)
    HKI_OPTION(csv_options, uint64_t, byte_limit)
    hk_csv_options to_c() const noexcept
    {
        return {delimiter, has_header, byte_limit};
    }
};

/* The numbers of a text file: float64 (rows, columns). Blocks while it reads: see hk_csv_load. */
inline array csv_load(const char *path, const csv_options &options = {},
                      hk_source at = here()) noexcept
{
    const hk_csv_options c = options.to_c();
    return array::take(hk_csv_load_at(at, path, &c));
}

/* Blocks while it reads: see hk_data_set_open. */
class data_set : public counted<hk_data_set, hk_data_set_retain, hk_data_set_release>
{
  public:
    data_set() noexcept = default;
    explicit data_set(hk_data_part part, const char *folder = nullptr,
                      const data_set_options &options = {}, hk_source at = here()) noexcept
        : counted(open(part, folder, options.to_c(), at))
    {
    }
    /* Of what a function of hocket/data_sets.h or hocket/text.h made, which it takes. */
    static data_set take(hk_data_set *owned) noexcept
    {
        return data_set(owned);
    }
    /* Field f of sample i is list[f][i]. Blocks: see hk_data_set_of_arrays. */
    static data_set of_arrays(const arrays &list, hk_source at = here()) noexcept
    {
        return data_set(hk_data_set_of_arrays_at(at, list.data(), list.count()));
    }
    /* The last `targets` columns are field 1; -1: one, of classes. Blocks while it reads: see
     * hk_data_set_of_csv. */
    static data_set of_csv(const char *path, int targets, const csv_options &options = {},
                           hk_source at = here()) noexcept
    {
        const hk_csv_options c = options.to_c();
        return data_set(hk_data_set_of_csv_at(at, path, targets, &c));
    }
    /* The same samples, with images going through transforms as they are loaded: see hk_data_set_transform. */
    data_set transform(const std::vector<hk_transform> &list, hk_source at = here()) const noexcept
    {
        return data_set(
            hk_data_set_transform_at(at, get(), list.data(), static_cast<int>(list.size())));
    }
    hk::status status() const noexcept
    {
        return hk::status(hk_data_set_status(get()));
    }
    int field_count() const noexcept
    {
        return hk_data_set_field_count(get());
    }
    int64_t size() const noexcept
    {
        return hk_data_set_size(get());
    }
    int class_count() const noexcept
    {
        return hk_data_set_class_count(get());
    }
    const char *folder() const noexcept
    {
        return hk_data_set_folder(get());
    }

  private:
    explicit data_set(hk_data_set *owned) noexcept : counted(owned) {}
    static hk_data_set *open(hk_data_part part, const char *folder,
                             const hk_data_set_options &options, hk_source at) noexcept
    {
        return hk_data_set_open_at(at, folder, part, &options);
    }
};

/* batch_size must be given; shares: none, or one for each slice; one that is missing is refused as -1. */
struct loader_options {
    HKI_OPTION(loader_options, int64_t, batch_size)
    HKI_OPTION(loader_options, bool, shuffle)
    HKI_OPTION(loader_options, bool, drop_last)
    HKI_OPTION(loader_options, uint64_t, seed)
    HKI_OPTION(loader_options, int, ahead)
    HKI_OPTION(loader_options, std::vector<device>, devices)
    HKI_OPTION(loader_options, std::vector<int64_t>, shares)
    HKI_OPTION(loader_options, int, slice_count)
    HKI_OPTION(loader_options, int, first_slice)
    HKI_OPTION(loader_options, bool, whole_runs)
    /* Borrows the lists. */
    hk_loader_options to_c() const noexcept
    {
        return {batch_size,
                shuffle,
                drop_last,
                seed,
                ahead,
                devices.empty() ? nullptr : reinterpret_cast<const hk_device *>(devices.data()),
                static_cast<int>(devices.size()),
                shares.empty() ? nullptr : shares.data(),
                slice_count,
                first_slice,
                whole_runs};
    }
};

class loader : public counted<hk_loader, hk_loader_retain, hk_loader_release>
{
  public:
    loader() noexcept = default;
    loader(const data_set &set, loader_options options, hk_source at = here())
        : counted(create(set, options, at))
    {
    }
    hk::status status() const noexcept
    {
        return hk::status(hk_loader_status(get()));
    }
    int64_t batch_count() const noexcept
    {
        return hk_loader_batch_count(get());
    }
    int64_t batch_samples() const noexcept
    {
        return hk_loader_batch_samples(get());
    }
    void start_epoch(int64_t epoch, hk_source at = here()) const noexcept
    {
        hk_loader_start_epoch_at(at, get(), epoch);
    }
    hk_loader_position position() const noexcept
    {
        return hk_loader_get_position(get());
    }
    hk::status seek(const hk_loader_position &position, hk_source at = here()) const noexcept
    {
        return hk::status(hk_loader_seek_at(at, get(), position));
    }
    /* The next batch: `count` fields, of each an array for each device, fields one after another; false, and empty, at the end of
     * the epoch. */
    bool next_fields(std::vector<array> &fields, int count, hk_source at = here()) const
    {
        const int devices = hk_loader_device_count(get());
        fields.assign(static_cast<size_t>(count * devices), array());
        const bool is_more = hk_loader_next_fields_at(
            at, get(), reinterpret_cast<hk_array **>(fields.data()), count);
        for (array &field : fields)
            hk_take(field.get());
        if (!is_more)
            fields.clear();
        return is_more;
    }
    /* The next batch, an array for each device; false, with both empty, at the end of the epoch. */
    bool next(std::vector<array> &images, std::vector<array> &labels, hk_source at = here()) const
    {
        const size_t count = static_cast<size_t>(hk_loader_device_count(get()));
        images.assign(count, array());
        labels.assign(count, array());
        const bool is_more =
            hk_loader_next_at(at, get(), reinterpret_cast<hk_array **>(images.data()),
                              reinterpret_cast<hk_array **>(labels.data()));
        for (size_t i = 0; i < count; i++) {
            hk_take(images[i].get());
            hk_take(labels[i].get());
        }
        if (!is_more) {
            images.clear();
            labels.clear();
        }
        return is_more;
    }

  private:
    static hk_loader *create(const data_set &set, loader_options &options, hk_source at)
    {
        if (!options.shares.empty())
            options.shares.resize(options.slice_count > 0 ? static_cast<size_t>(options.slice_count)
                                                          : options.devices.size(),
                                  -1);
        const hk_loader_options c = options.to_c();
        return hk_loader_create_at(at, set.get(), &c);
    }
};

} // namespace hk

#endif
