/* How numbers are written in texts. */
#include "trace/quantity.h"

#include "base/text.h"

/* Three digits and a unit. */
static hki_quantity scaled(double value, double step, const char *const *units, int unit_count)
{
    hki_quantity result;
    int unit = 0;
    while (unit < unit_count - 1 && value >= (unit ? 999.5 : 1000)) {
        value /= step;
        unit++;
    }
    const int decimals = !unit || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    hki_format(result.text, sizeof result.text, "%.*f %s", decimals, value, units[unit]);
    return result;
}

hki_quantity hki_in_time(int64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return scaled((double)ns, 1000, units, 4);
}

hki_quantity hki_in_bytes(int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    return scaled((double)bytes, 1024, units, 4);
}

hki_quantity hki_in_percent(int64_t part, int64_t whole)
{
    hki_quantity result;
    const double value = whole > 0 ? 100 * (double)part / (double)whole : 0;
    hki_format(result.text, sizeof result.text, "%.*f %%", part && value < 9.95 ? 1 : 0, value);
    return result;
}
