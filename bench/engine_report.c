#include "engine_report.h"

#include <math.h>
#include <stdarg.h>

enum { MAX_REQUIREMENTS = 128, TEXT_BYTES = 160 };

static struct {
    bool holds;
    char text[TEXT_BYTES]; /* without quotes and backslashes */
} requirements[MAX_REQUIREMENTS];
static int requirement_count;

void report_require(bool holds, const char *format, ...)
{
    if (requirement_count == MAX_REQUIREMENTS)
        return;
    va_list arguments;
    va_start(arguments, format);
    requirements[requirement_count].holds = holds;
    vsnprintf(requirements[requirement_count++].text, TEXT_BYTES, format, arguments);
    va_end(arguments);
}

void report_print_requirements(void)
{
    int held = 0;
    printf("== requirements\n");
    for (int i = 0; i < requirement_count; i++) {
        printf("%s  %s\n", requirements[i].holds ? "PASS" : "FAIL", requirements[i].text);
        held += requirements[i].holds;
    }
    printf("%d of %d hold\n", held, requirement_count);
}

void report_json_requirements(FILE *file)
{
    fprintf(file, "[");
    for (int i = 0; i < requirement_count; i++)
        fprintf(file, "%s\n    {\"holds\": %s, \"what\": \"%s\"}", i ? "," : "",
                requirements[i].holds ? "true" : "false", requirements[i].text);
    fprintf(file, "]");
}

bench_spread report_spread(const double *values, int count)
{
    double kept[REPORT_MAX_REPEAT];
    int kept_count = 0;
    for (int i = 0; i < count; i++)
        if (values[i] >= 0)
            kept[kept_count++] = values[i];
    return kept_count ? bench_spread_of(kept, kept_count) : (bench_spread){0, 0, 0};
}

bench_spread report_ratio(const double *a, const double *b, int count)
{
    double ratios[REPORT_MAX_REPEAT];
    for (int i = 0; i < count; i++)
        ratios[i] = a[i] >= 0 && b[i] > 0 ? a[i] / b[i] : -1;
    return report_spread(ratios, count);
}

static void print_number(double value, int width, int digits)
{
    if (isfinite(value))
        printf("%*.*f", width, digits, value);
    else
        printf("%*s", width, "never");
}

void report_print_spread(bench_spread spread, int digits)
{
    if (!(spread.max > 0)) {
        printf("%7s %17s", "-", "");
        return;
    }
    print_number(spread.median, 7, digits);
    printf(" (");
    print_number(spread.min, 7, digits);
    printf("…");
    print_number(spread.max, 7, digits);
    printf(")");
}

void report_json_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.6g", value);
    else
        fprintf(file, "null");
}

void report_json_spread(FILE *file, bench_spread spread)
{
    if (!(spread.max > 0)) {
        fprintf(file, "null");
        return;
    }
    fprintf(file, "{\"median\": ");
    report_json_number(file, spread.median);
    fprintf(file, ", \"min\": ");
    report_json_number(file, spread.min);
    fprintf(file, ", \"max\": ");
    report_json_number(file, spread.max);
    fprintf(file, "}");
}
