"""Loss of every step of layer-wise training with Cora's settings, by an independent implementation in NumPy float32.

Written from the paper, the operator D⁻¹(A+I)+I and the random-number rules stated in src/core/rng.h and
src/kernels/backend.h; it shares no code with the library. Output: one loss a line, 2 layers × 80 epochs × 4 steps.

usage: make_step_losses.py DIRECTORY_WITH_ind.cora.*  > cora_step_losses.txt
       l2gcn generate cora -o DIR; make_step_losses.py DIR > generated_cora_step_losses.txt
"""
import json
import os
import pickle
import sys

import numpy as np
import scipy.sparse as sp

F = np.float32
SEED, LAYERS, HIDDEN, EPOCHS, BATCH, LR = 0, 2, 16, 80, 256, 0.005
INIT_W, INIT_THETA, SHUFFLE = 1, 2, 3


def philox(key, low, high):
    """Philox4x32-10 of arrays of 64-bit counters; returns (n, 4) uint32."""
    m32 = np.uint64(0xFFFFFFFF)
    low = np.asarray(low, np.uint64)
    c = [low & m32, low >> np.uint64(32), np.full_like(low, high & 0xFFFFFFFF), np.full_like(low, high >> 32)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c[0]
        p1 = np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & m32, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & m32]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, 1).astype(np.uint32)


def words(use, a, b, count):
    name = (use << 56) ^ ((a & 0xFFFFFF) << 32) ^ b
    return philox(SEED, np.arange((count + 3) // 4), name).ravel()[:count]


def weights(rows, cols, use, layer):
    bound = F(1 / np.sqrt(rows))
    uniform = (words(use, layer, 0, rows * cols) >> 8).astype(F) * F(2.0 ** -24)
    return ((F(2) * uniform - F(1)) * bound).reshape(rows, cols)


def shuffle(n, layer, epoch):
    bits = 2
    while (1 << bits) < n:
        bits += 1
    half = (bits + 1) // 2
    mask = np.uint32((1 << half) - 1)
    keys = words(SHUFFLE, layer, epoch, 6)

    def once(index):
        left, right = index >> np.uint32(half), index & mask
        for key in keys:
            h = (right ^ key) * np.uint32(0x9E3779B1)
            h = (h ^ (h >> np.uint32(15))) * np.uint32(0x85EBCA77)
            h ^= h >> np.uint32(13)
            left, right = right, left ^ (h & mask)
        return (left << np.uint32(half)) | right

    value = once(np.arange(n, dtype=np.uint32))
    while (value >= n).any():
        value = np.where(value >= n, once(value), value)
    return value


def load_cora(folder):
    def part(name):
        with open(f'{folder}/ind.cora.{name}', 'rb') as f:
            return pickle.load(f, encoding='latin1')
    allx, tx, ally, ty, graph = (part(p) for p in ('allx', 'tx', 'ally', 'ty', 'graph'))
    test = np.loadtxt(f'{folder}/ind.cora.test.index', dtype=int)
    x = sp.vstack([allx, tx]).tolil()
    y = np.vstack([ally, ty])
    order = np.sort(test)
    x[test] = x[order]
    y[test] = y[order]
    n = x.shape[0]
    a = sp.lil_matrix((n, n))
    for u, neighbours in graph.items():
        for v in neighbours:
            if u != v:
                a[u, v] = a[v, u] = 1
    return a.tocsr(), x.tocsr().astype(F), y.argmax(1)


def load_native(folder):
    """A directory that the program wrote: plain .npy files."""
    def part(name):
        return np.load(f'{folder}/{name}.npy')
    y = part('labels')
    n = len(y)
    graph = part('graph_indices')
    a = sp.csr_matrix((np.ones(len(graph)), graph, part('graph_indptr')), (n, n))
    with open(f'{folder}/dataset.json') as f:
        width = json.load(f)['features']
    x = sp.csr_matrix((part('features_values'), part('features_indices'), part('features_indptr')), (n, width))
    return a, x, y, np.flatnonzero(part('split_0') == 1)


def main(folder):
    if os.path.exists(f'{folder}/dataset.json'):
        a, x, y, train = load_native(folder)
    else:
        a, x, y = load_cora(folder)
        train = np.r_[0:140, 640:1708]
    a = a[train][:, train]
    n = len(train)
    a = sp.diags(1 / (np.asarray(a.sum(1)).ravel() + 1)) @ (a + sp.eye(n)) + sp.eye(n)
    a = a.tocsr().astype(F)
    x = x[train].toarray()
    y = y[train]
    theta = weights(HIDDEN, y.max() + 1, INIT_THETA, 0)
    theta_m, theta_v, theta_t = np.zeros_like(theta), np.zeros_like(theta), 0

    def adam(w, g, m, v, t):
        m[:] = F(0.9) * m + F(0.1) * g
        v[:] = F(0.999) * v + F(0.001) * g * g
        w -= F(LR / (1 - 0.9 ** t)) * m / (np.sqrt(v) * F(1 / np.sqrt(1 - 0.999 ** t)) + F(1e-8))

    for layer in range(LAYERS):
        xhat = np.asarray(a @ x, F)
        w = weights(xhat.shape[1], HIDDEN, INIT_W, layer)
        w_m, w_v, w_t = np.zeros_like(w), np.zeros_like(w), 0
        for epoch in range(EPOCHS):
            order = shuffle(n, layer, epoch)
            for step in range(n // BATCH):
                rows = order[step * BATCH:(step + 1) * BATCH]
                xb, yb = xhat[rows], y[rows]
                h = np.maximum(xb @ w, 0)
                z = h @ theta
                z -= z.max(1, keepdims=True)
                e = np.exp(z)
                total = e.sum(1, keepdims=True)
                print(f'{float((np.log(total)[:, 0] - z[np.arange(BATCH), yb]).mean(dtype=np.float64)):.9g}')
                dz = e / total
                dz[np.arange(BATCH), yb] -= 1
                dz /= F(BATCH)
                dh = (dz @ theta.T) * (h > 0)
                w_t, theta_t = w_t + 1, theta_t + 1
                gw, gt = xb.T @ dh, h.T @ dz
                adam(w, gw, w_m, w_v, w_t)
                adam(theta, gt, theta_m, theta_v, theta_t)
        x = np.maximum(xhat @ w, 0)


if __name__ == '__main__':
    main(sys.argv[1])
