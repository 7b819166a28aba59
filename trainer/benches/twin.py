#!/usr/bin/env python3
"""Training steps of a recipe's network written again in PyTorch, as fast as PyTorch does them without kernels of one's own:
torch.compile, scaled-dot-product attention, fused AdamW, bfloat16 where the recipe says so. Prints positions a second, to be set
beside what `glance-trainer train` says of the same recipe on the same machine.

    python3 trainer/benches/twin.py trainer/systems/glance.toml            # --steps 50 --batch 2048 --no-compile

Networks of kind squares + encoder + from-to + wdl. Positions are random: their content does not change the time. Needs torch.
"""

import argparse
import math
import statistics
import time
import tomllib

import torch
import torch.nn.functional as F
from torch import nn

BOARDS_CODES, MARKS, ATTACKS, GLOBALS, LOGITS, MOVES, LEGAL = 14, 2, 24, 86, 4096 + 256, 1968, 128


def norm(x):
    return F.rms_norm(x, x.shape[-1:], eps=1e-5)


def along(edges, gates, heads):
    """What logits of one square looking at another gain along edges, by gates `[n, 64, kinds × 4 × heads]`."""
    n, kinds = edges.shape[:2]
    made = 0.0
    for kind, (first, second, third, fourth) in enumerate(gates.view(n, 64, kinds, 4, heads).permute(2, 3, 0, 4, 1)):
        there = edges[:, kind : kind + 1]
        made = made + there * (first.unsqueeze(3) + second.unsqueeze(2)) + there.mT * (third.unsqueeze(3) + fourth.unsqueeze(2))
    return made


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, heads, s = c["d_model"], c["heads"], c.get("smolgen")
        self.heads = heads
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d, bias=False)
        self.value, self.out = nn.Linear(d, d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, c["ffn"]), nn.Linear(c["ffn"], d)
        self.static = nn.Parameter(torch.zeros(1, heads, 64, 64)) if c["static_bias"] else None
        if s:
            self.compress = nn.Linear(d, s["compress"], bias=False)
            self.hidden = nn.Linear(64 * s["compress"], s["hidden"])
            self.generate = nn.Linear(s["hidden"], heads * s["generate"])
        self.kinds = len(c.get("edges", []))
        self.gates = nn.Linear(d, self.kinds * 4 * heads) if self.kinds else None
        self.smolgen = s

    def forward(self, x, maps, edges):
        n, _, d = x.shape
        y = norm(x)
        split = lambda t: t.view(n, 64, self.heads, d // self.heads).transpose(1, 2)
        bias = self.static
        if self.smolgen:
            code = self.compress(y).flatten(1)
            code = norm(self.generate(F.relu(self.hidden(code))).view(n, self.heads, -1))
            made = (code @ maps).view(n, self.heads, 64, 64)
            bias = made if bias is None else made + bias
        if self.gates is not None:
            made = along(edges[:, : self.kinds], self.gates(y), self.heads)
            bias = made if bias is None else made + bias
        mask = None if bias is None else bias.expand(n, -1, -1, -1).to(y.dtype)
        q, k, v = split(self.query(y)), split(self.key(y)), split(self.value(y))
        out = F.scaled_dot_product_attention(q, k, v.to(q.dtype), attn_mask=None if mask is None else mask.to(q.dtype))
        x = x + self.out(out.transpose(1, 2).reshape(n, 64, d))
        return x + self.down(F.relu(self.up(norm(x))))


class Twin(nn.Module):
    def __init__(self, config):
        super().__init__()
        trunk, self.boards = config["trunk"], config["embedding"]["boards"]
        d, dim, value = trunk["d_model"], config["policy"]["dim"], config["value"]
        self.men = nn.Linear(self.boards * BOARDS_CODES, d, bias=False)
        bits = MARKS + (ATTACKS if config["embedding"].get("attacks") else 0)
        self.marks, self.globals = nn.Linear(bits, d, bias=False), nn.Linear(GLOBALS, d, bias=False)
        self.squares = nn.Parameter(torch.randn(64, d) * 0.5)
        self.blocks = nn.ModuleList(Block(trunk) for _ in range(trunk["layers"]))
        smolgen = trunk.get("smolgen")
        self.maps = nn.Parameter(torch.randn(smolgen["generate"], 4096) * 0.05) if smolgen else None
        self.start, self.end = nn.Linear(d, dim), nn.Linear(d, dim, bias=False)
        self.promotion = nn.Linear(dim, 4, bias=False)
        self.compress = nn.Linear(d, value["compress"])
        self.hidden, self.wdl = nn.Linear(64 * value["compress"], value["hidden"]), nn.Linear(value["hidden"], 3)
        self.register_buffer("table", torch.randperm(LOGITS)[:MOVES])
        self.dim = dim
        kinds = len(config["policy"].get("edges", []))
        self.gates = nn.Linear(d, kinds * 4) if kinds else None

    def forward(self, codes, marks, globals_, edges):
        n = codes.shape[0]
        men = F.one_hot(codes, BOARDS_CODES).view(n, 64, -1).to(marks.dtype)
        x = self.men(men) + self.marks(marks) + self.squares + self.globals(globals_).unsqueeze(1)
        for block in self.blocks:
            x = block(x, self.maps, edges)
        x = norm(x)
        start, end = self.start(x) / math.sqrt(self.dim), self.end(x)
        logits = start @ end.transpose(1, 2)
        if self.gates is not None:
            logits = logits + along(edges[:, -self.gates.out_features // 4 :], self.gates(x), 1)[:, 0]
        promotions = logits[:, 48:56, 56:].unsqueeze(-1) + self.promotion(end[:, 56:]).unsqueeze(1)
        moves = torch.cat([logits.flatten(1), promotions.flatten(1)], 1)[:, self.table]
        return moves, self.wdl(F.relu(self.hidden(F.relu(self.compress(x)).flatten(1))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipe")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--precision", choices=["f32", "bf16"])
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--threads", type=int)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    recipe = tomllib.load(open(args.recipe, "rb"))
    training, config = recipe["training"], recipe["network"]
    batch = args.batch or training["batch"]
    precision = args.precision or training.get("precision", "f32")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    net = Twin(config).to(device)
    run = net if args.no_compile else torch.compile(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=training["weight_decay"], fused=device == "cuda")
    codes = torch.randint(0, BOARDS_CODES, (batch, 64, net.boards), device=device)
    marks = torch.zeros(batch, 64, net.marks.in_features, device=device)
    globals_ = torch.rand(batch, GLOBALS, device=device)
    # About as many as there are attacks.
    kinds = {*config["trunk"].get("edges", []), *config["policy"].get("edges", [])}
    edges = (torch.rand(batch, max(1, len(kinds)), 64, 64, device=device) < 0.03).to(globals_.dtype)
    legal = torch.randint(0, MOVES, (batch, LEGAL), device=device)
    padding = torch.where(torch.arange(LEGAL, device=device) < 30, 0.0, -1e9).expand(batch, -1)
    played = torch.zeros(batch, dtype=torch.long, device=device)
    outcome = torch.full((batch, 3), 1 / 3, device=device)

    def step():
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            moves, value = run(codes, marks, globals_, edges)
        policy = F.cross_entropy(moves.float().gather(1, legal) + padding, played)
        loss = policy + training["value_weight"] * F.cross_entropy(value.float(), outcome)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), training["clip"])
        optimizer.step()

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    weights = sum(p.numel() for p in net.parameters())
    start = time.perf_counter()
    for _ in range(3):
        step()
    wait()
    print(f"{weights:,} weights, {precision}, batch {batch}, {device}; ready after {time.perf_counter() - start:.1f} s")
    rates = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(max(1, args.steps // 5)):
            step()
        wait()
        rates.append(max(1, args.steps // 5) * batch / (time.perf_counter() - start))
    print(f"PyTorch {torch.__version__}: {statistics.median(rates):,.0f} positions/s, median of {len(rates)} rounds")


main()
