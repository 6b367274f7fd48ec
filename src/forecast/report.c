/* A forecast as a page of text. */
#include "forecast/forecast.h"
#include "trace/quantity.h"

#include <math.h>
#include <stdlib.h>

/* Figures in front of a line of words. */
static void write_line(hki_writer *writer, const char *name, const char *figure)
{
    hki_write(writer, "%-18s%-10s", name, figure);
}

static hki_quantity in_share(double share)
{
    return hki_in_percent((int64_t)fmin(1e6 * share + 0.5, 1e18), 1000000);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void write_head(const hk_forecast *self, hki_writer *writer)
{
    const hk_forecast_summary *summary = &self->summary;
    const hk_topology *topology = self->topology;
    if (*self->scenario->timeline->title)
        hki_write(writer, "%s\n", self->scenario->timeline->title);
    hki_write(writer, "%d device%s on \"%s\", from a recording of %d; ", summary->devices,
              plural(summary->devices), topology->name, summary->recorded_devices);
    if (self->is_strong)
        hki_write(writer, "strong scaling: the batch is divided.\n");
    else
        hki_write(writer, "weak scaling: each keeps its batch.\n");
    hki_write(writer, "Sums: %s.", hki_collective_names[topology->collective]);
    if (self->jitter > 0)
        hki_write(writer, " Times of calls vary by %s.", in_share(self->jitter).text);
    if (self->has_factors)
        hki_write(writer, " Some devices are slower than others, or faster.");
    if (!self->scenario->has_updates)
        hki_write(writer, " No parameter is updated: the recording counts as one step.");
    else if (summary->steps > 1)
        hki_write(writer, " Step %d of %d recorded ones is shown.", self->step + 1, summary->steps);
    hki_write(writer, "\n\n");
}

static void write_figures(const hk_forecast *self, hki_writer *writer)
{
    const hk_forecast_summary *summary = &self->summary;
    write_line(writer, "step", hki_in_time(summary->step_ns).text);
    hki_write(writer, "recorded %s; replayed on %d device%s %s\n",
              hki_in_time(summary->recorded_step_ns).text, summary->recorded_devices,
              plural(summary->recorded_devices), hki_in_time(summary->alone_step_ns).text);
    write_line(writer, "efficiency", in_share(summary->efficiency).text);
    hki_write(writer, "%.1f times the throughput of the recorded device%s\n",
              summary->efficiency * summary->devices / summary->recorded_devices,
              plural(summary->recorded_devices));
    write_line(writer, "bubble", in_share(summary->bubble).text);
    hki_write(writer, "of the step a device computes nothing, mean over devices\n");
    write_line(writer, "between devices", hki_in_time(summary->exchange_ns).text);
    hki_write(writer, "%d exchange%s of %s; %s of that time the first device computes\n",
              summary->sum_count, plural(summary->sum_count), hki_in_bytes(summary->sum_bytes).text,
              hki_in_percent(summary->hidden_ns, summary->exchange_ns).text);
}

static void write_levels(const hk_forecast *self, hki_writer *writer)
{
    if (self->summary.devices < 2)
        return;
    hki_write(writer, "\n%-24s %8s %12s %12s %8s\n", "level", "links", "over one", "over all",
              "busy");
    for (int i = 0; i < self->summary.level_count; i++) {
        const hk_forecast_level *level = &self->levels[i];
        if (level->links > 0)
            hki_write(writer, "%-24s %8lld %12s %12s %8s\n", level->name, (long long)level->links,
                      hki_in_bytes((int64_t)fmin(level->link_bytes, 4e18)).text,
                      hki_in_bytes((int64_t)fmin(level->total_bytes, 4e18)).text,
                      in_share(level->busy).text);
    }
    hki_write(writer, "Bytes of a step, in one direction.\n");
}

static void write_path(const hk_forecast *self, hki_writer *writer)
{
    const int64_t step_ns = self->summary.step_ns;
    hki_write(writer, "\nCritical path: ");
    for (int i = 0; i < self->path_count; i++)
        hki_write(writer, "%s%s %s", i ? ", " : "", self->path[i].name,
                  hki_in_percent(self->path[i].ns, step_ns).text);
    if (self->path_rest_ns > 0)
        hki_write(writer, ", others %s", hki_in_percent(self->path_rest_ns, step_ns).text);
    hki_write(writer, " (%d parts).\n", self->path_nodes);
}

static void write_slowest(const hk_forecast *self, hki_writer *writer)
{
    if (!self->has_factors && self->jitter <= 0)
        return;
    hki_write(writer, "Slowest devices: ");
    for (int i = 0; i < self->slowest_count; i++)
        hki_write(writer, "%s%lld computes %s", i ? ", " : "", (long long)self->slowest[i].device,
                  hki_in_time(self->slowest[i].busy_ns).text);
    hki_write(writer, ".\n");
}

char *hk_forecast_text(const hk_forecast *forecast, size_t *bytes)
{
    hki_writer writer = {0};
    if (!forecast)
        return NULL;
    write_head(forecast, &writer);
    write_figures(forecast, &writer);
    write_levels(forecast, &writer);
    write_path(forecast, &writer);
    write_slowest(forecast, &writer);
    hki_write_bytes(&writer, "", 0);
    if (writer.is_failed) {
        free(writer.data);
        return NULL;
    }
    if (bytes)
        *bytes = writer.bytes;
    return writer.data;
}
