#!/usr/bin/env python3
"""Writes test/data/sample.json: what samplers leave over, alone and in chains, and what is drawn.

NumPy in double precision, each sampler written from its definition (see src/run/sample.h for where
it comes from) over a whole vector of logits, with nothing in common with the C code but the meaning
of names. Cases in which rounding could decide (a sum within 1e-4 of its limit, a draw within 1e-5 of
an edge) are drawn again. Needs numpy; the version is written into the file.

    python3 script/make_sample_fixtures.py
"""
import json
import pathlib
import random

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent / "test/data/sample.json"
ORDER = ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"]
OFF = dict(temp=1.0, top_k=0, top_p=1.0, min_p=0.0, typical_p=1.0, top_n_sigma=0.0, repeat_penalty=1.0,
           repeat_last_n=64, presence_penalty=0.0, frequency_penalty=0.0, xtc_probability=0.0,
           xtc_threshold=0.1, dry_multiplier=0.0, dry_base=1.75, dry_allowed_length=2, dry_last_n=-1,
           mirostat=0, mirostat_tau=5.0, mirostat_eta=0.1, min_keep=0, seed=0)
MASK = (1 << 64) - 1
rng = random.Random(20240607)


class Tight(Exception):
    """Rounding could decide this case."""


def apart(a, b, margin=1e-4):
    if abs(a - b) < margin:
        raise Tight
    return a, b


# ---- Draws: SplitMix64's finaliser over seed and position ------------------------------------------

GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def bits(seed, pos):
    return mix(mix((seed + GOLDEN) & MASK) ^ mix((pos * GOLDEN + 1) & MASK))


def uniform(seed, pos):
    return (bits(seed, pos) >> 11) / 2**53


def uniform_xtc(seed, pos):
    return (mix((bits(seed, pos) + GOLDEN) & MASK) >> 11) / 2**53


# ---- Samplers: x, logits with -inf for what is gone --------------------------------------------------

def softmax(x):
    w = np.exp(x - x.max())
    return w / w.sum()


def alive(x):
    return np.flatnonzero(x > -np.inf)


def ranked(x):
    return sorted(alive(x), key=lambda i: (-x[i], i))


def only(x, ids):
    y = np.full_like(x, -np.inf)
    y[list(ids)] = x[list(ids)]
    return y


def first_reaching(order, p, limit, least):
    """The fewest of order whose probabilities reach limit, at least `least` of them."""
    total, kept = 0.0, []
    for i in order:
        if len(kept) >= least and np.greater_equal(*apart(total, limit)):
            break
        kept.append(i)
        total += p[i]
    return kept


def penalties(x, c, ctx):
    x = x.copy()
    recent = ctx["ids"][max(0, len(ctx["ids"]) - c["repeat_last_n"]):]
    for t in set(recent):
        if x[t] == -np.inf:
            continue
        x[t] = x[t] / c["repeat_penalty"] if x[t] > 0 else x[t] * c["repeat_penalty"]
        x[t] -= recent.count(t) * c["frequency_penalty"] + c["presence_penalty"]
    return x


def dry(x, c, ctx):
    """By the definition, position by position: how far the text before an earlier occurrence of a
    token equals the text now, not beyond a breaker."""
    if c["dry_multiplier"] == 0:
        return x
    ids, pieces = ctx["ids"], ctx["pieces"]
    text, breaks = "", []
    for t in ids:  # a token breaks if a breaker's text ends within its own
        start = len(text)
        text += pieces[t]
        breaks.append(any(text.startswith(b, k - len(b)) for b in c["dry_breakers"]
                          for k in range(start + 1, len(text) + 1) if k >= len(b)))
    first = 0 if c["dry_last_n"] < 0 else max(0, len(ids) - c["dry_last_n"])
    longest = {}
    for at in range(first + 1, len(ids)):  # ids[at] may come again
        if breaks[at]:
            continue
        n = 0
        while (at - 1 - n >= first and ids[at - 1 - n] == ids[len(ids) - 1 - n]
               and not breaks[len(ids) - 1 - n]):
            n += 1
        if n >= max(1, c["dry_allowed_length"]):
            longest[ids[at]] = max(n, longest.get(ids[at], 0))
    x = x.copy()
    for t, n in longest.items():
        x[t] -= c["dry_multiplier"] * c["dry_base"] ** (n - c["dry_allowed_length"])
    return x


def top_n_sigma(x, c, ctx):
    if c["top_n_sigma"] == 0:
        return x
    z = x[alive(x)]
    limit = z.max() - c["top_n_sigma"] * np.sqrt(np.mean((z - z.mean())**2))
    order = ranked(x)
    n = sum(np.greater_equal(*apart(x[i], limit)) for i in order)
    return only(x, order[:max(n, c["min_keep"], 1)])


def top_k(x, c, ctx):
    return only(x, ranked(x)[:max(c["top_k"], c["min_keep"])]) if c["top_k"] else x


