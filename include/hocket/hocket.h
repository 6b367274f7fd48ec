/* All of hocket. */
#ifndef HOCKET_HOCKET_H
#define HOCKET_HOCKET_H

#include <hocket/array.h>
#include <hocket/autograd.h>
#include <hocket/base.h>
#include <hocket/call.h>
#include <hocket/checkpoint.h>
#include <hocket/collective.h>
#include <hocket/data.h>
#include <hocket/data_sets.h>
#include <hocket/device.h>
#include <hocket/graph.h>
#include <hocket/index.h>
#include <hocket/io.h>
#include <hocket/kernel.h>
#include <hocket/nn.h>
#include <hocket/operator.h>
#include <hocket/ops.h>
#include <hocket/optim.h>
#include <hocket/random.h>
#include <hocket/runtime.h>
#include <hocket/split.h>
#include <hocket/status.h>
#include <hocket/text.h>
#include <hocket/trace.h>
#include <hocket/version.h>
#include <hocket/world.h>

#endif
