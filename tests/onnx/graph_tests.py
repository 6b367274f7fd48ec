#!/usr/bin/env python3
"""graph_tests.py: what ONNX's own tests of single nodes do not reach, by libhocket_onnx.so: functions of a file, graphs within graphs, sequences,
values that are known from one run to the next, random numbers.

Run it by a Python that has the packages onnx and hocket. Each model is called four times: call by call, noted, replayed twice.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import parser

import hocket as hk

HEAD = '<ir_version: 8, opset_import: ["": 18, "my": 1]>\n'
X = np.arange(12, dtype=np.float32).reshape(3, 4)
folder = tempfile.TemporaryDirectory()


def model(text):
    path = os.path.join(folder.name, "model.onnx")
    onnx.save(parser.parse_model(HEAD + text), path)
    return hk.Model(path)


def results(runner, *inputs):
    outputs = runner(*(hk.asarray(x) for x in inputs))
    return [np.asarray(x) for x in (outputs if isinstance(outputs, tuple) else (outputs,))]


def check(text, inputs, wanted):
    runner = model(text)
    for _ in range(4):
        got = results(runner, *inputs)
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            b = np.asarray(b)
            assert a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b), f"{a} comes, not {b}"


def refuses(text, *parts):
    try:
        results(model(text), X)
    except hk.Error as error:
        assert all(part in str(error) for part in parts), error
        return
    raise AssertionError(f"{parts} was not refused")


def test_functions_get_attributes_and_nest():
    check("""g (float[3,4] x) => (float[3,4] y, float[3,4] z) { y = my.f<alpha=2.0>(x)  w = my.f<alpha=3.0>(y)  z = my.h(w) }
<domain: "my", opset_import: ["": 18]> f <alpha> (a) => (b) { k = Constant<value_float: float = @alpha>()  b = Mul(a, k) }
<domain: "my", opset_import: ["": 18, "my": 1]> h (a) => (c) { b = my.f<alpha=0.5>(a)  c = Add(b, a) }""", [X], [2 * X, 9 * X])


def test_function_without_an_optional_input():
    check("""g (float[3,4] x) => (float[3,4] y) { y = my.f(x) }
<domain: "my", opset_import: ["": 18]> f (a, low) => (b) { b = Clip(a, low) }""", [X], [X])


def test_function_may_give_back_its_input():
    check("""g (float[3,4] x) => (float[3,4] y) { z = my.f(x)  y = Neg(z) }
<domain: "my", opset_import: ["": 18]> f (a) => (a) { b = Neg(a) }""", [X], [-X])


def test_functions_that_call_themselves_are_refused():
    refuses("""g (float[3,4] x) => (float[3,4] y) { y = my.f(x) }
