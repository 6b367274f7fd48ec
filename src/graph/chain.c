/* Putting chains in the place of a graph's calls. */
#include "graph/chain.h"

#include "base/integer.h"
#include "op/call/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples of a piece: enough that its part of the sums costs little, few enough that pieces share the cores well, also where
 * somebody else has a part of one; in rows as many as a block has. No more pieces than memory for their sums is worth. What
 * a block works on is to stay in a core's caches: layers on larger images are better off one by one, all cores at each. */
enum { PIECE_SAMPLES = 32, ROWS_BLOCK_SAMPLES = 64, MAX_PIECES = 32, BLOCK_MAX_BYTES = 4 << 20 };

/* Of images: a piece is a block where there are few samples, so that all cores have something. A sample that takes longer
 * than this had better be cut within the calls, since here one core does it. Many samples fill the lanes by themselves:
 * then images must cost this part of that. */
enum { IMAGE_PIECES = 16, IMAGE_PIECE_SAMPLES = 64, IMAGE_MAX_NS = 50000 };
static const double image_advantage = 0.6;

static void nodes_destroy(hki_node *nodes, int count)
{
    for (int i = 0; nodes && i < count; i++)
        hki_node_deinit(&nodes[i]);
    free(nodes);
}

void hki_chain_destroy(hki_chain *chain)
{
    if (!chain || atomic_fetch_sub_explicit(&chain->refs, 1, memory_order_acq_rel) != 1)
        return;
    nodes_destroy(chain->calls, chain->call_count);
    free(chain->values);
    free(chain->sums);
    free(chain->steps);
    free(chain->packs);
    free(chain->masks);
    free(chain->arrays);
    free(chain->array_is_new);
    hki_chain_parts_destroy(chain);
    hki_keeper_deinit(&chain->keeper);
    free(chain);
}

static bool node_copy(hki_node *to, const hki_node *from)
{
    size_t bytes = (size_t)(from->input_count + from->output_count) * sizeof *from->operands;
    *to = *from;
    to->options = from->options_bytes ? malloc(from->options_bytes) : NULL;
    to->operands = malloc(bytes);
    if ((from->options_bytes && !to->options) || !to->operands)
        return false;
    if (to->options)
        memcpy(to->options, from->options, from->options_bytes);
    memcpy(to->operands, from->operands, bytes);
    return true;
}

/* Copies: nothing of the graph changes until the chain is made. */
static bool take_calls(hki_chain *chain, const hk_graph *graph, const hki_chain_place *places,
                       int count)
{
    chain->calls = calloc((size_t)count, sizeof *chain->calls);
    bool taken = chain->calls;
    for (int i = 0; taken && i < graph->node_count; i++)
        if (places[i] == HKI_PLACE_WITHIN)
            taken = node_copy(&chain->calls[chain->call_count++], &graph->nodes[i]);
    return taken;
}

/* Whether float64 is what most of its convolutions and layers are in. */
static bool is_f64(const hki_chain *chain)
{
    int f64 = 0;
    for (int i = 0; i < chain->call_count; i++) {
        const hki_node *node = &chain->calls[i];
        const hki_fuse_role role = node->op->fuse;
        if (role == HKI_FUSE_CONVOLUTION || role == HKI_FUSE_LAYER || role == HKI_FUSE_PRODUCT)
            f64 += node->operands[0].tensor.dtype == HK_F64 ? 1 : -1;
    }
    return f64 > 0;
}

static bool *find_outside(const hk_graph *graph, const hki_chain_place *places)
{
    bool *outside = calloc((size_t)graph->slot_count + 1, sizeof *outside);
    for (int i = 0; outside && i < graph->slot_count; i++)
        outside[i] = graph->slots[i].kind != HKI_SLOT_TEMPORARY;
    for (int i = 0; outside && i < graph->node_count; i++)
        for (int j = 0; places[i] != HKI_PLACE_WITHIN &&
                        j < graph->nodes[i].input_count + graph->nodes[i].output_count;
             j++)
            if (graph->nodes[i].operands[j].slot >= 0)
                outside[graph->nodes[i].operands[j].slot] = true;
    return outside;
}

