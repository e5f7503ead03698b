// Micro F1 and loss of picked nodes; the full score of the public face is built on the same counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Row i of logits belongs to nodes[i]. A multi-class prediction is the largest logit (the first of equals); a
// label is on where its logit is above 0. Unlabelled nodes do not count.
double MicroF1(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
               const Matrix& logits);

// Mean cross-entropy, or mean binary cross-entropy over all labels, of the same rows.
double MeanLoss(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
                const Matrix& logits);

}  // namespace l2gcn
