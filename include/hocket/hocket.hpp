/* All of hocket, for C++17 and C++20:
 *
 *     hk::array w = hk::random_normal({2, 1}), b = hk::zeros({1});
 *     w.attach_grad();
 *     b.attach_grad();
 *     hk::array loss;
 *     {
 *         hk::record tape;
 *         loss = hk::mean(hk::square(hk::matmul(x, w) + b - y));
 *     }
 *     loss.backward();
 *     hk::sgd({w, b}, {.lr = 0.1});              in C++17: hk::sgd_options().with_lr(0.1)
 *     std::cout << w << " " << loss.item();      waits
 *     hk::check(w);                              throws hk::error where w has failed
 *
 * Functions of the C ABI take x.get(); what they return goes into hk::array::take. */
#ifndef HOCKET_HOCKET_HPP
#define HOCKET_HOCKET_HPP

#include <hocket/arithmetic.hpp>
#include <hocket/array.hpp>
#include <hocket/base.hpp>
#include <hocket/data.hpp>
#include <hocket/index.hpp>
#include <hocket/kernel.hpp>
#include <hocket/ops.hpp>
#include <hocket/split.hpp>
#include <hocket/tokenizer.hpp>
#include <hocket/training.hpp>
#include <hocket/world.hpp>

#endif
