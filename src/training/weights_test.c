/* Weights of modules: PyTorch's names of each layer, what is found in files, and what is said of
 * what is not. */
#include "tests/io_fixture.h"
#include "tests/torch_fixture.h"

/* ---- names ----------------------------------------------------------------------------------------------- */

static const hk_module_load_options torch = {.names = HK_NAMES_TORCH};

/* All layers that have arrays. */
static hk_module *all_layers(void)
{
    const hk_linear_layer_options plain = {.no_bias = true};
    const hk_recurrent_stack_options both = {.layers = 2, .is_bidirectional = true};
    return hk_sequential(hk_linear_layer(4, NULL), hk_layer_norm_layer(0),
                         hk_attention_layer(4, 2, false),
                         hk_recurrent_stack(HK_RECURRENT_LSTM, 3, &both),
                         hk_recurrent_layer(HK_RECURRENT_GRU, 2, false), hk_linear_layer(3, &plain),
                         hk_rms_norm_layer(0), hk_batch_norm_layer(0, 0));
}

static const char *const names_in_torch[] = {"0.weight",
                                             "0.bias",
                                             "1.weight",
                                             "1.bias",
                                             "2.in_proj_weight",
                                             "2.in_proj_bias",
                                             "2.in_proj_weight",
                                             "2.in_proj_bias",
                                             "2.in_proj_weight",
                                             "2.in_proj_bias",
                                             "2.out_proj.weight",
                                             "2.out_proj.bias",
                                             "3.weight_ih_l0",
                                             "3.weight_hh_l0",
                                             "3.bias_ih_l0",
                                             "3.bias_hh_l0",
                                             "3.weight_ih_l0_reverse",
                                             "3.weight_hh_l0_reverse",
                                             "3.bias_ih_l0_reverse",
                                             "3.bias_hh_l0_reverse",
                                             "3.weight_ih_l1",
                                             "3.weight_hh_l1",
                                             "3.bias_ih_l1",
                                             "3.bias_hh_l1",
                                             "3.weight_ih_l1_reverse",
                                             "3.weight_hh_l1_reverse",
                                             "3.bias_ih_l1_reverse",
                                             "3.bias_hh_l1_reverse",
                                             "4.weight_ih_l0",
                                             "4.weight_hh_l0",
                                             "4.bias_ih_l0",
                                             "4.bias_hh_l0",
                                             "5.weight",
                                             "6.weight",
                                             "7.weight",
                                             "7.bias",
                                             "7.running_mean",
                                             "7.running_var",
                                             "7.num_batches_tracked"};
enum { NAMES = sizeof names_in_torch / sizeof *names_in_torch };

static hk_array *input(void)
{
    return hk_full(hk_shape(2, 5, 4), 1, HK_F32, hk_device_default());
}

/* Before and after the first call. */
static void test_names(void)
{
    static hk_module_name names[NAMES + 1];
    HK_SCOPE;
    hk_module *net = all_layers();
    for (int round = 0; round < 2; round++) {
        CHECK_EQ_I64(hk_module_names(net, HK_NAMES_TORCH, names, NAMES), NAMES);
        for (int i = 0; i < NAMES; i++) {
            CHECK_STR(names[i].name, names_in_torch[i]);
            CHECK(!names[i].array == (!round || i == NAMES - 1));
        }
        CHECK(names[8].part == 2 && names[8].parts == 3);
        CHECK_STR(names[8].path, "2.value.weight");
        CHECK_STR(names[16].path, "3.0_reversed.weight_ih");
        CHECK_STR(names[NAMES - 1].path, "");
        CHECK_EQ_I64(hk_module_names(net, HK_NAMES_OWN, names, NAMES), NAMES - 1);
        CHECK_STR(names[8].name, "2.value.weight");
        CHECK(hk_ok(hk_wait(hk_forward(net, input()))));
    }
    CHECK_EQ_I64(hk_module_names(NULL, HK_NAMES_OWN, NULL, 0), 0);
    hk_module_release(net);
}

/* Operators have no arrays, and a program's modules may be called what layers are. */
static hk_array *of_child(hk_module *self, hk_array *const *inputs, int count)
{
    return hk_forward_all(hk_module_child_at(self, 0), inputs, count);
}

