"""torch.compile on convolutional nets: convolutions and pooling stay in eager, what lies between becomes fusions."""

import pytest
import torch
import torch.nn.functional as F
from dynamo_helpers import assert_same
from torch import nn


class ResidualBlock(nn.Module):
    """Two convolutions with batch norm, and a shortcut."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv_1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv_2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm_1, self.norm_2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm_1(self.conv_1(x)))
        return F.relu(self.norm_2(self.conv_2(y)) + x)


class ConvNet(nn.Module):
    """A stem, one residual block, pooling, a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.block = ResidualBlock(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        return self.head(F.adaptive_avg_pool2d(self.block(x), 1).flatten(1))


@pytest.mark.parametrize("train", [False, True])
def test_conv_net(train):
    report = assert_same(ConvNet(), torch.randn(2, 3, 16, 16), train=train, tolerance=1e-4)
    assert report.eager_ops["aten.convolution.default"] == 3
    assert report.graphs[0].num_fusions >= 3


def test_eval_mode():
    report = assert_same(ConvNet().eval().requires_grad_(False), torch.randn(2, 3, 16, 16))
    assert report.graphs[0].kind == "inference"


def test_channels_last_strides_are_kept():
    model = ConvNet().to(memory_format=torch.channels_last)

    def activations(x):
        return F.relu(model.block(F.relu(model.stem(x))))

    x = torch.randn(2, 3, 16, 16).to(memory_format=torch.channels_last)
    assert_same(activations, x, train=True, tolerance=1e-4)


def test_depthwise_and_transposed():
    net = nn.Sequential(
        nn.Conv2d(4, 4, 3, groups=4), nn.GELU(), nn.ConvTranspose2d(4, 2, 2, stride=2), nn.GroupNorm(1, 2), nn.SiLU()
    )
    assert_same(net, torch.randn(1, 4, 9, 9), train=True, tolerance=1e-4)


def test_second_batch_size():
    model = ConvNet().eval().requires_grad_(False)
    more = ((torch.randn(5, 3, 16, 16),), (torch.randn(3, 3, 16, 16),))
    assert_same(model, torch.randn(2, 3, 16, 16), more_inputs=more)
