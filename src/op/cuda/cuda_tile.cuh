/* Within the plug-in: the threads of a block as tiles of results (cuda_geometry.h), and how those that share a result join
 * what they have, in an order of their numbers alone. Launch such kernels by HKI_LAUNCH_TOGETHER with HKI_CUDA_TILE
 * threads. */
#ifndef HOCKET_OP_CUDA_TILE_CUH
#define HOCKET_OP_CUDA_TILE_CUH

#include "device/cuda/cuda_launch.cuh"

/* This thread's place in its tile. */
struct hki_lane {
    int lanes, columns; /* of the tile; lanes * columns threads */
    int lane, column;
    bool by_rows;
};

HKI_DEVICE hki_lane hki_lane_of(int lanes, bool by_rows)
{
    hki_lane at;
    at.lanes = lanes;
    at.columns = HKI_CUDA_TILE / lanes;
    at.by_rows = by_rows;
    const int thread = (int)threadIdx.x;
    at.lane = by_rows ? thread / at.columns : thread % lanes;
    at.column = by_rows ? thread % at.columns : thread / lanes;
    return at;
}

struct hki_added {
    HKI_DEVICE double join(double a, double b)
    {
        return a + b;
    }
};

template <class Value> HKI_DEVICE Value hki_other_lane(Value value, int distance)
{
    return __shfl_xor_sync(0xffffffffu, value, distance);
}

/* `value` of all lanes of a column, joined by the commutative Join::join; every lane gets it. All threads of the block
 * come here. room: shared memory, which nobody uses for anything else until the next __syncthreads. */
template <class Join, class Value>
HKI_DEVICE Value hki_join_lanes(const hki_lane &at, Value value, Value room[HKI_CUDA_TILE])
{
    if (at.lanes == 1)
        return value;
    if (at.by_rows) {
        const int own = at.lane * at.columns + at.column;
        __syncthreads();
        room[own] = value;
        for (int half = at.lanes / 2; half > 0; half /= 2) {
            __syncthreads();
            if (at.lane < half)
                room[own] = Join::join(room[own], room[own + half * at.columns]);
        }
        __syncthreads();
        return room[at.column];
    }
    for (int distance = at.lanes < 32 ? at.lanes / 2 : 16; distance > 0; distance /= 2)
        value = Join::join(value, hki_other_lane(value, distance));
    if (at.lanes > 32) { /* the same in all lanes of a warp: one of each */
        const int warps = at.lanes / 32, first = at.column * warps;
        __syncthreads();
        if (at.lane % 32 == 0)
            room[first + at.lane / 32] = value;
        __syncthreads();
        value = room[first];
        for (int warp = 1; warp < warps; warp++)
            value = Join::join(value, room[first + warp]);
    }
    return value;
}

#endif
