"""Embeddings into scikit-learn: a picture by t-SNE, and a pipeline.

    python python/examples/4_embeddings.py [PICTURE.png]
"""

# %% Learn embeddings from the labels of the train nodes
from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE

import l2gcn

data = l2gcn.load_dataset("synthetic:cora")
split = data.split()
seen = np.where(split.train | split.val, data.labels, -1)
embedder = l2gcn.GCNEmbedder(hidden=16, random_state=0)
Z = embedder.fit_transform(data.features, seen, graph=data, val=split.val)
print("embeddings:", Z.shape)

# %% A classifier of scikit-learn's on top
model = LogisticRegression(max_iter=1000).fit(Z[split.train], data.labels[split.train])
print(f"logistic regression on the embeddings: {model.score(Z[split.test], data.labels[split.test]):.3f}")

# %% A picture of the test nodes, coloured by class; and the story of a training
shown = np.flatnonzero(split.test)[:400]
places = TSNE(n_components=2, perplexity=30, random_state=0, init="pca").fit_transform(Z[shown])
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
left.scatter(places[:, 0], places[:, 1], c=data.labels[shown], cmap="tab10", s=8)
left.set_title("last layer, t-SNE")
l2gcn.train(data).plot(right)
picture = sys.argv[1] if len(sys.argv) > 1 else "embeddings.png"
figure.tight_layout()
figure.savefig(picture, dpi=110)
print("wrote", picture)
