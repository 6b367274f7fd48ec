/* An inference server: three threads take requests, and each computes on its own; what they call runs side by side. A step is
 * captured once for all of them. A request that cannot be served fails alone, and says why. */
#include <hocket/hocket.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 3, REQUESTS = 60, FEATURES = 16, CLASSES = 4, BAD = 41 };

typedef struct server {
    hk_graph *graph; /* of one request: input, result */
    atomic_int next, served, refused;
    atomic_int classes[CLASSES];
} server;

/* A request's features; one of them comes with too many. */
static hk_array *request(int number)
{
    hk_generator *generator = hk_generator_create((uint64_t)number);
    hk_array *x =
        hk_random_normal_from(generator, 0, 1, hk_shape(1, number == BAD ? FEATURES + 1 : FEATURES),
                              HK_F32, (hk_device){NULL});
    hk_generator_release(generator);
    return x;
}

static void serve(server *self, int number)
{
    HK_SCOPE;
    hk_array *scores = hk_zeros(hk_shape(1, CLASSES), HK_F32, (hk_device){NULL});
    hk_replay(self->graph, (hk_array *[]){request(number), scores}, 2);
    const hk_status *status;
    const double class = hk_item(hk_argmax(scores, 1), &status);
    if (hk_ok(status)) {
        self->served++;
        self->classes[(int)class]++;
    } else {
        self->refused++;
        printf("request %d: %s\n", number, hk_status_message(status));
    }
}

static void *work(void *argument)
{
    server *self = argument;
    for (int number; (number = self->next++) < REQUESTS;)
        serve(self, number);
    return NULL;
}

int main(void)
{
    HK_SCOPE;
    server self = {.next = 0};
    pthread_t threads[THREADS];
    hk_seed(1);
    hk_module *net = hk_sequential(hk_linear_layer(64, NULL), hk_operator_layer("relu", NULL, 0),
                                   hk_linear_layer(CLASSES, NULL));
    hk_array *x = hk_zeros(hk_shape(1, FEATURES), HK_F32, (hk_device){NULL});
    hk_array *scores = hk_forward(net, x); /* makes the parameters */
    hk_capture_begin((hk_array *[]){x, scores}, 2);
    hk_assign(scores, hk_forward(net, x));
    self.graph = hk_capture_end(NULL);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &self) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d requests served, %d refused; by class:", self.served, self.refused);
    for (int i = 0; i < CLASSES; i++)
        printf(" %d", self.classes[i]);
    printf("\n");
    hk_graph_release(self.graph);
    hk_module_release(net);
    return self.served != REQUESTS - 1 || self.refused != 1;
}
