/* Which of NVIDIA's libraries are there, and that each has the functions of its table. Needs no GPU.
 *
 *   cuda_libraries_test SONAME   a library of this name is found where pip has put it */
#include "check.h"

#include "device/cuda/cuda_libraries.h"

#include <stdbool.h>

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

int main(int argc, char **argv)
{
    char text[1024], little[20];
    if (argc > 1) {
        CHECK(hki_cuda_library_open(argv[1]) != NULL);
        CHECK(!hki_cuda_library_open("libhocket_nowhere.so.1"));
        return check_result();
    }
    hki_cuda_libraries_describe(text, sizeof text);
    CHECK(has(text, "cuBLASLt"));
    CHECK(has(text, "cuDNN"));
    CHECK(has(text, "NCCL"));
    /* One that has not been found says what was looked for; one that has been found has all that is used of it. */
    CHECK(hki_cuda_cublaslt() ? has(text, "cuBLASLt 1") : has(text, "cuBLASLt: not found (libcu"));
    CHECK(hki_cuda_cudnn() ? has(text, "cuDNN 9.") : has(text, "cuDNN: not found (libcudnn.so.9)"));
    CHECK(hki_cuda_nccl() ? has(text, "NCCL 2.") : has(text, "NCCL: not found (libnccl.so.2)"));
    CHECK(!has(text, "has no "));
    CHECK(hki_cuda_cublaslt() == hki_cuda_cublaslt());
    hki_cuda_libraries_describe(little, sizeof little);
    CHECK(strlen(little) == sizeof little - 1 && strncmp(little, text, strlen(little)) == 0);
    return check_result();
}
