/* The LeNet of Dive into Deep Learning (several GPUs): its parameters on each device, and its forward
 * pass.
 *
 *     conv 20@3x3, relu, average pool 2x2, conv 50@5x5, relu, average pool 2x2,
 *     dense 128, relu, dense classes */
#ifndef HOCKET_CLI_LENET_MODEL_H
#define HOCKET_CLI_LENET_MODEL_H

#include <hocket/hocket.h>

enum { LENET_PARAMETERS = 8, MAX_DEVICES = 64 };

typedef struct lenet {
    int device_count;
    hk_device devices[MAX_DEVICES];
    hk_dims shapes[LENET_PARAMETERS]; /* conv1, conv2, fc1, fc2: weight and bias of each */
    hk_array *params[MAX_DEVICES][LENET_PARAMETERS]; /* counted, gradients attached */
    hk_array *grads[LENET_PARAMETERS][MAX_DEVICES];  /* of params */
} lenet;

/* Sets the shapes for images of channels x height x width. False when they are too small: a side of 14 is
 * the smallest. */
bool lenet_set_shapes(lenet *self, int64_t channels, int64_t height, int64_t width,
                      int64_t classes);

/* The name of a parameter, "conv1.weight". */
const char *lenet_parameter_name(int parameter);

typedef enum lenet_init {
    LENET_GLOROT, /* weights uniform in +-sqrt(6 / (in + out)): Glorot, Bengio 2010 */
    LENET_BOOK    /* normal(0, 0.01), as the book has it: the first epoch learns next to nothing */
} lenet_init;

/* Draws the parameters, once, on the first device; biases are 0. */
void lenet_draw(lenet *self, lenet_init init, uint64_t seed);
/* Reads them instead: p0.bin ... p7.bin in `folder`, float32, little-endian, C order. Prints what is
 * wrong, and returns false. */
bool lenet_load(lenet *self, const char *folder);
/* Writes such files, into a folder that is made when it is not there. Blocks. */
bool lenet_dump(const lenet *self, const char *folder);
/* Copies the parameters of the first device to the others and attaches gradients to all. */
void lenet_spread(lenet *self);

/* Scores (rows, classes) of images (rows, channels, height, width) on a device of the list. */
hk_array *lenet_forward(const lenet *self, int device, hk_array *images);

void lenet_release(lenet *self);

#endif
