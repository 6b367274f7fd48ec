/* Fuzzing of what reads ONNX files (plugins/onnx): any bytes are a model or an error, and a model
 * can be described.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_onnx FILE|FOLDER…` runs each file; with no arguments, every truncation and every
 * flipped bit of the built-in seeds. */
#include "fuzz/fuzz_driver.h"

#include <hocket/hocket.h>
#include <sys/mman.h>
#include <unistd.h>

extern hk_model_open_fn hocket_model_open;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], problem[1024] = "";
    hk_code code = HK_OK;
    const int file = memfd_create("fuzz.onnx", 0);
    fuzz_require(file >= 0 && (size == 0 || write(file, data, size) == (ssize_t)size), "no file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const hk_model_options options = {.device = hk_device_default(), .trainable = size % 2};
    hk_model_source *source =
        hocket_model_open(path, &options, HK_SOURCE, &code, problem, sizeof problem);
    fuzz_require(source || (code != HK_OK && *problem), "an error says nothing");
    if (source) {
        char *text = source->to_string(source);
        fuzz_require(text, "no text");
        free(text);
        source->release(source);
    }
    close(file);
    hk_wait_all();
    hk_failures_clear();
    return 0;
}

#ifndef HOCKET_LIBFUZZER

/* y = relu(x * w) */
static const char mul_seed[] =
    "\010\010:c\012\016\012\001x\012\001w\022\001a\042\003Mul\012\014\012\001a\022\001y\042\004"
    "Relu\022\000*\025\010\003\020\001B\001wJ\014\000\000\200\077\000\000\000@\000\000@@Z\024"
    "\012\001x\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\003b\024\012\001y"
    "\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\003B\004\012\000\020\021";
/* A convolution, a batch norm, and a branch. */
static const char conv_seed[] =
    "\010\010:\236\002\012\017\012\001x\012\001w\022\001a\042\004Conv\012&\012\001a\012\001s\012"
    "\001s\012\001s\012\001s\022\001b\042\022BatchNormalization\012 \022\001c\042\010Constant"
    "*\021\012\005value*\005\020\011J\001\001\240\001\004\012k\012\001c\022\001y\042\002If*,\012"
    "\013else_branch2\032\012\013\012\001b\022\001q\042\003Neg\022\000b\011\012\001q\022\004\012"
    "\002\010\001\240\001\005*1\012\013then_branch2\037\012\020\012\001b\022\001p\042\010Iden"
    "tity\022\000b\011\012\001p\022\004\012\002\010\001\240\001\005\022\000*\027\010\002\010\001"
    "\010\001\010\001\020\001B\001wJ\010\000\000\200\077\000\000\200\077*\021\010\002\020\001"
    "B\001sJ\010\000\000\200\077\000\000\200\077Z\033\012\001x\022\026\012\024\010\001\022\020"
    "\012\002\010\001\012\002\010\001\012\002\010\002\012\002\010\002b\011\012\001y\022\004\012"
    "\002\010\001B\004\012\000\020\017";

int main(int argc, char **argv)
{
    if (argc == 1) {
        fuzz_seed((const uint8_t *)mul_seed, sizeof mul_seed - 1);
        fuzz_seed((const uint8_t *)conv_seed, sizeof conv_seed - 1);
    }
    return fuzz_paths(argc, argv);
}

#endif
