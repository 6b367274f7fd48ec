/* Numbers in place of arrays, as hk_subtract(1, x) has them: by an operator of an array and a number where there is one, else as
 * an array (). */
#include "base/integer_dtypes.h"
#include "op/op.h"
#include "op/shape/fill.h"

#include <hocket/operator.h>
#include <math.h>

/* What takes x and a number behind it. */
static const hk_op *const with_number[HKI_OP_COUNT] = {
    [HKI_OP_ID_add] = &hki_op_add_scalar,
    [HKI_OP_ID_subtract] = &hki_op_add_scalar, /* of the number's negative */
    [HKI_OP_ID_multiply] = &hki_op_multiply_scalar,
    [HKI_OP_ID_divide] = &hki_op_divide_scalar,
    [HKI_OP_ID_power] = &hki_op_power_scalar,
    [HKI_OP_ID_maximum] = &hki_op_maximum_scalar,
    [HKI_OP_ID_minimum] = &hki_op_minimum_scalar,
};

static bool is_symmetric(const hk_op *op)
{
    return op == &hki_op_add || op == &hki_op_multiply || op == &hki_op_maximum ||
           op == &hki_op_minimum;
}

/* A call with at most one number among its last two inputs, x and y. */
typedef struct mixed_call {
    const hk_op *op;
    const void *options;
    hk_array *inputs[HKI_MAX_INPUTS];
    int count, place; /* of the number; -1: there is none */
    hk_number number;
    hk_array *beside; /* what the number meets */
    double value;     /* options of an operator with a number */
    hk_array *made;   /* to be released after the call; NULL: nothing */
    hki_call refusal;
} mixed_call;

static int other_place(const mixed_call *self)
{
    return self->place == self->count - 1 ? self->count - 2 : self->count - 1;
}

/* ---- comparisons of integers with any real number ---------------------------------------------------------- */

/* What x op n is where they are not equal, by which is less; and where n is NaN. */
static const struct comparison {
    const hk_op *op, *mirrored; /* mirrored: n op x is x mirrored n */
    bool if_less, if_greater, if_nan;
} comparisons[] = {
    {&hki_op_less, &hki_op_greater, true, false, false},
    {&hki_op_less_equal, &hki_op_greater_equal, true, false, false},
    {&hki_op_greater, &hki_op_less, false, true, false},
    {&hki_op_greater_equal, &hki_op_less_equal, false, true, false},
    {&hki_op_equal, &hki_op_equal, false, false, false},
    {&hki_op_not_equal, &hki_op_not_equal, true, true, true},
};

static const struct comparison *find_comparison(const hk_op *op)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (comparisons[i].op == op)
            return &comparisons[i];
    return NULL;
}

#define LEAST(of, name, T, lowest, highest)                                                        \
    case of:                                                                                       \
        *least = hk_number_of_int((int64_t)(lowest));                                              \
        break;

static void set_least(hk_dtype dtype, hk_number *least)
{
    switch (dtype) {
        HKI_EACH_INTEGER(LEAST)
    default:
        break;
    }
}

/* The largest whole number that is not more than the number. False: it is no number of int64 or uint64. */
static bool floor_of(hk_number number, hk_number *floored, bool *is_whole)
{
    *floored = number;
    *is_whole = true;
    if (number.kind != HK_NUMBER_REAL)
        return true;
    const double below = floor(number.value.f);
    *is_whole = below == number.value.f;
    if (!(below >= -0x1p63 && below < 0x1p64))
        return false;
    *floored = below < 0 ? hk_number_of_int((int64_t)below) : hk_number_of_uint((uint64_t)below);
    return true;
}

static bool is_negative(hk_number number)
{
    return number.kind == HK_NUMBER_REAL ? number.value.f < 0
                                         : number.kind == HK_NUMBER_INT && number.value.i < 0;
}

/* A number that the integers of x do not have lies between two of them, or beyond all: the call
 * becomes one that compares x with a number which they have. All of x are at least the least. */
static void compare_with_any(mixed_call *self)
{
    const hk_dtype dtype = self->beside->dtype;
    const struct comparison *how = find_comparison(self->op);
    hk_number least = self->number, floored;
    bool is_whole;
    if (!how || !hki_dtype_is_integer(dtype) || self->number.kind == HK_NUMBER_COMPLEX)
        return;
    if (self->place == 0) {
        how = find_comparison(how->mirrored);
        self->op = how->op;
        self->inputs[0] = self->beside;
        self->place = 1;
    }
    const bool is_moderate = floor_of(self->number, &floored, &is_whole);
    const bool is_within = is_moderate && hk_number_fits(floored, dtype);
    const bool is_nan = self->number.kind == HK_NUMBER_REAL && isnan(self->number.value.f);
    set_least(dtype, &least);
    if (is_within && (is_whole || how->if_less != how->if_greater)) {
        self->number = floored;
        if (!is_whole)
            self->op = how->if_less ? &hki_op_less_equal : &hki_op_greater;
        return;
    }
    const bool is_greater = is_negative(floored);
    const bool holds = is_nan ? how->if_nan : is_greater ? how->if_greater : how->if_less;
    self->number = least;
    self->op = holds ? &hki_op_greater_equal : &hki_op_less;
}