/* A multiple of the samples of a block. */
static int64_t piece_samples(int64_t samples, hki_chain_form form)
{
    const int64_t least = form == HKI_CHAIN_OF_ROWS ? ROWS_BLOCK_SAMPLES : PIECE_SAMPLES;
    return ((samples - 1) / (least * MAX_PIECES) + 1) * least;
}
_Static_assert(PIECE_SAMPLES % HKI_SUM_RUN == 0 && ROWS_BLOCK_SAMPLES % HKI_SUM_RUN == 0,
               "whole runs");

int64_t hki_chain_piece_count(int64_t samples)
{
    return (samples - 1) / piece_samples(samples, HKI_CHAIN_OF_ROWS) + 1;
}

/* Few samples of images: less than that, and lanes of samples would be half empty. */
static bool has_few_samples(const hki_chain *chain)
{
    return chain->samples < 2 * hki_conv2d_block_lanes(chain->f64);
}

/* Whether most of the work is fully connected layers, which read their weights once for all samples of a block. */
static bool is_dense(const hki_chain *chain)
{
    double layers = 0, all = 0;
    for (int i = 0; i < chain->call_count; i++) {
        const hki_node *node = &chain->calls[i];
        all += node->plan.work_ns;
        layers += node->op->fuse == HKI_FUSE_LAYER ? node->plan.work_ns : 0;
    }
    return layers > all / 2;
}

void hki_chain_piece(const hki_chain *chain, int64_t piece, int64_t *begin, int64_t *end)
{
    if (chain->form != HKI_CHAIN_OF_IMAGES) {
        hki_sum_piece(&chain->cut, piece, begin, end);
        return;
    }
    *begin = piece * chain->piece_samples;
    *end = hki_min(*begin + chain->piece_samples, chain->samples);
}

/* Without layers no lanes are to be filled by samples: what blocks make, so much, stays in the cache of the first level
 * together with what they read, and a piece is worth a core. True, after setting both, where that is so. */
enum { PLAIN_BLOCK_BYTES = 20 << 10 };
static bool cut_plain(hki_chain *chain)
{
    double work_ns = 0;
    int64_t bytes = 0;
    for (int i = 0; i < chain->call_count; i++) {
        const hki_node *node = &chain->calls[i];
        if (node->op->fuse >= HKI_FUSE_CONVOLUTION && node->op->fuse <= HKI_FUSE_PRODUCT)
            return false;
        work_ns += node->plan.work_ns;
        for (int j = node->input_count; j < node->input_count + node->output_count; j++)
            bytes += node->operands[j].tensor.size *
                     (int64_t)hki_dtype_bytes(node->operands[j].tensor.dtype);
    }
    const int64_t fitting = PLAIN_BLOCK_BYTES / (bytes / chain->samples + 1),
                  worth = (int64_t)((double)chain->samples * HKI_PLAN_PIECE_NS /
                                    fmax(work_ns, HKI_PLAN_PIECE_NS));
    chain->block_samples = hki_max(1, fitting / HKI_SUM_RUN) * HKI_SUM_RUN;
    chain->piece_samples =
        hki_max(piece_samples(chain->samples, chain->form), hki_round_up(worth, HKI_SUM_RUN));
    return true;
}

static void note_size(int64_t sizes[HKI_CHAIN_SIZES], int64_t size)
{
    int at = 0;
    while (size && sizes[at] && sizes[at] != size)
        at++;
    if (size)
        sizes[at] = size;
}

