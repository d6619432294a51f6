"""`dlbench weights show|convert`: files of weights, ours and those of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.console import Json, print_json, print_rows, say

app = typer.Typer(
    help="Files of weights: show, convert.", no_args_is_help=True, rich_markup_mode=None
)
File = Annotated[Path, typer.Argument(help=".npz, .npy, .safetensors, .pt or .pth.")]


@app.command("show")
def show(file: File, json: Json = False) -> None:
    """The tensors of a file: names, shapes, types, sizes.

    Nothing in the file is executed.

    \b
    dlbench weights show resnet50.pth
    dlbench weights show results/DIR/trials/ID/out/weights.npz --json
    """
    from dlbench.plain_json import printable
    from dlbench.statistics.words import count
    from dlbench.weights.tensor_files import read_tensors

    found = read_tensors(file)
    if json:
        print_json(
            {
                "format": found.kind,
                "notes": found.notes,
                "tensors": [
                    {"name": t.name, "shape": t.values.shape, "dtype": t.stored, "bytes": t.bytes}
                    for t in found.tensors.values()
                ],
            }
        )
        return
    print_rows(
        found.tensors.values(),
        {
            "tensor": lambda t: printable(t.name, 200),
            "shape": lambda t: " x ".join(map(str, t.values.shape)) or "-",
            "type": lambda t: t.stored,
            ">bytes": lambda t: f"{t.bytes:,}",
        },
    )
    total = sum(t.bytes for t in found.tensors.values())
    numbers = sum(t.values.size for t in found.tensors.values())
    tensors = count(len(found.tensors), "tensor")
    say(f"{found.kind}: {tensors}, {numbers:,} numbers, {total:,} bytes.")
    for note in found.notes:
        say(note)


def _made_of(sources: tuple[str, ...]) -> str:
    """The tensors' names; of several of one layer its name, then theirs."""
    layers = {name.rpartition(".")[0] for name in sources}
    if len(sources) == 1 or len(layers) > 1 or layers == {""}:
        return ", ".join(sources)
    return f"{layers.pop()}: {', '.join(name.rpartition('.')[2] for name in sources)}"


@app.command("convert")
def convert(
    file: File,
    workload: Annotated[
        str, typer.Option("--workload", help="Whose parameters they become.", metavar="NAME")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="The file to be written.", metavar="FILE")
    ],
    chosen: Annotated[
        str,
        typer.Option(
            "--map",
            help="A TOML file that says which layer is which node, or torchvision-resnet.",
            metavar="MAP",
        ),
    ] = "",
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            help="The order of axes, where names do not say it.",
            metavar="torch|keras",
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Make weights for `dlbench run` of another program's.

    Axes, gates and statistics are turned into dlbench's layout, float16, bfloat16 and float64 into
    float32. What was not used and what was not filled is listed.

    \b
    dlbench weights convert resnet50.pth --workload cifar10-resnet50 -o weights.npz
    dlbench weights convert resnet50.safetensors --workload voc2012-faster-rcnn -o backbone.npz
    dlbench weights convert mine.npz --workload digits-cnn -o weights.npz --map mine.toml
    """
    from dlbench import workloads
    from dlbench.errors import UserError
    from dlbench.plain_json import printable
    from dlbench.weights.canonical import save_canonical
    from dlbench.weights.convert import convert as converted
    from dlbench.weights.tensor_files import read_tensors

    model = workloads.find(workload)
    if out.exists():
        raise UserError(f"{out} exists already.", "Choose another name with -o.")
    made = converted(read_tensors(file), model.graph, chosen, layout)
    digest = save_canonical(made.arrays, out)
    if json:
        print_json({"file": str(out), "digest": digest, "workload": workload, **made.to_json()})
        return
    print_rows(
        made.sources.items(),
        {
            "parameter": lambda one: one[0],
            "shape": lambda one: " x ".join(map(str, made.arrays[one[0]].shape)),
            "made of": lambda one: printable(_made_of(one[1]), 300),
        },
        title=f"{file.name} to {workload}, by {made.map_name}",
    )
    every = len(made.sources) + len(made.unfilled)
    say(f"{len(made.sources)} of {every} parameters of {workload} were filled.")
    if made.unfilled:
        say(f"Not filled, to be drawn from the seed: {', '.join(made.unfilled)}.")
    if made.unused:
        say(f"Tensors that were not used: {printable(', '.join(made.unused), 100_000)}.")
    for note in made.notes:
        say(note)
    say(f"Written: {out} ({digest[:8]}…). Start from it with:", whole=True)
    say(f"  dlbench run --workload {workload} --weights {out}", whole=True)
