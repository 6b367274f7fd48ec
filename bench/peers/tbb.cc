/* oneTBB's flow graph. It tracks nothing: whoever builds a graph lays its edges. Which they are is found here before
 * the clock starts, as if the program knew them; what is timed is making the nodes and edges, starting those that wait
 * for nothing, and waiting for all. Nodes go after the clock has stopped. WORKERS threads take part, the one that
 * builds the graph among them. */
#include "peers/peer.h"

#include <cstdlib>
#include <deque>
#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <vector>

namespace flow = oneapi::tbb::flow;

namespace
{

using node = flow::continue_node<flow::continue_msg>;

struct task_edges {
    long begin, end; /* in `predecessors` */
};

std::vector<task_edges> edges;
std::vector<long> predecessors;
std::unique_ptr<flow::graph> graph;
std::deque<node> nodes;
std::vector<node *> starts; /* those that wait for nothing */

void add_predecessor(long begin, long task)
{
    for (size_t i = static_cast<size_t>(begin); i < predecessors.size(); i++)
        if (predecessors[i] == task)
            return;
    predecessors.push_back(task);
}

/* A reader comes after the last writer, a writer after that and all readers since. */
void find_edges(const task_pattern *pattern, long tasks)
{
    struct datum {
        long writer = -1;
        std::vector<long> readers;
    };
    std::vector<datum> data(TASK_DATA);
    edges.clear();
    predecessors.clear();
    for (long i = 0; i < tasks; i++) {
        const task_call &call = pattern->calls[i % pattern->period];
        const long begin = static_cast<long>(predecessors.size());
        for (int j = 0; j < call.read_count; j++) {
            datum &from = data[static_cast<size_t>(call.reads[j])];
            if (from.writer >= 0)
                add_predecessor(begin, from.writer);
            from.readers.push_back(i);
        }
        if (call.write >= 0) {
            datum &to = data[static_cast<size_t>(call.write)];
            if (to.writer >= 0 && to.readers.empty())
                add_predecessor(begin, to.writer);
            for (long reader : to.readers)
                if (reader != i)
                    add_predecessor(begin, reader);
            to.readers.clear();
            to.writer = i;
        }
        edges.push_back({begin, static_cast<long>(predecessors.size())});
    }
}

void drop_graph()
{
    nodes.clear();
    graph.reset();
}

void prepare(const task_pattern *pattern, const peer_point *point)
{
    drop_graph();
    if (static_cast<long>(edges.size()) != point->tasks)
        find_edges(pattern, point->tasks);
}

void add_node(const task_call &call, int64_t iterations)
{
    if (call.write < 0) {
        void *fresh = std::malloc(8);
        nodes.emplace_back(*graph, [iterations, fresh](const flow::continue_msg &message) {
            spin(iterations);
            std::free(fresh);
            return message;
        });
    } else {
        nodes.emplace_back(*graph, [iterations](const flow::continue_msg &message) {
            spin(iterations);
            return message;
        });
    }
}

void run(const task_pattern *pattern, const peer_point *point, long first, long count)
{
    drop_graph(); /* of the tasks before, if there were any in this round */
    graph = std::make_unique<flow::graph>();
    starts.clear();
    for (long i = 0, j = first % pattern->period; i < count;
         i++, j = j + 1 < pattern->period ? j + 1 : 0) {
        add_node(pattern->calls[j], point->iterations);
        const task_edges &own = edges[static_cast<size_t>(first + i)];
        bool starts_at_once = true;
        for (long k = own.begin; k < own.end; k++) {
            const long from = predecessors[static_cast<size_t>(k)] - first;
            if (from >= 0) { /* else it has been waited for */
                flow::make_edge(nodes[static_cast<size_t>(from)], nodes.back());
                starts_at_once = false;
            }
        }
        if (starts_at_once)
            starts.push_back(&nodes.back());
    }
    for (node *start : starts)
        start->try_put(flow::continue_msg());
    graph->wait_for_all();
}

} // namespace

int main(int count, char **arguments)
{
    static const peer_calls calls = {prepare, run, nullptr};
    static peer_plan plan;
    if (!peer_plan_parse(&plan, count, arguments))
        return 2;
    oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                        static_cast<size_t>(plan.workers));
    peer_plan_run(&plan, &calls);
    drop_graph();
    return 0;
}
