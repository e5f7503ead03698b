// Training steps shared between ranks against those of one process, bit by bit. Threads stand for ranks.
#include "kernels/ranks/rank_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "kernels/backend_cases.h"
#include "kernels/ranks/step_choice.h"
#include "ranks/collectives.h"
#include "ranks/thread_ranks.h"

namespace l2gcn {
namespace {

using backend_cases::Shape;

constexpr uint32_t kMembers[] = {2, 3, 5};

struct SeenSteps {
  std::vector<double> losses, steps;
  LayerState state;
};

// Trains epochs 1 and 2, and, after a look at the weights, epoch 3.
SeenSteps TrainedSteps(const Context& context, const Features& features, const Shape& shape,
                       std::span<const uint32_t> samples) {
  const auto backend = MakeBackend(context, {});
  const TensorPtr x = backend->Upload(context, features);
  const size_t count = samples.empty() ? x->rows : samples.size();
  const auto training =
      backend->BeginLayer(context, x, Array<uint32_t>::CopyOf(samples),
                          backend_cases::RandomTargets(shape, count, 3), backend_cases::SpecOf(shape),
                          backend_cases::RandomState(shape.features, shape.hidden, shape.classes, 4));
  SeenSteps seen;
  seen.losses.resize(3);
  training->RunEpochs(context, 1, 2, std::span(seen.losses).first(2), &seen.steps);
  seen.state = training->Read();
  const auto rows = backend->PrepareScoring(context, x, {}, backend_cases::RandomTargets(shape, x->rows, 5));
  seen.losses.push_back(backend->Score(context, *training, *rows).loss);
  training->RunEpochs(context, 3, 1, std::span(seen.losses).subspan(2, 1), nullptr);
  seen.state = training->Read();
  return seen;
}

bool SameMatrix(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.cols == b.cols &&
         std::memcmp(a.values.data(), b.values.data(), a.bytes()) == 0;
}

void Require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void ExpectSharedStepsAreAlone(const Features& features, const Shape& shape,
                               const std::vector<uint32_t>& samples, const std::string& what,
                               std::span<const uint32_t> members = kMembers) {
  const SeenSteps alone = TrainedSteps(MakeContext(2), features, shape, samples);
  for (const uint32_t size : members) {
    const auto train = [&](const Context& given) {
      Context context = given;
      context.steps = StepSharing::kShared;
      const SeenSteps seen = TrainedSteps(context, features, shape, samples);
      Require(seen.losses == alone.losses, "losses of epochs");
      Require(seen.steps == alone.steps, "losses of steps");
      Require(seen.state["weight"].steps == alone.state["weight"].steps, "steps");
      Require(SameMatrix(seen.state["weight"].value, alone.state["weight"].value), "W");
      Require(SameMatrix(seen.state["weight"].v, alone.state["weight"].v), "W's moment");
      Require(SameMatrix(seen.state["classifier"].value, alone.state["classifier"].value), "theta");
    };
    EXPECT_NO_THROW(RunAsRanks(size, 1 + size % 2, train)) << what << ", " << size << " ranks";
  }
}

// Every shape of the backends' tests: several labels, dropout, class weights, a last batch that is short or left out, batches
// of fewer groups than ranks; sparse ones are left to rank 0.
TEST(RankSteps, HaveTheBitsOfOneProcess) {
  for (const Shape& shape : backend_cases::Shapes()) {
    const std::string what = std::to_string(shape.nodes) + " x " + std::to_string(shape.features) +
                             ", batch " + std::to_string(shape.batch);
    ExpectSharedStepsAreAlone(backend_cases::RandomFeatures(shape, 1), shape, {}, what);
  }
}

TEST(RankSteps, TakeSomeRowsOfTheInput) {
  const Shape shape{300, 30, 24, 5, 130, false, false, false, 0.5f};
  std::vector<uint32_t> samples;
  for (uint32_t row = 299; row > 20; row -= 2) samples.push_back(row);
  ExpectSharedStepsAreAlone(backend_cases::RandomFeatures(shape, 1), shape, samples, "some rows");
}

// 64 MiB of rows are taken by windows. Groups are of several panels, and their gradients of many pieces; the last batch
// is short, or left out.
TEST(RankSteps, TakeRowsByWindows) {
  for (const bool drop_last : {false, true}) {
    const Shape shape{16453, 1021, 64, 5, 1500, false, false, false, 0, 0, drop_last};
    ExpectSharedStepsAreAlone(backend_cases::RandomFeatures(shape, 1), shape, {}, "windows",
                              std::vector<uint32_t>{drop_last ? 2u : 3u});
  }
}

// Sums of three members in their order, of one value, of a piece, and of many pieces; and what they send.
TEST(RankSteps, SumsGoThroughTheMembersInOrder) {
  for (const size_t count : {16, 16384, 100000}) {
    std::vector<uint64_t> sent(3);
    RunAsRanks(3, 1, [&](const Context& context) {
      RankSteps steps(context.ranks);
      const uint32_t rank = context.ranks->rank();
      std::vector<float> sum(count, -1.0f);
      const uint64_t before = context.ranks->sent_bytes();
      steps.SumGradients(sum, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
          sum[i] = rank == 0 ? static_cast<float>(i % 7) : 3 * sum[i] + static_cast<float>(rank);
      });
      sent[rank] = context.ranks->sent_bytes() - before;
      for (size_t i = 0; i < count; ++i)
        Require(sum[i] == 9 * static_cast<float>(i % 7) + 5, "value " + std::to_string(i));
      const double loss = steps.SumLosses([&](double before_me) { return 10 * before_me + rank + 1; });
      Require(loss == 123, "loss");
    });
    EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), uint64_t{0}), 4 * count * sizeof(float));
  }
}

