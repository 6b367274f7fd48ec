/* Files of PyTorch: what is read of them, and each message for what is not. */
#include "tests/io_fixture.h"
#include "tests/torch_fixture.h"

static torch_bytes pickle, old;
static torch_zip zip;

static const char *write_zip(const char *name)
{
    const char *path = fixture_path(name);
    torch_zip_of(&zip, &pickle);
    fixture_write(path, zip.file.data, zip.file.bytes);
    return path;
}

/* ---- what is read ---------------------------------------------------------------------------------------- */

static void check_checkpoint(const char *path, const char *device, bool map)
{
    HK_SCOPE;
    const float turned[6] = {0, 3, 1, 4, 2, 5};
    hk_archive *archive = hk_load(path, hk_device_named(device), &(hk_load_options){.map = map});
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    CHECK_EQ_I64(hk_archive_count(archive), 3);
    CHECK_STR(hk_archive_name(archive, 0), "model.0.weight");
    hk_array *weight = hk_archive_get(archive, "model.0.weight");
    CHECK(hk_dim(weight, 0) == 3 && hk_dim(weight, 1) == 2 && hk_array_dtype(weight) == HK_F32);
    CHECK(fixture_holds(weight, turned, sizeof turned));
    CHECK(fixture_holds(hk_archive_get_async(archive, "model.0.weight"), turned, sizeof turned));
    CHECK(fixture_holds(hk_archive_get(archive, "model.0.bias"), torch_values + 3, 12));
    hk_array *batches = hk_archive_get(archive, "model.1.num_batches_tracked");
    CHECK(hk_ndim(batches) == 0 && hk_item(batches, NULL) == 7);
    CHECK_STR(hk_archive_metadata(archive, "epoch"), "12");
    CHECK_STR(hk_archive_metadata(archive, "lr"), "0.1");
    CHECK_STR(hk_archive_metadata(archive, "best"), "true");
    CHECK_STR(hk_archive_metadata(archive, "list.0"), "-3");
    CHECK_STR(hk_archive_metadata(archive, "list.1"), "a \"b\"\n");
    CHECK_STR(hk_archive_metadata(archive, "list.2"), "18446744073709551615");
    CHECK(!hk_archive_metadata(archive, "none"));
    CHECK_STR(
        hk_archive_structure(archive),
        "{\"dict\":[[\"epoch\",12],[\"lr\",0.1],[\"best\",true],[\"none\",null],[\"model\","
        "{\"dict\":[[\"0.weight\",{\"array\":\"model.0.weight\"}],[\"0.bias\","
        "{\"array\":\"model.0.bias\"}],[\"1.num_batches_tracked\","
        "{\"array\":\"model.1.num_batches_tracked\"}]]}],[\"list\",[-3,\"a \\\"b\\\"\\u000a\","
        "18446744073709551615]]]}");
    hk_archive_release(archive);
}

static void test_checkpoint(void)
{
    torch_checkpoint(&pickle);
    const char *path = write_zip("net.pth");
    check_checkpoint(path, "cpu:0", false);
    check_checkpoint(path, "cpu:0", true);
    check_checkpoint(path, "sim:0", false);
    torch_old_of(&old, &pickle);
    fixture_write(path, old.data, old.bytes);
    check_checkpoint(path, "cpu:0", false);
}

typedef struct kind {
    const char *class, *dtype;
    hk_dtype is;
} kind;

