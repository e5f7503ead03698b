"""Pictures of a run, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._interop import need

if TYPE_CHECKING:
    from ._training import Run


def plot_run(self: Run, ax: Any = None) -> Any:
    """Draws losses by epoch, layer behind layer, and the controller's stopping probabilities; returns the axes.

    Of several seeds it draws the first.
    """
    if ax is None:
        ax = need("matplotlib.pyplot", "pictures").subplots(figsize=(7, 3.5))[1]
    columns = self.history
    first = columns["seed"] == self.seeds[0]
    loss, layer, probability = (columns[name][first] for name in ("loss", "layer", "stop_probability"))
    at = np.arange(1, len(loss) + 1)
    for number in np.unique(layer):
        here = layer == number
        ax.plot(at[here], loss[here], label=f"layer {number}")
        if number > 1:
            ax.axvline(at[here][0] - 0.5, color="0.8", linewidth=1, zorder=0)
    ax.set_xlabel("epochs, layer behind layer")
    ax.set_ylabel("loss")
    if not np.isnan(probability).all():
        twin = ax.twinx()
        twin.plot(at, probability, ".", color="0.4", markersize=4, label="stop probability")
        twin.set_ylim(0, 1)
        twin.set_ylabel("stop probability")
    ax.legend(loc="upper right", frameon=False)
    ax.set_title(f"{self.result['method']} on {self.data.name}")
    return ax
