// A controller's file; what loads decides a few times.
#include "controller/controller_impl.h"
#include "fuzz/fuzz_common.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::filesystem::path path = AsFile(data, size, "controller");
  OnlyErrors([&] {
    const Controller controller = Controller::Load(path.string());
    const PolicyNet& net = controller.impl().net;
    const std::vector<double> features(net.shape().features, 0.5);
    PolicyNet::Step step = net.Decide(nullptr, features, 0, 0);
    for (uint32_t i = 1; i < 3; ++i) step = net.Decide(&step, features, 2 * i, i);
    controller.DescribeJson();
  });
  return 0;
}
