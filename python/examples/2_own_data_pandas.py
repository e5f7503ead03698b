"""Your own tables: two DataFrames, one of edges and one of nodes.

    python python/examples/2_own_data_pandas.py
"""

# %% A small company: people, who writes to whom, and the team of some of them
from __future__ import annotations

import numpy as np
import pandas as pd

import l2gcn

rng = np.random.default_rng(0)
people = 300
team = rng.integers(0, 3, people)
names = [f"p{i:03d}" for i in range(people)]
nodes = pd.DataFrame(
    {
        "person": names,
        "years": np.round(rng.gamma(3, 2, people), 1),
        "meetings": rng.poisson(3 + 4 * team),
        "site": rng.choice(["Bern", "Graz", "Ulm"], people),
        "team": np.array(["sales", "research", "support"], dtype=object)[team],
    }
)
nodes.loc[rng.random(people) < 0.1, "years"] = np.nan  # cells may be missing
nodes.loc[rng.random(people) < 0.5, "team"] = None  # and half of the labels are unknown

pairs = []
for _ in range(1500):
    a = int(rng.integers(people))
    others = np.flatnonzero(team == team[a]) if rng.random() < 0.8 else np.arange(people)
    pairs.append((names[a], names[int(rng.choice(others))]))
edges = pd.DataFrame(pairs, columns=["from", "to"])

# %% As a data set: numbers become features, words one feature a level, missing cells are marked
data = l2gcn.load_dataset(edges, nodes, label="team", id="person", source="from", target="to")
print(data)
print("features:", data.feature_names)

# %% Train on the known half, predict the others
run = l2gcn.train(data, method="lgcn", split="random:0.8,0.1,0.1", epochs=60, lr=0.01)
predicted = run.model.predict(data)  # names of teams
unknown = nodes["team"].isna().to_numpy()
truth = np.array(["sales", "research", "support"], dtype=object)[team]
print(f"right for {np.mean(predicted[unknown] == truth[unknown]):.0%} of the {unknown.sum()} people whose team was unknown")
table = nodes.assign(predicted=predicted, probability=run.model.predict_proba(data).max(axis=1))
print(table[unknown].head())
