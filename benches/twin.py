#!/usr/bin/env python3
"""The shipped network written again in PyTorch from its description: checked against the engine's own output, exported to
ONNX, and timed under ONNX Runtime side by side with the engine's backends, one thread each, in alternation.

    cargo bench --bench evaluate --no-run
    python3 benches/twin.py target/release/deps/evaluate-* weights/glance.safetensors

Needs torch, numpy, onnx and onnxruntime.
"""

import json
import statistics
import struct
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn

PROMOTIONS = "qrbn"


def read_safetensors(path):
    data = open(path, "rb").read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    config = json.loads(header.pop("__metadata__")["glance.config"])
    tensors = {}
    for name, entry in header.items():
        low, high = entry["data_offsets"]
        kind = {"F16": np.float16, "F32": np.float32}[entry["dtype"]]
        values = np.frombuffer(data[8 + size + low : 8 + size + high], kind).astype(np.float32)
        tensors[name] = torch.tensor(values.reshape(entry["shape"]))
    return config, tensors


def vocabulary():
    """The 1,968 moves in their order: by from-square, queen and knight moves by to-square, then promotions."""
    moves = []
    for start in range(64):
        x, y = start % 8, start // 8
        for end in range(64):
            dx, dy = abs(end % 8 - x), abs(end // 8 - y)
            if start != end and (dx == 0 or dy == 0 or dx == dy or sorted((dx, dy)) == [1, 2]):
                moves.append((start, end, None))
        for rank, last in ((6, 7), (1, 0)):
            if y == rank:
                for end in range(last * 8, last * 8 + 8):
                    if abs(end % 8 - x) <= 1:
                        moves += [(start, end, piece) for piece in range(4)]
    assert len(moves) == 1968
    return moves


def gather_table():
    table = []
    for start, end, piece in vocabulary():
        if piece is None or end < 56:
            table.append(start * 64 + end)
        else:
            table.append(4096 + ((start % 8) * 8 + end % 8) * 4 + piece)
    return torch.tensor(table)


def norm(x):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)


def edge_kinds(config):
    """The trunk's kinds of edges, and what the policy has besides: those that a network is shown."""
    of_trunk = config["trunk"].get("edges", [])
    return of_trunk + [kind for kind in config["policy"].get("edges", []) if kind not in of_trunk]


