"""A model's arithmetic as a torch module: the same logits from torch's own operations.

The module holds the weights as parameters and the fitted preparation of features as buffers, so it can be moved,
fine-tuned and saved like any other. Model.form describes what it computes (docs/explanation/default-preset.md); the name of the method is not used.
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
        self.adjacency: list[str] = str(config["adjacency"]).split(",")
        self.smooth = int(config["smooth"])
        self.self_features: bool = config["self_features"]
        self.raw_features: bool = config["raw_features"]
        self.multilabel = model.multilabel
        self.mean_of_layers: bool = form["mean_of_layers"]
        self.hops = int(config["hops"])
        self.diagonal = float(config["diagonal"])
        self.powers = [int(p) for p in np.atleast_1d(config["powers"])]
        self.aggregation: str = form["aggregation"]
        self.own_beside: bool = form["own_beside"]
        self.prediction_head: str = form["prediction_head"]
        self.row_normalise: bool = form["row_normalise"]
        if config["relations"]:
            raise error("to_torch: a model of several relations cannot be converted", "usage")
        if self.prediction_head not in ("classifier", "last-layer", "hops", "joined-powers"):
            raise error(f"to_torch: does not know the prediction head {self.prediction_head}", "usage")
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
        # What layers have besides their weights: a bias or a norm, and heads.
        self.parts = nn.ModuleList([_parts(tensors, f"layers.{i}.") for i in range(len(self.layers))])
        self.heads = nn.ModuleList([_parts(tensors, f"heads.{i}.") for i in range(form["heads"])])
        if "classifier.weight" in tensors:
            self.classifier = _parameter(tensors["classifier.weight"])
        else:
            self.register_parameter("classifier", None)
        self.register_parameter("bias", _parameter(tensors["classifier.bias"]) if "classifier.bias" in tensors else None)

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
        if aggregation == "neighbour-mean" or norm == "mean":
            scale = torch.where(degree > 0, 1 / torch.where(degree > 0, degree, torch.ones_like(degree)), torch.zeros_like(degree))
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
        operators = [self.operator(name, self.aggregation, edge_index, edge_weight, nodes) for name in self.adjacency]
        a = operators[0]
        if self.prediction_head == "joined-powers":
            return self._joined(x, a)
        if len(self.heads) > 0:
            return self._with_heads(x, operators)
        if self.prediction_head == "hops":
            for _ in range(self.hops):
                x = a(x)
        for weight, parts in zip(self.layers, self.parts):
            x = _activation(self._product(x, weight, a), parts, "")
        if self.prediction_head != "last-layer":
            return x @ self.classifier
        logits = self._product(x, self.classifier, a)
        return logits if self.bias is None else logits + self.bias

    def _product(self, x: torch.Tensor, weight: torch.Tensor, a: Any) -> torch.Tensor:
        if self.own_beside:
            width = x.shape[1]
            return x @ weight[:width] + a(x @ weight[width:])
        return a(x @ weight) if weight.shape[1] < x.shape[1] else a(x) @ weight

    def _layer_input(self, x: torch.Tensor, raw: Optional[torch.Tensor], operators: list[Any]) -> torch.Tensor:
        """X and hop by hop one aggregate for each operator, behind the input features of deeper layers."""
        if not self.self_features:
            return operators[0](x)
        parts, hop = [x], [x] * len(operators)
        for _ in range(self.hops):
            hop = [a(one) for a, one in zip(operators, hop)]
            parts.extend(hop)
        return torch.cat(parts if raw is None else [raw, *parts], dim=1)

    def _with_heads(self, x: torch.Tensor, operators: list[Any]) -> torch.Tensor:
        logits, features = [], x
        for i, weight in enumerate(self.layers):
            raw = features if self.raw_features and i > 0 else None
            joined = self._layer_input(x, raw, operators)
            x = _activation(joined @ weight, self.parts[i], "")
            head = self.heads[i]
            last = i + 1 == len(self.layers)
            if last or self.mean_of_layers:
                h = x
                if "hidden_weight" in head:
                    h = _activation(h @ head["hidden_weight"], head, "hidden_")
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


def _parts(tensors: dict[str, Any], prefix: str) -> nn.ParameterDict:
    """What a layer has besides its weight, by the rest of its name; running statistics take no gradient."""
    names = [name for name in tensors if name.startswith(prefix) and name != prefix + "weight"]
    own = {name[len(prefix) :].replace(".", "_"): tensors[name] for name in names}
    parts = nn.ParameterDict({name: _parameter(array) for name, array in own.items()})
    for name, parameter in parts.items():
        parameter.requires_grad_("running" not in name)
    return parts


def _activation(y: torch.Tensor, parts: nn.ParameterDict, prefix: str) -> torch.Tensor:
    """What a hidden layer makes of its product: a norm or a bias, then ReLU."""

    def part(name: str) -> Optional[torch.Tensor]:
        return parts[prefix + name][0] if prefix + name in parts else None

    scale, shift, mean, var = part("norm_weight"), part("norm_bias"), part("norm_running_mean"), part("norm_running_var")
    if mean is not None:
        y = nn.functional.batch_norm(y, mean, var, scale, shift, eps=1e-5)
    elif scale is not None:
        y = nn.functional.layer_norm(y, y.shape[1:], scale, shift, eps=1e-5)
    elif (bias := part("bias")) is not None:
        y = y + bias
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
