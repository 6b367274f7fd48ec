// Trains LeNet on two devices, as in Dive into Deep Learning, "Training on Multiple GPUs".
// usage: lenet [STEPS]; 20 by default, an epoch of Fashion-MNIST has 234.
#include <cstdio>
#include <cstdlib>
#include <hocket/hocket.hpp>

using arrays = std::vector<hk::array>;

static constexpr int batch = 256;

static hk::array lenet(hk::array x, const arrays &p)
{
    const hk::avg_pool2d_options pool = {.kernel = {2, 2}, .stride = {2, 2}};
    x = hk::avg_pool2d(hk::relu(hk::conv2d(x, p[0], p[1])), pool);
    x = hk::avg_pool2d(hk::relu(hk::conv2d(x, p[2], p[3])), pool);
    x = hk::relu(hk::linear(hk::reshape(x, {x.dim(0), -1}), p[4], p[5]));
    return hk::linear(x, p[6], p[7]);
}

// Draws the parameters once and copies them to every device.
static std::vector<arrays> make_params(const std::vector<hk::device> &devices)
{
    const hk::shape shapes[] = {{20, 1, 3, 3}, {20},  {50, 20, 5, 5}, {50},
                                {128, 800},    {128}, {10, 128},      {10}};
    std::vector<arrays> params(devices.size());
    for (const hk::shape &shape : shapes) {
        const double scale = shape.ndim == 1 ? 0 : 0.01; // biases are 0
        const hk::array drawn = hk::random_normal_from({}, 0, scale, shape);
        for (size_t d = 0; d < devices.size(); d++) {
            params[d].push_back(hk::to_device(drawn, devices[d]));
            params[d].back().attach_grad();
        }
    }
    return params;
}

// One minibatch: nothing here says what runs in parallel, and nothing waits.
static hk::array train_batch(const arrays &images, const arrays &labels,
                             const std::vector<arrays> &params)
{
    arrays losses;
    {
        hk::record tape;
        for (size_t d = 0; d < images.size(); d++)
            losses.push_back(hk::softmax_cross_entropy(lenet(images[d], params[d]), labels[d]));
    }
    for (const hk::array &loss : losses)
        loss.backward();
    for (size_t i = 0; i < params[0].size(); i++)
        hk::all_reduce({params[0][i].grad(), params[1][i].grad()});
    for (const arrays &p : params)
        hk::sgd(p, {.lr = 0.2, .batch = batch});
    return losses[0];
}

int main(int count, char **arguments)
{
    const int steps = count > 1 ? std::atoi(arguments[1]) : 20;
    hk::runtime_init({.cpu_devices = 2});
    const std::vector<hk::device> devices = {"cpu:0", "cpu:1"};
    const std::vector<arrays> params = make_params(devices);

    const hk::data_set set(HK_DATA_TRAIN);
    const hk::loader loader(
        set, {.batch_size = batch, .shuffle = true, .drop_last = true, .devices = devices});
    arrays images, labels;
    for (int step = 1; step <= steps; step++) {
        while (!loader.next(images, labels)) // the next epoch
            continue;
        const hk::array loss = train_batch(images, labels, params);
        if (step % 5 == 0) // reading a value waits for it
            std::printf("step %3d: loss %.4f\n", step, hk::mean(loss).item());
    }
    return hk::wait_all().print();
}
