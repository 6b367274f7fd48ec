/* Element by element, neighbouring steps of one size become one kernel, where the device has that. */
#include "graph/recorded_steps.h"

/* A thread of the kernel does all steps for its elements, in any order beside the others: what one step writes no other
 * may have at another place. */
static bool clash(int a_place, const hki_tensor *a, int b_place, const hki_tensor *b)
{
    return a_place >= 0 && a_place == b_place && (a->offset != b->offset || a->size != b->size);
}

static bool writes_into(const hki_step *writer, const hki_step *other)
{
    const hki_tensor *out = &writer->out[0];
    bool clashes = clash(writer->out_place[0], out, other->out_place[0], &other->out[0]);
    for (int i = 0; i < other->call.input_count && !clashes; i++)
        clashes = clash(writer->out_place[0], out, other->in_place[i], &other->in[i]);
    return clashes;
}

static bool can_fuse(const hki_device_class *class, const hki_step *its)
{
    return class->can_fuse && !its->is_copy && class->can_fuse(&its->call) &&
           !writes_into(its, its);
}

static bool joins(const hki_device_class *class, const hki_step *first, const hki_step *added)
{
    bool can = can_fuse(class, added) && added->out[0].size == first->out[0].size;
    for (const hki_step *other = first; can && other < added; other++)
        can = !writes_into(other, added) && !writes_into(added, other);
    return can;
}

static int node_of(const hk_graph *graph, const hki_step *its)
{
    return (int)(its->node - graph->nodes);
}

static void need(hki_node_place *places, int place, int first, int last)
{
    if (place < 0)
        return;
    places[place].first = first < places[place].first ? first : places[place].first;
    places[place].last = last > places[place].last ? last : places[place].last;
}

/* Who reads what is told first: then memory is needed for longer. */
static void fuse(const hk_graph *graph, hki_step *steps, int count, hki_node_place *places)
{
    const int first = node_of(graph, steps), last = node_of(graph, &steps[count - 1]);
    steps->fused = count;
    for (int i = 0; i < count; i++) {
        const hki_node_place *made = &places[steps[i].out_place[0]];
        steps[i].is_kept = !made->is_within || made->last > last;
    }
    for (int i = 0; i < count; i++) {
        need(places, steps[i].out_place[0], first, last);
        for (int j = 0; j < steps[i].call.input_count; j++)
            need(places, steps[i].in_place[j], first, last);
    }
}

int hki_steps_fuse(hki_steps *self)
{
    const hki_device_class *class = self->device->class;
    hki_step *steps = self->list;
    const int count = self->count;
    int fused = 0;
    for (int i = 0, length; i < count; i += length) {
        length = 1;
        if (!can_fuse(class, &steps[i]))
            continue;
        while (length < HKI_FUSED_MOST && i + length < count &&
               joins(class, &steps[i], &steps[i + length]))
            length++;
        if (length == 1)
            continue;
        fuse(self->graph, &steps[i], length, self->places);
        fused += length;
    }
    return fused;
}
