/* Choices: files of ours, of others, hostile ones; what is noted is measured once and found by the next. */
#include "base/choices.h"
#include "tests/check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int measured;

static const char *measure(const hki_choice_key *key)
{
    measured++;
    return key->numbers[0] == 13 ? NULL : key->numbers[0] % 2 ? "odd" : "even";
}

static hki_choice_key key_of(const char *name, int count, int64_t first, int64_t second)
{
    hki_choice_key key = {.count = count, .numbers = {first, second}};
    snprintf(key.name, sizeof key.name, "%s", name);
    return key;
}

static hki_choices *create(const char *text)
{
    hki_choices *choices = NULL;
    const hk_status *error = hki_choices_create(text, &choices);
    CHECK(!error);
    if (error)
        hk_status_print(error, stderr);
    hk_status_release(error);
    return choices;
}

static void write_text(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(text, 1, bytes, file) == bytes && !fclose(file));
}

static bool refuses(const char *text, hk_code code, const char *message)
{
    hki_choices *choices = NULL;
    const hk_status *error = hki_choices_create(text, &choices);
    bool right = error && !choices && hk_status_code(error) == code &&
                 strstr(hk_status_message(error), message);
    if (!right && error)
        hk_status_print(error, stderr);
    hk_status_release(error);
    return right;
}

static bool finds(hki_choices *choices, hki_choice_key key, const char *word)
{
    const char *found = hki_choices_find(choices, &key, measure);
    return word ? found && !strcmp(found, word) : !found;
}

static void test_off(void)
{
    hki_choices *choices = create("off");
    CHECK(!hki_choices_is_asked(choices));
    CHECK(finds(choices, key_of("a", 1, 1, 0), NULL));
    CHECK_STR(hki_choices_description(choices), "rules");
    hki_choices_destroy(choices);
    CHECK(!hki_choices_is_asked(NULL) && finds(NULL, key_of("a", 1, 1, 0), NULL));
    hki_choices_destroy(NULL);
    CHECK(refuses("on", HK_INVALID_ARGUMENT, "HOCKET_TUNE is \"on\"; expected off, measure"));
}

static void test_measured(void)
{
    char path[1024], text[1200];
    CHECK(hki_choices_default_path(path, sizeof path) && strstr(path, "/deep/down/hocket/choices"));
    hki_choices *choices = create("measure");
    CHECK(hki_choices_is_asked(choices));
    for (int i = 0; i < 3; i++) { /* noted once */
        CHECK(finds(choices, key_of("a", 1, 1, 0), NULL));
        CHECK(finds(choices, key_of("a", 2, 1, 0), NULL));
        CHECK(finds(choices, key_of("b", 1, 2, 0), NULL));
        CHECK(finds(choices, key_of("b", 1, 13, 0), NULL)); /* nothing to choose */
    }
    CHECK(!hki_choices_measure(choices));
    CHECK_EQ_I64(measured, 4);
    CHECK(!hki_choices_measure(choices));
    CHECK_EQ_I64(measured, 4);
    hki_choices_destroy(choices);

    choices = create(NULL);
    snprintf(text, sizeof text, "3 measured choices (%s)", path);
    CHECK_STR(hki_choices_description(choices), text);
    CHECK(finds(choices, key_of("a", 1, 1, 0), "odd"));
    CHECK(finds(choices, key_of("a", 2, 1, 0), "odd"));
    CHECK(finds(choices, key_of("b", 1, 2, 0), "even"));
    CHECK(finds(choices, key_of("b", 1, 4, 0), NULL)); /* and is not noted */
    CHECK(finds(choices, key_of("c", 1, 1, 0), NULL));
    CHECK(!hki_choices_measure(choices));
    CHECK_EQ_I64(measured, 4);
    hki_choices_destroy(choices);

    choices = create("measure"); /* adds to what is there */
    CHECK(finds(choices, key_of("b", 1, 2, 0), "even"));
    CHECK(finds(choices, key_of("b", 1, 4, 0), NULL));
    CHECK(!hki_choices_measure(choices));
    hki_choices_destroy(choices);
    choices = create("");
    CHECK(finds(choices, key_of("b", 1, 2, 0), "even") &&
          finds(choices, key_of("b", 1, 4, 0), "even"));
    hki_choices_destroy(choices);

    choices = create(path); /* the very file */
    CHECK(finds(choices, key_of("a", 1, 1, 0), "odd"));
    hki_choices_destroy(choices);
    CHECK(refuses("./nowhere", HK_IO, "./nowhere"));
}