static void test_kinds(void)
{
    hk_module_name names[4];
    hk_module *own = hk_module_create("attention", of_child, NULL, 0);
    hk_module_add(own, "query", hk_linear_layer(4, NULL));
    hk_module *net = hk_sequential(hk_operator_layer("layer_norm", NULL, 0), own);
    CHECK_EQ_I64(hk_module_names(net, HK_NAMES_TORCH, names, 4), 2);
    CHECK_STR(names[0].name, "1.query.weight");
    hk_module_release(net);
}

static bool same_results(hk_module *a, hk_module *b)
{
    HK_SCOPE;
    hk_module_set_training(a, false);
    hk_module_set_training(b, false);
    float x[30], y[30];
    const hk_status *status = hk_to_host(hk_forward(a, input()), x, sizeof x);
    CHECK_STR(hk_status_message(status), "ok");
    CHECK(hk_ok(hk_to_host(hk_forward(b, input()), y, sizeof y)));
    return !memcmp(x, y, sizeof x);
}

/* What one saves another loads, called or not. */
static void test_round(hk_name_style style)
{
    HK_SCOPE;
    const char *path = fixture_path("round.safetensors");
    hk_module *net = all_layers(), *called = all_layers(), *fresh = all_layers();
    const hk_module_save_options save = {.names = style};
    fixture_check_message(hk_module_save(net, path, &save), HK_INVALID_ARGUMENT,
                          "0.weight is still to be made");
    hk_forward(net, input());
    hk_forward(called, input());
    CHECK_STR(hk_status_message(hk_module_save(net, path, &save)), "ok");
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK(hk_archive_has(archive, style ? "2.in_proj_weight" : "2.value.weight"));
    CHECK_EQ_I64(hk_archive_count(archive), style ? NAMES - 5 : NAMES - 1);
    hk_archive_release(archive);
    const hk_module_load_options load = {.names = style};
    CHECK_STR(hk_status_message(hk_module_load(called, path, &load)), "ok");
    CHECK_STR(hk_status_message(hk_module_load(fresh, path, &load)), "ok");
    CHECK(same_results(net, called));
    CHECK(same_results(net, fresh));
    hk_module_release(net);
    hk_module_release(called);
    hk_module_release(fresh);
}

/* ---- what files may be ----------------------------------------------------------------------------------- */

static torch_bytes pickle;
static torch_zip zip;

/* The checkpoint has a state dict within: 0.weight (3, 2), 0.bias, and a count of batches. */
static void test_checkpoint(void)
{
    HK_SCOPE;
    const char *path = fixture_path("net.pth");
    const float turned[6] = {0, 3, 1, 4, 2, 5};
    hk_module_name names[2];
    torch_checkpoint(&pickle);
    torch_zip_of(&zip, &pickle);
    fixture_write(path, zip.file.data, zip.file.bytes);
    hk_module *net = hk_sequential(hk_linear_layer(3, NULL), hk_batch_norm_layer(0, 0));
    fixture_check_message(hk_module_load(net, path, &torch), HK_INVALID_ARGUMENT,
                          "net.pth: the file lacks 1.weight, 1.bias, 1.running_mean");
    hk_module_release(net);
    net = hk_sequential(hk_linear_layer(3, NULL));
    fixture_check_message(
        hk_module_load(net, path, &torch), HK_INVALID_ARGUMENT,
        "the file has besides 1.num_batches_tracked; names are behind \"model.\"");
    const hk_module_load_options lenient = {.names = HK_NAMES_TORCH, .lenient = true};
    CHECK_STR(hk_status_message(hk_module_load(net, path, &lenient)), "ok");
    hk_module_names(net, HK_NAMES_TORCH, names, 2);
    CHECK(fixture_holds(names[0].array, turned, sizeof turned));
    CHECK(fixture_holds(names[1].array, torch_values + 3, 12));
    hk_module_release(net);
}