/* One tensor of two elements of each dtype, whose storages are one file of bytes. */
static void test_dtypes(void)
{
    HK_SCOPE;
    static const kind kinds[] = {{"FloatStorage", NULL, HK_F32},
                                 {"DoubleStorage", NULL, HK_F64},
                                 {"HalfStorage", NULL, HK_F16},
                                 {"BFloat16Storage", NULL, HK_BF16},
                                 {"LongStorage", NULL, HK_I64},
                                 {"IntStorage", NULL, HK_I32},
                                 {"ShortStorage", NULL, HK_I16},
                                 {"CharStorage", NULL, HK_I8},
                                 {"ByteStorage", NULL, HK_U8},
                                 {"BoolStorage", NULL, HK_BOOL},
                                 {"ComplexFloatStorage", NULL, HK_C64},
                                 {"ComplexDoubleStorage", NULL, HK_C128},
                                 {"UntypedStorage", "uint16", HK_U16},
                                 {"UntypedStorage", "uint32", HK_U32},
                                 {"UntypedStorage", "uint64", HK_U64},
                                 {"UntypedStorage", "bfloat16", HK_BF16},
                                 {"UntypedStorage", "float8_e5m2", HK_U8}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    uint8_t values[32];
    char name[8];
    for (int i = 0; i < 32; i++)
        values[i] = i & 1;
    torch_begin(&pickle);
    torch_ops(&pickle, "](");
    for (int i = 0; i < KINDS; i++) {
        const int bytes = (int)hk_dtype_bytes(kinds[i].is);
        snprintf(name, sizeof name, "%d", i);
        torch_tensor(&pickle, (torch_view){.class = kinds[i].class,
                                           .dtype = kinds[i].dtype,
                                           .key = name,
                                           .count = kinds[i].dtype ? 2 * bytes : 2,
                                           .ndim = 1,
                                           .sizes = {2},
                                           .strides = {1}});
    }
    torch_ops(&pickle, "e.");
    zip = (torch_zip){0};
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    for (int i = 0; i < KINDS; i++) {
        char member[32];
        snprintf(member, sizeof member, "a/data/%d", i);
        torch_member(&zip, member, values, 2 * hk_dtype_bytes(kinds[i].is));
    }
    torch_finish(&zip);
    const char *path = fixture_path("kinds.pt");
    fixture_write(path, zip.file.data, zip.file.bytes);
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    for (int i = 0; i < KINDS - 1; i++) {
        snprintf(name, sizeof name, "%d", i);
        hk_array *x = hk_archive_get(archive, name);
        CHECK_EQ_I64(hk_array_dtype(x), kinds[i].is);
        CHECK(fixture_holds(x, values, 2 * hk_dtype_bytes(kinds[i].is)));
    }
    snprintf(name, sizeof name, "%d", KINDS - 1);
    fixture_check_message(hk_wait(hk_archive_get(archive, name)), HK_UNSUPPORTED,
                          "has dtype float8_e5m2");
    hk_archive_release(archive);
}

/* In the other byte order. */
static void test_swapped(void)
{
    HK_SCOPE;
    const uint8_t values[] = {0, 0, 0, 3, 0xFF, 0xFF, 0xFF, 0xFE};
    const int32_t expected[] = {3, -2};
    torch_begin(&pickle);
    torch_tensor(&pickle, (torch_view){.class = "IntStorage",
                                       .key = "0",
                                       .count = 2,
                                       .ndim = 1,
                                       .sizes = {2},
                                       .strides = {1}});
    torch_ops(&pickle, ".");
    zip = (torch_zip){0};
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    torch_member(&zip, "a/byteorder", "big", 3);
    torch_member(&zip, "a/data/0", values, sizeof values);
    torch_finish(&zip);
    fixture_write(fixture_path("big.pt"), zip.file.data, zip.file.bytes);
    hk_archive *archive = hk_load(fixture_path("big.pt"), (hk_device){0}, NULL);
    CHECK(fixture_holds(hk_archive_get(archive, NULL), expected, sizeof expected));
    hk_archive_release(archive);
}

/* As Python 2 wrote state dicts: texts of bytes, and a dict made of a list of pairs. */
static void test_python_2(void)
{
    HK_SCOPE;
    const int three = 3, two = 2;
    torch_begin(&pickle);
    torch_ops(&pickle, "ccollections\nOrderedDict\n(](](U\x03"
                       "a.bctorch._utils\n_rebuild_tensor\n(");
    torch_storage(&pickle, "FloatStorage", "0", 6);
    torch_int(&pickle, 1);
    torch_sizes(&pickle, &three, 1);
    torch_sizes(&pickle, &two, 1);
    torch_ops(&pickle, "tReetR.");
    torch_old_of(&old, &pickle);
    /* Of which the pickle knows no storage 1. */
    fixture_write(fixture_path("old.pth"), old.data, old.bytes);
    fixture_refused(fixture_path("old.pth"), HK_BAD_DATA, "storage 1 is said to have 1 elements");
    hk_archive *archive = hk_load(write_zip("two.pth"), (hk_device){0}, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    const float expected[] = {1, 3, 5};
    CHECK(fixture_holds(hk_archive_get(archive, "a.b"), expected, sizeof expected));
    hk_archive_release(archive);
}

/* Opcodes of one value, with the two storages of torch_zip_of. */
static hk_archive *load_value(const char *ops, const torch_view *tensor)
{
    torch_begin(&pickle);
    torch_ops(&pickle, ops);
    if (tensor)
        torch_tensor(&pickle, *tensor);
    torch_ops(&pickle, ".");
    return hk_load(write_zip("value.pt"), (hk_device){0}, NULL);
}

static void test_views(void)
{
    static const float expanded[6] = {1, 1, 3, 3, 5, 5};
    HK_SCOPE;
    torch_view view = {.class = "FloatStorage", .key = "0", .count = 6};
    view.offset = 1;
    view.ndim = 2;
    view.sizes[0] = 3;
    view.sizes[1] = 2;
    view.strides[0] = 2; /* and 0: one element, seen twice */
    hk_archive *archive = load_value("", &view);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    CHECK_STR(hk_archive_name(archive, 0), "");
    CHECK(fixture_holds(hk_archive_get(archive, NULL), expanded, sizeof expanded));
    hk_archive_release(archive);

    view.sizes[1] = 0;
    view.offset = 6;
    archive = load_value("", &view);
    hk_array *none = hk_archive_get(archive, NULL);
    CHECK(hk_ok(hk_wait(none)) && hk_dim(none, 0) == 3 && hk_dim(none, 1) == 0);
    hk_archive_release(archive);

    view.ndim = 12;
    archive = load_value("", &view);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    fixture_check_message(hk_wait(hk_archive_get(archive, NULL)), HK_UNSUPPORTED, "has 12 axes");
    hk_archive_release(archive);

    const int one = 1;
    torch_begin(&pickle);
    torch_ops(&pickle, "ctorch._utils\n_rebuild_tensor_v2\n(");
    torch_storage(&pickle, "ComplexFloatStorage", "0", 3);
    torch_int(&pickle, 0);
    torch_sizes(&pickle, &one, 1);
    torch_sizes(&pickle, &one, 1);
    torch_ops(&pickle, "\x89}}");
    torch_text(&pickle, "conj");
    torch_ops(&pickle, "\x88stR.");
    archive = hk_load(write_zip("conj.pt"), (hk_device){0}, NULL);
    fixture_check_message(hk_wait(hk_archive_get(archive, NULL)), HK_UNSUPPORTED, "resolve_conj");
    hk_archive_release(archive);
}

/* ---- what is refused ------------------------------------------------------------------------------------- */

static void refused_value(const char *ops, const char *part)
{
    hk_archive *archive = load_value(ops, NULL);
    fixture_check_message(hk_archive_status(archive), hk_status_code(hk_archive_status(archive)),
                          part);
    CHECK(!hk_ok(hk_archive_status(archive)));
    hk_archive_release(archive);
}

static void refused_view(torch_view view, const char *part)
{
    hk_archive *archive = load_value("", &view);
    fixture_check_message(hk_archive_status(archive), HK_BAD_DATA, part);
    hk_archive_release(archive);
}

static void test_pickles(void)
{
    refused_value("cposix\nsystem\n(X\x04", "holds a posix.system");
    refused_value("cbuiltins\neval\n", "save state_dict() in place of an object");
    refused_value("ctorch.nn.modules.linear\nLinear\n)\x81", "torch.nn.modules.linear.Linear");
    refused_value("X\x01", "it ends at its byte");
    refused_value("t", "a mark that is not there");
    refused_value("(\x86", "what is not there");
    refused_value("NNR", "calls what cannot be called");
    refused_value("ctorch\nSize\nNR", "with what is no tuple");
    refused_value("ctorch\nSize\n)R", "has a size that is no tuple");
    refused_value("NN", "with more than one value");
    refused_value("}Ns", "what is not there");
    refused_value("](Nu", "puts parts into what has none");
    refused_value("}(Nu", "a key without a value");
    refused_value("}]Ns", "neither a text nor a number");
    refused_value("h\x01", "what it has not noted");
    refused_value("Nr\xff\xff\xff\x7f", "something far away");
    refused_value("\x82\x01", "the opcode 0x82 at its byte 2");
    refused_value("I12\n", "torch.save does not write");
    refused_value("\x80\x06N", "protocol 6");
    refused_value("]q\x01h\x01"
                  "a",
                  "nests deeper than 64");
    refused_value("NQ", "a storage where a tensor");
    refused_value("ctorch._utils\n_rebuild_tensor_v2\n)R", "without a storage");
    refused_value("ctorch._utils\n_rebuild_parameter\n(NtR", "a parameter without a tensor");
    refused_value("ccollections\nOrderedDict\n(]K\x01"
                  "atR",
                  "a dict of what is no pair");
    refused_value("U\x02\xc3(", "not UTF-8");
    refused_value("\x8a\x28"
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                  "more than 32 bytes");
}

/* Each list holds the one before twice: 2^40 values. */
static void test_doubled(void)
{
    torch_begin(&pickle);
    torch_ops(&pickle, "Nq\x01"
                       "0");
    for (int i = 0; i < 40; i++)
        torch_ops(&pickle, "](h\x01h\x01"
                           "eq\x01"
                           "0");
    torch_ops(&pickle, "h\x01.");
    fixture_refused(write_zip("doubled.pt"), HK_BAD_DATA, "lists within lists again and again");
}

static void test_tensors(void)
{
    const torch_view good = {.class = "FloatStorage", .key = "0", .count = 6, .ndim = 1};
    torch_view view = good;
    view.sizes[0] = 7;
    view.strides[0] = 1;
    refused_view(view, "does not lie within its storage of 6 elements");
    view.sizes[0] = 2;
    view.offset = 5;
    refused_view(view, "does not lie within its storage");
    view.offset = -1;
    refused_view(view, "offset, sizes, strides");
    view.offset = 0;
    view.strides[0] = -1;
    refused_view(view, "offset, sizes, strides");
    view.sizes[0] = view.strides[0] = 0x7fffffff;
    refused_view(view, "more elements than there can be");
    view.sizes[0] = 2;
    refused_view(view, "does not lie within its storage");
    view.sizes[0] = 0x7fffffff;
    view.strides[0] = 0;
    refused_view(view, "many times the file's bytes");
    view = good;
    view.sizes[0] = view.strides[0] = 1;
    view.count = 7;
    refused_view(view, "has 24 bytes, less than 7 elements of FloatStorage");
    view.key = "9";
    refused_view(view, "lacks the storage data/9 of tensor");
}

static void refused_zip(hk_code code, const char *part)
{
    torch_finish(&zip);
    fixture_write(fixture_path("zip.pt"), zip.file.data, zip.file.bytes);
    fixture_refused(fixture_path("zip.pt"), code, part);
    zip = (torch_zip){0};
}

static void test_zips(void)
{
    torch_checkpoint(&pickle);
    torch_zip_of(&zip, &pickle);
    zip = (torch_zip){0};
    torch_member(&zip, "x", "", 0);
    refused_zip(HK_BAD_DATA, "none of torch.save");
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    torch_member(&zip, "b/data.pkl", pickle.data, pickle.bytes);
    refused_zip(HK_BAD_DATA, "two pickles, a/data.pkl and b/data.pkl");
    torch_member_as(&zip, "a/data.pkl", pickle.data, pickle.bytes, 8);
    refused_zip(HK_UNSUPPORTED, "compressed or encrypted");
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    refused_zip(HK_BAD_DATA, "lacks the storage data/0");
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    torch_member(&zip, "a/data/0", torch_values, sizeof torch_values);
    torch_member(&zip, "a/data/0", torch_values, sizeof torch_values);
    refused_zip(HK_BAD_DATA, "storage data/0 twice");
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    const size_t at = zip.file.bytes;
    torch_member(&zip, "a/data/0", torch_values, sizeof torch_values);
    torch_member(&zip, "a/data/1", torch_values, sizeof torch_values);
    for (int i = 0; i < 4; i++) /* the second is where the first is */
        zip.directory.data[zip.directory.bytes - 12 + (size_t)i] = (uint8_t)(at >> 8 * i);
    refused_zip(HK_BAD_DATA, "data/0 and data/1 that overlap");
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    torch_member(&zip, "a/byteorder", "middle", 6);
    refused_zip(HK_BAD_DATA, "neither little nor big");
    fixture_write(fixture_path("text.pt"), "hello, world", 12);
    fixture_refused(fixture_path("text.pt"), HK_BAD_DATA, "no file of torch.save");
    hk_array *x = hk_full(hk_shape(), 2, HK_F32, (hk_device){0});
    fixture_check_message(hk_save(fixture_path("x.pt"), &(hk_save_entry){"x", x}, 1, NULL),
                          HK_UNSUPPORTED, "of torch.save is read, not written");
    hk_array_release(x);
}

/* No bytes can be lost or changed so that more than the values suffers. */
static void test_damaged(const uint8_t *data, size_t bytes)
{
    const char *path = fixture_path("damaged.pt");
    uint8_t *changed = malloc(bytes);
    for (size_t i = 0; i < 2 * bytes; i += 5) { /* fuzz_torch does all, without files */
        HK_SCOPE;
        memcpy(changed, data, bytes);
        changed[i % bytes] ^= (uint8_t)(i < bytes ? 0 : 1 << i % 8);
        fixture_write(path, changed, i < bytes ? i : bytes);
        hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
        CHECK(i >= bytes || !hk_ok(hk_archive_status(archive)));
        for (size_t j = 0; j < hk_archive_count(archive); j++)
            hk_wait(hk_archive_get(archive, hk_archive_name(archive, j)));
        hk_archive_release(archive);
    }
    free(changed);
}

int main(void)
{
    setenv("HOCKET_SIM", "1", 1);
    fixture_begin();
    test_checkpoint();
    test_dtypes();
    test_swapped();
    test_python_2();
    test_views();
    test_pickles();
    test_doubled();
    test_tensors();
    test_zips();
    torch_checkpoint(&pickle);
    torch_zip_of(&zip, &pickle);
    test_damaged(zip.file.data, zip.file.bytes);
    torch_old_of(&old, &pickle);
    test_damaged(old.data, old.bytes);
    fixture_end();
    return check_result();
}