def typical(x, c, ctx):
    if c["typical_p"] == 1:
        return x
    p, live = softmax(x), alive(x)
    log_p = x - x.max() - np.log(np.exp(x - x.max()).sum())  # finite where p is too small for a double
    entropy = -sum(p[i] * log_p[i] for i in live)
    far = {i: abs(-log_p[i] - entropy) for i in live}
    order = sorted(live, key=lambda i: (far[i], -x[i], i))
    for i, j in zip(order, order[1:]):
        if x[i] != x[j]:
            apart(far[i], far[j])
    return only(x, first_reaching(order, p, c["typical_p"], max(1, c["min_keep"])))


def top_p(x, c, ctx):
    if c["top_p"] == 1:
        return x
    return only(x, first_reaching(ranked(x), softmax(x), c["top_p"], max(1, c["min_keep"])))


def min_p(x, c, ctx):
    if c["min_p"] == 0:
        return x
    p, order = softmax(x), ranked(x)
    n = sum(np.greater_equal(*apart(p[i] / p.max(), c["min_p"])) for i in order)
    return only(x, order[:max(n, c["min_keep"], 1)])


def xtc(x, c, ctx):
    if not uniform_xtc(c["seed"], ctx["pos"]) < c["xtc_probability"]:
        return x
    p, order = softmax(x), ranked(x)
    top = [i for i in order if np.greater_equal(*apart(p[i], c["xtc_threshold"]))]
    if len(top) < 2 or len(order) - (len(top) - 1) < c["min_keep"]:
        return x
    return only(x, order[len(top) - 1:])


def temperature(x, c, ctx):
    return x / c["temp"]


STEPS = dict(penalties=penalties, dry=dry, top_n_sigma=top_n_sigma, top_k=top_k, typ_p=typical,
             top_p=top_p, min_p=min_p, xtc=xtc, temperature=temperature)


def run(x, c, ctx):
    x = x.astype(float)
    for i, b in c.get("logit_bias", []):
        x[i] += -np.inf if b == "-inf" else b
    for name in c["samplers"]:
        if c["mirostat"] == 0 or name in ("penalties", "dry", "temperature"):
            x = STEPS[name](x, c, ctx)
    return x


def draw(x, u):
    order, below = ranked(x), 0.0
    p = softmax(x)
    for i in order:
        below += p[i]
        if np.less(*apart(u, below, 1e-5)):
            return int(i)
    return int(order[-1])


# ---- Cases ---------------------------------------------------------------------------------------------

PIECES = ["a", "b", "c", " d", "e\n", "\n", ":", "x:y", "END", "EN", "D", " the", " cat", "*", ".", "f"]


def f32(v):
    return float(np.float32(v))


def make_logits(n, spread, ties):
    step = 0.5 if ties else 1 / 64
    return [round(rng.gauss(0, spread) / step) * step for _ in range(n)]


def make_ids(n):
    """Words that come again and again, with others between."""
    ids, words = [], [[rng.randrange(16) for _ in range(rng.randrange(2, 6))] for _ in range(3)]
    while len(ids) < n:
        ids += rng.choice(words) if rng.random() < 0.8 else [rng.randrange(16)]
    return ids[:n]


def settings(names):
    pick = rng.choice
    c = {}
    if "penalties" in names:
        c.update(repeat_penalty=pick([1, 1.1, 1.5, 0.7]), presence_penalty=pick([0, 0.5, -0.75]),
                 frequency_penalty=pick([0, 0.25, -0.5]), repeat_last_n=pick([0, 3, 10, 64]))
    if "dry" in names:
        c.update(dry_multiplier=pick([0.8, 2.5]), dry_base=pick([1.75, 1, 3]),
                 dry_allowed_length=pick([0, 1, 2, 3]), dry_last_n=pick([-1, -1, 0, 1, 8, 20]),
                 dry_breakers=pick([[], ["\n", ":", "\"", "*"], ["END"], ["a", "cat", "\n"], ["ND", "cc"]]))
    if "top_n_sigma" in names:
        c.update(top_n_sigma=pick([0.3, 1, 1.5, 2.5]))
    if "top_k" in names:
        c.update(top_k=pick([1, 2, 5, 9, 100]))
    if "typ_p" in names:
        c.update(typical_p=pick([0, 0.2, 0.5, 0.9, 0.99]))
    if "top_p" in names:
        c.update(top_p=pick([0, 0.3, 0.6, 0.9, 0.99]))
    if "min_p" in names:
        c.update(min_p=pick([0.01, 0.05, 0.2, 0.5, 1]))
    if "xtc" in names:
        c.update(xtc_probability=pick([1, 1, 0.5]), xtc_threshold=pick([0.01, 0.05, 0.1, 0.3, 0.6]))
    if "temperature" in names:
        c.update(temp=pick([0.4, 0.8, 1.5, 3]))
    if rng.random() < 0.25:
        c.update(min_keep=pick([2, 4, 7]))
    return c