/* A cache that is not this processor's, or damaged, is as none; a file that was named has to be right. */
static void test_others(void)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "line 1"},
        {"hocket choices 2\nprocessor x\n", "line 1"},
        {"hocket choices 1\n", "line 2"},
        {"hocket choices 1\nprocess x\n", "line 2"},
        {"hocket choices 1\nprocessor x\na 1 b", "line 3"},
        {"hocket choices 1\nprocessor x\n\n", "line 3: expected a name"},
        {"hocket choices 1\nprocessor x\nA 1 b\n", "line 3: expected a name"},
        {"hocket choices 1\nprocessor x\na 1 b\na\n", "line 4: expected a word"},
        {"hocket choices 1\nprocessor x\na 1 2\n", "line 3: expected a word"},
        {"hocket choices 1\nprocessor x\na -1 b\n", "line 3: expected at most 16"},
        {"hocket choices 1\nprocessor x\na 1.5 b\n", "line 3: expected at most 16"},
        {"hocket choices 1\nprocessor x\na 99999999999999999999 b\n",
         "line 3: expected at most 16"},
        {"hocket choices 1\nprocessor x\na 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 b\n",
         "line 3: expected at most 16"},
        {"hocket choices 1\nprocessor x\na 1 abcdefghijklmnopq\n", "line 3: expected a word"},
    };
    char path[1024], line[700];
    hki_choices_default_path(path, sizeof path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text("./wrong", wrong[i].text, strlen(wrong[i].text));
        CHECK(refuses("./wrong", HK_BAD_DATA, wrong[i].message));
        write_text(path, wrong[i].text, strlen(wrong[i].text));
        hki_choices *choices = create(NULL);
        CHECK(strstr(hki_choices_description(choices), "damaged"));
        CHECK(!hki_choices_is_asked(choices));
        hki_choices_destroy(choices);
    }
    memset(line, 'a', sizeof line);
    write_text("./wrong", line, sizeof line);
    CHECK(refuses("./wrong", HK_BAD_DATA, "line 1"));
    static const char zero[] = "hocket choices 1\nprocessor x\na \0 b\n";
    write_text("./wrong", zero, sizeof zero - 1);
    CHECK(refuses("./wrong", HK_BAD_DATA, "line 3"));

    static const char other[] = "hocket choices 1\nprocessor other\na 1 b\na 1 c\nzero d\n";
    write_text(path, other, sizeof other - 1);
    hki_choices *choices = create(NULL);
    CHECK(strstr(hki_choices_description(choices), "of another processor"));
    CHECK(finds(choices, key_of("a", 1, 1, 0), NULL));
    hki_choices_destroy(choices);
    choices = create(path);
    CHECK(finds(choices, key_of("a", 1, 1, 0), "b") || finds(choices, key_of("a", 1, 1, 0), "c"));
    CHECK(finds(choices, key_of("zero", 0, 0, 0), "d"));
    hki_choices_destroy(choices);
}

/* What others have measured is kept beside the rest. */
static void test_noted(void)
{
    char folder[] = "/tmp/choices_XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    setenv("XDG_CACHE_HOME", folder, 1);
    const hki_choice_key own = key_of("own", 1, 3, 0), other = key_of("other", 1, 5, 0);
    hki_choices *choices = create("measure");
    CHECK(hki_choices_is_measuring(choices));
    hki_choices_note(choices, &own, "fast");
    hki_choices_note(choices, &own, "slow");
    CHECK(!hki_choices_find(choices, &own, NULL)); /* frozen */
    CHECK(!hki_choices_find(choices, &other, NULL));
    CHECK(!hki_choices_measure(choices));
    hki_choices_destroy(choices);
    choices = create("");
    CHECK(!hki_choices_is_measuring(choices));
    CHECK(finds(choices, own, "fast"));
    CHECK(finds(choices, other, NULL));
    hki_choices_note(choices, &other, "fast"); /* in no such run */
    CHECK(!hki_choices_measure(choices));
    hki_choices_destroy(choices);
    CHECK(!hki_choices_is_measuring(NULL));
}

int main(void)
{
    char folder[512], cache[600];
    CHECK(getcwd(folder, sizeof folder));
    snprintf(cache, sizeof cache, "%s/deep/down", folder);
    CHECK(!setenv("XDG_CACHE_HOME", cache, 1));
    CHECK(!system("rm -rf deep"));
    test_off();
    test_measured();
    test_others();
    CHECK(!unsetenv("XDG_CACHE_HOME") && !setenv("HOME", folder, 1));
    CHECK(hki_choices_default_path(cache, sizeof cache) && strstr(cache, "/.cache/hocket/choices"));
    CHECK(!unsetenv("HOME") && !hki_choices_default_path(cache, sizeof cache));
    test_noted();
    return check_result();
}
