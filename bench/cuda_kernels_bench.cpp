// Times the CUDA kernels on the paper's shapes with random data: every candidate plan of the training kernel
// beside its prediction, and the aggregation with each tile width. Verification is the tests' business for
// training (the same kernel); the aggregation is checked here on sampled entries, because its input is larger
// than any test's.
//
//   cuda_kernels_bench [all|aggregate|train|chosen] [shape …]    chosen: only the plan that training would
//   take
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/rng.h"
#include "kernels/cuda/aggregate.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/train_kernel.h"
#include "l2gcn/error.h"

namespace l2gcn::cuda {
namespace {

struct BenchShape {
  const char* name;
  uint32_t samples, features, hidden, classes, batch, steps;
  bool multilabel;
};
// One row per distinct layer of the paper's runs; steps: of the whole run in this layer and its equals.
constexpr BenchShape kShapes[] = {
    {"cora-1", 1208, 1433, 16, 7, 256, 320, false},
    {"cora-2", 1208, 16, 16, 7, 256, 320, false},
    {"pubmed-1", 17717, 500, 16, 3, 1024, 1700, false},
    {"pubmed-2", 17717, 16, 16, 3, 1024, 1700, false},
    {"ppi-1", 44906, 50, 512, 121, 1024, 17600, true},
    {"ppi-2", 44906, 512, 512, 121, 1024, 35200, true},
    {"reddit-1", 153932, 602, 128, 41, 1024, 12000, false},
    {"reddit-2", 153932, 128, 128, 41, 1024, 24000, false},
    {"amazon670k-1", 420449, 100, 128, 32, 1024, 32800, false},
    {"amazon670k-2", 420449, 128, 128, 32, 1024, 32800, false},
    {"amazon3m-1", 1417899, 100, 128, 38, 1024, 110720, false},
    {"amazon3m-2", 1417899, 128, 128, 38, 1024, 110720, false},
};

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    Check(cudaEventCreate(&begin_), "timing");
    Check(cudaEventCreate(&end_), "timing");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  // Median milliseconds of three runs after one.
  template <class Body>
  double Median(const Body& body) {
    std::vector<float> times;
    for (int i = 0; i < 4; ++i) {
      Check(cudaEventRecord(begin_, stream_), "timing");
      body();
      Check(cudaEventRecord(end_, stream_), "timing");
      Check(cudaEventSynchronize(end_), "timing");
      float time = 0;
      Check(cudaEventElapsedTime(&time, begin_, end_), "timing");
      if (i > 0) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    return static_cast<double>(times[1]);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_, end_;
};

Buffer RandomFloats(const std::shared_ptr<Device>& device, size_t count, float scale, uint32_t name) {
  std::vector<float> values(count);
  uint32_t state = name * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = scale * (static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
  }
  Buffer buffer = Buffer::OnDevice(device, count * sizeof(float), "random data");
  buffer.CopyFrom(values.data(), count * sizeof(float));
  device->Synchronise("random data");
  return buffer;
}

struct Data {
  Buffer x, labels;
};

Data MakeData(const std::shared_ptr<Device>& device, const BenchShape& shape) {
  Data data;
  data.x = RandomFloats(device, shape.samples * PaddedStride(shape.features), 1.0f, 1);
  if (shape.multilabel) {
    const size_t stride = (shape.classes + 15) / 16 * 16;
    std::vector<uint8_t> rows(shape.samples * stride, 0);
    for (size_t i = 0; i < shape.samples; ++i)
      for (size_t c = 0; c < shape.classes; ++c) rows[i * stride + c] = (i * 7 + c * 13) % 10 < 3;
    data.labels = Buffer::OnDevice(device, rows.size(), "labels");
    data.labels.CopyFrom(rows.data(), rows.size());
  } else {
    std::vector<int32_t> classes(shape.samples);
    for (size_t i = 0; i < shape.samples; ++i)
      classes[i] = static_cast<int32_t>((i * 2654435761u >> 7) % shape.classes);
    data.labels = Buffer::OnDevice(device, classes.size() * 4, "labels");
    data.labels.CopyFrom(classes.data(), classes.size() * 4);
  }
  device->Synchronise("uploading");
  return data;
}

// Microseconds a step, or a negative number where the device refuses the plan.
double TimePlan(const std::shared_ptr<Device>& device, const BenchShape& shape, const Data& data,
                const TrainPlan& plan, Precision precision) {
  const size_t floats = plan.slice_floats() * static_cast<size_t>(plan.slices);
  const size_t exchange = static_cast<size_t>(plan.row_groups * plan.rows * plan.c_stride) * sizeof(float);
  Buffer master = RandomFloats(device, floats, 0.05f, 2), published = RandomFloats(device, floats, 0.05f, 2);
  Buffer first = Buffer::OnDevice(device, floats * 4, "m"),
         second = Buffer::OnDevice(device, floats * 4, "v");
  first.Clear();
  second.Clear();
  Buffer partial = Buffer::OnDevice(device, floats * 4 * static_cast<size_t>(plan.partials()), "partial");
  Buffer logits = Buffer::OnDevice(device, exchange * 2 * static_cast<size_t>(plan.slices), "logits");
  Buffer dlogits = Buffer::OnDevice(device, exchange, "dlogits");
  Buffer flags = Buffer::OnDevice(device, 8 * static_cast<size_t>(plan.blocks()), "flags");
  Buffer losses = Buffer::OnDevice(device, 4096 * 4 * static_cast<size_t>(plan.blocks()), "losses");
  TrainArguments a;
  a.x.dense = data.x.as<void>();
  a.x.stride = PaddedStride(shape.features);
  a.count = shape.samples;
  a.multilabel = shape.multilabel;
  if (shape.multilabel) {
    a.label_rows = data.labels.as<uint8_t>();
  } else {
    a.classes_of = data.labels.as<int32_t>();
  }
  a.master = master.as<float>();
  a.published = published.as<float>();
  a.first = first.as<float>();
  a.second = second.as<float>();
  a.partial = partial.as<float>();
  a.logits = logits.as<float>();
  a.dlogits = dlogits.as<float>();
  a.flags = flags.as<uint32_t>();
  a.losses = losses.as<float>();
  a.hidden = shape.hidden;
  a.classes = shape.classes;
  a.order = l2gcn::Permutation(a.count, l2gcn::RandomStream(0, l2gcn::RandomUse::kShuffle));
  a.batch = std::min(shape.batch, shape.samples);
  a.steps_per_epoch = std::max(1u, shape.samples / a.batch);
  a.last_step = 500;
  a.lr = 1e-3f;
  a.beta1 = 0.9f;
  a.beta2 = 0.999f;
  a.epsilon = 1e-8f;
  try {
    PrepareTrain(plan, precision);
    Timer timer(device->stream());
    return timer.Median([&] { LaunchTrain(plan, precision, a, device->stream()); }) * 1e3 / 500;
  } catch (const Error& error) {
    fmt::print("  {}\n", error.what());
    cudaGetLastError();
    return -1;
  }
}

void BenchTraining(const std::shared_ptr<Device>& device, const std::vector<std::string>& names,
                   bool candidates) {
  std::vector<std::string> summary;
  for (const BenchShape& shape : kShapes) {
    if (!names.empty() && std::find(names.begin(), names.end(), shape.name) == names.end()) continue;
    const Data data = MakeData(device, shape);
    TrainShape train{shape.features, shape.hidden, shape.classes, shape.batch, shape.multilabel};
    const TrainPlan other_precision = ChoosePlan(train, device->limits());
    train.tf32 = true;
    const TrainPlan chosen = ChoosePlan(train, device->limits());
    struct Row {
      double time;
      std::string text;
    };
    std::vector<Row> rows;
    for (const TrainPlan& plan :
         candidates ? CandidatePlans(train, device->limits()) : std::vector<TrainPlan>()) {
      for (int variant = 0; variant < 8; ++variant) {
        TrainPlan other = plan;
        if (variant & 1) other.cluster_all = false;
        if (variant & 2) other.whole_logits = !plan.whole_logits;
        if (variant & 4) other.rows_twice = false;
        if (((variant & 1) && !plan.cluster_all) || ((variant & 2) && plan.slices == 1) ||
            ((variant & 4) && plan.x_next == 0) || (variant > 0 && plan.warpgroups))
          continue;
        if (!LayOut(train, device->limits(), other)) continue;
        const double time = TimePlan(device, shape, data, other, Precision::kTf32);
        if (time < 0) continue;
        rows.push_back(
            {time,
             fmt::format("{:8.2f} us (predicted {:6.2f})  groups {:3} slices {:2} rows {:3} width {:3} "
                         "cluster {} whole "
                         "{} rows x{} smem {:3}K",
                         time, PredictStep(other), other.row_groups, other.slices, other.rows, other.width,
                         other.warpgroups    ? 'w'
                         : other.cluster_all ? 'a'
                                             : '-',
                         other.whole_logits ? 1 : 0,
                         !other.rows_resident ? 0
                         : other.x_next > 0   ? 2
                                              : 1,
                         other.shared_bytes >> 10)});
      }
    }
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.time < b.time; });
    const double time = TimePlan(device, shape, data, chosen, Precision::kTf32);
    const double fp32 = TimePlan(device, shape, data, other_precision, Precision::kFp32);
    const double bf16 = TimePlan(device, shape, data, other_precision, Precision::kBf16);
    fmt::print("{}\n", shape.name);
    for (size_t i = 0; i < std::min<size_t>(rows.size(), 9); ++i) fmt::print("  {}\n", rows[i].text);
    summary.push_back(fmt::format(
        "{:14s} chosen {:7.2f} us  best {:7.2f}  fp32 {:7.2f}  bf16 {:7.2f}  run {:7.3f} s  {}", shape.name,
        time, rows.empty() ? 0 : rows[0].time, fp32, bf16, time * 1e-6 * shape.steps, DescribePlan(chosen)));
    std::fflush(stdout);
  }
  for (const std::string& line : summary) fmt::print("{}\n", line);
}

// A random graph with a skewed degree and popularity: `entries` in all, rows' neighbours in random order.
void BenchAggregation(const std::shared_ptr<Device>& device, const char* name, uint32_t nodes,
                      uint64_t entries, uint32_t columns) {
  std::vector<uint64_t> indptr(nodes + size_t{1}, 0);
  std::vector<double> share(nodes);
  double total = 0;
  const RandomStream stream(7, RandomUse::kGenerator);
  for (uint32_t i = 0; i < nodes; ++i)
    total += share[i] = std::pow(static_cast<double>(stream.Uniform(i)) + 1e-4, -0.41);
  for (uint32_t i = 0; i < nodes; ++i) {
    indptr[i + 1] = indptr[i] + static_cast<uint64_t>(share[i] / total * static_cast<double>(entries));
  }
  const Permutation popular(nodes, RandomStream(8, RandomUse::kGenerator));
  std::vector<uint32_t> indices(indptr.back());
  uint64_t state = 88172645463325252ull;
  for (uint32_t& index : indices) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const double u = static_cast<double>(state >> 11) * 0x1p-53;
    index = popular(static_cast<uint32_t>(std::pow(u, 1.7) * nodes));
  }
  Buffer d_indptr = Buffer::OnDevice(device, indptr.size() * 8, "graph"),
         d_indices = Buffer::OnDevice(device, indices.size() * 4, "graph");
  d_indptr.CopyFrom(indptr.data(), indptr.size() * 8);
  d_indices.CopyFrom(indices.data(), indices.size() * 4);
  std::vector<uint32_t> order, middle, light;
  for (uint32_t i = 0; i < nodes; ++i) {
    const uint64_t degree = indptr[i + 1] - indptr[i];
    (degree > kHeavyDegree ? order : degree > kLightDegree ? middle : light).push_back(i);
  }
  AggregateArguments a;
  a.heavy = static_cast<uint32_t>(order.size());
  a.middle = static_cast<uint32_t>(middle.size());
  order.insert(order.end(), middle.begin(), middle.end());
  order.insert(order.end(), light.begin(), light.end());
  Buffer d_order = Buffer::OnDevice(device, order.size() * 4, "graph");
  d_order.CopyFrom(order.data(), order.size() * 4);
  const size_t stride = PaddedStride(columns);
  Buffer scale = RandomFloats(device, nodes, 1, 4), x = RandomFloats(device, nodes * stride, 1, 5);
  Buffer out = Buffer::OnDevice(device, nodes * stride * 4, "out");
  a.nodes = nodes;
  a.indptr = d_indptr.as<uint64_t>();
  a.indices = d_indices.as<uint32_t>();
  a.row_scale = a.self_scale = scale.as<float>();
  a.order = d_order.as<uint32_t>();
  const DeviceRows from{RowKind::kF32, x.as<void>(), stride}, to{RowKind::kF32, out.as<void>(), stride};
  std::vector<float> hx(nodes * stride), hs(nodes), row(stride);
  x.CopyTo(hx.data(), hx.size() * 4);
  scale.CopyTo(hs.data(), hs.size() * 4);
  std::string line = fmt::format("{:12s} {} nodes, {} entries x {}:", name, nodes, indices.size(), columns);
  for (int lanes : {8, 16, 32}) {
    out.Clear();
    Timer timer(device->stream());
    const double time = timer.Median(
        [&] { LaunchAggregate(a, from, to, static_cast<uint32_t>(stride), false, device->stream(), lanes); });
    double worst = 0;
    for (uint32_t i = 0; i < nodes; i += nodes / 50) {
      out.CopyTo(row.data(), stride * 4, i * stride * 4);
      for (uint32_t c = 0; c < columns; c += 37) {
        double sum = 0, size = 0;
        for (uint64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
          sum += static_cast<double>(hx[indices[e] * stride + c]);
          size += std::abs(static_cast<double>(hx[indices[e] * stride + c]));
        }
        const double expected = static_cast<double>(hs[i]) * (sum + static_cast<double>(hx[i * stride + c]));
        worst = std::max(worst, std::abs(expected - static_cast<double>(row[c])) / (size + 1));
      }
    }
    line += fmt::format("  {} lanes {:.3f} ms ({:.2f} TB/s, error {:.1e})", lanes, time,
                        static_cast<double>(indices.size()) * static_cast<double>(stride) * 4 / time * 1e-9,
                        worst);
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void BenchProduct(const std::shared_ptr<Device>& device, size_t rows, uint32_t features, uint32_t hidden) {
  const size_t stride = PaddedStride(features), depth = (stride + 31) / 32 * 32,
               width = (hidden + 63) / 64 * 64;
  Buffer x = RandomFloats(device, rows * stride, 1, 5), w = RandomFloats(device, depth * width, 0.1f, 6);
  Buffer y = Buffer::OnDevice(device, rows * PaddedStride(hidden) * 4, "out");
  const DeviceRows from{RowKind::kF32, x.as<void>(), stride},
      to{RowKind::kF32, y.as<void>(), PaddedStride(hidden)};
  std::string line = fmt::format("transform {} x {} x {}:", rows, features, hidden);
  for (const auto& [name, precision] :
       {std::pair{"tf32", Precision::kTf32}, {"fp32", Precision::kFp32}, {"bf16", Precision::kBf16}}) {
    Timer timer(device->stream());
    const double time = timer.Median([&] {
      LaunchProduct(from, nullptr, rows, w.as<float>(), static_cast<uint32_t>(depth),
                    static_cast<uint32_t>(width), to, true, precision, device->stream());
    });
    line += fmt::format("  {} {:.3f} ms ({:.1f} TFLOP/s)", name, time,
                        2.0 * static_cast<double>(rows) * features * hidden / time * 1e-9);
  }
  fmt::print("{}\n", line);
}

}  // namespace
}  // namespace l2gcn::cuda

int main(int argc, char** argv) {
  using namespace l2gcn::cuda;
  const std::string why_not = WhyNoDevice();
  if (!why_not.empty()) {
    fmt::print("{}\n", why_not);
    return 0;
  }
  const std::string what = argc > 1 ? argv[1] : "all";
  const std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  const auto device = std::make_shared<Device>(0, 0);
  if (what == "all" || what == "aggregate") {
    BenchAggregation(device, "cora", 1208, 5000, 1433);
    BenchAggregation(device, "ppi", 44906, 1200000, 512);
    BenchAggregation(device, "reddit", 153932, 10100000, 602);
    BenchAggregation(device, "reddit-dgl", 153932, 47800000, 602);
    BenchAggregation(device, "amazon3m", 1417899, 41000000, 100);
    BenchProduct(device, 153932, 602, 128);
    BenchProduct(device, 1417899, 100, 128);
    BenchProduct(device, 44906, 512, 512);
  }
  if (what != "aggregate") BenchTraining(device, names, what != "chosen");
  return 0;
}
