/* The commands, in the order of `hocket --help`. */
#ifndef HOCKET_CLI_COMMANDS_H
#define HOCKET_CLI_COMMANDS_H

#include "options.h"

extern const command train_command, predict_command, generate_command, models_command,
    bench_command, trace_command, run_command, inspect_command, forecast_command, devices_command,
    doctor_command;

/* That there is no model of that name, and which one is near. Returns EXIT_USAGE. */
int complain_model(const command *self, const char *name);

#endif
