# SPDX-License-Identifier: BSD-3-Clause
"""fold of PyTorch's tensors with a reduction, weights or a dtype: as of arrays, with gradients."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

import reblock
import reblock.torch
from oracle import Array
from torch_calls import MARKS

pytestmark = MARKS

HANN = [np.hanning(6)[1:-1]] * 2
WINDOW: dict[str, Any] = {"strides": (2, 3), "start_padding": (1, 0)}
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"channel_axis": -1},
    {"layout": "NLC", "out_layout": "NHWC", "order": "DCR"},
    {"layout": "CNL", "out_layout": "HNCW"},
    {"padding_mode": "reflect"},
]


OPTIONS: list[dict[str, Any]] = [
    {"reduction": "mean"},
    {"reduction": "mean", "weights": HANN},
    {"weights": HANN},
    {"reduction": "max"},
    {"reduction": "min"},
]
OPTION_IDS = ["mean", "blend", "weights", "max", "min"]


def columns_of(layout: dict[str, Any], dtype: torch.dtype = torch.float64) -> torch.Tensor:
    shape = reblock.unfold_shape((2, 3, 9, 13), 4, **WINDOW)
    x = torch.linspace(-1, 1, int(np.prod(shape)), dtype=torch.float64).reshape(shape)
    return arranged(x * x * 7 + x, layout).to(dtype)


def arranged(x: torch.Tensor, layout: dict[str, Any]) -> torch.Tensor:
    """Lay out columns with the axes N, C and L."""
    letters = layout.get("layout", "NCL")
    if "N" not in letters:
        x = x[:1]
    axes = [each for each in letters if each in "NCL"]
    order = ["NCL".index(each) for each in axes]
    x = x.permute(*order, *(axis for axis in range(3) if axis not in order))
    return x.reshape(x.shape[: len(order)]).contiguous()


def random_columns(layout: dict[str, Any], seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    shape = reblock.unfold_shape((2, 3, 9, 13), 4, **WINDOW)
    return arranged(torch.randn(shape, generator=random, dtype=torch.float64), layout)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"reduction": "mean"},
        {"reduction": "mean", "weights": HANN},
        {"weights": np.outer(*HANN)},
        {"reduction": "max"},
        {"reduction": "min"},
    ],
    ids=["mean", "blend", "weights", "max", "min"],
)
def test_results_are_those_of_arrays(layout: dict[str, Any], options: dict[str, Any]) -> None:
    for dtype in (torch.float32, torch.float64, torch.int32, torch.uint8):
        x = columns_of(layout, dtype)
        actual = reblock.torch.fold(x, (9, 13), 4, **WINDOW, **layout, **options)
        expected = reblock.fold(x.numpy(), (9, 13), 4, **WINDOW, **layout, **options)
        assert actual.dtype == dtype
        assert np.array_equal(actual.numpy(), expected)


def test_a_dtype_is_that_of_the_result() -> None:
    x = columns_of({}, torch.uint8)
    result = reblock.torch.fold(x, (9, 13), 4, **WINDOW, dtype=torch.float32)
    assert torch.equal(result, reblock.torch.fold(x.float(), (9, 13), 4, **WINDOW))
    mean = reblock.torch.fold(x, (9, 13), 4, **WINDOW, dtype=torch.bfloat16, reduction="mean")
    assert mean.dtype == torch.bfloat16


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=OPTION_IDS)
def test_gradients(layout: dict[str, Any], options: dict[str, Any]) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x, (9, 13), 4, **WINDOW, **layout, **options)

    x = columns_of(layout).requires_grad_()
    assert torch.autograd.gradcheck(run, x, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, x, fast_mode=True)


def test_the_gradient_of_a_converted_mean_has_the_dtype_of_the_columns() -> None:
    x = columns_of({}, torch.float32).requires_grad_()
    reblock.torch.fold(
        x, (9, 13), 4, **WINDOW, reduction="mean", dtype=torch.float64
    ).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float32


@st.composite
def reduced_calls(draw: Any) -> tuple[Array, dict[str, Any]]:
    """Draw columns with many equal terms and some NaNs, and the other arguments of fold."""
    numbers = random.Random(draw(st.integers(0, 999)))
    sizes = tuple(draw(st.integers(3, 7)) for _ in range(2))
    window: dict[str, Any] = {
        "window_sizes": tuple(draw(st.integers(1, 3)) for _ in range(2)),
        "strides": draw(st.integers(1, 2)),
        "start_padding": draw(st.integers(0, 2)),
        "end_padding": draw(st.integers(0, 2)),
        "padding_mode": draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"])),
        "order": draw(st.sampled_from(["CRD", "DCR"])),
    }
    geometry = {k: v for k, v in window.items() if k not in ("padding_mode", "order")}
    shape = reblock.unfold_shape((2, 2, *sizes), **geometry)
    values = [0.0, 1.0, -1.0, *([np.nan] if draw(st.booleans()) else [])]
    flat = [numbers.choice(values) for _ in range(int(np.prod(shape)))]
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    return np.array(flat, dtype).reshape(shape), {"output_sizes": sizes, **window}


def first_terms(columns: Array, gradient: Array, call: dict[str, Any], reduction: str) -> Array:
    """Give the gradient of each pixel to one term: a plain loop over terms in their order."""
    window = {k: v for k, v in call.items() if k != "output_sizes"}
    pixels = np.arange(1, gradient.size + 1).reshape(gradient.shape)
    places = reblock.unfold(pixels, **window)
    result = np.zeros_like(columns)
    for pixel in range(1, gradient.size + 1):
        terms = [tuple(place) for place in np.argwhere(places == pixel)]
        if not terms:
            continue
        values = [columns[place] for place in terms]
        choose = np.argmax if reduction == "max" else np.argmin
        result[terms[choose(values)]] = gradient.ravel()[pixel - 1]
    return result


@pytest.mark.parametrize("reduction", ["max", "min"])
@given(call=reduced_calls())
def test_the_gradient_of_a_maximum_goes_to_its_first_term(
    reduction: Any, call: tuple[Array, dict[str, Any]]
) -> None:
    columns, arguments = call
    x = torch.from_numpy(columns).requires_grad_()
    result = reblock.torch.fold(x, **arguments, reduction=reduction)
    gradient = torch.arange(1, result.numel() + 1).reshape(result.shape).to(result.dtype)
    result.backward(gradient)
    assert x.grad is not None
    expected = first_terms(columns, gradient.numpy(), arguments, reduction)
    assert np.array_equal(x.grad.numpy(), expected)


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_maxima_of_parts_and_in_other_layouts_have_gradients(reduction: Any) -> None:
    x = columns_of({})
    layout: dict[str, Any] = {"layout": "NLC", "out_layout": "NHWC"}
    plain, rows = x.clone().requires_grad_(), x.transpose(1, 2).clone().requires_grad_()
    first = reblock.torch.fold(plain, (9, 13), 4, **WINDOW, reduction=reduction)
    second = reblock.torch.fold(rows, (9, 13), 4, **WINDOW, **layout, reduction=reduction)
    (first.sin() * 2).sum().backward()
    (second.sin() * 2).sum().backward()
    assert plain.grad is not None
    assert rows.grad is not None
    assert torch.equal(plain.grad.transpose(1, 2), rows.grad)
    # Each pixel that has a term gives its gradient to one of them.
    assert torch.count_nonzero(plain.grad) <= first.numel()
    torch.testing.assert_close(plain.grad.sum(), (2 * first.cos()).sum())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_weights_may_be_tensors(dtype: torch.dtype) -> None:
    """Those of each axis are no sequence for Python, and may have different lengths."""
    rows, columns = torch.tensor([1, 2, 4], dtype=dtype), torch.tensor([1, 3], dtype=dtype)
    x = torch.rand((2, 6, 12), requires_grad=True)
    call: dict[str, Any] = {"output_sizes": (5, 5), "window_sizes": (3, 2), "reduction": "mean"}
    expected = reblock.torch.fold(x, **call, weights=[[1, 2, 4], [1, 3]])
    expected.sum().backward()
    for weights in ([rows, columns], (rows, columns), torch.outer(rows, columns)):
        y = x.detach().clone().requires_grad_()
        actual = reblock.torch.fold(y, **call, weights=weights)
        assert torch.equal(actual, expected)
        actual.sum().backward()
        assert y.grad is not None
        assert x.grad is not None
        assert torch.equal(y.grad, x.grad)


def test_weights_of_tensors_without_axes_are_numbers() -> None:
    x = torch.rand((1, 2, 5))
    weights = [torch.tensor(1.0), torch.tensor(3.0)]
    expected = reblock.torch.fold(x, 6, 2, weights=[1, 3])
    assert torch.equal(reblock.torch.fold(x, 6, 2, weights=weights), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_weights_too_small_for_a_mean_have_no_gradient(dtype: torch.dtype) -> None:
    small = 2.0**-110 if dtype == torch.float16 else 2.0**-810
    x = torch.ones((1, 2, 1), dtype=dtype, requires_grad=True)
    result = reblock.torch.fold(x, 2, 2, reduction="mean", weights=[small, 1])
    result.sum().backward()
    assert result.tolist() == [[[0, 1]]]
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0, 1]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_tensor_without_elements_in_memory_has_a_shape(layout: dict[str, Any]) -> None:
    x = columns_of(layout, torch.uint8)
    options: dict[str, Any] = {"reduction": "mean", "dtype": torch.float32}
    expected = reblock.torch.fold(x, (9, 13), 4, **WINDOW, **layout, **options)
    actual = reblock.torch.fold(x.to("meta"), (9, 13), 4, **WINDOW, **layout, **options)
    assert (actual.device.type, actual.shape) == ("meta", expected.shape)
    assert actual.dtype == torch.float32


# The transforms of PyTorch

WITHOUT_BATCH: list[dict[str, Any]] = [
    {"layout": "LC", "out_layout": "HWC"},
    {"layout": "CL", "out_layout": "NHWC"},
]
every_layout = pytest.mark.parametrize("layout", LAYOUTS + WITHOUT_BATCH, ids=str)
every_option = pytest.mark.parametrize("options", OPTIONS, ids=OPTION_IDS)


def fold(x: torch.Tensor, layout: dict[str, Any], options: dict[str, Any]) -> torch.Tensor:
    return reblock.torch.fold(x, (9, 13), 4, **WINDOW, **layout, **options)


def assert_close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare but for the last bit, which depends on the order of the columns in memory."""
    torch.testing.assert_close(actual, expected, rtol=1e-13, atol=1e-13)


