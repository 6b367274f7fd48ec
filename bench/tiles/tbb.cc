/* oneTBB's flow graph: edges are found from what calls read and update, as part of what is timed, for it tracks nothing by itself. */
#include "tiles/tiles.h"

#include <deque>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <vector>

namespace flow = oneapi::tbb::flow;

namespace
{

using node = flow::continue_node<flow::continue_msg>;

struct tile_users {
    node *writer = nullptr;
    std::vector<node *> readers;
};

void run(const tile_plan *plan, int first, int count)
{
    flow::graph graph;
    std::deque<node> nodes;
    std::vector<node *> starts;
    std::vector<tile_users> users(static_cast<size_t>(plan->tile_count));
    for (int i = first; i < first + count; i++) {
        const tile_call *call = &plan->calls[i];
        nodes.emplace_back(
            graph,
            [plan, call](const flow::continue_msg &message) {
                double *tiles[TILE_MOST] = {};
                for (int j = 0; j < call->count; j++)
                    tiles[j] = tile_at(plan, call->tile[j]);
                tile_run(call, plan->tile, tiles);
                return message;
            },
            static_cast<flow::node_priority_t>(call->priority));
        node *own = &nodes.back();
        bool waits = false;
        for (int j = 0; j < call->count; j++) {
            tile_users &of = users[static_cast<size_t>(call->tile[j])];
            const bool writes = j + 1 == call->count;
            if (of.writer && !(writes && !of.readers.empty())) {
                flow::make_edge(*of.writer, *own);
                waits = true;
            }
            if (!writes) {
                of.readers.push_back(own);
                continue;
            }
            for (node *reader : of.readers) {
                flow::make_edge(*reader, *own);
                waits = true;
            }
            of.readers.clear();
            of.writer = own;
        }
        if (!waits)
            starts.push_back(own);
    }
    for (node *start : starts)
        start->try_put(flow::continue_msg());
    graph.wait_for_all();
}

} // namespace

int main(int count, char **arguments)
{
    tile_plan plan;
    if (!tile_plan_parse(&plan, count, arguments))
        return 2;
    oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                        static_cast<size_t>(plan.workers));
    return tile_plan_run(&plan, run);
}
