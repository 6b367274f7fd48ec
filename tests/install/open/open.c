/* A program that opens the installed libhocket.so when it runs, as Python's ctypes does, with another thread there already:
 * the library's variables of a thread must fit into what the C library has left for those that come late. */
#include <dlfcn.h>
#include <hocket/hocket.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t opened;
static void (*source_set)(const char *file, int line);
static hk_array *(*scalar)(hk_number value, hk_dtype dtype, hk_device device);
static hk_device (*device_default)(void);
static double (*item)(hk_array *x, const hk_status **status);
static void (*array_release)(hk_array *x);

static int use(void)
{
    source_set(__FILE__, __LINE__);
    hk_array *x = scalar(hk_number_of_int(42), HK_F32, device_default());
    const double value = item(x, NULL);
    array_release(x);
    return value == 42;
}

static void *other_main(void *is_good)
{
    sem_wait(&opened);
    *(int *)is_good = use();
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t other;
    int is_good = 0;
    if (count != 2 || sem_init(&opened, 0, 0) || pthread_create(&other, NULL, other_main, &is_good))
        return 2;
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&source_set = dlsym(library, "hk_source_set");
    *(void **)&scalar = dlsym(library, "hk_scalar");
    *(void **)&device_default = dlsym(library, "hk_device_default");
    *(void **)&item = dlsym(library, "hk_item");
    *(void **)&array_release = dlsym(library, "hk_array_release");
    if (!source_set || !scalar || !device_default || !item || !array_release || !use())
        return 1;
    sem_post(&opened);
    pthread_join(other, NULL);
    return !is_good;
}
