# SPDX-License-Identifier: BSD-3-Clause
"""reblock.torch.nn: PyTorch's modules, with everything that models do with modules."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

import reblock.torch
from reblock.torch import _operators

pytestmark = [
    # They are there to be used; the category of the warning depends on the version.
    pytest.mark.filterwarnings(r"ignore:`torch\.jit\.\w+` is deprecated"),
    # Of Python 3.13.0 alone.
    pytest.mark.filterwarnings("ignore:Guards may run slower on Python:RuntimeWarning"),
]

NAMES = ("PixelShuffle", "PixelUnshuffle", "Unfold", "Fold")

# Arguments of one module of each kind, and an input for it.
WINDOW = {"dilation": (1, 2), "padding": (1, 0), "stride": (2, 1)}
SAMPLES: dict[str, tuple[tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = {
    "PixelShuffle": ((3,), {}, (2, 18, 4, 5)),
    "PixelUnshuffle": ((3,), {}, (2, 2, 12, 15)),
    "Unfold": (((3, 2),), WINDOW, (2, 3, 7, 6)),
    "Fold": (((7, 6), (3, 2)), WINDOW, (2, 18, 16)),
}

every_module = pytest.mark.parametrize("name", NAMES)


def pair(name: str, *arguments: Any, **keywords: Any) -> tuple[nn.Module, nn.Module]:
    """Return reblock's module and PyTorch's."""
    return (
        getattr(reblock.torch.nn, name)(*arguments, **keywords),
        getattr(nn, name)(*arguments, **keywords),
    )


def sample(name: str) -> tuple[nn.Module, nn.Module, torch.Tensor]:
    """Return both modules and an input of small integers."""
    arguments, keywords, shape = SAMPLES[name]
    return *pair(name, *arguments, **keywords), integers(shape)


def integers(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Make a tensor of small integers: their sums are exact."""
    torch.manual_seed(0)
    return torch.randint(-9, 10, shape).to(dtype)


class Network(nn.Module):  # type: ignore[misc] # the types of torch are left out
    """Upscales a small image with every one of the modules."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.PixelUnshuffle(2), nn.Conv2d(4, 12, 3, padding=1), nn.ReLU(), nn.PixelShuffle(2)
        )
        self.patches = nn.Unfold(2, stride=2)
        self.mix = nn.Linear(12, 12)
        self.picture = nn.Fold((6, 8), 2, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patches(self.features(x))
        return self.picture(self.mix(patches.transpose(1, 2)).transpose(1, 2))


REPLACED = ["features.0", "features.3", "patches", "picture"]


def networks() -> tuple[nn.Module, nn.Module, torch.Tensor]:
    """Return a network, the same one accelerated, and an input."""
    torch.manual_seed(0)
    network = Network()
    accelerated = copy.deepcopy(network)
    assert list(reblock.torch.accelerate(accelerated)) == REPLACED
    return network, accelerated, torch.randn(3, 1, 6, 8)


def left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every operator of reblock fail."""

    def fail(*_: object) -> None:
        raise AssertionError("this is reblock")

    for name in ("depth_to_space", "space_to_depth", "unfold", "fold"):
        monkeypatch.setattr(_operators, name, fail)


# Results

# Nothing empty: PyTorch gives an empty batch a wrong shape.
BATCHES = st.lists(st.integers(1, 3), max_size=3).map(tuple)
DTYPES = st.sampled_from([torch.float32, torch.bfloat16, torch.int16, torch.complex64])


@given(st.data())
def test_shuffles_are_those_of_pytorch(data: st.DataObject) -> None:
    """Of any number of batch axes, in the same memory format."""
    factor = data.draw(st.integers(1, 4))
    batch, dtype = data.draw(BATCHES), data.draw(DTYPES)
    channels, height, width = data.draw(st.tuples(*[st.integers(1, 4)] * 3))
    for name, shape in (
        ("PixelShuffle", (channels * factor**2, height, width)),
        ("PixelUnshuffle", (channels, height * factor, width * factor)),
    ):
        x = integers((*batch, *shape), dtype)
        if len(batch) == 1 and data.draw(st.booleans()):
            x = x.to(memory_format=torch.channels_last)
        own, theirs = pair(name, factor)
        assert torch.equal(own(x), theirs(x))
        if not x.is_contiguous():  # else it is in both formats, with one channel for instance
            assert own(x).is_contiguous(memory_format=torch.channels_last)
            assert theirs(x).is_contiguous(memory_format=torch.channels_last)


