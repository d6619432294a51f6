"""Faster R-CNN in small (voc2012-faster-rcnn-small), in plain PyTorch.

Only anchors, suppression and targets come from a library: bench.detection, on the host.
"""

import torch
from torch import nn
from torch.nn import functional as F

from bench.detection.proposals import propose
from handwritten import DETECTOR, timed

_CLASSES, _ANCHORS = DETECTOR["classes"], len(DETECTOR["scales"]) * len(DETECTOR["ratios"])
_RPN_TARGETS = ("rpn_labels", "rpn_label_weights", "rpn_deltas", "rpn_delta_weights")


class FrozenNorm(nn.Module):
    """Batch normalisation whose numbers never change."""

    def __init__(self, channels):
        super().__init__()
        self.register_buffer("scale", torch.ones(channels, 1, 1))
        self.register_buffer("offset", torch.zeros(channels, 1, 1))

    def forward(self, x):
        return x * self.scale + self.offset


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.norm1 = FrozenNorm(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = FrozenNorm(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.norm3 = FrozenNorm(4 * width)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != 4 * width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride, bias=False), FrozenNorm(4 * width)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)))
        return F.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


class RpnHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Conv2d(128, 48, 3, padding=1)
        self.scores = nn.Conv2d(48, _ANCHORS, 1)
        self.moves = nn.Conv2d(48, 4 * _ANCHORS, 1)

    def forward(self, features):
        hidden = F.relu(self.hidden(features))
        return self.scores(hidden), self.moves(hidden)


class RoiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Bottleneck(128, 32)
        self.scores = nn.Linear(128, _CLASSES + 1)
        self.moves = nn.Linear(128, 4 * _CLASSES)

    def forward(self, regions):
        y = self.block(regions).mean((2, 3))
        return self.scores(y), self.moves(y)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.fixed = nn.Sequential(
            *[nn.Conv2d(3, 12, 7, 2, 3, bias=False), FrozenNorm(12), nn.ReLU()],
            *[nn.MaxPool2d(3, 2, 1), Bottleneck(12, 12)],
        )
        for parameter in self.fixed.parameters():
            parameter.requires_grad = False
        self.backbone = nn.Sequential(Bottleneck(48, 16, 2), Bottleneck(64, 32, 2))
        self.rpn, self.head = RpnHead(), RoiHead()

    def forward(self, image, rpn_targets, truth):
        """The sum of all four losses."""
        features = self.backbone(self.fixed(image))
        rpn_scores, rpn_moves = self.rpn(features)
        rois = proposed(rpn_scores, rpn_moves, truth)
        scores, moves = self.head(roi_align(features, rois["wy"], rois["wx"]))
        labels, label_weights, deltas, delta_weights = rpn_targets
        rpn_loss = F.binary_cross_entropy_with_logits(
            rpn_scores, labels, label_weights, reduction="sum"
        ) + masked_smooth_l1(rpn_moves, deltas, delta_weights)
        by_row = F.cross_entropy(scores, rois["labels"].long(), reduction="none")
        loss = (by_row * rois["label_weights"]).sum() + masked_smooth_l1(
            moves, rois["deltas"], rois["delta_weights"]
        )
        return rpn_loss / DETECTOR["rpn_samples"] + loss / DETECTOR["rois"]


def proposed(scores, moves, truth):
    """Regions of interest and their targets, found on the host; no gradient goes through."""
    answers = [x.detach().permute(0, 2, 3, 1).numpy() for x in (scores, moves)]
    made = propose(*answers, *truth, spec=DETECTOR, training=True)
    return {name: torch.from_numpy(array) for name, array in made.items()}


def roi_align(features, wy, wx):
    """[R, C, 7, 7]: rows of all regions in one product, then their columns."""
    (image,) = features
    channels, _, width = image.shape
    rows = wy.flatten(0, 1) @ image.transpose(0, 1).flatten(1)
    cells = rows.view(len(wy), -1, width) @ wx.transpose(1, 2)
    return cells.view(len(wy), -1, channels, wx.shape[1]).transpose(1, 2).contiguous()


def masked_smooth_l1(output, target, weights):
    """The target is 0 wherever the weight is."""
    return F.smooth_l1_loss(output * weights, target, reduction="sum")


def make(weights):
    """(run, losses of all steps so far, number of parameters that learn)."""
    net = Detector()
    load(net, weights)
    net.train()
    learning = [p for p in net.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in learning if p.dim() > 1], "weight_decay": 5e-4},
        {"params": [p for p in learning if p.dim() == 1]},
    ]
    optimizer = torch.optim.Adam(groups, lr=1e-3)
    losses = []

    def ready(batch):
        image, *targets = (
            torch.from_numpy(batch[name].transpose(0, 3, 1, 2).copy())
            for name in ("image", *_RPN_TARGETS)
        )
        return image, targets, [batch[name] for name in ("boxes", "classes", "size", "seed")]

    def step(image, rpn_targets, truth):
        optimizer.zero_grad()
        loss = net(image, rpn_targets, truth)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())

    return timed(ready, step), losses, sum(p.numel() for p in learning)


def load(net, weights):
    """Put weights in the order of the layers, kernels as HWIO and [in, out], into the net."""
    arrays = [
        value.transpose(3, 2, 0, 1) if value.ndim == 4 else value.T
        for own in weights.values()
        for value in (own[name] for name in ("kernel", "bias", "scale", "offset") if name in own)
    ]
    state = net.state_dict()
    if len(arrays) != len(state):
        raise ValueError("{} arrays for {} of the model".format(len(arrays), len(state)))
    net.load_state_dict(
        {name: torch.from_numpy(array.copy()).view_as(state[name])
         for name, array in zip(state, arrays)}
    )  # fmt: skip
