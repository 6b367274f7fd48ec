// The heat equation on a plate, as examples/heat.c has it: each point tends to the mean of its neighbours.
#include <cstdio>
#include <cstdlib>
#include <hocket/hocket.hpp>

constexpr int64_t side = 64;

// The points within, moved by one along an axis: views, nothing is copied.
static hk::array within(const hk::array &plate, int64_t down, int64_t right)
{
    return plate.slice(0, 1 + down, side - 1 + down).slice(1, 1 + right, side - 1 + right);
}

int main(int count, char **arguments)
{
    const int steps = count > 1 ? std::atoi(arguments[1]) : 2000;
    const hk::array plate = hk::zeros({side, side}, HK_F64);
    plate[0].assign(100); // the upper edge is kept hot
    const hk::graph step = hk::capture({plate}, [&] {
        const hk::array rows = within(plate, -1, 0) + within(plate, 1, 0);
        const hk::array columns = within(plate, 0, -1) + within(plate, 0, 1);
        within(plate, 0, 0).assign((rows + columns) / 4);
    });
    for (int i = 0; i < steps; i++)
        step.replay({plate}); // returns at once
    const double middle = plate[side / 2][side / 2].item();
    std::printf("after %d steps: %.2f degrees in the middle\n", steps, middle);
    return hk::wait_all().print();
}