/* Sets of how many samples blocks and pieces are. */
static void cut(hki_chain *chain)
{
    if (chain->form == HKI_CHAIN_OF_IMAGES) {
        /* The first four samples may have a core each. */
        int64_t share = is_dense(chain) ? HKI_IMAGE_SAMPLES : (chain->samples - 1) / 4 + 1;
        chain->block_samples = hki_min(hki_min(share, chain->samples), HKI_IMAGE_SAMPLES);
        int64_t blocks = chain->samples / (chain->block_samples * IMAGE_PIECES);
        chain->piece_samples = chain->block_samples *
                               hki_max(1, hki_min(blocks, IMAGE_PIECE_SAMPLES / HKI_IMAGE_SAMPLES));
    } else if (!cut_plain(chain)) {
        /* Layers read their weights once for all samples of a block. */
        chain->block_samples = chain->form == HKI_CHAIN_OF_ROWS
                                   ? ROWS_BLOCK_SAMPLES
                                   : hki_conv2d_block_lanes(chain->f64);
        chain->piece_samples = piece_samples(chain->samples, chain->form);
    }
    chain->cut = hki_sum_cut_by(chain->samples, hki_max(1, chain->piece_samples / HKI_SUM_RUN));
    chain->piece_count = chain->form == HKI_CHAIN_OF_IMAGES
                             ? (chain->samples - 1) / chain->piece_samples + 1
                             : chain->cut.pieces;
    for (int64_t piece = 0, begin, end; piece < chain->piece_count; piece++) {
        hki_chain_piece(chain, piece, &begin, &end);
        note_size(chain->piece_sizes, end - begin);
        note_size(chain->block_sizes, hki_min(end - begin, chain->block_samples));
        note_size(chain->block_sizes, (end - begin) % chain->block_samples);
    }
}

/* Whether the steps can be done on images, and had better be: layers, and no more work than one core should do. */
static bool suits_images(const hki_chain *chain)
{
    double image_ns = 0, lanes_ns = 0, calls_ns = 0;
    bool forward = true;
    for (int i = 0; i < chain->step_count; i++) {
        const hki_chain_step *step = &chain->steps[i];
        forward = forward && (step->kind == HKI_STEP_FORWARD || step->kind == HKI_STEP_CALL ||
                              step->kind == HKI_STEP_SPREAD);
        if (step->kind == HKI_STEP_FORWARD) {
            image_ns += hki_conv2d_image_cost_ns(&step->block);
            lanes_ns += hki_conv2d_image_direct_cost_ns(&step->block);
        } else if (step->kind == HKI_STEP_CALL) {
            calls_ns += chain->calls[step->call].plan.work_ns / (double)chain->samples;
        }
    }
    return forward && image_ns > 0 &&
           (has_few_samples(chain) ? image_ns + calls_ns <= IMAGE_MAX_NS
                                   : image_ns <= image_advantage * lanes_ns);
}

static bool is_layer(const hki_conv2d_block *block)
{
    const hki_conv2d_geometry *g = &block->geometry;
    return g->in_height == 1 && g->in_width == 1 && g->kernel_height == 1 && g->kernel_width == 1 &&
           g->pad_height == 0 && g->pad_width == 0 && block->pool == HKI_BLOCK_POOL_NONE;
}

/* Whether its convolutions are layers all of them, whose weights get their gradients elsewhere. */
static bool suits_rows(const hki_chain *chain)
{
    bool layers = true;
    int count = 0;
    for (int i = 0; i < chain->step_count; i++) {
        const hki_chain_step *step = &chain->steps[i];
        if (step->kind != HKI_STEP_FORWARD && step->kind != HKI_STEP_BACKWARD)
            continue;
        layers = layers && is_layer(&step->block) && step->mask < 0 && step->dweight < 0 &&
                 step->dbias < 0;
        count++;
    }
    return layers && count > 0;
}

static bool has_sums(const hki_chain *chain)
{
    bool sums = false;
    hki_chain_views views;
    hki_batch batch;
    for (int i = 0; i < chain->call_count; i++)
        sums = sums || hki_chain_ask(&chain->calls[i], &batch, &views) == HKI_BATCH_SUM;
    return sums;
}

/* Whether another device is given whole runs, and more samples: then these may be a batch's last ones. */
static bool is_last_share(const hki_chain *chain, const hk_graph *graph)
{
    bool is = false;
    for (int i = 0; !is && i < graph->node_count; i++) {
        const hki_node *node = &graph->nodes[i];
        for (int j = 0; node->device != chain->device && j < node->input_count; j++) {
            const hki_tensor *x = &node->operands[j].tensor;
            is = is || (node->operands[j].slot >= 0 && x->ndim > 0 && x->dims[0] > chain->samples &&
                        x->dims[0] % HKI_SUM_RUN == 0 &&
                        graph->slots[node->operands[j].slot].kind == HKI_SLOT_BOUND);
        }
    }
    return is;
}

