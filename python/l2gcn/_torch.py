"""A model's arithmetic as a torch module: the same logits from torch's own operations.

The module holds the weights as parameters and the fitted preparation of features as buffers, so it can be moved,
fine-tuned and saved like any other. What it computes is told by Model.form (docs/explanation/default-preset.md), not by a method's name.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import torch
from torch import nn

from ._model import Model
from ._settings import error

LEAST_PROBABILITY = 1e-7  # a mean of layers is kept this far from 0 and 1, as in src/model/correct_and_smooth.cpp


def make_module(model: Model) -> GraphNetwork:
    """The module of a model."""
    return GraphNetwork(model)


def _parameter(array: np.ndarray) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(np.array(array)))


class GraphNetwork(nn.Module):
    """module(x, edge_index, edge_weight=None) gives logits (nodes, classes).

    `x` (nodes, columns) are features as the data set has them: preparation is part of the module. `edge_index` (2,
    entries) holds both directions of an undirected edge, no self loop and no duplicate, as `Dataset.edge_index` does.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        config, tensors, form = model.config, model.tensors, model._handle.form
        self.adjacency: str = config["adjacency"]
        self.smooth = int(config["smooth"])
        self.self_features: bool = config["self_features"]
        self.multilabel = model.multilabel
        self.mean_of_layers: bool = form["mean_of_layers"]
        self.hops = int(config["hops"])
        self.diagonal = float(config["diagonal"])
        self.powers = [int(p) for p in np.atleast_1d(config["powers"])]
        self.aggregation: str = form["aggregation"]
        self.own_beside: bool = form["own_beside"]
        self.prediction_head: str = form["prediction_head"]
        self.row_normalise: bool = form["row_normalise"]
        if self.prediction_head not in ("classifier", "last-layer", "hops", "joined-powers"):
            raise error(f"to_torch: does not know the read-out {self.prediction_head}", "usage")
        for name in ("shift", "factor", "center", "projection"):
            array = tensors.get(f"prepare.{name}")
            self.register_buffer(name, None if array is None else torch.from_numpy(np.array(array)))
        self.fills = _fills(model)
        self.layers = nn.ParameterList()
        self.stacks = nn.ModuleList()
        if self.prediction_head == "joined-powers":
            for stack in range(len(self.powers)):
                names = [f"extra.stack{stack}.layer{layer}.weight" for layer in range(int(config["layers"]))]
                self.stacks.append(nn.ParameterList([_parameter(tensors[name]) for name in names]))
        else:
            self.layers.extend([_parameter(tensors[f"layers.{i}.weight"]) for i in range(model.n_layers)])
        # What layers have besides their weights: a norm's gain and shift (2, width) or a bias (1, width), and heads.
        self.affines = nn.ParameterDict()
        self.heads = nn.ModuleList()
        for i in range(form["heads"]):
            if f"layers.{i}.affine" in tensors:
                self.affines[str(i)] = _parameter(tensors[f"layers.{i}.affine"])
            prefix = f"heads.{i}."
            own = {name[len(prefix) :].replace(".", "_"): array for name, array in tensors.items() if name.startswith(prefix)}
            self.heads.append(nn.ParameterDict({name: _parameter(array) for name, array in own.items()}))
        if "classifier.weight" in tensors:
            self.classifier = _parameter(tensors["classifier.weight"])
        else:
            self.register_parameter("classifier", None)

    def prepare(self, x: torch.Tensor) -> torch.Tensor:
        """Features as the first layer sees them, before smoothing."""
        x = x.to(next(self.parameters()).dtype)
        for column, mark, fill in self.fills:
            x = x.clone()
            x[:, column] = torch.where(x[:, mark] != 0, torch.full_like(x[:, column], fill), x[:, column])
        if self.row_normalise:
            total = x.abs().sum(dim=1, keepdim=True)
            x = torch.where(total > 0, x / total.clamp_min(torch.finfo(x.dtype).tiny), x)
        if self.factor is not None:
            x = (x - self.shift) * self.factor
        if self.projection is not None:
            x = (x - self.center if self.center is not None else x) @ self.projection
        return x

    def operator(self, norm: str, aggregation: str, edge_index: torch.Tensor, edge_weight: Optional[torch.Tensor], nodes: int) -> Any:
        """Â as a function of (nodes, width) tensors."""
        rows, columns = edge_index
        dtype = next(self.parameters()).dtype
        ones = torch.ones(rows.numel(), dtype=dtype, device=rows.device)
        weight = ones if edge_weight is None else edge_weight.to(dtype)
        if aggregation == "neighbour-mean":
            weight = ones
        if aggregation != "neighbour-mean" and norm == "none":
            return lambda x: x
        degree = torch.zeros(nodes, dtype=torch.float64, device=rows.device)
        degree.index_add_(0, rows, weight.double())
        if aggregation == "neighbour-mean":
            scale = torch.where(degree > 0, 1 / degree.clamp_min(1), torch.zeros_like(degree))
            own = torch.zeros_like(scale)
            other = torch.ones_like(scale)
        else:
            degree = degree + 1
            inverse = torch.where(degree > 0, 1 / degree, torch.zeros_like(degree))
            other = torch.ones_like(inverse)
            if norm == "row+i":
                scale, own = inverse, 1 + inverse
            elif norm == "row":
                scale, own = inverse, inverse
            elif norm == "sym":
                scale, own, other = inverse.sqrt(), inverse, inverse.sqrt()
            elif norm == "sum":
                scale, own = other, other
            else:
                raise error(f"to_torch: does not know the normalisation {norm}", "usage")
            if aggregation == "enhanced-diagonal":
                own = own * (1 + self.diagonal)
        values = scale.to(dtype)[rows] * weight * other.to(dtype)[columns]
        matrix = torch.sparse_coo_tensor(torch.stack([rows, columns]), values, (nodes, nodes)).coalesce()
        diagonal = own.to(dtype).unsqueeze(1)
        return lambda x: torch.sparse.mm(matrix, x) + diagonal * x

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: Optional[torch.Tensor] = None) -> torch.Tensor:
        """Logits of every node."""
        nodes = x.shape[0]
        x = self.prepare(x)
        if self.smooth:
            smooth = self.operator("sym", "normalised", edge_index, edge_weight, nodes)
            for _ in range(self.smooth):
                x = smooth(x)
        a = self.operator(self.adjacency, self.aggregation, edge_index, edge_weight, nodes)
        if self.prediction_head == "joined-powers":
            return self._joined(x, a)
        if len(self.heads) > 0:
            return self._with_heads(x, a)
        if self.prediction_head == "hops":
            for _ in range(self.hops):
                x = a(x)
        for weight in self.layers:
            x = torch.relu(self._layer(x, weight, a))
        return self._layer(x, self.classifier, a) if self.prediction_head == "last-layer" else x @ self.classifier

    def _layer(self, x: torch.Tensor, weight: torch.Tensor, a: Any) -> torch.Tensor:
        if self.own_beside:
            width = x.shape[1]
            return x @ weight[:width] + a(x @ weight[width:])
        return a(x @ weight) if weight.shape[1] < x.shape[1] else a(x) @ weight

    def _with_heads(self, x: torch.Tensor, a: Any) -> torch.Tensor:
        logits = []
        for i, weight in enumerate(self.layers):
            parts = [x] if self.self_features else [a(x)]
            for _ in range(self.hops if self.self_features else 0):
                parts.append(a(parts[-1]))
            affine = self.affines[str(i)] if str(i) in self.affines else None
            x = _block(torch.cat(parts, dim=1), weight, affine)
            head = self.heads[i]
            last = i + 1 == len(self.layers)
            if last or self.mean_of_layers:
                h = x
                if "hidden_weight" in head:
                    h = _block(h, head["hidden_weight"], head["hidden_affine"] if "hidden_affine" in head else None)
                z = h @ head["classifier_weight"]
                logits.append(z + head["classifier_bias"] if "classifier_bias" in head else z)
        if len(logits) == 1:
            return logits[0]
        stacked = torch.stack(logits)
        mean = (torch.sigmoid(stacked) if self.multilabel else torch.softmax(stacked, dim=2)).mean(dim=0)
        mean = mean.clamp(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        return torch.log(mean / (1 - mean)) if self.multilabel else torch.log(mean)

    def _joined(self, x: torch.Tensor, a: Any) -> torch.Tensor:
        outputs = []
        for power, layers in zip(self.powers, self.stacks):
            h = x
            for weight in layers:
                for _ in range(power):
                    h = a(h)
                h = torch.relu(h @ weight)
            outputs.append(h)
        return torch.cat(outputs, dim=1) @ self.classifier


def _block(x: torch.Tensor, weight: torch.Tensor, affine: Optional[torch.Tensor]) -> torch.Tensor:
    """A hidden layer: ReLU of the product, after a norm or a bias."""
    y = x @ weight
    if affine is not None and affine.shape[0] == 2:
        y = nn.functional.layer_norm(y, y.shape[1:], affine[0], affine[1], eps=1e-5)
    elif affine is not None:
        y = y + affine[0]
    return torch.relu(y)


def _fills(model: Model) -> list[tuple[int, int, float]]:
    """(column, column that marks its missing cells, what stands in for them) of the table it was trained on."""
    fills, column = [], 0
    for one in model._handle.schema:
        width = len(one["levels"]) if one["category"] else 1
        if one["marks_missing"]:
            if not one["category"]:
                fills.append((column, column + width, float(one["fill"])))
            width += 1
        column += width
    return fills