@every_layout
@every_option
def test_mapped_over_any_axis(layout: dict[str, Any], options: dict[str, Any]) -> None:
    samples = [random_columns(layout, seed) for seed in range(3)]
    expected = torch.stack([fold(x, layout, options) for x in samples])
    for axis in range(-1, samples[0].ndim + 1):
        mapped = torch.vmap(lambda x: fold(x, layout, options), in_dims=axis)
        assert_close(mapped(torch.stack(samples, axis)), expected)


@pytest.mark.parametrize(
    "options", [{"reduction": "max"}, {"reduction": "mean", "dtype": torch.bfloat16}], ids=str
)
def test_mapped_twice(options: dict[str, Any]) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x, (4, 4), (2, 2), **options)

    x = torch.randint(0, 99, (2, 3, 5, 8, 9), dtype=torch.uint8)
    mapped = torch.vmap(torch.vmap(run, in_dims=1), in_dims=0)(x)
    for i, j in np.ndindex(2, 5):
        assert torch.equal(mapped[i, j], run(x[i, :, j]))


def test_a_map_of_an_error_is_the_error() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x, 5, 2, layout="NCL", out_layout="CH", reduction="mean")

    x = torch.zeros(3, 2, 4, 4)
    with pytest.raises(ValueError, match=r"^out_layout must have") as expected:
        run(x[0])
    with pytest.raises(ValueError, match=f"^{re.escape(str(expected.value))}$"):
        torch.vmap(run)(x)