/* Or has a whole run, or may be a share, of a batch that is added up by runs, which is to be done
 * as a larger one is. */
static bool fills_lanes(const hki_chain *chain, const hk_graph *graph)
{
    return !has_few_samples(chain) ||
           (has_sums(chain) && (chain->samples >= HKI_SUM_RUN || is_last_share(chain, graph)));
}

/* Weights that every replay finds as they are, unless somebody else writes them. */
static void find_constants(hki_chain *chain, const hk_graph *graph)
{
    for (int p = 0; p < chain->pack_count; p++) {
        int slot = chain->arrays[chain->packs[p].weight].slot;
        bool constant = graph->slots[slot].kind == HKI_SLOT_EXTERNAL;
        for (int i = 0; i < graph->node_count; i++)
            for (int j = 0; j < graph->nodes[i].input_count + graph->nodes[i].output_count; j++)
                constant = constant && !(graph->nodes[i].operands[j].slot == slot &&
                                         hki_node_writes(&graph->nodes[i], j));
        chain->packs[p].is_constant = constant;
    }
}

/* Without the room that its items do not fill. */
static void *cut_list(void *list, int count, size_t item_bytes)
{
    void *shorter = realloc(list, ((size_t)count + 1) * item_bytes);
    return shorter ? shorter : list;
}

static void cut_lists(hki_chain *chain)
{
    chain->values = cut_list(chain->values, chain->value_count, sizeof *chain->values);
    chain->sums = cut_list(chain->sums, chain->sum_count, sizeof *chain->sums);
    chain->steps = cut_list(chain->steps, chain->step_count, sizeof *chain->steps);
    chain->packs = cut_list(chain->packs, chain->pack_count, sizeof *chain->packs);
    chain->masks = cut_list(chain->masks, chain->mask_count, sizeof *chain->masks);
    chain->arrays = cut_list(chain->arrays, chain->array_count, sizeof *chain->arrays);
}

/* NULL: out of host memory, or not worth it. */
static hki_chain *chain_try(const hk_graph *graph, const hki_chain_place *places, int count,
                            int64_t samples, hki_chain_form form)
{
    hki_chain *chain = calloc(1, sizeof *chain);
    bool *outside = find_outside(graph, places);
    bool made = chain && outside && take_calls(chain, graph, places, count);
    if (chain) {
        atomic_init(&chain->refs, 1);
        chain->samples = samples;
        chain->form = form;
    }
    if (made) {
        chain->device = chain->calls[0].device;
        chain->f64 = is_f64(chain);
        made = form == HKI_CHAIN_OF_IMAGES ? !chain->f64 && !has_sums(chain)
                                           : fills_lanes(chain, graph);
    }
    if (made) {
        cut(chain);
        made = hki_chain_make_steps(chain, graph->slot_count, outside) &&
               (form != HKI_CHAIN_OF_IMAGES || suits_images(chain)) &&
               (form != HKI_CHAIN_OF_ROWS || suits_rows(chain));
    }
    if (made) {
        find_constants(chain, graph);
        made = hki_chain_lay_out(chain) && chain->block_bytes <= BLOCK_MAX_BYTES;
    }
    if (made)
        made = (chain->array_is_new = calloc((size_t)chain->array_count + 1, sizeof(bool)));
    for (int i = 0; made && i < chain->array_count; i++)
        chain->array_is_new[i] = i >= chain->read_count &&
                                 graph->slots[chain->arrays[i].slot].kind == HKI_SLOT_TEMPORARY;
    made = made && hki_chain_cut(chain, graph, places);
    free(outside);
    if (made) {
        cut_lists(chain);
        return chain;
    }
    hki_chain_destroy(chain);
    return NULL;
}