class Twin(nn.Module):
    def __init__(self, config, tensors):
        super().__init__()
        self.config, self.t = config, tensors
        self.register_buffer("table", gather_table())

    def linear(self, name, x):
        y = x @ self.t[f"{name}.weight"]
        bias = self.t.get(f"{name}.bias")
        return y if bias is None else y + bias

    def gain(self, name, rows, heads, kinds, edges):
        """What logits of one square looking at another gain along edges of some kinds: `[n, heads, 64, 64]`."""
        edges = edges[:, [edge_kinds(self.config).index(kind) for kind in kinds]]
        n, kinds = edges.shape[:2]
        gates = self.linear(f"{name}.edge_bias.gates", rows).reshape(n, 64, kinds, 4, heads).permute(2, 3, 0, 4, 1)
        gained = 0.0
        for kind in range(kinds):
            first, second, third, fourth = gates[kind]
            there = edges[:, kind : kind + 1]
            gained = gained + there * (first.unsqueeze(3) + second.unsqueeze(2))
            gained = gained + there.transpose(2, 3) * (third.unsqueeze(3) + fourth.unsqueeze(2))
        return gained

    def block(self, i, x, edges):
        trunk, name = self.config["trunk"], f"trunk.blocks.{i}"
        n, heads, d = x.shape[0], trunk["heads"], trunk["d_model"]
        y = norm(x)
        split = lambda t: t.reshape(n, 64, heads, d // heads).transpose(1, 2)
        q, k, v = (split(self.linear(f"{name}.{p}", y)) for p in ("query", "key", "value"))
        scores = q @ k.transpose(2, 3) / (d // heads) ** 0.5
        if trunk["static_bias"]:
            scores = scores + self.t[f"{name}.static_bias.map"].reshape(1, heads, 64, 64)
        if trunk["smolgen"]:
            g = f"{name}.generator"
            code = self.linear(f"{g}.compress", y).reshape(n, -1)
            code = self.linear(f"{g}.generate", torch.relu(self.linear(f"{g}.hidden", code)))
            maps = norm(code.reshape(n, heads, -1)) @ self.t["trunk.shared_map"]
            scores = scores + maps.reshape(n, heads, 64, 64)
        if trunk.get("edges"):
            scores = scores + self.gain(name, y, heads, trunk["edges"], edges)
        out = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(n, 64, d)
        x = x + self.linear(f"{name}.out", out)
        return x + self.linear(f"{name}.ffn.down", torch.relu(self.linear(f"{name}.ffn.up", norm(x))))

    def forward(self, codes, marks, globals_, edges=None):
        n = codes.shape[0]
        one_hot = (codes.unsqueeze(-1) == torch.arange(14)).float().reshape(n, 64, -1)
        x = self.linear("embedding.men", one_hot) + self.linear("embedding.marks", marks[..., :2])
        if self.config["embedding"].get("attacks"):
            x = x + self.linear("embedding.attacks", marks[..., 2:])
        x = x + self.t["embedding.squares"] + self.linear("embedding.globals", globals_).unsqueeze(1)
        for i in range(self.config["trunk"]["layers"]):
            x = self.block(i, x, edges)
        x = norm(x)
        start = self.linear("policy.from", x) / self.config["policy"]["dim"] ** 0.5
        end = self.linear("policy.to", x)
        logits = start @ end.transpose(1, 2)
        if self.config["policy"].get("edges"):
            logits = logits + self.gain("policy", x, 1, self.config["policy"]["edges"], edges)[:, 0]
        pieces = self.linear("policy.promotion", end[:, 56:]).unsqueeze(1)
        promotions = logits[:, 48:56, 56:].unsqueeze(-1) + pieces
        everything = torch.cat([logits.reshape(n, -1), promotions.reshape(n, -1)], 1)
        value = torch.relu(self.linear("value.compress", x)).reshape(n, -1)
        value = self.linear("value.out", torch.relu(self.linear("value.hidden", value)))
        return everything[:, self.table], value


def bits(sets):
    """Which squares are in each of the bit sets: `[sets, 64]`."""
    return [[m >> s & 1 for s in range(64)] for m in sets]


def inputs_of(dumped, config):
    """By name; edges, `[positions, kinds, 64, 64]`, only where there are such."""
    codes = torch.tensor([i["codes"] for i in dumped]).transpose(1, 2).contiguous()
    marks = torch.tensor([bits(i["marks"]) for i in dumped]).float().transpose(1, 2).contiguous()
    inputs = dict(codes=codes, marks=marks, globals=torch.tensor([i["globals"] for i in dumped]).float())
    if edge_kinds(config):
        inputs["edges"] = torch.tensor([[bits(graph) for graph in i["edges"]] for i in dumped]).float()
    return inputs


def main():
    bench, weights = sys.argv[1:3]
    torch.set_num_threads(1)
    config, tensors = read_safetensors(weights)
    twin = Twin(config, tensors).eval()
    dumped = json.loads(subprocess.run([bench, "dump"], capture_output=True, check=True, text=True).stdout)
    named = inputs_of(dumped["inputs"], config)
    inputs = tuple(named.values())
    with torch.no_grad():
        policy, value = twin(*inputs)
    errors = [
        np.abs(found.numpy().ravel() - np.array(dumped[name], np.float32)).max()
        for name, found in (("policy", policy), ("value", value))
    ]
    print(f"largest difference from the engine: policy {errors[0]:.1e}, value {errors[1]:.1e}")
    assert max(errors) < 1e-3

    torch.onnx.export(
        twin,
        inputs,
        "/tmp/glance.onnx",
        input_names=list(named),
        output_names=["policy", "value"],
        dynamic_axes={n: {0: "n"} for n in (*named, "policy", "value")},
        dynamo=False,
    )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession("/tmp/glance.onnx", options)

    def onnx(batch):
        repeat = [(batch + 7) // 8] + [1, 1]
        feed = {n: x.repeat(*repeat[: x.dim()])[:batch].numpy() for n, x in named.items()}
        times = []
        for i in range(55):
            start = time.perf_counter()
            session.run(None, feed)
            times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times[5:])

    def engine(backend, batch):
        return float(subprocess.run([bench, backend, str(batch), "50"], capture_output=True, check=True, text=True).stdout)

    for batch in (1, 16):
        rounds = [(onnx(batch), *(engine(b, batch) for b in ("int8", "flex", "ndarray"))) for _ in range(5)]
        o, i8, f, n = (statistics.median(r[i] for r in rounds) for i in range(4))
        print(
            f"batch {batch:2}: ONNX Runtime {o:.2f} ms, int8 {i8:.2f} ms ({o / i8:.2f} of its speed), "
            f"flex {f:.2f} ms ({o / f:.2f} of its speed), "
            f"ndarray {n:.2f} ms ({o / n:.2f})"
        )


main()
