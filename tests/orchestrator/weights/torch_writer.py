"""Runs in PyTorch's environment: a model of its own, what it saves, and what it computes.

python torch_writer.py FOLDER    model.pt and others, batch.npz (inputs and output)
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

torch.manual_seed(5)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.words = nn.Embedding(9, 5)
        self.memory = nn.LSTM(5, 6, batch_first=True)
        self.hidden = nn.Linear(4 * 3 * 2 + 6, 7)
        self.norm = nn.BatchNorm1d(7)
        self.head = nn.Linear(7, 3)

    def forward(self, image, words):
        x = torch.relu(self.stem(image)).flatten(1)
        _, (h, _) = self.memory(self.words(words))
        return self.head(self.norm(self.hidden(torch.cat([x, h[0]], 1))))


folder = Path(sys.argv[1])
net = Net()
image, words = torch.randn(8, 2, 3, 2), torch.randint(0, 9, (8, 4))
optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
for _ in range(3):  # running statistics move
    net(torch.randn(8, 2, 3, 2), torch.randint(0, 9, (8, 4))).sum().backward()
    optimizer.step()
net.eval()
torch.save(net.state_dict(), str(folder / "model.pt"))
torch.save(
    {"epoch": 3, "state_dict": nn.DataParallel(net).state_dict()}, str(folder / "wrapped.pt")
)
torch.save(net.state_dict(), str(folder / "legacy.pt"), _use_new_zipfile_serialization=False)
torch.save(
    {n: v.to(torch.bfloat16) if v.is_floating_point() else v for n, v in net.state_dict().items()},
    str(folder / "half.pt"),
)
checkpoint = {  # as training scripts write them, with other things beside the weights
    "args": argparse.Namespace(lr=0.1),
    "best": torch.tensor(0.5),
    "best_of_numpy": np.float64(0.5),
    "model": net.state_dict(),
    "optimizer": optimizer.state_dict(),
}
torch.save(checkpoint, str(folder / "checkpoint.pt"))
torch.save(checkpoint, str(folder / "legacy_checkpoint.pt"), _use_new_zipfile_serialization=False)
flat = torch.cat([v.flatten() for v in net.state_dict().values() if v.is_floating_point()])
strided, start = {}, 0  # all in one storage, matrices by columns
for name, value in net.state_dict().items():
    if value.is_floating_point():
        part = flat[start : start + value.numel()]
        if value.dim() == 2:
            part.view(value.t().shape).copy_(value.t())
            strided[name] = part.view(value.t().shape).t()
        else:
            strided[name] = part.view(value.shape)
        start += value.numel()
    else:
        strided[name] = value
torch.save(strided, str(folder / "strided.pt"))
torch.save(net, str(folder / "whole.pt"))
with torch.no_grad():
    output = net(image, words).numpy()
np.savez(
    str(folder / "batch.npz"),
    image=image.numpy().transpose(0, 2, 3, 1),
    words=words.numpy().astype(np.int32),
    output=output,
)