/* Of images or rows where that suits it, else of samples in lanes. */
static hki_chain *chain_create(const hk_graph *graph, const hki_chain_place *places, int count,
                               int64_t samples)
{
    static const hki_chain_form forms[] = {HKI_CHAIN_OF_IMAGES, HKI_CHAIN_OF_ROWS,
                                           HKI_CHAIN_OF_LANES};
    hki_chain *chain = NULL;
    for (size_t i = 0; !chain && i < sizeof forms / sizeof *forms; i++)
        chain = chain_try(graph, places, count, samples, forms[i]);
    return chain;
}

static bool node_of_part(hki_node *node, hki_chain *chain, int index)
{
    const hki_chain_part *part = &chain->parts[index];
    const bool is_cut = chain->part_count > 1;
    *node = (hki_node){.kind = HKI_NODE_CHAIN,
                       .operation = "chain",
                       .source = chain->calls[0].source,
                       .device = chain->device,
                       .first_call = chain->calls[0].first_call,
                       .input_count = part->read_count,
                       .output_count = part->array_count - part->read_count + is_cut,
                       .operands = calloc((size_t)part->array_count + 1, sizeof *node->operands),
                       .chain = chain,
                       .part = index};
    for (int i = 0; i < chain->call_count; i++)
        if (chain->calls[i].last_call > node->last_call)
            node->last_call = chain->calls[i].last_call;
    for (int i = 0; node->operands && i < part->array_count; i++)
        node->operands[i] = chain->arrays[part->arrays[i]];
    const int64_t bytes = hki_chain_state_bytes(chain);
    if (node->operands && is_cut)
        node->operands[part->array_count] =
            (hki_node_operand){.slot = chain->state_slot,
                               .tensor = {.dtype = HK_U8,
                                          .ndim = 1,
                                          .dims = {bytes},
                                          .strides = {1},
                                          .size = bytes,
                                          .is_contiguous = true},
                               .span = {.begin = 0, .end = (uint64_t)bytes}};
    return node->operands;
}

/* What a chain that is cut keeps between its parts. */
static bool add_state(hk_graph *graph, hki_chain *chain)
{
    hki_slot *slots = realloc(graph->slots, ((size_t)graph->slot_count + 1) * sizeof *slots);
    if (!slots)
        return false;
    graph->slots = slots;
    slots[graph->slot_count] = (hki_slot){.kind = HKI_SLOT_TEMPORARY,
                                          .device = chain->device,
                                          .bytes = (uint64_t)hki_chain_state_bytes(chain),
                                          .bound = -1,
                                          .first = -1,
                                          .last = -1};
    chain->state_slot = graph->slot_count++;
    return true;
}

/* It no longer reads the arrays. */
static void drop_inputs(hki_node *node)
{
    memmove(node->operands, node->operands + node->input_count,
            (size_t)node->output_count * sizeof *node->operands);
    node->input_count = 0;
    node->staging = (hki_call_staging){0};
}

/* Those before the chain; then each part, and those that can come behind it. */
static void arrange(hk_graph *graph, const hki_chain_place *places, const hki_node *parts,
                    int count, const int *behind, hki_node *nodes)
{
    int placed = 0;
    for (int i = 0; i < graph->node_count; i++) {
        if (places[i] == HKI_PLACE_BEFORE_BY_SHAPE)
            drop_inputs(&graph->nodes[i]);
        if (places[i] == HKI_PLACE_BEFORE || places[i] == HKI_PLACE_BEFORE_BY_SHAPE)
            nodes[placed++] = graph->nodes[i];
    }
    for (int p = 0; p < count; p++) {
        nodes[placed++] = parts[p];
        for (int i = 0; i < graph->node_count; i++)
            if (places[i] == HKI_PLACE_AFTER && behind[i] == p)
                nodes[placed++] = graph->nodes[i];
    }
    for (int i = 0; i < graph->node_count; i++)
        if (places[i] == HKI_PLACE_WITHIN)
            hki_node_deinit(&graph->nodes[i]);
    free(graph->nodes);
    graph->nodes = nodes;
    graph->node_count = placed;
}