static void test_prefixes(void)
{
    HK_SCOPE;
    const char *path = fixture_path("prefixes.safetensors");
    hk_array *w = hk_full(hk_shape(1, 4), 2, HK_F16, (hk_device){0}),
             *b = hk_full(hk_shape(1), 3, HK_BF16, (hk_device){0});
    const hk_save_entry entries[] = {{"model.module.0.weight", w},
                                     {"model.module.0.bias", b},
                                     {"step", b},
                                     {"ema.0.weight", w},
                                     {"ema.0.bias", b}};
    CHECK(hk_ok(hk_save(path, entries, 3, NULL)));
    hk_module *net = hk_sequential(hk_linear_layer(1, NULL));
    CHECK_STR(hk_status_message(hk_module_load(net, path, &torch)), "ok");
    hk_array *y = hk_forward(net, input());
    CHECK(hk_array_dtype(y) == HK_F32 &&
          hk_item(hk_index(hk_index(hk_index(y, 0, 0), 0, 0), 0, 0), NULL) == 11);
    CHECK(hk_ok(hk_save(path, entries, 5, NULL)));
    fixture_check_message(hk_module_load(net, path, &torch), HK_INVALID_ARGUMENT,
                          "as \"model.module.…\" and as \"ema.…\"; option prefix");
    CHECK(hk_ok(hk_module_load(net, path, &(hk_module_load_options){.prefix = "ema"})));
    fixture_check_message(hk_module_load(net, path, &(hk_module_load_options){.prefix = ""}),
                          HK_INVALID_ARGUMENT,
                          "the file lacks 0.weight, 0.bias; it has besides model");
    hk_module_release(net);
}

static void test_renames(void)
{
    HK_SCOPE;
    const char *path = fixture_path("renames.safetensors");
    hk_array *w = hk_full(hk_shape(4), 2, HK_F32, (hk_device){0});
    const hk_save_entry entries[] = {
        {"old.norm.1.gamma", w}, {"old.norm.1.beta", w}, {"old.mask", w}};
    CHECK(hk_ok(hk_save(path, entries, 3, NULL)));
    hk_module *net = hk_sequential_of(NULL, 0);
    hk_module_add(net, "norm1", hk_layer_norm_layer(0));
    const hk_rename renames[] = {
        {"norm.1.", "norm1."}, {"gamma", "weight"}, {"beta", "bias"}, {".mask", NULL}};
    hk_module_load_options load = {.names = HK_NAMES_TORCH, .renames = renames, .rename_count = 4};
    CHECK_STR(hk_status_message(hk_module_load(net, path, &load)), "ok");
    CHECK_EQ_I64(hk_item(hk_max(hk_forward(net, input()), NULL), NULL), 2);
    load.rename_count = 3;
    fixture_check_message(hk_module_load(net, path, &load), HK_INVALID_ARGUMENT,
                          "the file has besides mask; names are behind \"old.\"");
    const hk_rename same[] = {{"gamma", "beta"}, {"", "x"}, {NULL, NULL}};
    load.renames = same;
    load.rename_count = 1;
    fixture_check_message(hk_module_load(net, path, &load), HK_INVALID_ARGUMENT,
                          "takes old.norm.1.gamma and old.norm.1.beta both for old.norm.1.beta");
    load.rename_count = 3;
    fixture_check_message(hk_module_load(net, path, &load), HK_INVALID_ARGUMENT,
                          "renames[1].from is empty");
    hk_module_release(net);
}

/* Arrays stay where they are. */
static void test_devices(void)
{
    HK_SCOPE;
    const char *path = fixture_path("device.safetensors");
    const hk_device sim = hk_device_named("sim:0");
    hk_array *w = hk_full(hk_shape(1, 4), 2, HK_F32, (hk_device){0}),
             *b = hk_full(hk_shape(1), 3, HK_F32, (hk_device){0});
    const hk_save_entry entries[] = {{"weight", w}, {"bias", b}};
    CHECK(hk_ok(hk_save(path, entries, 2, NULL)));
    for (int called = 0; called < 2; called++) {
        hk_module *net = hk_linear_layer(1, NULL);
        hk_array *x = hk_full(hk_shape(1, 4), 1, HK_F32, sim);
        if (called)
            hk_forward(net, x);
        CHECK_STR(hk_status_message(hk_module_load(net, path, &torch)), "ok");
        CHECK_EQ_I64(hk_item(hk_forward(net, x), NULL), 11);
        hk_array *params[2];
        CHECK_EQ_I64(hk_module_parameters(net, params, 2), 2);
        CHECK_STR(hk_device_name(hk_array_device(params[0])), "sim:0");
        hk_module_release(net);
    }
}