@every_layout
@every_option
def test_gradients_of_each_sample(layout: dict[str, Any], options: dict[str, Any]) -> None:
    x = torch.stack([random_columns(layout, seed) for seed in range(3)])

    def loss(x: torch.Tensor) -> torch.Tensor:
        return fold(x, layout, options).sin().sum()

    leaf = x.clone().requires_grad_()
    torch.stack([loss(each) for each in leaf]).sum().backward()
    assert leaf.grad is not None
    assert_close(torch.vmap(torch.func.grad(loss))(x), leaf.grad)
    assert_close(torch.func.grad(lambda x: torch.vmap(loss)(x).sum())(x), leaf.grad)


@every_layout
@every_option
def test_forward_mode(layout: dict[str, Any], options: dict[str, Any]) -> None:
    x, direction = random_columns(layout, 0), random_columns(layout, 1)

    def run(x: torch.Tensor) -> torch.Tensor:
        return fold(x, layout, options)

    result, derivative = torch.func.jvp(run, (x,), (direction,))
    assert torch.equal(result, run(x))
    _, pull = torch.func.vjp(run, x)
    back = torch.func.vjp(lambda v: pull(v)[0], torch.ones_like(result))[1]
    assert_close(derivative, back(direction)[0])
    with forward_ad.dual_level():
        dual = run(forward_ad.make_dual(x, direction))
        assert torch.equal(forward_ad.unpack_dual(dual).tangent, derivative)
    x = x.requires_grad_()
    assert torch.autograd.gradcheck(run, x, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(run, x, fast_mode=True, check_fwd_over_rev=True)


@every_option
def test_hessians(options: dict[str, Any]) -> None:
    """By a product of derivatives as well as by one of a derivative: in all four ways."""
    x = random_columns({}, 0)[:1, :8, :3]
    options = {**options, "weights": [1, 3]} if "weights" in options else options

    def f(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x**3, 4, 2, **options).square().sum()

    expected = torch.autograd.functional.hessian(f, x)
    for outer in (torch.func.jacfwd, torch.func.jacrev):
        for inner in (torch.func.jacfwd, torch.func.jacrev):
            torch.testing.assert_close(outer(inner(f))(x), expected)


@pytest.mark.parametrize("reduction", ["sum", "max"])
def test_whole_numbers_have_no_derivative(reduction: Any) -> None:
    x = random_columns({}, 0)
    options: dict[str, Any] = {"reduction": reduction, "dtype": torch.int32}
    result, derivative = torch.func.jvp(lambda x: fold(x * 9, {}, options), (x,), (x,))
    assert torch.equal(result, fold(x * 9, {}, options))
    assert not derivative.any()
    assert not fold(x.requires_grad_(), {}, options).requires_grad


def test_gradients_with_a_layout_and_one_size_for_all_axes() -> None:
    window: dict[str, Any] = {"output_sizes": 4, "window_sizes": (2, 2), "reduction": "mean"}
    x = torch.rand(2, 12, 9, requires_grad=True)
    rows = x.detach().transpose(1, 2).clone().requires_grad_()
    reblock.torch.fold(x, **window).square().sum().backward()
    reblock.torch.fold(rows, **window, layout="NLC").square().sum().backward()
    assert x.grad is not None
    assert rows.grad is not None
    assert torch.equal(rows.grad.transpose(1, 2), x.grad)


def test_the_gradient_of_real_columns_is_real() -> None:
    x = torch.rand(1, 2, 3, requires_grad=True)
    result = reblock.torch.fold(x, 4, 2, dtype=torch.complex64)
    (result * (2 + 3j)).real.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.full_like(x, 2))