/* False: out of host memory, and the graph does what it did. */
static bool replace(hk_graph *graph, const hki_chain_place *places, hki_chain *chain)
{
    const int count = chain->part_count;
    hki_node *nodes = malloc((size_t)(graph->node_count + count) * sizeof *nodes);
    hki_node *parts = calloc((size_t)count, sizeof *parts);
    int *behind = calloc((size_t)graph->node_count + 1, sizeof *behind);
    bool made = nodes && parts && behind && (count == 1 || add_state(graph, chain));
    for (int p = 0; made && p < count; p++)
        made = node_of_part(&parts[p], chain, p);
    made = made && hki_chain_follow(graph, places, parts, count, behind);
    if (made) {
        atomic_store_explicit(&chain->refs, (unsigned)count, memory_order_relaxed);
        arrange(graph, places, parts, count, behind, nodes);
    } else {
        for (int p = 0; parts && p < count; p++)
            hki_node_deinit(&parts[p]);
        free(nodes);
    }
    free(parts);
    free(behind);
    return made;
}

void hki_graph_form_chains(hk_graph *graph)
{
    hki_chain_place *places = calloc((size_t)graph->node_count + 1, sizeof *places);
    int64_t samples;
    int found = places && !graph->options.exact ? 0 : -1;
    for (int from = 0; found >= 0;) {
        int count = 0;
        found = hki_chain_find(graph, from, places, &samples);
        for (int i = 0; found >= 0 && i < graph->node_count; i++)
            count += places[i] == HKI_PLACE_WITHIN;
        hki_chain *chain = found >= 0 ? chain_create(graph, places, count, samples) : NULL;
        bool replaced = chain && replace(graph, places, chain);
        if (chain && !replaced)
            hki_chain_destroy(chain);
        from = replaced ? 0 : found + 1;
    }
    free(places);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static void describe_block(const hki_chain_step *step, FILE *stream)
{
    const hki_conv2d_geometry *g = &step->block.geometry;
    static const char *const pools[] = {"", ", average pooling", ", maximum pooling"};
    fprintf(stream,
            "%s %" PRId64 "x%" PRId64 "x%" PRId64 " to %" PRId64 ", %" PRId64 "x%" PRId64 "%s%s",
            step->kind == HKI_STEP_FORWARD ? "forward" : "backward", g->in_channels, g->in_height,
            g->in_width, g->out_channels, g->kernel_height, g->kernel_width,
            step->block.relu ? ", relu" : "", pools[step->block.pool]);
}

void hki_chain_describe(const hki_chain *chain, int part, FILE *stream)
{
    static const char *const forms[] = {"", " rows", " images"};
    fprintf(stream,
            "  %" PRId64 " samples in %" PRId64 " pieces, blocks of %" PRId64
            "%s; workspace %" PRId64 " KiB a piece, sums %" PRId64 " KiB, constant weights %" PRId64
            " KiB\n",
            chain->samples, chain->piece_count, chain->block_samples, forms[chain->form],
            chain->workspace_bytes >> 10, chain->sum_bytes >> 10, chain->kept_bytes >> 10);
    for (int i = 0; i < chain->step_count; i++) {
        const hki_chain_step *step = &chain->steps[i];
        if (step->part != part)
            continue;
        fprintf(stream, "  ");
        if (step->kind == HKI_STEP_TO_LANES || step->kind == HKI_STEP_TO_ROWS)
            fprintf(stream, "to %s", step->kind == HKI_STEP_TO_LANES ? "lanes" : "rows");
        else if (step->kind == HKI_STEP_SPREAD)
            fprintf(stream, "one element to rows");
        else if (step->kind == HKI_STEP_CALL || step->kind == HKI_STEP_CALL_END)
            fprintf(stream, "%s%s", chain->calls[step->call].operation,
                    step->kind == HKI_STEP_CALL_END ? ", at the end of a piece"
                    : step->in_lanes                ? ", in lanes"
                                                    : "");
        else
            describe_block(step, stream);
        if (step->call_count > 1)
            fprintf(stream, " (%d calls)", step->call_count);
        fprintf(stream, "\n");
    }
}
