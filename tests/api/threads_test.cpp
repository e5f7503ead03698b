// One context used by two threads at once: each gets the result it would have got alone.
#include <gtest/gtest.h>

#include <thread>

#include "api/ring.h"
#include "l2gcn/train.h"

namespace l2gcn {
namespace {

std::vector<float> WeightsOf(const Trained& trained) {
  std::vector<float> values(trained.model.theta.values.begin(), trained.model.theta.values.end());
  for (const HiddenParameters& layer : trained.model.layers) {
    const Matrix& weight = layer.weight;
    values.insert(values.end(), weight.values.begin(), weight.values.end());
  }
  return values;
}

TEST(OneContext, ServesTwoThreadsAtOnce) {
  const Context context = MakeContext(3);
  const Dataset dataset = Ring().Make(context);
  TrainConfig configs[2];
  std::vector<float> alone[2], together[2];
  for (uint64_t i = 0; i < 2; ++i) {
    configs[i] = ResolveConfig({{"preset", "paper"},
                                {"method", "lgcn"},
                                {"hidden", "16"},
                                {"epochs", "10"},
                                {"batch", "16"},
                                {"seed", std::to_string(i)}},
                               dataset);
    alone[i] = WeightsOf(Train(context, dataset, configs[i]));
  }
  ASSERT_NE(alone[0], alone[1]);
  const auto train = [&](size_t i) {
    Trained trained = Train(context, dataset, configs[i]);
    EvaluateTrained(context, dataset, trained);
    together[i] = WeightsOf(trained);
  };
  std::thread first(train, 0), second(train, 1);
  first.join();
  second.join();
  EXPECT_EQ(together[0], alone[0]);
  EXPECT_EQ(together[1], alone[1]);
}

}  // namespace
}  // namespace l2gcn