/* A module of the program's own, whose arrays nobody knows before. */
static hk_array *scaled(hk_module *self, hk_array *const *inputs, int count)
{
    (void)count;
    return hk_multiply(inputs[0], hk_module_parameter(self, "scale", hk_shape(4), NULL, inputs[0]));
}

static void test_own(void)
{
    HK_SCOPE;
    const char *path = fixture_path("own.safetensors");
    hk_module *net = hk_module_create("scaled", scaled, NULL, 0);
    hk_save_entry entry = {"scale", hk_full(hk_shape(4), 2, HK_F32, (hk_device){0})};
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    CHECK_STR(hk_status_message(hk_module_load(net, path, NULL)), "ok");
    CHECK_EQ_I64(hk_item(hk_max(hk_forward(net, input()), NULL), NULL), 2);
    hk_module_release(net);
}

/* ---- what does not fit ----------------------------------------------------------------------------------- */

static void test_refused(void)
{
    HK_SCOPE;
    const char *path = fixture_path("refused.safetensors");
    hk_array *w = hk_full(hk_shape(4, 3), 2, HK_F32, (hk_device){0}),
             *b = hk_full(hk_shape(3), 2, HK_F32, (hk_device){0});
    hk_save_entry entries[] = {{"0.weight", w}, {"0.bais", b}, {"1.weight", w}};
    hk_module *net = hk_sequential(hk_linear_layer(3, NULL));
    hk_forward(net, input());
    CHECK(hk_ok(hk_save(path, entries, 3, NULL)));
    fixture_check_message(hk_module_load(net, path, &torch), HK_INVALID_ARGUMENT,
                          "refused.safetensors: the file lacks 0.bias (near is 0.bais); it has "
                          "besides 0.bais, 1.weight; option lenient");
    entries[1].name = "0.bias";
    CHECK(hk_ok(hk_save(path, entries, 2, NULL)));
    fixture_check_message(hk_module_load(net, path, &torch), HK_INVALID_ARGUMENT,
                          "0.weight should be float32(3,4), and is float32(4,3) there");
    CHECK(hk_ok(hk_save(path, entries + 1, 2, NULL)));
    hk_module_load_options lenient = {.names = HK_NAMES_TORCH, .lenient = true};
    CHECK_STR(hk_status_message(hk_module_load(net, path, &lenient)), "ok");
    CHECK(hk_ok(hk_save(path, entries + 2, 1, NULL)));
    fixture_check_message(hk_module_load(net, path, &lenient), HK_INVALID_ARGUMENT,
                          "the file lacks 0.weight (near is 1.weight)");
    lenient.names = (hk_name_style)7;
    fixture_check_message(hk_module_load(net, path, &lenient), HK_INVALID_ARGUMENT,
                          "option names is 7");
    fixture_check_message(hk_module_load(NULL, path, NULL), HK_INVALID_ARGUMENT, "module is NULL");
    fixture_check_message(hk_module_load(net, "/nowhere/x.pt", NULL), HK_NOT_FOUND, "/nowhere");
    fixture_check_message(hk_module_load(net, NULL, NULL), HK_INVALID_ARGUMENT, "path is NULL");
    fixture_check_message(hk_module_save(NULL, path, NULL), HK_INVALID_ARGUMENT, "module is NULL");
    fixture_check_message(hk_module_save(net, "x", NULL), HK_INVALID_ARGUMENT, "the ending");
    hk_module_release(net);
}

int main(void)
{
    setenv("HOCKET_SIM", "1", 1);
    fixture_begin();
    test_names();
    test_kinds();
    test_round(HK_NAMES_OWN);
    test_round(HK_NAMES_TORCH);
    test_checkpoint();
    test_prefixes();
    test_renames();
    test_devices();
    test_own();
    test_refused();
    fixture_end();
    return check_result();
}
