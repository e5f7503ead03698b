// A stopping rule of your own: a layer ends when its loss has fallen by less than one per cent in three epochs.
#include <cstdint>
#include <cstdio>
#include <string>

#include "l2gcn/stop_policy.h"
#include "l2gcn/train.h"

class SlowProgress final : public l2gcn::StopPolicy {
 public:
  void BeginLayer(const l2gcn::LayerView&) override {}
  uint32_t EpochsUntilDecision(uint32_t) const override { return 1; }
  l2gcn::Decision Decide(const l2gcn::Observation& seen) override {
    const size_t n = seen.losses.size();
    return {n > 3 && seen.losses[n - 1] > 0.99 * seen.losses[n - 4]};
  }
  std::string Name() const override { return "slow progress"; }
};

int main() {
  const l2gcn::Context context = l2gcn::MakeContext();
  const l2gcn::Dataset data = l2gcn::OpenDataset(context, "synthetic:cora");
  const l2gcn::TrainConfig config = l2gcn::ResolveConfig({{"preset", "paper"}, {"epochs", "60"}}, data);
  SlowProgress rule;
  l2gcn::Trained trained = l2gcn::Train(context, data, config, rule);
  l2gcn::EvaluateTrained(context, data, trained);
  for (const l2gcn::SeedResult::Layer& layer : trained.result.layers) {
    std::printf("%u epochs, stopped by %s\n", layer.epochs, layer.stopped_by.c_str());
  }
  std::printf("test F1 %.3f\n", trained.result.f1_test);
}