/* The array takes the number. */
static bool check_number(mixed_call *self)
{
    const hk_dtype dtype = self->beside->dtype;
    char name[64], other[64], text[96];
    const bool is_real = hki_dtype_is_real(dtype) && self->number.kind != HK_NUMBER_COMPLEX;
    if (is_real || hk_number_fits(self->number, dtype))
        return true;
    hki_op_input_name(self->op, self->place, name, sizeof name);
    hki_op_input_name(self->op, other_place(self), other, sizeof other);
    hki_number_describe(self->number, text, sizeof text);
    if (hki_dtype_has_kind(dtype, self->number.kind))
        return hki_call_refuse(&self->refusal, HK_OUT_OF_RANGE,
                               "%s is %s, which is out of the range of %s, as %s is", name, text,
                               hk_dtype_name(dtype), other);
    return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT,
                           "%s is %s, but %s is %s, which holds no such numbers; use hk_cast on %s",
                           name, text, other, hk_dtype_name(dtype), other);
}

static bool refuse_operand(mixed_call *self, int index, const char *why)
{
    char name[64];
    hki_op_input_name(self->op, index, name, sizeof name);
    return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT, "%s is %s", name, why);
}

/* False: an input is NULL, or a number is where none may be. */
static bool take_operands(mixed_call *self, const hk_operand *operands)
{
    for (int i = 0; i < self->count; i++) {
        const bool is_number = operands[i].number.kind != HK_NUMBER_NONE;
        if (is_number && (self->place >= 0 || i < self->count - 2))
            return refuse_operand(self, i, "a number, but must be an array here");
        if (!is_number && !operands[i].array)
            return refuse_operand(self, i, "NULL");
        self->inputs[i] = operands[i].array;
        self->place = is_number ? i : self->place;
    }
    return true;
}

/* The operator of x and a number that gives the same takes over, where there is one. */
static bool goes_by_number(mixed_call *self)
{
    const hk_op *op = with_number[self->op->id];
    const hk_dtype dtype = self->beside->dtype;
    const bool is_whole = !hki_dtype_is_real(dtype) && !hki_dtype_is_complex(dtype);
    const bool is_difference = self->op == &hki_op_subtract;
    if (!op || !hki_number_is_double(self->number, &self->value) ||
        !(hki_op_dtypes(op) >> dtype & 1) || (self->place == 0 && !is_symmetric(self->op)) ||
        (is_difference && is_whole)) /* the negative may lie out of range */
        return false;
    if (is_difference)
        self->value = -self->value;
    self->op = op;
    self->inputs[0] = self->beside;
    self->count = 1;
    self->options = &self->value;
    return true;
}

/* The number as an array () beside the other. */
static hk_array *number_array(const mixed_call *self)
{
    const hk_device device = {self->beside->storage->device};
    const hk_dtype dtype = self->beside->dtype;
    hki_full_options full = {.dtype = dtype};
    return hki_number_is_double(self->number, &full.value)
               ? hki_op_call(&hki_op_full, NULL, 0, &full, device, NULL)
               : (hk_scalar)(self->number, dtype, device);
}

/* False: it is refused. Else to be called as it is, and to be finished then. */
static bool prepare(mixed_call *self, const hk_op *op, const hk_operand *operands, int count)
{
    self->op = op; /* the refusal is large: not set to zeros at each call */
    self->options = NULL;
    self->count = count;
    self->place = -1;
    self->beside = self->made = NULL;
    if (!op)
        return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT, "argument op is NULL");
    if (!operands || !op->elementwise || op->variadic || count < 2 ||
        count != hki_op_input_count(op, NULL))
        return hki_call_refuse(&self->refusal, HK_INVALID_ARGUMENT,
                               "%s (%s) takes no numbers, or not %d operands", op->name,
                               op->signature, count);
    if (!take_operands(self, operands))
        return false;
    if (self->place < 0)
        return true;
    self->number = operands[self->place].number;
    self->beside = self->inputs[other_place(self)];
    compare_with_any(self);
    if (self->beside->failed)
        self->inputs[self->place] = self->beside;
    else if (!check_number(self))
        return false;
    else if (!goes_by_number(self))
        self->inputs[self->place] = self->made = number_array(self);
    return true;
}

static void finish(mixed_call *self)
{
    if (self->made)
        hk_array_release(hk_take(self->made));
}

hk_array *(hk_operator_call_operands)(const hk_operator *op, const hk_operand *operands, int count)
{
    mixed_call self;
    if (!prepare(&self, op, operands, count))
        return hki_array_create_failed(NULL, op ? op->name : "call_operands", &self.beside,
                                       self.beside != NULL, self.refusal.code, "%s",
                                       self.refusal.message);
    hk_array *result =
        hki_op_call(self.op, self.inputs, self.count, self.options, (hk_device){NULL}, NULL);
    finish(&self);
    return result;
}

void(hk_operator_call_operands_into)(const hk_operator *op, hk_array *out,
                                     const hk_operand *operands, int count)
{
    mixed_call self;
    if (prepare(&self, op, operands, count))
        hki_op_call_into(self.op, self.inputs, self.count, self.options, out);
    else
        hki_array_fail_in_place(out, op ? op->name : "call_operands_into", &self.beside,
                                self.beside != NULL, self.refusal.code, "%s", self.refusal.message);
    finish(&self);
}
