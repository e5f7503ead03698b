#include "core/usable.h"

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn {

std::string PlaceOf(const Dataset& dataset) { return dataset.path.empty() ? dataset.name : dataset.path; }

void CheckContext(const Context& context) {
  const uint32_t available = context.pool == nullptr ? 1 : context.pool->threads();
  if (context.threads == 0 || context.threads > available) {
    ThrowUsage("a context with {} threads whose pool has {}; make contexts with MakeContext", context.threads,
               available);
  }
}

namespace {

void CheckTargetRows(const Dataset& dataset) {
  const Labels& labels = dataset.labels;
  const Matrix& targets = labels.targets;
  const size_t nodes = dataset.nodes();
  if (targets.rows != nodes || targets.cols != labels.classes ||
      targets.values.size() != targets.rows * targets.cols)
    ThrowInput("{}: {} × {} targets for {} nodes and {} targets; expected one row a node", PlaceOf(dataset),
               targets.rows, targets.cols, nodes, labels.classes);
  if (!labels.node_weights.empty() && labels.node_weights.size() != nodes)
    ThrowInput("{}: {} sample weights for {} nodes", PlaceOf(dataset), labels.node_weights.size(), nodes);
}

}  // namespace

void CheckLabelRows(const Dataset& dataset) {
  const Labels& labels = dataset.labels;
  const size_t nodes = dataset.nodes();
  if (labels.task() == Task::kRegression) return CheckTargetRows(dataset);
  const size_t rows = labels.multilabel
                          ? (labels.classes == 0 ? nodes : labels.matrix.size() / labels.classes)
                          : labels.classes_of.size();
  const bool whole = !labels.multilabel || labels.matrix.size() == rows * labels.classes;
  if (rows != nodes || !whole || (!labels.labelled.empty() && labels.labelled.size() != nodes)) {
    ThrowInput("{}: {} rows of labels for {} nodes; expected one a node", PlaceOf(dataset), rows, nodes);
  }
}

void CheckSplitLength(const Dataset& dataset, const Split& split) {
  if (split.roles.size() != dataset.nodes()) {
    ThrowInput("{}: split {} covers {} nodes of {}", PlaceOf(dataset), split.name, split.roles.size(),
               dataset.nodes());
  }
}

void CheckLengths(const Dataset& dataset) {
  CheckLabelRows(dataset);
  for (const Split& split : dataset.splits) CheckSplitLength(dataset, split);
}

void CheckUsable(const Context& context, const Dataset& dataset) {
  CheckContext(context);
  if (!dataset.checked) return ValidateDataset(context, dataset);
  CheckLengths(dataset);
}

}  // namespace l2gcn
