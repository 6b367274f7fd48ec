/* Options of a command as one table: parsing, the text of --help and error messages are made from it.
 *
 * Accepted: --name VALUE, --name=VALUE, --flag; "--" ends the options. Of an option that is given twice
 * the last one counts. Messages go to stderr. */
#ifndef HOCKET_CLI_OPTIONS_H
#define HOCKET_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_INT,    /* int64_t in [low, high] */
    OPTION_NUMBER, /* double in [low, high] */
    OPTION_TEXT,   /* const char *, not empty, borrowed from the arguments */
    OPTION_WORD    /* the same, and one of `words` */
} option_type;

typedef struct option_row {
    const char *name; /* without its dashes; NULL: a heading, `help` is its text */
    option_type type;
    size_t offset;     /* of the field in the options struct */
    const char *value; /* what the value is called in the help: "N", "FILE" */
    const char *help;  /* lines end in \n, but for the last one */
    double low, high;
    const char *(*words)(int index); /* NULL behind the last; `help` goes on behind them */
} option_row;

/* Rows of a table: the option's name, the struct and its field, ... */
#define OPTION_HEADING(text)                                                                       \
    {                                                                                              \
        .name = NULL, .help = text                                                                 \
    }
#define OPTION_FLAG_ROW(name, type, field, help)                                                   \
    {                                                                                              \
        name, OPTION_FLAG, offsetof(type, field), NULL, help, 0, 0, NULL                           \
    }
#define OPTION_TEXT_ROW(name, type, field, value, help)                                            \
    {                                                                                              \
        name, OPTION_TEXT, offsetof(type, field), value, help, 0, 0, NULL                          \
    }
#define OPTION_WORD_ROW(name, type, field, words, help)                                            \
    {                                                                                              \
        name, OPTION_WORD, offsetof(type, field), "NAME", help, 0, 0, words                        \
    }
#define OPTION_INT_ROW(name, type, field, low, high, help)                                         \
    {                                                                                              \
        name, OPTION_INT, offsetof(type, field), "N", help, low, high, NULL                        \
    }
#define OPTION_NUMBER_ROW(name, type, field, low, high, help)                                      \
    {                                                                                              \
        name, OPTION_NUMBER, offsetof(type, field), "X", help, low, high, NULL                     \
    }

typedef struct command {
    const char *name;
    const char *operands;    /* "lenet", or "" for none */
    const char *summary;     /* one line */
    const char *description; /* more of it, for --help; "" for none */
    const option_row *rows;  /* row_count of them */
    int row_count;
    int (*run)(int count,
               char **arguments); /* those after the command's name; returns exit status */
} command;

enum { EXIT_USAGE = 2, EXIT_SIGNAL = 128 /* and the number of the one that ended it */ };

/* Sets fields of `options` from the arguments. Operands (what is no option) go to operands[0 …], at most
 * operand_limit of them; *operand_count (may be NULL where that is 0) says how many. False: the command is done, for
 * --help or a message was printed, and *status is its exit status. */
bool options_parse(const command *self, int count, char **arguments, void *options, char **operands,
                   int operand_limit, int *operand_count, int *status);

/* Prints "hocket NAME: " and the message, then where help is; returns EXIT_USAGE. */
int options_complain(const command *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void options_print_help(const command *self, FILE *stream);

/* The word that `text` was most likely meant to be; NULL when none is near. Words end with NULL. */
const char *nearest_word(const char *text, const char *const *words);

#endif
