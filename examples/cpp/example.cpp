#include <cstdio>

#include "l2gcn/train.h"

int main() {
  const l2gcn::Context context = l2gcn::MakeContext();
  const l2gcn::Dataset data = l2gcn::OpenDataset(context, "synthetic:pubmed");
  const l2gcn::TrainConfig config = l2gcn::ResolveConfig({{"preset", "paper"}, {"epochs", "40"}}, data);
  l2gcn::Trained trained = l2gcn::Train(context, data, config);
  l2gcn::EvaluateTrained(context, data, trained);
  std::printf("test F1 %.3f\n", trained.result.f1_test);
  l2gcn::SaveModel(trained.model, "my-model");  // l2gcn evaluate my-model synthetic:pubmed
}
