/* The device class of simulated accelerators: where bytes are, and how long the model says that things take. */
#include "device/sim/sim_device.h"

#include "base/integer.h"
#include "base/sync.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE_BYTES ((uint64_t)1 << 30)

typedef struct sim {
    hk_sim_options model;
    hki_sim_memory *memory;
    hki_lock lock;
    /* When the queue has done what was given to it, and what its next task is to begin after; lock. */
    int64_t free_ns[HKI_QUEUE_KIND_COUNT], after_ns[HKI_QUEUE_KIND_COUNT];
    uint64_t positions[HKI_QUEUE_KIND_COUNT]; /* tasks given to it; lock */
} sim;

static void *sim_allocate(hki_device *device, size_t bytes)
{
    return hki_sim_memory_allocate(((sim *)device->state)->memory, bytes);
}

static void sim_release(hki_device *device, void *data, size_t bytes)
{
    hki_sim_memory_release(((sim *)device->state)->memory, data, bytes);
}

/* Nothing on this machine can tell it from other memory, but who copies is told. */
static void *sim_allocate_pinned(hki_device *device, size_t bytes)
{
    (void)device;
    return aligned_alloc(64, hki_round_up_bytes(bytes, 64));
}

static void sim_release_pinned(hki_device *device, void *data, size_t bytes)
{
    (void)device;
    (void)bytes;
    free(data);
}

static void sim_copy_from_host(hki_device *device, void *to, const void *from, size_t bytes)
{
    memcpy((char *)to + device->kernel_offset, from, bytes);
}

static void sim_copy_to_host(hki_device *device, void *to, const void *from, size_t bytes)
{
    memcpy(to, (const char *)from + device->kernel_offset, bytes);
}

static void sim_copy_to_peer(hki_device *device, hki_device *peer, void *to, const void *from,
                             size_t bytes)
{
    memcpy((char *)to + peer->kernel_offset, (const char *)from + device->kernel_offset, bytes);
}

static bool has_peer_link(const hki_device *device)
{
    return device->class->kind == HKI_SIM && ((sim *)device->state)->model.peer_bandwidth > 0;
}

static bool sim_is_linked(hki_device *device, hki_device *peer)
{
    return device == peer || peer->class->kind == HKI_CPU ||
           (has_peer_link(device) && has_peer_link(peer));
}

static bool sim_can_access(hki_device *device, hki_device *peer)
{
    return device == peer;
}

/* ---- the model ------------------------------------------------------------------------------------------- */

static double compute_ns(const hk_sim_options *model, const hki_cost *cost, int64_t host_ns)
{
    if (model->factor > 0)
        return model->launch_ns + (double)host_ns / model->factor;
    if (cost->time_ns > 0)
        return model->launch_ns + cost->time_ns;
    return model->launch_ns +
           1e9 * fmax(cost->flops / model->flops, cost->memory_bytes / model->memory_bandwidth);
}