<domain: "my", opset_import: ["": 18, "my": 1]> f (a) => (b) { b = my.f(a) }""", "too deep")


def test_branches_that_alternate_have_their_own_constants():
    runner = model("""g (float[3,4] x) => (float[N] y) { s = ReduceSum<keepdims=0>(x)  zero = Constant<value_float=0.0>()  c = Greater(s, zero)
        y = If (c) <then_branch = t () => (float[N] q) { q0 = Shape(x)  q = Cast<to=1>(q0) },
                    else_branch = e () => (float[N] r) { r1 = Shape(x)  r2 = Concat<axis=0>(r1, r1)  r = Cast<to=1>(r2) }> }""")
    for i in range(6):
        (got,) = results(runner, X if i % 2 else -X)
        assert got.tolist() == ([3, 4] if i % 2 else [3, 4, 3, 4])


LOOP = """g (float[3,4] x) => (float[3,4] v, float[N,3,4] y) { %s
    v, y = Loop (m, "", x) <body = b (int64 i, bool c, float[3,4] a) => (bool co, float[3,4] ao, float[3,4] s) {
        co = Identity(c)  f = Cast<to=1>(i)  ao = Add(a, f)  s = Mul(ao, x) }> }"""


def test_loop_of_known_rounds():
    check(LOOP % "m = Constant<value_int=3>()", [X], [X + 3, np.stack([X * X, (X + 1) * X, (X + 3) * X])])


def test_loop_of_no_rounds():
    check(LOOP % "m = Constant<value_int=0>()", [X], [X, np.zeros((0, 3, 4), np.float32)])


def test_loop_until_a_value_is_reached():
    check("""g (float[3,4] x) => (float[3,4] v, float[N] y) { t = Constant<value = bool {1}>()
        v, y = Loop ("", t, x) <body = b (int64 i, bool c, float[3,4] a) => (bool co, float[3,4] ao, float s) {
            k = Constant<value_float=2.0>()  ao = Mul(a, k)  s = ReduceMax<keepdims=0>(ao)  lim = Constant<value_float=80.0>()  co = Less(s, lim) }> }""",
          [X], [8 * X, np.float32([22, 44, 88])])


def test_scan_backwards_along_other_axes():
    sums = np.cumsum(X[:, ::-1], axis=1)
    check("""g (float[3,4] x, float[3] s0) => (float[3] s, float[3,4] y) {
        s, y = Scan<num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[-1], scan_output_directions=[1],
            body = b (float[3] a, float[3] e) => (float[3] ao, float[3] o) { ao = Add(a, e)  o = Identity(ao) }>(s0, x) }""",
          [X, np.zeros(3, np.float32)], [sums[:, -1], sums[:, ::-1]])


def test_sequences():
    check("""g (float[3,4] x) => (float[5,4] y, int64 n, float[1,4] z) { s = SplitToSequence<axis=0>(x)  one = Constant<value_int=1>()
        e = SequenceErase(s, one)  i = SequenceInsert(e, x)  y = ConcatFromSequence<axis=0>(i)  n = SequenceLength(i)  z = SequenceAt(i, one) }""",
          [X], [np.concatenate([X[[0]], X[[2]], X]), np.int64(3), X[[2]]])


def test_sequence_map_over_two():
    check("""g (float[3,4] x) => (float[3,4] y) { s = SplitToSequence<axis=0>(x)
        m = SequenceMap (s, s, x) <body = b (float[1,4] a, float[1,4] c, float[3,4] w) => (float[1,4] d) { d = Mul(a, c) }>
        y = ConcatFromSequence<axis=0>(m) }""", [X], [X * X])


def test_padding_comes_again_and_again():
    check("""g (float[3,4] x) => (float[3,18] y) { p = Constant<value_ints=[0, 5, 0, 9]>()  y = Pad<mode = "reflect">(x, p) }""",
          [X], [np.pad(X, ((0, 0), (5, 9)), "reflect")])


def test_wrong_indices_fail():
    refuses("""g (float[3,4] x) => (float[1] y) { i = Constant<value = int64[1,2] {1, 4}>()  y = GatherND(x, i) }""", "index")
    refuses("""g (float[3,4] x) => (float[3,4] y) { i = Constant<value = int64[1,2] {-4, 0}>()  u = Constant<value = float[1] {1}>()
        y = ScatterND<reduction = "max">(x, i, u) }""", "index")


def test_a_seed_begins_the_same_stream_and_goes_on():
    text = """g () => (float[1000] y) { y = RandomNormal<shape=[1000], seed=7.0, mean=2.0>() }"""
    a, b = ([results(runner)[0] for _ in range(4)] for runner in (model(text), model(text)))
    assert all((p == q).all() for p, q in zip(a, b)) and len({p.tobytes() for p in a}) == 4
    assert abs(np.mean(a) - 2) < .1


def test_dropout_in_training():
    runner = model("""g (float[100,100] x) => (float[100,100] y, bool[100,100] m) { r = Constant<value_float=0.25>()  t = Constant<value = bool {1}>()
        y, m = Dropout(x, r, t) }""")
    x = np.ones((100, 100), np.float32)
    for _ in range(4):
        y, mask = results(runner, x)
        assert np.allclose(y, np.where(mask, np.float32(4 / 3), 0)) and abs(mask.mean() - .75) < .03


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    failed = 0
    for name, test in tests:
        try:
            test()
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}")
    print(f"{len(tests) - failed} of {len(tests)} passed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