def make_case(names, rows, contexts, context=None, **fixed):
    c = {**settings(names), **fixed}
    c["seed"] = rng.randrange(1 << 40)
    if rng.random() < 0.15:
        c["logit_bias"] = [[rng.randrange(16), rng.choice([2.5, -3, "-inf"])] for _ in range(2)]
    full = {**OFF, **{k: f32(v) if isinstance(v, float) else v for k, v in c.items()}}
    full["samplers"] = c["samplers"] = list(names)
    row = rng.randrange(8 if rng.random() < 0.85 else len(rows))
    ids, pos = rng.randrange(len(contexts)) if context is None else context, rng.randrange(1 << 30)
    x = run(np.array(rows[row]), full, dict(ids=contexts[ids], pieces=PIECES, pos=pos))
    p = softmax(x)
    c["samplers"] = ";".join(names)
    return dict(set=c, row=row, ids=ids, pos=pos, token=draw(x, uniform(full["seed"], pos)),
                left=[[int(i), float(f"{p[i]:.8g}")] for i in ranked(x) if p[i] > 1e-9])


def make_mirostat(rows, contexts):
    """A run of draws; mu begins at 2 tau and follows the surprise of what was drawn."""
    c = dict(mirostat=2, mirostat_tau=rng.choice([0.5, 2, 3.5]), mirostat_eta=rng.choice([0.1, 0.5, 1]),
             temp=rng.choice([1, 0.7, 1.6]), seed=rng.randrange(1 << 40), min_keep=rng.choice([0, 0, 3]),
             samplers=ORDER, **({"repeat_penalty": 1.25} if rng.random() < 0.5 else {}))
    full = {**OFF, **{k: f32(v) if isinstance(v, float) else v for k, v in c.items()}}
    mu, ids, tokens, mus, used = 2 * full["mirostat_tau"], [], [], [], []
    for pos in range(24):
        used.append(rng.randrange(len(rows)))
        x = run(np.array(rows[used[-1]]), full, dict(ids=ids, pieces=PIECES, pos=pos))
        p = softmax(x)
        surprise = {i: -np.log2(p[i]) for i in alive(x)}
        order = ranked(x)
        n = sum(np.less_equal(*apart(surprise[i], mu)) for i in order)
        kept = order[:max(n, c["min_keep"], 1)]
        token = draw(only(x, kept), uniform(full["seed"], pos))
        mu -= full["mirostat_eta"] * (surprise[token] - full["mirostat_tau"])
        ids.append(token)
        tokens.append(token)
        mus.append(round(float(mu), 6))
    c["samplers"] = ";".join(ORDER)
    return dict(set=c, rows=used, tokens=tokens, mu=mus)


def make_logprobs(row):
    x = np.array(row, dtype=float)
    log_p = x - x.max() - np.log(np.exp(x - x.max()).sum())
    return [[int(i), round(float(log_p[i]), 6)] for i in ranked(x)]


def again(make, *args, **more):
    while True:
        try:
            return make(*args, **more)
        except Tight:
            pass


def main():
    rows = [make_logits(16, s, t) for s, t in [(0.5, 0), (1, 0), (2, 0), (4, 0), (8, 0), (2, 1), (3, 1)]]
    rows.append([30.0] + make_logits(15, 1, 0))
    rows += [make_logits(60, s, 0) for s in (1, 3)] + [make_logits(200, 2, 0)]
    contexts = [[], [3], make_ids(9), make_ids(30), make_ids(48), make_ids(48), [0, 1] * 12,
                [8, 0, 1, 9, 10, 0, 1, 8, 0], [0, 1, 2, 9, 10, 0, 1, 2, 9],
                [0, 1, 13, 2, 0, 1], [0, 0, 0, 1, 2, 11, 12, 0, 0, 0, 1, 2], [0, 1, 0, 1, 0, 2, 3, 11, 0, 1, 0, 1, 0, 2]]
    cases = [again(make_case, [n], rows, contexts) for n in ORDER for _ in range(12)]
    cases += [again(make_case, ["dry"], rows, contexts) for _ in range(30)]
    # What followed was a breaker; breakers that begin anew within themselves.
    for context, text in [(9, "*"), (10, "aab"), (11, "abac"), (10, "aaab"), (8, "END")]:
        cases.append(again(make_case, ["dry"], rows, contexts, context=context, dry_breakers=[text], dry_last_n=-1,
                           dry_allowed_length=1, dry_multiplier=2.5, dry_base=1.75))
    cases += [again(make_case, ORDER, rows, contexts) for _ in range(40)]
    for _ in range(100):
        names = rng.sample(ORDER, rng.randrange(0, len(ORDER) + 1))
        cases.append(again(make_case, names, rows, contexts))
    out = dict(made_by=f"script/make_sample_fixtures.py, numpy {np.__version__}", pieces=PIECES, rows=rows,
               contexts=contexts, cases=cases,
               mirostat=[again(make_mirostat, rows[:8], contexts) for _ in range(8)],
               logprobs=[make_logprobs(r) for r in rows])
    lines = [f"{json.dumps(k)}: [\n" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in value) + "\n]"
             if isinstance(value, list) else f"{json.dumps(k)}: {json.dumps(value)}"
             for k, value in out.items()]
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