static double copy_ns(const hk_sim_options *model, const hki_cost *cost)
{
    double bandwidth = model->link_bandwidth;
    if (cost->peer)
        bandwidth = fmin(model->peer_bandwidth, ((sim *)cost->peer->state)->model.peer_bandwidth);
    double ns = model->link_latency_ns + 1e9 * cost->copy_bytes / bandwidth;
    return cost->is_pageable ? ns + 1e9 * cost->copy_bytes / model->staging_bandwidth : ns;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Queues take what they are given in order; a copy between peers needs both ends at once. */
static void sim_launched(hki_device *device, hki_queue_kind queue, const hki_cost *cost,
                         int64_t ready_ns, int64_t host_ns, hki_ticket *ticket)
{
    sim *self = device->state, *peer = cost->peer ? cost->peer->state : NULL;
    double ns = queue == HKI_QUEUE_COMPUTE ? compute_ns(&self->model, cost, host_ns)
                                           : copy_ns(&self->model, cost);
    bool peer_first = peer && cost->peer->index < device->index; /* one order of locking for all */
    if (peer_first)
        hki_lock_acquire(&peer->lock);
    hki_lock_acquire(&self->lock);
    if (peer && !peer_first)
        hki_lock_acquire(&peer->lock);
    ticket->begin_ns = later(later(ready_ns, self->after_ns[queue]), self->free_ns[queue]);
    self->after_ns[queue] = 0;
    if (peer)
        ticket->begin_ns = later(ticket->begin_ns, peer->free_ns[HKI_QUEUE_COPY_IN]);
    ticket->end_ns = ticket->begin_ns + (int64_t)fmin(ns, 1e17);
    self->free_ns[queue] = ticket->end_ns;
    ticket->position = ++self->positions[queue];
    if (peer) {
        peer->free_ns[HKI_QUEUE_COPY_IN] = ticket->end_ns;
        hki_lock_release(&peer->lock);
    }
    hki_lock_release(&self->lock);
}

/* Its bytes are there: kernels run when they are launched. */
static void sim_wait_for(hki_device *device, hki_queue_kind queue, const hki_ticket *ticket)
{
    sim *self = device->state;
    hki_lock_acquire(&self->lock);
    self->after_ns[queue] = later(self->after_ns[queue], ticket->end_ns);
    hki_lock_release(&self->lock);
}

static int64_t sim_poll(hki_device *device, hki_ticket *ticket)
{
    (void)device;
    return later(ticket->end_ns - hki_clock_ns(), 0);
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

/* "20 G", "1.5 M": three digits and a decimal prefix. */
static const char *with_prefix(double value, char text[24])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int index = 0;
    for (; value >= 999.5 && index < 5; index++)
        value /= 1000;
    hki_format(text, 24, "%.3g %s", value, prefixes[index]);
    return text;
}

static void describe(hki_device *device, const hk_sim_options *model)
{
    char speed[40], number[24], link[24], peers[40] = "none";
    if (model->factor > 0)
        hki_format(speed, sizeof speed, "%.3g x a core", model->factor);
    else
        snprintf(speed, sizeof speed, "%sFLOP/s", with_prefix(model->flops, number));
    if (model->peer_bandwidth > 0)
        snprintf(peers, sizeof peers, "%sB/s", with_prefix(model->peer_bandwidth, number));
    hki_format(device->description, sizeof device->description,
               "simulated: %s, launch %.3g us, memory %.3g MiB, link %sB/s + %.3g us, peer link %s",
               speed, model->launch_ns / 1e3, (double)model->memory_bytes / (1 << 20),
               with_prefix(model->link_bandwidth, link), model->link_latency_ns / 1e3, peers);
}

bool hki_sim_init(hki_device *device, const hk_sim_options *model)
{
    sim *self = calloc(1, sizeof *self);
    if (!self)
        return false;
    self->model = *model;
    /* The pool has the limit. Beyond that there are addresses for what has been given back while
     * work that is put off still reads it, as much again, and for the workspace of such work. */
    self->memory = hki_sim_memory_create(2 * model->memory_bytes + WORKSPACE_BYTES);
    if (!self->memory) {
        free(self);
        return false;
    }
    device->class = &hki_sim_device_class;
    device->state = self;
    device->times_host = model->factor > 0;
    device->kernel_offset = hki_sim_memory_offset(self->memory);
    describe(device, model);
    return true;
}

void hki_sim_deinit(hki_device *device)
{
    sim *self = device->state;
    if (!self)
        return;
    hki_sim_memory_destroy(self->memory);
    free(self);
}

const hki_device_class hki_sim_device_class = {
    .kind = HKI_SIM,
    .kind_name = "sim",
    .kernels = HKI_CPU,
    .memory_option = "sim.memory_bytes (HOCKET_SIM)",
    .is_modelled = true,
    .launch_ahead = 64,
    .allocate = sim_allocate,
    .release = sim_release,
    .allocate_pinned = sim_allocate_pinned,
    .release_pinned = sim_release_pinned,
    .copy_from_host = sim_copy_from_host,
    .copy_to_host = sim_copy_to_host,
    .copy_to_peer = sim_copy_to_peer,
    .is_linked = sim_is_linked,
    .can_access = sim_can_access,
    .launched = sim_launched,
    .poll = sim_poll,
    .wait_for = sim_wait_for,
    .deinit = hki_sim_deinit,
};
