#include "pipeline/exchange_walk.h"

#include <algorithm>
#include <cmath>

#include "core/sample_order.h"
#include "kernels/sparse_density.h"

namespace l2gcn {
namespace {

constexpr double kLossBytes = 8;          // of an epoch, a double
constexpr double kScoreBytes = 8;         // of a row: loss and miss
constexpr double kAnswerCounts = 3;       // sums over ranks, of each scoring
constexpr double kMomentsAndValue = 3;    // matrices of weights in a layer's state
constexpr double kThreadsAndCores = 136;  // of a rank that lends them to rank 0, told to every other one
constexpr double kStateShapes = 304;      // bytes that say how large a state's 18 matrices are, and its steps
constexpr double kWindowWords = 9;        // a window is asked for, and said to be written

// The share of non-zeros of sparse features once they are aggregated, as if neighbours' columns were independent.
double AggregatedDensity(const RunCounts& counts) {
  const double stored = static_cast<double>(counts.stored_bytes) / 8,
               rows = static_cast<double>(counts.rows()), cols = static_cast<double>(counts.features);
  const double degree = static_cast<double>(counts.train_entries()) / std::max(1.0, rows);
  return 1 - std::pow(1 - stored / (static_cast<double>(counts.nodes) * cols), 1 + degree);
}

}  // namespace

StepShape StepsOf(const RunCounts& counts, size_t layer) {
  return {counts.InputsOf(layer), counts.hidden[layer], counts.classes, counts.batch};
}

bool ExchangeWalk::StaysSparse(const RunCounts& counts, size_t layer, bool on_cards) {
  const DeviceKind device = on_cards ? DeviceKind::kCuda : DeviceKind::kCpu;
  return counts.sparse && layer == 0 && AggregatedDensity(counts) <= SparseDensityOf(device);
}

ExchangeWalk::ExchangeWalk(const RunCounts& counts, uint32_t ranks, ExchangeWay way)
    : counts_(counts),
      ranks_(ranks),
      others_(ranks - 1.0),
      share_((ranks - 1.0) / ranks),
      in_place_(way.in_place),
      on_cards_(way.on_cards),
      steps_(way.steps) {}

void ExchangeWalk::Train(std::span<const LayerMoves> moves) {
  const auto element = static_cast<double>(counts_.element), rows = static_cast<double>(counts_.rows());
  if (in_place_) bytes_ += others_ * ranks_ * kThreadsAndCores;
  for (size_t layer = 0; layer < counts_.hidden.size(); ++layer) {
    LayerMoves of_layer{counts_.epochs[layer], counts_.train, 1, 1, 0, 0, 0};
    if (layer < moves.size()) of_layer = moves[layer];
    if (of_layer.probed > 0) Look(layer, of_layer);
    const auto in = static_cast<double>(counts_.InputsOf(layer));
    for (uint64_t hop = 0; hop < std::max<uint64_t>(1, counts_.reach); ++hop)
      Aggregate(rows, rows, in, SparseIn(layer) && hop == 0, element);
    Samples(layer, of_layer);
    const auto scored = static_cast<double>(of_layer.scored), looks = static_cast<double>(of_layer.looks);
    bytes_ += others_ * (scored * kScoreBytes + looks * kAnswerCounts * ranks_ * sizeof(uint64_t));
    Steps(layer, of_layer);
  }
}

// Rank 0 tells what came of its steps; ranks that share them send their gradients and losses there and back.
void ExchangeWalk::Steps(size_t layer, const LayerMoves& moves) {
  const auto epochs = static_cast<double>(moves.epochs);
  if (SharesSteps(layer)) {
    const StepShape shape = StepsOf(counts_, layer);
    const auto steps = static_cast<double>(counts_.StepsOver(moves.samples));
    bytes_ += others_ * 2 * epochs * (steps * static_cast<double>(shape.GradientBytes()) + kLossBytes);
  } else {
    bytes_ += others_ * (static_cast<double>(moves.states) * StateBytes(layer) + epochs * kLossBytes);
  }
}

// The rows of the samples, to rank 0, or to all ranks that share its steps: whole and once, or by windows in every epoch,
// each row to one rank. Where ranks see one memory, dense rows are written to where rank 0 reads them.
void ExchangeWalk::Samples(size_t layer, const LayerMoves& moves) {
  const auto width = static_cast<double>(counts_.InputsOf(layer) * counts_.copies()),
             samples = static_cast<double>(moves.samples);
  const bool stays_sparse = StaysSparse(counts_, layer, on_cards_);
  // A row that is sent whole goes to rank 0, or to everyone.
  const double takers = SharesSteps(layer) ? ranks_ : 1;
  if (SparseIn(layer) && (stays_sparse || !in_place_)) {
    const auto cols = static_cast<double>(counts_.features);
    const double row_bytes = stays_sparse ? 8 * (1 + AggregatedDensity(counts_) * cols) : 4 * cols;
    bytes_ += takers * share_ * static_cast<double>(moves.begun) * samples * row_bytes;
    return;
  }
  const double as_floats = samples * width * sizeof(float);
  const bool by_windows = !on_cards_ && as_floats >= static_cast<double>(kShuffledWholeBytes);
  if (in_place_) {
    const double windows = as_floats / static_cast<double>(kSampleBlockBytes * kWindowBlocks);
    if (by_windows) bytes_ += others_ * static_cast<double>(moves.epochs) * windows * kWindowWords;
    return;
  }
  const double times = by_windows ? static_cast<double>(moves.epochs) : takers * moves.begun;
  bytes_ += share_ * times * samples * width * static_cast<double>(counts_.element);
}

// Weights, and what else a layer has, with their moments.
double ExchangeWalk::StateBytes(size_t layer) const {
  const auto width = static_cast<double>(counts_.InputsOf(layer) * counts_.copies()),
             hidden = static_cast<double>(counts_.hidden[layer]), head = static_cast<double>(counts_.head),
             classes = static_cast<double>(counts_.classes),
             affine = static_cast<double>(counts_.affine_rows);
  const double last = head > 0 ? head : hidden;
  const double values =
      width * hidden + hidden * head + last * classes + affine * (hidden + head) + (affine > 0 ? classes : 0);
  return kStateShapes + kMomentsAndValue * sizeof(float) * values;
}

// What a probe of validation nodes outside the train graph aggregates for the layer, and for the next one.
void ExchangeWalk::Look(size_t layer, const LayerMoves& moves) {
  const auto nodes = static_cast<double>(counts_.nodes), in = static_cast<double>(counts_.InputsOf(layer));
  const auto element = static_cast<double>(counts_.element), probed = static_cast<double>(moves.probed);
  for (uint64_t hop = 1; hop < counts_.reach; ++hop)
    Aggregate(nodes, nodes, in, SparseIn(layer) && hop == 1, element);
  Aggregate(nodes, probed, in, SparseIn(layer) && counts_.reach <= 1, element);
  if (layer + 1 == counts_.hidden.size()) return;
  if (counts_.reach == 0) return ForwardLayer(layer);
  Aggregate(nodes, nodes, in, SparseIn(layer) && counts_.reach == 1, element);
}

void ExchangeWalk::Infer(bool after_training) {
  const auto nodes = static_cast<double>(counts_.nodes);
  for (size_t layer = 0; layer < counts_.hidden.size(); ++layer) ForwardLayer(layer);
  if (after_training && counts_.counts_answers) {
    bytes_ += others_ * static_cast<double>(counts_.answered) * kScoreBytes;
    return;
  }
  const bool of_every_layer = counts_.head > 0 || counts_.affine_rows > 0;
  const double layers = of_every_layer ? static_cast<double>(counts_.hidden.size()) : 1;
  bytes_ += others_ * layers * nodes * sizeof(float) * static_cast<double>(counts_.classes);
}

// A layer over all nodes: in whichever order is narrower, where it may choose.
void ExchangeWalk::ForwardLayer(size_t layer) {
  const auto nodes = static_cast<double>(counts_.nodes), in = static_cast<double>(counts_.InputsOf(layer)),
             out = static_cast<double>(counts_.hidden[layer]);
  if (counts_.reach == 0 && counts_.affine_rows == 0 && in > out)
    return Aggregate(nodes, nodes, out, false, sizeof(float));
  for (uint64_t hop = 0; hop < std::max<uint64_t>(1, counts_.reach); ++hop)
    Aggregate(nodes, nodes, in, SparseIn(layer) && hop == 0, static_cast<double>(counts_.element));
}

// Two transposes: of the rows that are gathered, and of those that are made. Sparse matrices are known whole.
void ExchangeWalk::Aggregate(double sources, double rows, double cols, bool sparse, double element) {
  if (!sparse && !in_place_) bytes_ += share_ * (sources + rows) * cols * element;
}

}  // namespace l2gcn