def per_axis(least: int, most: int) -> st.SearchStrategy[Any]:
    numbers = st.integers(least, most)
    return numbers | st.tuples(numbers, numbers)


@given(st.data())
def test_windows_are_those_of_pytorch(data: st.DataObject) -> None:
    """With and without a batch."""
    sizes = data.draw(st.integers(1, 9) | st.tuples(st.integers(1, 9), st.integers(1, 9)))
    extents = (sizes, sizes) if isinstance(sizes, int) else sizes
    kernel = data.draw(per_axis(1, 3))
    window = {
        "dilation": data.draw(per_axis(1, 3)),
        "padding": data.draw(per_axis(0, 2)),
        "stride": data.draw(per_axis(1, 3)),
    }
    x = integers((*data.draw(st.sampled_from([(), (1,), (3,)])), 2, *extents))
    x = x.to(data.draw(st.sampled_from([torch.float32, torch.float64, torch.complex64])))
    own, theirs = pair("Unfold", kernel, **window)
    try:
        columns = theirs(x)
    except RuntimeError:
        assume(False)  # no window fits
    assert torch.equal(own(x), columns)
    own, theirs = pair("Fold", sizes, kernel, **window)
    assert torch.equal(own(columns), theirs(columns))


@every_module
def test_arguments_and_looks_are_those_of_pytorch(name: str) -> None:
    own, theirs, x = sample(name)
    assert isinstance(own, type(theirs))
    assert repr(own) == repr(theirs)
    assert own.state_dict() == theirs.state_dict() == {}
    assert torch.equal(own(input=x), theirs(input=x))


@every_module
def test_the_work_is_done_by_reblock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, _, x = sample(name)
    left_to_pytorch(monkeypatch)
    with pytest.raises(AssertionError, match="this is reblock"):
        own(x)


@every_module
def test_gradients_are_those_of_pytorch(name: str) -> None:
    own, theirs, x = sample(name)
    x = x.double().requires_grad_()
    ours, expected = (torch.autograd.grad(f(x).pow(2).sum(), x) for f in (own, theirs))
    assert torch.equal(*ours, *expected)
    assert torch.autograd.gradgradcheck(own, x, fast_mode=True)


# Whole models


