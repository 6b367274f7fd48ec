// Linear regression, as in Dive into Deep Learning, "Concise Implementation of Linear Regression".
#include <cstdio>
#include <hocket/hocket.hpp>

int main()
{
    // Samples of y = 2 x0 - 3.4 x1 + 4.2 + noise.
    const hk::array features = hk::random_normal({1000, 2});
    const hk::array truth = hk::from_host<float>({2, -3.4f}, {2, 1});
    const hk::array noise = hk::random_normal_from({}, 0, 0.01, {1000, 1});
    const hk::array labels = hk::matmul(features, truth) + 4.2 + noise;

    const hk::array w = hk::random_normal_from({}, 0, 0.01, {2, 1}), b = hk::zeros({1});
    w.attach_grad();
    b.attach_grad();
    for (int epoch = 1; epoch <= 3; epoch++) {
        hk::array loss;
        for (int64_t row = 0; row < features.dim(0); row += 10) {
            const hk::array x = features.slice(0, row, row + 10);
            const hk::array y = labels.slice(0, row, row + 10);
            {
                hk::record tape;
                loss = hk::sum(hk::square(hk::matmul(x, w) + b - y)) / 2;
            }
            loss.backward();
            hk::sgd({w, b}, {.lr = 0.03, .batch = 10});
        }
        const hk::array all = hk::square(hk::matmul(features, w) + b - labels);
        std::printf("epoch %d: loss %.6f\n", epoch, hk::mean(all).item() / 2); // waits
    }
    std::printf("w: %s, b: %s\n", hk::reshape(w, {2}).to_string().c_str(), b.to_string().c_str());
    return hk::wait_all().print();
}