TEST(RankSteps, TheChoiceIsMeasuredOnceAndTheSameOnAllRanks) {
  const StepShape wide{602, 128, 41, 1024}, small{20, 16, 3, 100};
  RunAsRanks(3, 1, [&](const Context& given) {
    Context context = given;
    const auto all_say = [&](bool word) { return SumOverRanks(*context.ranks, word ? 1 : 0); };
    Require(!ChooseSteps(context, small).shared && !context.ranks->step_rates(),
            "small steps are not shared");
    for (const bool shared : {false, true}) {
      context.steps = shared ? StepSharing::kShared : StepSharing::kAlone;
      Require(ChooseSteps(context, wide).shared == shared, "what was said is done");
    }
    Require(!context.ranks->step_rates(), "where the choice is given nothing is measured");
    context.steps = StepSharing::kAuto;
    const StepChoice first = ChooseSteps(context, wide), again = ChooseSteps(context, wide);
    Require(first.alone_seconds > 0 && first.shared_seconds > first.alone_seconds / 3, "what was measured");
    Require(first.shared == (first.shared_seconds < 0.9 * first.alone_seconds), "by a tenth");
    Require(first.alone_seconds == again.alone_seconds && first.shared_seconds == again.shared_seconds,
            "once");
    Require(all_say(first.shared) % 3 == 0, "the same on all ranks");
  });
}

// Ranks that were told different things would wait for each other.
TEST(RankSteps, Rank0SaysWhoMakesThem) {
  for (const StepSharing word : {StepSharing::kAlone, StepSharing::kShared}) {
    RunAsRanks(3, 1, [&](const Context& given) {
      Context context = given;
      const StepSharing others[] = {word, StepSharing::kAuto, StepSharing::kShared};
      context.steps = others[context.ranks->rank()];
      Require(ChooseSteps(context, {602, 128, 41, 1024}).shared == (word == StepSharing::kShared),
              "rank 0's word");
      Require(!context.ranks->step_rates(), "nothing is measured");
    });
  }
}

// More groups take longer to add, and the largest rank has ⌈groups / ranks⌉.
TEST(RankSteps, TheChoiceCountsTheGroupsThatARankAdds) {
  RunAsRanks(3, 1, [](const Context& context) {
    const StepShape few{602, 128, 41, 128}, many{602, 128, 41, 4096};  // 4 and 64 groups
    Ranks::StepRates rates;
    rates.operations = 1e9;
    rates.sum_seconds = 0.001;
    rates.byte_seconds = 2e-9;
    rates.add_seconds = 1e-9;
    context.ranks->KeepStepRates(rates);
    for (const StepShape& shape : {few, many}) {
      const StepChoice choice = ChooseSteps(context, shape);
      const double groups = shape.batch == 128 ? 4 : 64, most = shape.batch == 128 ? 2 : 22;
      const double expected = shape.Operations() / 1e9 * most / groups + 0.001 +
                              (2e-9 + most * 1e-9) * static_cast<double>(shape.GradientBytes());
      Require(std::abs(choice.shared_seconds - expected) < 1e-9, "seconds of a shared step");
    }
  });
}

}  // namespace
}  // namespace l2gcn