def test_an_accelerated_network_learns_the_same() -> None:
    network, accelerated, x = networks()
    losses: list[list[float]] = []
    for each in (network, accelerated):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
        losses.append([])
        for _ in range(4):
            loss = (each(x) - x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[0] == pytest.approx(losses[1])
    assert losses[0][-1] < losses[0][0]


def test_compiled_for_any_batch() -> None:
    _, accelerated, x = networks()
    torch.compiler.reset()
    compiled = torch.compile(accelerated, fullgraph=True, dynamic=True, backend="aot_eager")
    for batch in (x, x[:2]):
        torch.testing.assert_close(compiled(batch), accelerated(batch))


def test_exported_and_mapped() -> None:
    network, accelerated, x = networks()
    program = torch.export.export(accelerated, (x,))
    torch.testing.assert_close(program.module()(x), network(x))
    samples = torch.stack([x, x + 1])
    torch.testing.assert_close(torch.vmap(accelerated)(samples), torch.vmap(network)(samples))


def test_copied_pickled_and_saved() -> None:
    network, accelerated, x = networks()
    expected = accelerated(x)
    file = io.BytesIO()
    torch.save(accelerated, file)
    file.seek(0)
    for other in (
        copy.deepcopy(accelerated),
        pickle.loads(pickle.dumps(accelerated)),
        torch.load(file, weights_only=False),
    ):
        assert type(other.patches) is reblock.torch.nn.Unfold
        assert torch.equal(other(x), expected)
    state = network.state_dict()
    assert state.keys() == accelerated.state_dict().keys()
    accelerated.load_state_dict(state)


def test_scripts_and_traces_have_the_operators_of_pytorch() -> None:
    """They are read where there is no reblock."""
    network, accelerated, x = networks()
    for recorded in (torch.jit.script(accelerated), torch.jit.trace(accelerated, (x,))):
        torch.testing.assert_close(recorded(x), network(x))
        assert "reblock::" not in str(recorded.inlined_graph)
    assert type(accelerated.patches) is reblock.torch.nn.Unfold


def test_traced_by_torch_fx() -> None:
    network, accelerated, x = networks()
    torch.testing.assert_close(torch.fx.symbolic_trace(accelerated)(x), network(x))


# What is left to PyTorch


@every_module
def test_other_devices_are_left_to_pytorch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device "meta" stands for all: every machine has it."""
    own, theirs, x = sample(name)
    left_to_pytorch(monkeypatch)
    assert own(x.to("meta")).shape == theirs(x).shape


@every_module
def test_what_onnx_exports_is_left_to_pytorch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, theirs, x = sample(name)
    left_to_pytorch(monkeypatch)
    monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
    assert torch.equal(own(x), theirs(x))


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, :UserWarning")
def test_quantized_tensors_are_left_to_pytorch() -> None:
    own, theirs, x = sample("PixelShuffle")
    x = torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)
    assert torch.equal(own(x).int_repr(), theirs(x).int_repr())


@every_module
def test_other_numbers_of_axes_are_left_to_pytorch(name: str) -> None:
    own, theirs, _ = sample(name)
    wrong: list[Any] = [torch.zeros(4), torch.zeros(1, 1, 1, 4, 4).tolist(), None]
    if name in ("Unfold", "Fold"):
        wrong.append(torch.zeros(1, 1, 1, 4, 4))
    for x in wrong:
        with pytest.raises((RuntimeError, TypeError, IndexError)) as expected:
            theirs(x)
        with pytest.raises(expected.type) as caught:
            own(x)
        assert str(caught.value) == str(expected.value)


# What accelerate replaces


def test_modules_stay_the_same_objects() -> None:
    seen: list[nn.Module] = []
    model = nn.Sequential(nn.Conv2d(1, 4, 1), nn.PixelShuffle(2)).eval()
    shuffle = model[1]
    shuffle.register_forward_hook(lambda module, *_: seen.append(module))
    assert reblock.torch.accelerate(model) == {"1": shuffle}
    assert type(shuffle) is reblock.torch.nn.PixelShuffle
    assert not shuffle.training
    model(torch.zeros(1, 1, 2, 2))
    assert seen == [shuffle]


def test_a_model_that_is_one_module() -> None:
    model = nn.Unfold(2)
    assert reblock.torch.accelerate(model) == {"": model}
    assert type(model) is reblock.torch.nn.Unfold


def test_a_module_in_several_places_is_told_by_each_name() -> None:
    shared = nn.PixelShuffle(2)
    model = nn.ModuleList([shared, nn.Identity(), shared])
    assert reblock.torch.accelerate(model) == {"0": shared, "2": shared}
    assert type(shared) is reblock.torch.nn.PixelShuffle


class Derived(nn.PixelShuffle):  # type: ignore[misc] # as above
    """Somebody's own."""


def test_everything_else_is_left_alone() -> None:
    model = nn.Sequential(Derived(2), nn.Conv2d(1, 1, 1), reblock.torch.nn.PixelShuffle(1))
    types = [type(module) for module in model.modules()]
    assert reblock.torch.accelerate(model) == {}
    assert [type(module) for module in model.modules()] == types


@pytest.mark.parametrize("wrong", [None, nn.PixelShuffle, lambda x: x])
def test_what_is_no_module_is_refused(wrong: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"^model must be a torch.nn.Module, got \w+$"):
        reblock.torch.accelerate(wrong)
