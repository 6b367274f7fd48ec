/* Arrays in several files: what the index makes of them, and each message for what is wrong. */
#include "tests/io_fixture.h"
#include "tests/torch_fixture.h"

static torch_bytes pickle;
static torch_zip zip;

static void write_text(const char *name, const char *text)
{
    fixture_write(fixture_path(name), text, strlen(text));
}

/* a.safetensors has x and y, b.bin "0", three float32. */
static void write_shards(void)
{
    HK_SCOPE;
    const float values[] = {1, 2};
    hk_array *x = hk_from_host(values, hk_shape(2), HK_F32, (hk_device){0});
    const hk_save_entry entries[] = {{"x", x}, {"y", hk_negative(x)}};
    CHECK(hk_ok(hk_save(fixture_path("a.safetensors"), entries, 2, NULL)));
    torch_begin(&pickle);
    torch_ops(&pickle, "]");
    torch_tensor(&pickle, (torch_view){.class = "FloatStorage",
                                       .key = "0",
                                       .count = 6,
                                       .ndim = 1,
                                       .sizes = {3},
                                       .strides = {2}});
    torch_ops(&pickle, "a.");
    torch_zip_of(&zip, &pickle);
    fixture_write(fixture_path("b.bin"), zip.file.data, zip.file.bytes);
}

static void test_read(void)
{
    HK_SCOPE;
    const float expected[] = {-1, -2}, strided[] = {0, 2, 4};
    write_text("m.index.json",
               "{ \"metadata\": {\"total_size\": 28, \"by\": \"hand\", \"more\": {}},\n"
               "\"weight_map\": {\"0\": \"b.bin\", \"y\": \"a.safetensors\"}, \"other\": [1, {}]}");
    hk_archive *archive = hk_load(fixture_path("m.index.json"), (hk_device){0}, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    CHECK_EQ_I64(hk_archive_count(archive), 2);
    CHECK(!hk_archive_has(archive, "x"));
    CHECK(fixture_holds(hk_archive_get(archive, "y"), expected, sizeof expected));
    CHECK(fixture_holds(hk_archive_get_async(archive, "0"), strided, sizeof strided));
    CHECK_STR(hk_archive_metadata(archive, "total_size"), "28");
    CHECK_STR(hk_archive_metadata(archive, "by"), "hand");
    CHECK(!hk_archive_metadata(archive, "more") && !hk_archive_structure(archive));
    hk_archive_release(archive);
}

static void refused(const char *index, hk_code code, const char *part)
{
    write_text("m.index.json", index);
    fixture_refused(fixture_path("m.index.json"), code, part);
}

static void test_refused(void)
{
    refused("", HK_BAD_DATA, "an object should be at its byte 0");
    refused("{}", HK_BAD_DATA, "has no \"weight_map\"");
    refused("{\"weight_map\": []}", HK_BAD_DATA, "an object should be");
    refused("{\"weight_map\": {\"x\": []}}", HK_BAD_DATA, "no text or number");
    refused("{\"weight_map\": {}, \"weight_map\": {}}", HK_BAD_DATA, "\"weight_map\" twice");
    refused("{\"weight_map\": {\"x\": \"../a.safetensors\"}}", HK_BAD_DATA, "one beside it");
    refused("{\"weight_map\": {\"x\": \"m.index.json\"}}", HK_BAD_DATA, "one beside it");
    refused("{\"weight_map\": {\"x\": \"c.safetensors\"}}", HK_NOT_FOUND, "names c.safetensors");
    refused("{\"weight_map\": {\"z\": \"a.safetensors\"}}", HK_BAD_DATA,
            "array \"z\" is in a.safetensors, which lacks it");
    refused("{\"weight_map\": {\"x\": \"a.safetensors\", \"x\": \"a.safetensors\"}}", HK_BAD_DATA,
            "has array \"x\" twice");
    write_text("c.safetensors", "{}");
    refused("{\"weight_map\": {\"x\": \"c.safetensors\"}}", HK_BAD_DATA,
            "names c.safetensors, which is no safetensors file");
}

/* The index cut short anywhere gives a message. */
static void test_damaged(void)
{
    static const char index[] = "{\"metadata\":{\"n\":1},\"weight_map\":{\"x\":\"a.safetensors\"}}";
    for (size_t i = 0; i < sizeof index - 1; i++) {
        char changed[sizeof index];
        fixture_write(fixture_path("m.index.json"), index, i);
        hk_archive *archive = hk_load(fixture_path("m.index.json"), (hk_device){0}, NULL);
        CHECK_EQ_I64(hk_status_code(hk_archive_status(archive)), HK_BAD_DATA);
        hk_archive_release(archive);
        memcpy(changed, index, sizeof index);
        changed[i] ^= 1 << i % 7;
        fixture_write(fixture_path("m.index.json"), changed, sizeof index - 1);
        hk_archive_release(hk_load(fixture_path("m.index.json"), (hk_device){0}, NULL));
    }
}

int main(void)
{
    fixture_begin();
    write_shards();
    test_read();
    test_refused();
    test_damaged();
    fixture_end();
    return check_result();
}
