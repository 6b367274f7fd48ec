/* All of hocket, for C++17 and C++20. */
#ifndef HOCKET_HOCKET_HPP
#define HOCKET_HOCKET_HPP

#include <hocket/arithmetic.hpp>
#include <hocket/array.hpp>
#include <hocket/base.hpp>
#include <hocket/data.hpp>
#include <hocket/ops.hpp>
#include <hocket/training.hpp>

#endif