@pytest.mark.parametrize(
    ("name", "value"),
    [("reduction", "mean"), ("weights", np.ones((4, 4))), ("dtype", torch.float32)],
)
def test_compiled_functions_are_refused(name: str, value: Any) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x, (9, 13), 4, **WINDOW, **{name: value})

    with pytest.raises(Exception, match=f"{name} is not for compiled functions"):
        torch.compile(run, backend="eager", fullgraph=True)(columns_of({}))


@pytest.mark.parametrize("reduction", ["mean", "max"])
def test_what_would_be_a_constant_of_a_graph_is_refused(reduction: Any) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x, (9, 13), 4, **WINDOW, reduction=reduction)

    x = columns_of({})
    ways: list[Callable[[], Any]] = [
        lambda: make_fx(run)(x),
        lambda: torch.func.linearize(run, x),
        lambda: run(FakeTensorMode().from_tensor(x)),
    ]
    for way in ways:
        with pytest.raises(NotImplementedError, match="reduction, weights or a dtype is not for"):
            way()


def test_weights_that_a_transform_changes_are_refused() -> None:
    def run(weights: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(columns_of({}), (9, 13), 4, **WINDOW, weights=weights).sum()

    for way in (torch.vmap(run), torch.func.grad(run)):
        with pytest.raises(NotImplementedError, match="weights must be constant"):
            way(torch.ones(4, 4, 4))


def test_conjugates_and_negatives_that_were_put_off_are_made() -> None:
    x = torch.complex(columns_of({}), columns_of({}) * 3)
    for columns in (x.conj(), x.conj().imag):
        call: dict[str, Any] = {"output_sizes": (9, 13), "window_sizes": 4, "reduction": "mean"}
        made = columns.resolve_conj().resolve_neg().numpy()
        expected = reblock.fold(made, **call, **WINDOW)
        assert np.array_equal(reblock.torch.fold(columns, **call, **WINDOW).numpy(), expected)


def test_a_numpy_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match=r"dtype must be a torch\.dtype"):
        reblock.torch.fold(columns_of({}), (9, 13), 4, **WINDOW, dtype=np.float32)
